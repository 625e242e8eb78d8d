"""The events that coordinators logged about each group, in the order of their lines.

reads   broker_log_events   one row per line of a coordinator's logger
writes  group_events        one row per line and group that it is about
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.lake.scope import RunScope

READS = ("broker_log_events",)

# The group's state after the event: kafka.coordinator.group.GroupCoordinator and the Java
# GroupMetadataManager log after the transition.
STATE_AFTER = {
    "REBALANCE_START": "PreparingRebalance",
    "JOIN_COMPLETE": "CompletingRebalance",
    "ASSIGNMENT_RECEIVED": "Stable",
    "GROUP_EMPTY": "Empty",
    "GROUP_DEAD": "Dead",
    "ADMIN_DELETE": "Dead",
}
# Lines that name a group epoch, and lines of which some are about modern groups.
EPOCH_LINES = ["EPOCH_BUMP", "TARGET"]
MODERN_LINES = [*EPOCH_LINES, "MEMBER_JOIN", "STATIC_REPLACED", "LEFT", "FENCED", "CONVERT"]
# event_seq is the time in ms times this number, plus a number below this number: the maximum events
# of a group within one millisecond.
SEQ_PER_MS = 100_000


def group_events(broker_log_events: DataFrame) -> DataFrame:
    events = _ordered(_once(_per_group(broker_log_events)))
    return events.select(
        "cluster_id",
        "group_id",
        "event_seq",
        "event_date",
        "event_time",
        "event",
        F.coalesce(_state_after(F.col("event")), "state").alias("state"),
        "generation",
        "member_id",
        "instance_id",
        "old_member_id",
        "step",
        "client_id",
        "client_host",
        "reason",
        "client_reason",
        _cause().alias("cause"),
        "client_cause",
        "member_count",
        _server_assignor().alias("protocol"),
        _epoch().alias("epoch"),
        _group_type().alias("group_type"),
        "topic_partition",
        "members",
        F.lit("broker_log").alias("source"),
        "broker_id",
        "file_id",
        "position",
    )


def _per_group(lines: DataFrame) -> DataFrame:
    """Lines about a group; one row per group for a line that names several (a deletion)."""
    lists = lines.where("group_id IS NULL AND groups IS NOT NULL")
    each = lists.withColumn("group_id", F.explode("groups"))
    named = lines.where("group_id IS NOT NULL")
    return named.unionByName(each).unionByName(_about_static_members(lines))


def _about_static_members(lines: DataFrame) -> DataFrame:
    """The lines about static members that name no group, with the group they are about.

    STATIC_FENCED, and STATIC_REPLACED of Kafka 2.3 and 2.4, name only the instance.  Their group is
    the group of the last line with this instance, on the same date or the previous date.
    STATIC_NO_REBALANCE follows the line of the join that it is about.
    """
    static = lines.where("event LIKE 'STATIC_%' OR instance_id IS NOT NULL")
    order = ["event_date", "event_time", "file_id", "position"]
    of_instance = Window.partitionBy("cluster_id", "instance_id").orderBy(*order)
    in_file = Window.partitionBy("cluster_id", "broker_id", "file_id").orderBy(
        "event_date", "position"
    )
    named = F.when(F.col("group_id").isNotNull(), F.struct("group_id", "event_date"))
    names_instance = F.col("event").isin("STATIC_FENCED", "STATIC_REPLACED")
    of_last_line = F.last(named, ignorenulls=True).over(of_instance)
    by_itself = static.withColumn("own", F.coalesce(named, F.when(names_instance, of_last_line)))
    of_neighbor = F.last("own", ignorenulls=True).over(in_file)
    by_neighbor = F.when(F.col("event") == "STATIC_NO_REBALANCE", of_neighbor)
    traced = by_itself.withColumn("origin", F.coalesce("own", by_neighbor))
    # The embedded engine reads fields of a null struct that `when` made, so check the struct for
    # null.
    recent = "origin IS NOT NULL AND datediff(event_date, origin.event_date) <= 1"
    unnamed = traced.where(f"group_id IS NULL AND {recent}")
    return unnamed.withColumn("group_id", F.col("origin.group_id")).drop("own", "origin")


def _once(lines: DataFrame) -> DataFrame:
    """Each line once, even if two different files contain the same part of a log.

    The n-th occurrence of a text within a millisecond of one file equals the n-th occurrence in the
    other file.
    """
    same_text = Window.partitionBy("cluster_id", "file_id", "group_id", "event_time", "line")
    occurrence = F.row_number().over(same_text.orderBy("position"))
    key = ["cluster_id", "group_id", "event_time", "line", "occurrence"]
    first_file = Window.partitionBy(*key).orderBy("broker_id", "file_id", "position")
    counted = lines.withColumn("occurrence", occurrence)
    return counted.withColumn("copy", F.row_number().over(first_file)).where("copy = 1")


def _ordered(lines: DataFrame) -> DataFrame:
    """The lines with event_seq, by position within a file and date, so that a clock that is set
    back does not reorder a group's history.  Dates stay in order if it is set back past midnight.
    """
    so_far = (
        Window.partitionBy("cluster_id", "group_id", "event_date", "broker_id", "file_id")
        .orderBy("position")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    timed = lines.withColumn("order_ms", F.max(F.unix_millis("event_time")).over(so_far))
    within_ms = Window.partitionBy("cluster_id", "group_id", "order_ms")
    rank = F.row_number().over(within_ms.orderBy("broker_id", "file_id", "position"))
    return timed.withColumn("event_seq", F.col("order_ms") * SEQ_PER_MS + rank)


def _cause() -> Column:
    """The cause class; null without a reason (before Kafka 2.1), UNKNOWN for an unknown reason."""
    unknown = F.when(F.col("reason").isNotNull(), "UNKNOWN")
    return F.when(F.col("cause") == "unknown", unknown).otherwise(F.col("cause"))


def _server_assignor() -> Column:
    """Of a target; Kafka 4.4 logs the assignor of a share group as an object, without its name."""
    name = F.regexp_extract("line", r"with '([^'@]+)' assignor", 1)
    return F.when((F.col("event") == "TARGET") & (name != ""), name)


def _epoch() -> Column:
    number = F.regexp_extract("line", r"(?:group epoch to|assignment for epoch) (\d+)", 1)
    return F.when(F.col("event").isin(*EPOCH_LINES) & (number != ""), number.cast("int"))


def _group_type() -> Column:
    """The group type by the words of a line about a modern group; for a target by its assignor.

    Share groups have an assignor of their own, and lines of streams groups name a member.
    """
    named = F.regexp_extract("line", r"\b(?:the|Bumped|to a) (consumer|share|streams) group\b", 1)
    to_classic = F.col("line").rlike(r"\bto a classic group\b")
    is_streams = F.col("line").rlike(r"\]\[MemberId |\bStreams member ")
    target = F.regexp_extract("line", r"with '(?:[\w.]+\.)?(uniform|range|Simple|simple)", 1)
    of_target = F.when(target.isin("uniform", "range"), "consumer").when(target != "", "share")
    return F.when(
        F.col("event").isin(*MODERN_LINES),
        F.when((F.col("event") == "CONVERT") & to_classic, "classic")
        .when(named != "", named)
        .when(is_streams, "streams")
        .when(F.col("event") == "TARGET", of_target),
    )


def _state_after(event: Column) -> Column:
    pairs = [F.lit(word) for pair in STATE_AFTER.items() for word in pair]
    return F.create_map(*pairs)[event]


def run(scope: RunScope) -> None:
    # A line of the next day may be about an instance whose group only these dates show.
    around = scope.read_days("broker_log_events", before=1, after=1)
    scope.replace_days("group_events", group_events(around), after=1)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("group_events")
