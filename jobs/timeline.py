"""One order for all that is known of a group: its log events and its records, life by life.

reads   group_events    what the coordinator said
        group_metadata  what it stored
writes  timeline        one row per event, with the incarnation and the generation it falls in
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.command_line.arguments import main
from jobs.lake.tables import Lake, schema_of

READS = ("group_events", "group_metadata")

GROUP = ["cluster_id", "group_id"]
LIFE = [*GROUP, "incarnation"]
GENERATION = [*LIFE, "generation"]

# Events that list members whom the coordinator put out for not rejoining or not syncing in time.
PUTS_OUT = (
    "event = 'DROPPED_NOT_REJOINED' OR (event = 'REBALANCE_START' AND cause = 'SYNC_TIMEOUT')"
)

DEATHS = ["GROUP_DEAD", "ADMIN_DELETE", "TOMBSTONE"]
BIRTHS = ["MEMBER_JOIN", "STATIC_NEW"]  # what a new life may begin with, before any generation
SAYS_GENERATION = ["REBALANCE_START", "JOIN_COMPLETE", "ASSIGNMENT_RECEIVED", "GROUP_EMPTY"]
RECORDS = ["RECORD", "RECORD_EMPTY"]

# A record carries the time at which its append began, a log line the time at which it was written:
# a generation less within this time is one event overtaking another, not a new life.
OVERTAKING_MS = 100
# kafka.coordinator.group.GroupCoordinator (3.0-4.0) logs a departure after what it led to; all of
# it happens in one call.
SAME_CALL_MS = 10
# What was said of a departure is of the same moment as what it led to.
SAME_MOMENT_MS = 60_000
# As in event_seq: room for the events of one millisecond.  Records come after the lines of theirs.
PER_MS = 100_000
_RECORDS_FROM = 50_000


def timeline(
    group_events: DataFrame, group_metadata: DataFrame, start: DataFrame | None = None
) -> DataFrame:
    """``start``: where the history of a group is taken up, as `Lake.start` gives it."""
    events = _of_events(group_events).unionByName(_of_records(group_metadata))
    return _forming(_current(_incarnations(_from_start(events, start))))


def _from_start(events: DataFrame, start: DataFrame | None) -> DataFrame:
    """Events from the group's start on, and ``first_incarnation``, the life that one is in."""
    if start is None:
        return events.withColumn("first_incarnation", F.lit(1))
    placed = events.join(F.broadcast(start), on=GROUP, how="left")
    since = F.coalesce(F.col("seq") >= F.col("context_seq"), F.lit(True))
    first = F.coalesce("context_incarnation", F.lit(1))
    return (
        placed.where(since)
        .withColumn("first_incarnation", first)
        .select(*events.columns, "first_incarnation")
    )


def _of_events(group_events: DataFrame) -> DataFrame:
    event_generation = F.when(F.col("event").isin(*SAYS_GENERATION), F.col("generation"))
    return _with_all_columns(
        group_events.withColumnRenamed("event_seq", "seq")
        .withColumn("event_generation", event_generation)
        .drop("generation", "state")
    )


def _of_records(group_metadata: DataFrame) -> DataFrame:
    """Generation 0 is a group's birth certificate (Kafka 4.1): an event, no generation."""
    empty = F.size("members") == 0
    event = F.when(F.col("tombstone"), "TOMBSTONE").when(empty, "RECORD_EMPTY").otherwise("RECORD")
    in_time = Window.partitionBy(*GROUP, "order_ms").orderBy("topic_partition", "log_offset")
    log = [*GROUP, "topic_partition"]
    # Time never runs backwards along a log, within a date: what is of another is in its place.
    in_date, so_far = (
        Window.partitionBy(*place)
        .orderBy("log_offset")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
        for place in ([*log, "event_date"], log)
    )
    timed_ms = F.when(
        F.col("append_time").isNotNull(), F.max(F.unix_millis("append_time")).over(in_date)
    )
    # A record without a time stands beside its neighbour.
    neighbour_ms = F.last("timed_ms", ignorenulls=True).over(so_far)
    # Of members the ids alone, from the start: sorting them as they are sorts most of the table.
    timed = group_metadata.withColumns(
        {"members": F.col("members.member_id"), "timed_ms": timed_ms}
    )
    return _with_all_columns(
        timed.withColumn("order_ms", F.coalesce(neighbour_ms, F.lit(0))).select(
            *GROUP,
            "event_date",
            (F.col("order_ms") * PER_MS + _RECORDS_FROM + F.row_number().over(in_time)).alias(
                "seq"
            ),
            F.col("append_time").alias("event_time"),
            event.alias("event"),
            F.when(F.col("generation") > 0, F.col("generation")).alias("event_generation"),
            F.col("leader").alias("member_id"),
            F.size("members").alias("member_count"),
            "members",
            "topic_partition",
            "log_offset",
            "protocol",
            "protocol_type",
            "state_timestamp_ms",
        )
    )


