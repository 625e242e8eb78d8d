"""What the coordinators said of each group, in the order in which they said it.

reads   broker_log_events   one row per line of a coordinator's logger
writes  group_events        one row per line about a group
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.command_line.arguments import main
from jobs.lake.tables import Lake

READS = ("broker_log_events",)

# The state a group is in once the line is out (kafka.coordinator.group.GroupCoordinator and the
# Java GroupMetadataManager print after the transition).
STATE_AFTER = {
    "REBALANCE_START": "PreparingRebalance",
    "JOIN_COMPLETE": "CompletingRebalance",
    "ASSIGNMENT_RECEIVED": "Stable",
    "GROUP_EMPTY": "Empty",
    "GROUP_DEAD": "Dead",
    "ADMIN_DELETE": "Dead",
}
# Room for the events of a group within one millisecond.
_PER_MS = 100_000


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
        _told("cause", "reason").alias("cause"),
        "client_cause",
        "member_count",
        "members",
        F.lit("broker_log").alias("source"),
        "broker_id",
        "file_id",
        "position",
    )


def _per_group(lines: DataFrame) -> DataFrame:
    """Lines that name a group; one that names several (a deletion) once for each."""
    several = lines.where("group_id IS NULL AND groups IS NOT NULL")
    each = several.withColumn("group_id", F.explode("groups"))
    named = lines.where("group_id IS NOT NULL")
    return named.unionByName(each).unionByName(_of_static_members(lines))


def _of_static_members(lines: DataFrame) -> DataFrame:
    """Two lines about static members name no group.

    A fenced request names the instance: it is of the group last heard of with that instance, on
    that date or the one before. That a static join makes no rebalance is said right after the
    join's own line.
    """
    static = lines.where("event LIKE 'STATIC_%' OR instance_id IS NOT NULL")
    order = ["event_date", "event_time", "file_id", "position"]
    of_instance = Window.partitionBy("cluster_id", "instance_id").orderBy(*order)
    in_file = Window.partitionBy("cluster_id", "broker_id", "file_id").orderBy(
        "event_date", "position"
    )
    named = F.when(F.col("group_id").isNotNull(), F.struct("group_id", "event_date"))
    heard = F.last(named, ignorenulls=True)
    by_instance = F.when(F.col("event") == "STATIC_FENCED", heard.over(of_instance))
    by_neighbour = F.when(F.col("event") == "STATIC_NO_REBALANCE", heard.over(in_file))
    found = static.withColumn("found", F.coalesce(by_instance, by_neighbour))
    nameless = found.where("group_id IS NULL AND datediff(event_date, found.event_date) <= 1")
    return nameless.withColumn("group_id", F.col("found.group_id")).drop("found")


def _once(lines: DataFrame) -> DataFrame:
    """A stretch of log that came by two different files counts once.

    The n-th occurrence of a text within one millisecond of one file is the n-th of the other.
    """
    same_text = Window.partitionBy("cluster_id", "file_id", "group_id", "event_time", "line")
    occurrence = F.row_number().over(same_text.orderBy("position"))
    key = ["cluster_id", "group_id", "event_time", "line", "occurrence"]
    first_file = Window.partitionBy(*key).orderBy("broker_id", "file_id", "position")
    counted = lines.withColumn("occurrence", occurrence)
    return counted.withColumn("copy", F.row_number().over(first_file)).where("copy = 1")


def _ordered(lines: DataFrame) -> DataFrame:
    """Order within a file and date is by position: a clock set back must not reorder a group's
    history. One set back over midnight leaves each date in its place.
    """
    so_far = (
        Window.partitionBy("cluster_id", "group_id", "event_date", "broker_id", "file_id")
        .orderBy("position")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    timed = lines.withColumn("order_ms", F.max(F.unix_millis("event_time")).over(so_far))
    within_ms = Window.partitionBy("cluster_id", "group_id", "order_ms")
    rank = F.row_number().over(within_ms.orderBy("broker_id", "file_id", "position"))
    return timed.withColumn("event_seq", F.col("order_ms") * _PER_MS + rank)


def _told(cause: str, reason: str) -> Column:
    """Before Kafka 2.1 the line has no reason, and so no cause; unknown words are UNKNOWN."""
    unknown = F.when(F.col(reason).isNotNull(), "UNKNOWN")
    return F.when(F.col(cause) == "unknown", unknown).otherwise(F.col(cause))


def _state_after(event: Column) -> Column:
    pairs = [F.lit(word) for pair in STATE_AFTER.items() for word in pair]
    return F.create_map(*pairs)[event]


def run(lake: Lake) -> None:
    # A line of the day after may name an instance that only these dates know.
    around = lake.read_days("broker_log_events", before=1, after=1)
    lake.replace_days("group_events", group_events(around), after=1)


if __name__ == "__main__":
    main(__doc__, run)
