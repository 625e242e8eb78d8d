"""All events of each group in one order, from its log lines and its records, by incarnation.

reads   group_events    what the coordinator logged
        group_metadata  what the coordinator stored of classic groups
        group_records   what it stored of consumer, share and streams groups
writes  timeline        one row per event, with its incarnation and the generation it belongs to
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.group_events import SEQ_PER_MS
from jobs.lake.epoch_rows import new_records
from jobs.lake.keys import GROUP_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of

READS = ("group_events", "group_metadata", "group_records")

# Events that end an incarnation.
DELETIONS = ["GROUP_DEAD", "ADMIN_DELETE", "TOMBSTONE"]
# Events that may open an incarnation before its first generation.
FIRST_JOINS = ["MEMBER_JOIN", "STATIC_NEW"]
# Log lines that contain a generation.
GENERATION_LINES = ["REBALANCE_START", "JOIN_COMPLETE", "ASSIGNMENT_RECEIVED", "GROUP_EMPTY"]
RECORDS = ["RECORD", "RECORD_EMPTY"]
COORDINATOR_CHANGES = ["LOADED", "UNLOADED"]
# Records of modern groups about a target assignment, the group epoch, a member, or something else.
TARGET_RECORD, EPOCH_RECORD, MEMBER_RECORD = "TARGET_RECORD", "EPOCH_RECORD", "MEMBER_RECORD"
OTHER_RECORD, DELETED_RECORD = "OTHER_RECORD", "DELETED_RECORD"
# Event for the tombstone of a group that continues under another protocol.
CONVERSION_RECORD = "CONVERSION_RECORD"
NEW_RECORDS = [TARGET_RECORD, EPOCH_RECORD, MEMBER_RECORD, OTHER_RECORD]
# Events that list members removed for not rejoining or not syncing in time.
IS_REMOVAL = (
    "event = 'DROPPED_NOT_REJOINED' OR (event = 'REBALANCE_START' AND cause = 'SYNC_TIMEOUT')"
)

# Neither a pending member nor a static member that closes temporarily counts as leaving.
IS_LEAVE = "event = 'LEFT' AND (step IS NULL OR step NOT IN ('pending', 'temporarily'))"
# The event FENCED means that a consumer, share or streams group removes a member because its
# session or another timer expired.
IS_EXPIRY = "event = 'HEARTBEAT_EXPIRED' OR (event = 'FENCED' AND reason LIKE '%session expired%')"
IS_FENCED = "event = 'FENCED' AND COALESCE(reason, '') NOT LIKE '%session expired%'"

# A record has the time at which its append began; a log line has the time at which it was written.
# A generation number that falls by one within this time is out of order, not a new incarnation.
REORDERED_MS = 100
# kafka.coordinator.group.GroupCoordinator (3.0-4.0) logs a departure after its consequences, in the
# same call.
SAME_CALL_MS = 10
# A departure and the rebalance that it triggers are logged within this time of each other.
TRIGGER_MS = 60_000
# The records of a millisecond come after its log lines.
_FIRST_RECORD_SEQ = SEQ_PER_MS // 2


def timeline(
    group_events: DataFrame,
    group_metadata: DataFrame,
    group_records: DataFrame | None = None,
    context: DataFrame | None = None,
) -> DataFrame:
    """``context`` says where each group's history begins, see `RunScope.context_positions`;
    ``group_records`` is None without modern groups.
    """
    records = _classic_records(group_metadata)
    if group_records is not None:
        records = _with_conversions(records.unionByName(_new_records(group_records)))
    events = _log_events(group_events).unionByName(_record_events(records.drop("number")))
    incarnations = _with_current_generation(_with_incarnation(_since_context(events, context)))
    if group_records is not None:
        incarnations = _with_next_target(incarnations)
    return _with_forming_generation(incarnations)


def _since_context(events: DataFrame, context: DataFrame | None) -> DataFrame:
    """The events from the group's context on; ``first_incarnation`` is the incarnation of the first
    event.
    """
    if context is None:
        return events.withColumn("first_incarnation", F.lit(1))
    since = F.coalesce(F.col("seq") >= F.col("context_seq"), F.lit(True))
    first_incarnation = F.coalesce("context_incarnation", F.lit(1))
    return (
        events.join(F.broadcast(context), on=GROUP_KEY, how="left")
        .where(since)
        .withColumn("first_incarnation", first_incarnation)
        .select(*events.columns, "first_incarnation")
    )


def _log_events(group_events: DataFrame) -> DataFrame:
    event_generation = F.when(F.col("event").isin(*GENERATION_LINES), F.col("generation"))
    return _with_all_columns(
        group_events.withColumnRenamed("event_seq", "seq")
        .withColumn("event_generation", event_generation)
        .drop("generation", "state")
    )


def _classic_records(group_metadata: DataFrame) -> DataFrame:
    """Generation 0 is the record that creates a group (Kafka 4.1), not a generation.

    ``number`` is the generation; only ids of members: with all fields, Spark would sort most of the
    table's bytes.
    """
    event = (
        F.when(F.col("tombstone"), "TOMBSTONE")
        .when(F.size("members") == 0, "RECORD_EMPTY")
        .otherwise("RECORD")
    )
    generation = F.when(F.col("generation") > 0, F.col("generation"))
    return group_metadata.select(
        *RECORD_KEY,
        "event_date",
        "append_time",
        event.alias("event"),
        generation.alias("event_generation"),
        F.col("leader").alias("member_id"),
        F.size("members").alias("member_count"),
        F.col("members.member_id").alias("members"),
        "protocol",
        "protocol_type",
        "state_timestamp_ms",
        generation.alias("number"),
    )


def _new_records(group_records: DataFrame) -> DataFrame:
    """``number`` is the group epoch."""

    is_epoch = F.col("record").endswith("GroupMetadata")
    is_target = F.col("record").endswith("GroupTargetAssignmentMetadata") & ~F.col("tombstone")
    is_member = F.col("record").endswith("GroupMemberMetadata")
    event = (
        F.when(F.col("tombstone"), F.when(is_epoch, "TOMBSTONE").otherwise(DELETED_RECORD))
        .when(is_target, TARGET_RECORD)
        .when(is_epoch, EPOCH_RECORD)
        .when(is_member, MEMBER_RECORD)
        .otherwise(OTHER_RECORD)
    )
    absent = F.lit(None)
    return group_records.select(
        *RECORD_KEY,
        "event_date",
        "append_time",
        event.alias("event"),
        F.when(is_target & (F.col("epoch") > 0), F.col("epoch")).alias("event_generation"),
        "member_id",
        absent.cast("int").alias("member_count"),
        absent.cast("array<string>").alias("members"),
        absent.cast("string").alias("protocol"),
        F.col("group_type").alias("protocol_type"),
        absent.cast("bigint").alias("state_timestamp_ms"),
        F.when(is_epoch, F.col("epoch")).alias("number"),
    )


def _with_conversions(records: DataFrame) -> DataFrame:
    """A group that changes its type has a tombstone and its new records in one batch.  The group
    continues if its epoch is not below its last generation.  The first generation of a new classic
    group opens the next incarnation by its number.
    """
    log = Window.partitionBy(*GROUP_KEY, "topic_partition")
    before = log.orderBy("log_offset").rowsBetween(Window.unboundedPreceding, -1)
    after = log.orderBy(F.desc("log_offset")).rowsBetween(Window.unboundedPreceding, -1)
    in_order = log.orderBy("log_offset")
    is_same_batch = F.lead("append_time").over(in_order).eqNullSafe(F.col("append_time"))
    next_event = F.lead("event").over(in_order)
    next_number = F.last("number", ignorenulls=True).over(after)
    is_not_lower = next_number >= F.last("number", ignorenulls=True).over(before)
    goes_on = is_same_batch & (
        next_event.isin(*RECORDS) | (next_event.isin(*NEW_RECORDS) & is_not_lower)
    )
    is_conversion = (F.col("event") == "TOMBSTONE") & F.coalesce(goes_on, F.lit(False))
    return (
        records.withColumn("is_conversion", is_conversion)
        .withColumn(
            "event", F.when(F.col("is_conversion"), CONVERSION_RECORD).otherwise(F.col("event"))
        )
        .drop("is_conversion")
    )


def _record_events(records: DataFrame) -> DataFrame:
    in_time = Window.partitionBy(*GROUP_KEY, "order_ms").orderBy("topic_partition", "log_offset")
    log = [*GROUP_KEY, "topic_partition"]
    # Times never decrease within the part of a log that belongs to a date; the dates keep their
    # order.
    in_date, so_far = (
        Window.partitionBy(*partition)
        .orderBy("log_offset")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
        for partition in ([*log, "event_date"], log)
    )
    timed_ms = F.when(
        F.col("append_time").isNotNull(), F.max(F.unix_millis("append_time")).over(in_date)
    )
    # A record without a time follows the previous record of its log.
    order_ms = F.last("timed_ms", ignorenulls=True).over(so_far)
    seq = F.col("order_ms") * SEQ_PER_MS + _FIRST_RECORD_SEQ + F.row_number().over(in_time)
    return _with_all_columns(
        records.withColumn("timed_ms", timed_ms)
        .withColumn("order_ms", F.coalesce(order_ms, F.lit(0)))
        .withColumn("seq", seq)
        .withColumnRenamed("append_time", "event_time")
    )


def _with_all_columns(events: DataFrame) -> DataFrame:
    """The columns of the table except the computed columns; null if ``events`` lacks a column."""
    computed = {"incarnation", "current_generation", "forming_generation"}
    return events.select(
        *(
            F.col(field.name)
            if field.name in events.columns
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in schema_of("timeline")
            if field.name not in computed
        )
    )


def _with_incarnation(events: DataFrame) -> DataFrame:
    """An incarnation ends with a deletion.  If the deletion is missing from log and records, a
    lower generation number begins the next incarnation, unless a new coordinator loaded the group:
    a new coordinator reuses the numbers after the last record.
    """
    history = Window.partitionBy(*GROUP_KEY).orderBy("seq")
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    # For a group without records, only a line shows that an empty group changed its type.
    group = Window.partitionBy(*GROUP_KEY)
    events = events.withColumn("any_offset", F.max("log_offset").over(group))
    is_new_type = F.expr("event = 'CONVERT' AND step LIKE 'empty%' AND any_offset IS NULL")
    deletes = F.col("event").isin(*DELETIONS) | F.coalesce(is_new_type, F.lit(False))
    exists = F.col("event").isin(*FIRST_JOINS, *GENERATION_LINES, *RECORDS, *NEW_RECORDS)
    was_deleted = F.last(F.when(deletes, True).when(exists, False), ignorenulls=True).over(before)
    recreated = exists & F.coalesce(was_deleted, F.lit(False))
    numbered = events.withColumn("recreated", recreated).withColumn(
        "recreations", _count("recreated", history)
    )

    since_recreated = (
        Window.partitionBy(*GROUP_KEY, "recreations")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    is_change = F.col("event").isin(*COORDINATOR_CHANGES).cast("int")
    numbered = numbered.withColumn(
        "moves", F.coalesce(F.sum(is_change).over(since_recreated), F.lit(0))
    )
    named = F.when(
        F.col("event_generation").isNotNull(),
        F.struct(
            F.col("event_generation").alias("generation"),
            F.col("event_time").alias("time"),
            "moves",
        ),
    )
    previous = F.last(named, ignorenulls=True).over(since_recreated)
    recorded = F.when(F.col("event").isin(*RECORDS), F.col("event_generation"))
    last_recorded = F.last(recorded, ignorenulls=True).over(since_recreated)
    is_lower = F.col("event_generation") < F.col("previous.generation")
    is_reordered = (F.col("event_generation") == F.col("previous.generation") - 1) & (
        F.unix_millis("event_time") - F.unix_millis("previous.time") <= REORDERED_MS
    )
    has_moved = F.col("moves") > F.col("previous.moves")
    is_known = F.col("event_generation") >= F.greatest(F.col("last_recorded"), F.lit(1))
    resumes = F.coalesce(is_lower & has_moved & is_known, F.lit(False))
    unlogged = F.coalesce(is_lower & ~F.coalesce(is_reordered, F.lit(False)), F.lit(False))
    opened = (
        numbered.withColumn("previous", previous)
        .withColumn("last_recorded", last_recorded)
        .withColumn("resumed", F.when(resumes, F.col("event_generation")))
        .withColumn("opens", F.col("recreated") | (unlogged & F.col("resumed").isNull()))
    )
    incarnation = (_count("opens", history) + F.col("first_incarnation")).cast("int")
    return _with_forgotten(opened.withColumn("incarnation", incarnation)).drop(
        "any_offset", "recreated", "recreations", "previous", "opens", "first_incarnation",
        "moves", "last_recorded", "resumed",
    )  # fmt: skip


def _with_forgotten(events: DataFrame) -> DataFrame:
    """The events except generations that a coordinator did not record before the next coordinator
    loaded the group: their rebalances started the generation that the next coordinator made.
    """
    after = (
        Window.partitionBy(*INCARNATION_KEY)
        .orderBy(F.desc("seq"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    resumed = F.min("resumed").over(after)
    start = F.when(F.col("event") == "REBALANCE_START", resumed)
    return events.withColumn(
        "event_generation",
        F.when(F.col("event_generation") > resumed, start).otherwise(F.col("event_generation")),
    )


def _count(flag: str, order: WindowSpec) -> Column:
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return F.sum(F.col(flag).cast("int")).over(so_far)


def _with_current_generation(events: DataFrame) -> DataFrame:
    """The generation of the last event that names one; for events before the first such event, the
    generation that this event names.
    """
    incarnation = Window.partitionBy(*INCARNATION_KEY)
    so_far = F.last("event_generation", ignorenulls=True).over(incarnation.orderBy("seq"))
    # Descending: Spark reads a frame that ends with the last row in full for every row.
    ahead = incarnation.orderBy(F.desc("seq")).rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    # The start of a rebalance names the old generation; all other events name a generation that is
    # already joined.
    before_next = F.when(
        F.col("event") == "REBALANCE_START", F.col("event_generation")
    ).otherwise(F.col("event_generation") - 1)  # fmt: skip
    first_ahead = F.last(before_next, ignorenulls=True).over(ahead)
    return events.withColumn("current_generation", F.coalesce(so_far, first_ahead))


def _with_next_target(events: DataFrame) -> DataFrame:
    """``next_target`` is the generation that a group of a new type forms; null in classic groups.

    Several epochs may share one target, so that generations skip numbers.
    """
    incarnation = Window.partitionBy(*INCARNATION_KEY)
    before = incarnation.orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    after = incarnation.orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, -1)
    is_new = F.when(F.col("event").isin(*NEW_RECORDS, DELETED_RECORD), True).when(
        F.col("event").isin(*RECORDS, *GENERATION_LINES), False
    )
    is_new_group = F.coalesce(
        F.last(is_new, ignorenulls=True).over(before), F.last(is_new, ignorenulls=True).over(after)
    )
    next_named = F.last("event_generation", ignorenulls=True).over(after)
    named = events.withColumn("is_new_type", is_new_group).withColumn("next_named", next_named)
    return named.withColumn("next_target", F.when(F.col("is_new_type"), F.col("next_named"))).drop(
        "is_new_type", "next_named"
    )


def _with_forming_generation(events: DataFrame) -> DataFrame:
    """The generation after the current one, except for a LEFT line that reports a departure which
    has already led to the current generation.
    """
    incarnation = Window.partitionBy(*INCARNATION_KEY)
    before, after = (
        incarnation.orderBy(order).rowsBetween(Window.unboundedPreceding, -1)
        for order in (F.asc("seq"), F.desc("seq"))
    )
    milestone = F.when(
        F.col("event_generation").isNotNull() & ~F.col("event").isin(*RECORDS),
        F.struct("event", "event_time", "member_id", "members", "event_generation"),
    )
    neighbors = events.withColumn(
        "previous", F.last(milestone, ignorenulls=True).over(before)
    ).withColumn("next", F.last(milestone, ignorenulls=True).over(after))  # fmt: skip
    now_ms = F.unix_millis("event_time")
    just_joined = (F.col("previous.event") == "JOIN_COMPLETE") & (
        now_ms - F.unix_millis("previous.event_time") <= SAME_CALL_MS
    )
    triggers_next = (
        (F.col("next.event") == "REBALANCE_START")
        & (F.unix_millis("next.event_time") - now_ms <= TRIGGER_MS)
        & (
            (F.col("next.member_id") == F.col("member_id"))
            | F.array_contains("next.members", F.col("member_id"))
        )
    )
    is_empty = (F.col("previous.event") == "GROUP_EMPTY") & (
        F.col("previous.event_generation") == F.col("current_generation")
    )
    is_report = (F.col("event") == "LEFT") & (
        is_empty | (just_joined & ~F.coalesce(triggers_next, F.lit(False)))
    )
    forming_generation = F.when(
        F.coalesce(is_report, F.lit(False)), F.col("current_generation")
    ).otherwise(_next_generation(events.columns))  # fmt: skip
    return neighbors.withColumn("forming_generation", forming_generation).drop(
        "previous", "next", "next_target"
    )


def _next_generation(columns: list[str]) -> Column:
    following = F.col("current_generation") + 1
    return F.coalesce("next_target", following) if "next_target" in columns else following


def run(scope: RunScope) -> None:
    events, classic = map(scope.read, READS[:2])
    records = new_records(scope)
    scope.replace("timeline", timeline(events, classic, records, scope.context_positions()))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("timeline")