def _with_all_columns(events: DataFrame) -> DataFrame:
    """Both halves of the union have the same columns: null where one has nothing to say."""
    computed = {"incarnation", "current_generation", "forming_generation"}
    wanted = [field for field in _schema() if field.name not in computed]
    return events.select(
        *(
            F.col(f.name)
            if f.name in events.columns
            else F.lit(None).cast(f.dataType).alias(f.name)
            for f in wanted
        )
    )


def _incarnations(events: DataFrame) -> DataFrame:
    """A life ends with a death, or unseen: then the next one shows by its lower generation."""
    history = Window.partitionBy(*GROUP).orderBy("seq")
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    dead = F.col("event").isin(*DEATHS)
    alive = F.col("event").isin(*BIRTHS, *SAYS_GENERATION, *RECORDS)
    last_was_death = F.last(F.when(dead, True).when(alive, False), ignorenulls=True).over(before)
    reborn = alive & F.coalesce(last_was_death, F.lit(False))
    lives = events.withColumn("reborn", reborn).withColumn("life", _count("reborn", history))

    in_life = Window.partitionBy(*GROUP, "life").orderBy("seq")
    in_life_before = in_life.rowsBetween(Window.unboundedPreceding, -1)
    says = F.struct(
        F.col("event_generation").alias("event_generation"), F.col("event_time").alias("time")
    )
    last = F.last(F.when(F.col("event_generation").isNotNull(), says), ignorenulls=True).over(
        in_life_before
    )
    lower = F.col("event_generation") < F.col("last.event_generation")
    overtaken = (F.col("event_generation") == F.col("last.event_generation") - 1) & (
        F.unix_millis("event_time") - F.unix_millis("last.time") <= OVERTAKING_MS
    )
    unseen = F.coalesce(lower & ~F.coalesce(overtaken, F.lit(False)), F.lit(False))
    told = lives.withColumn("last", last).withColumn("starts", F.col("reborn") | unseen)
    number = (_count("starts", history) + F.col("first_incarnation")).cast("int")
    return told.withColumn("incarnation", number).drop(
        "reborn", "life", "last", "starts", "first_incarnation"
    )


def _count(flag: str, order: Window) -> Column:
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return F.sum(F.col(flag).cast("int")).over(so_far)


def _current(events: DataFrame) -> DataFrame:
    """The generation by the last event that says one; before the first such event, by that one."""
    life = Window.partitionBy(*LIFE)
    so_far = F.last("event_generation", ignorenulls=True).over(life.orderBy("seq"))
    # Backwards: of a frame that ends with the last row, Spark reads all of it for every row.
    ahead = life.orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # What comes first is a start (which names the old generation) or a generation already joined.
    joined_ahead = F.when(F.col("event") == "REBALANCE_START", F.col("event_generation")).otherwise(
        F.col("event_generation") - 1
    )
    first_ahead = F.last(joined_ahead, ignorenulls=True).over(ahead)
    return events.withColumn("current_generation", F.coalesce(so_far, first_ahead))


def _forming(events: DataFrame) -> DataFrame:
    """The next generation, unless the line only reports what has already led to the current one."""
    life = Window.partitionBy(*LIFE)
    before, after = (
        life.orderBy(order).rowsBetween(Window.unboundedPreceding, -1)
        for order in (F.asc("seq"), F.desc("seq"))
    )
    milestone = F.when(
        F.col("event_generation").isNotNull() & ~F.col("event").isin(*RECORDS),
        F.struct("event", "event_time", "member_id", "members", "event_generation"),
    )
    told = events.withColumn("last", F.last(milestone, ignorenulls=True).over(before)).withColumn(
        "next", F.last(milestone, ignorenulls=True).over(after)
    )
    now = F.unix_millis("event_time")
    just_joined = (F.col("last.event") == "JOIN_COMPLETE") & (
        now - F.unix_millis("last.event_time") <= SAME_CALL_MS
    )
    begins_the_next = (
        (F.col("next.event") == "REBALANCE_START")
        & (F.unix_millis("next.event_time") - now <= SAME_MOMENT_MS)
        & (
            (F.col("next.member_id") == F.col("member_id"))
            | F.array_contains("next.members", F.col("member_id"))
        )
    )
    still_empty = (F.col("last.event") == "GROUP_EMPTY") & (
        F.col("last.event_generation") == F.col("current_generation")
    )
    reports = (F.col("event") == "LEFT") & (
        still_empty | (just_joined & ~F.coalesce(begins_the_next, F.lit(False)))
    )
    forming = F.when(F.coalesce(reports, F.lit(False)), F.col("current_generation")).otherwise(
        F.col("current_generation") + 1
    )
    return told.withColumn("forming_generation", forming).drop("last", "next")


def _schema() -> StructType:
    return schema_of("timeline")


def run(lake: Lake) -> None:
    lake.replace("timeline", timeline(*map(lake.read, READS), lake.start()))


if __name__ == "__main__":
    main(__doc__, run)
