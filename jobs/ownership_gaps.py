"""Times in which a partition had no owner: partition downtime.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
writes  ownership_gaps   one row per partition and time without an owner

`jobs.ownership` infers when members owned partitions.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.assignments import IS_CONSUMER
from jobs.engine.keeping import computed
from jobs.engine.pieces import in_pieces
from jobs.lake.group_types import COUNTS_AS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY, PARTITION_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.played import TENURES, played
from jobs.ownership.commits import last_commits
from jobs.ownership.gaps import gaps, rows_of
from jobs.ownership.members import members_of
from jobs.ownership.modern_groups import until_revoked
from jobs.ownership.process_ends import process_ends
from jobs.ownership.rebalances import rebalances
from jobs.ownership.returns import returned
from jobs.ownership.tenures import tenures
from jobs.timeline import CONVERSION_RECORD

CLASSIC = ("timeline", "group_metadata", "generations", "generation_members", "assignments")
# Rows of assignments in memory at once, on the embedded engine.
PARTITIONS_AT_ONCE = 2_000_000
READS = (*CLASSIC, "committed_offsets", "group_records", "topic_ids")


def ownership_gaps(
    timeline: DataFrame,
    group_metadata: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
    last_events: DataFrame,
    earlier: DataFrame | None = None,
    modern_groups: DataFrame | None = None,
) -> DataFrame:
    """Rows of ownership_gaps.

    ``last_events``: see `_last_events`.  ``earlier``: see `_earlier`.  ``modern_groups``: tenures
    in modern groups, see `jobs.modern_history.tenures`.
    """
    classic = generations.where(COUNTS_AS_CLASSIC)
    ended = computed(rebalances(classic, timeline, generation_members))
    members = computed(members_of(timeline, generation_members, ended))
    owners = assignments.where(IS_CONSUMER).select(
        *GENERATION_KEY, *PARTITION_KEY, "member_id", "process"
    )
    committed = computed(last_commits(members, owners, committed_offsets))
    departed = (
        members.where("left_how IS NOT NULL")
        .join(committed, on=[*MEMBER_KEY, "generation"], how="left")
        .join(returned(members, timeline, group_metadata), on=MEMBER_KEY, how="left")
    )
    rejoined = committed.select(*MEMBER_KEY, "generation", "rejoined_ms")
    owning = members.join(process_ends(departed), on=MEMBER_KEY, how="left").join(
        rejoined, on=[*MEMBER_KEY, "generation"], how="left"
    )
    owned = computed(_converted(tenures(owning), timeline))
    others = None if modern_groups is None else until_revoked(modern_groups, ended)
    return rows_of(gaps(owners, owned, earlier, others), last_events)


def _converted(tenures: DataFrame, timeline: DataFrame) -> DataFrame:
    """The tenures of a classic generation end when its group becomes one of another type."""
    converted = timeline.where(F.col("event") == CONVERSION_RECORD).select(
        *INCARNATION_KEY, F.unix_millis("event_time").alias("converted_ms")
    )
    later = (
        tenures.select(*GENERATION_KEY, "from_ms")
        .join(converted, on=INCARNATION_KEY, how="inner")
        .where("converted_ms >= from_ms")
        .groupBy(*GENERATION_KEY)
        .agg(F.min("converted_ms").alias("converted_ms"))
    )
    until_ms = F.least("until_ms", "converted_ms")
    return tenures.join(later, on=GENERATION_KEY, how="left").withColumn("until_ms", until_ms)


def _last_events(scope: RunScope) -> DataFrame:
    """Per group, ``last_date``: the date of its last event, and ``last_ms``: the time of the last
    event of its cluster on this date.
    """
    first = datetime.fromtimestamp(scope.first_ms / 1000, UTC).date()
    times = [
        scope.lake.read(table)
        .where(f"event_date >= DATE'{first}'")  # as text: it prunes partitions
        .select("cluster_id", "event_date", F.unix_millis(time).alias("at_ms"))
        for table, time in (("timeline", "event_time"), ("committed_offsets", "append_time"))
    ]
    dates = (
        times[0]
        .unionByName(times[1])
        .groupBy("cluster_id", "event_date")
        .agg(F.max("at_ms").alias("last_ms"))
    )
    last = scope.read("timeline").groupBy(*GROUP_KEY).agg(F.max("event_date").alias("event_date"))
    return last.join(dates, on=["cluster_id", "event_date"], how="left").withColumnRenamed(
        "event_date", "last_date"
    )


def _earlier(scope: RunScope) -> DataFrame | None:
    """The rows that began before the context generation and end after it; None if histories are
    read in full.
    """
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    generations = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    return (
        scope.read("ownership_gaps")
        .join(F.broadcast(generations), on=INCARNATION_KEY, how="inner")
        .where("from_generation < context_generation")
        .where("generation IS NULL OR generation > context_generation")
        .drop("context_generation")
    )


def run(scope: RunScope) -> None:
    tables = {name: scope.read(name) for name in CLASSIC}
    tables["committed_offsets"] = scope.read_recent("committed_offsets")
    tables["last_events"] = _last_events(scope)
    optional = {"modern_groups": played(scope, TENURES), "earlier": _earlier(scope)}
    tables |= {name: rows for name, rows in optional.items() if rows is not None}
    rows = in_pieces(ownership_gaps, tables, largest="assignments", at_once=PARTITIONS_AT_ONCE)
    scope.replace("ownership_gaps", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("ownership_gaps")
