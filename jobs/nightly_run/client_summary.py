"""Lines that clients' logs add to a run's summary: groups that only they show, and clocks that
differ.
"""

from __future__ import annotations

from datetime import date, datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.client_history import zone_ms
from coordinator_core.figures import SKEW_MS, counted
from jobs.console.printing import printable
from jobs.lake.client_rows import CLIENT_EVENTS, OF_CLIENTS, may_exist
from jobs.lake.keys import GROUP_KEY
from jobs.lake.tables import Lake

MOST_NAMED = 3


def lines(lake: Lake, first: date | None, last: date | None) -> list[str]:
    """The lines are about the dates from ``first`` to ``last``, or about all dates; there are no
    lines without clients' logs.
    """
    if not may_exist(lake):
        return []
    generations = lake.read("generations")
    events = lake.read(CLIENT_EVENTS)
    if first is not None and last is not None:
        generations, events = (
            rows.where(F.col("event_date").between(first, last)) for rows in (generations, events)
        )
    return [*_groups(generations), *_without_group(events), *_clocks(events, generations)]


def _groups(generations: DataFrame) -> list[str]:
    counts = (
        generations.groupBy("group_id")
        .agg(F.count(F.when(F.expr(OF_CLIENTS), 1)).alias("of_clients"), F.count("*").alias("all"))
        .where("of_clients > 0")
        .orderBy(F.desc("of_clients"), "group_id")
        .collect()
    )
    if not counts:
        return []
    total = sum(row.of_clients for row in counts)
    alone = [printable(row.group_id) for row in counts if row.of_clients == row["all"]]
    text = f"{counted(total, 'generation')} from clients' logs alone"
    return [f"{text}; groups without broker evidence: {_named(alone)}" if alone else text]


def _clocks(events: DataFrame, generations: DataFrame) -> list[str]:
    """The coordinator answers all clients at one moment; see the view client_clocks for bounds."""
    ahead_ms = F.unix_millis("event_time") - F.unix_millis("joined_time")
    joined = events.where("event = 'JOINED' AND group_id IS NOT NULL")
    joins = (
        joined.withColumn("may_replace", _may_replace())
        .where("NOT may_replace")
        .join(
            generations.select(*GROUP_KEY, "generation", "joined_time"),
            on=[*GROUP_KEY, "generation"],
            how="inner",
        )
    )
    # Generations start again in each incarnation, so the generation nearest in time is the
    # client's.
    nearest = F.min_by("ahead_ms", F.abs("ahead_ms"))
    each = (
        joins.withColumn("ahead_ms", ahead_ms)
        .where("ahead_ms IS NOT NULL")
        .groupBy("client_id", "file_id", "position")
        .agg(nearest.alias("ahead_ms"))
    )
    clocks = (
        each.groupBy("client_id", "file_id")
        .agg(F.min_by("ahead_ms", F.abs("ahead_ms")).alias("ahead_ms"))
        .where(F.abs("ahead_ms") > SKEW_MS)
        .orderBy(F.desc(F.abs("ahead_ms")), "client_id", "file_id")
        .collect()
    )
    if not clocks:
        return []
    named = [clock_text(row.client_id or f"log {row.file_id}", row.ahead_ms) for row in clocks]
    return [f"clocks that differ from the others (view client_clocks), corrected: {_named(named)}"]


def _may_replace() -> Column:
    """Returns whether a static member may have joined a generation that the group already had."""
    of_client = Window.partitionBy(*GROUP_KEY, "file_id", "client_id").orderBy("position")
    before = F.lag("member_id").over(of_client)
    has_other_name = ~F.col("member_id").startswith(F.concat("client_id", F.lit("-")))
    is_static = F.col("instance_id").isNotNull() | has_other_name
    is_first = F.lag("position").over(of_client).isNull() | (before != F.col("member_id"))
    return F.coalesce(is_static & is_first, F.lit(False))


def clock_text(client: str, ahead_ms: int) -> str:
    """A text about how far the client's clock is ahead or behind; whole quarter hours are a time
    zone.
    """
    word = "ahead" if ahead_ms > 0 else "behind"
    zone = zone_ms(ahead_ms)
    if zone is not None:
        return f"{printable(client)} {abs(zone) / 3_600_000:g} h {word} (a time zone)"
    return f"{printable(client)} {abs(ahead_ms) / 1000:,.1f} s {word}"


def _without_group(events: DataFrame) -> list[str]:
    """Lines of libraries that name no group, such as librdkafka's lines by default."""
    counts = (
        events.where(F.col("group_id").isNull() & F.col("event").isin(*_SHOWN))
        .groupBy("event")
        .agg(
            F.count("*").alias("lines"),
            F.min("event_time").alias("first"),
            F.max("event_time").alias("last"),
            F.sort_array(F.collect_set("client_id")).alias("clients"),
        )
        .collect()
    )
    texts = [
        f"{_SHOWN[row.event]}: {row.lines:,} of {_clients(row.clients)},"
        f" {_span(row.first, row.last)}"
        for row in sorted(counts, key=lambda row: list(_SHOWN).index(row.event))
    ]
    return [f"clients whose lines name no group: {'; '.join(texts)}"] if texts else []


_SHOWN = {
    "POLL_TIMEOUT": "poll timeouts",
    "SESSION_EXPIRED": "expired sessions",
    "FENCED": "fenced members",
    "PARTITIONS_LOST": "lost partitions",
}


def _clients(client_ids: list[str]) -> str:
    return _named([printable(each) for each in client_ids]) if client_ids else "unnamed clients"


def _span(first: datetime, last: datetime) -> str:
    times = [f"{each:%Y-%m-%dT%H:%M:%S}" for each in (first, last)]
    return times[0] if first == last else f"{times[0]} to {times[1]}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
