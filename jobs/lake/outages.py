"""Times in which a cluster's groups had no coordinator, and clients that lost their session then.

A broker that is killed stops to append to its partitions of `__consumer_offsets`; another broker
loads them seconds later.  A client whose heartbeats are not answered for session.timeout.ms gives
up its assignment.  It joins again as soon as it finds a coordinator, although its process never
stopped.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.protocol.client_times import HEARTBEAT_MS
from jobs.engine.keeping import computed
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope

# A move without an outage takes less time than this from the last record to the load.
LEAST_MS = 2 * HEARTBEAT_MS
# If a partition has no records for longer than this before it is loaded, the evidence does not show
# when the outage began.
LONGEST_MS = 120_000
# The partitions of a failed broker are loaded within this time of each other.
_TOGETHER_MS = 5_000
# Metadata and reconnects delay a join by up to this time.
_RECONNECT_MS = 3_500
_PARTITION = ["cluster_id", "topic_partition"]


def outages_of(scope: RunScope) -> DataFrame:
    """See `outages`; of the scope's dates."""

    def make() -> DataFrame:
        first = datetime.fromtimestamp(scope.first_ms / 1000, UTC).date()
        tables = (
            scope.lake.read(name).where(f"event_date >= DATE'{first}'")
            for name in ("timeline", "committed_offsets")
        )
        return computed(outages(*tables))

    return scope.shared("outages", make)


def outages(timeline: DataFrame, committed_offsets: DataFrame) -> DataFrame:
    """GROUP_KEY, ``since_ms``: the last record of the partitions that another broker then loaded,
    ``until_ms``: their last load.  An outage affects all groups of the cluster: a partition whose
    leader still runs cannot take records either while a replica of it has failed and is not yet out
    of sync.
    """
    groups = timeline.select(*GROUP_KEY).distinct()
    return _waves(_silences(timeline, committed_offsets)).join(groups, on="cluster_id", how="inner")


def _silences(timeline: DataFrame, committed_offsets: DataFrame) -> DataFrame:
    """The last record before each load, by partition."""
    written = timeline.where("log_offset IS NOT NULL")
    partitions = written.select(*GROUP_KEY, F.col("topic_partition").alias("own")).distinct()
    loads = (
        timeline.where("event = 'LOADED' AND event_time IS NOT NULL")
        .join(partitions, on=GROUP_KEY, how="left")
        .select(
            "cluster_id",
            F.coalesce("topic_partition", "own").alias("topic_partition"),
            F.unix_millis("event_time").alias("loaded_ms"),
        )
        .where("topic_partition IS NOT NULL")
        # Kafka up to 3.9 logs one line per record that was read, within milliseconds.
        .groupBy(*_PARTITION, F.floor(F.col("loaded_ms") / 1000).alias("second"))
        .agg(F.min("loaded_ms").alias("loaded_ms"))
    )
    records = (
        written.where("event_time IS NOT NULL")
        .select(*_PARTITION, F.unix_millis("event_time").alias("written_ms"))
        .unionByName(
            committed_offsets.where("append_time IS NOT NULL").select(
                *_PARTITION, F.unix_millis("append_time").alias("written_ms")
            )
        )
    )
    before = loads.join(records, on=_PARTITION, how="inner").where(
        f"written_ms < loaded_ms AND written_ms >= loaded_ms - {LONGEST_MS}"
    )
    return before.groupBy("cluster_id", "topic_partition", "loaded_ms").agg(
        F.max("written_ms").alias("written_ms")
    )


def _waves(silences: DataFrame) -> DataFrame:
    """The loads that belong together, as ``since_ms``, ``until_ms``."""
    in_time = Window.partitionBy("cluster_id").orderBy("loaded_ms", "topic_partition")
    since_last_ms = F.col("loaded_ms") - F.lag("loaded_ms").over(in_time)
    number = F.sum((F.coalesce("since_last_ms", F.lit(0)) > _TOGETHER_MS).cast("int")).over(
        in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    waves = (
        silences.withColumn("since_last_ms", since_last_ms)
        .withColumn("wave", number)
        .groupBy("cluster_id", "wave")
        .agg(
            F.max("written_ms").alias("since_ms"),
            F.min("loaded_ms").alias("first_ms"),
            F.max("loaded_ms").alias("until_ms"),
        )
    )
    return waves.where(F.col("first_ms") - F.col("since_ms") >= LEAST_MS).select(
        "cluster_id", "since_ms", "until_ms"
    )


def lost_by_most(lost: DataFrame) -> DataFrame:
    """The rows of ``lost`` (GROUP_KEY, ``since_ms`` of the outage, ``process``, ``size``: number of
    the group's processes) if at least half of the group's processes lost their session in this
    outage.  All processes send heartbeats at the same interval, so if only one process came back,
    it was restarted in that time.
    """
    most = (
        lost.groupBy(*GROUP_KEY, "since_ms")
        .agg(F.count_distinct("process").alias("lost"), F.max("size").alias("size"))
        .where("2 * lost >= COALESCE(size, 0)")
    )
    return lost.join(most, on=[*GROUP_KEY, "since_ms"], how="left_semi")


def lost_session_ms(joined_ms: Column, session_ms: Column) -> Column:
    """The time at which a client that joins again at ``joined_ms`` lost its session in an outage
    (``since_ms``, ``until_ms``), which is session.timeout.ms after its last answered heartbeat;
    null if it did not lose its session.  If another coordinator runs by then, the client joins at
    once.
    """
    last_ms = F.col("since_ms") + session_ms
    latest_ms = F.greatest("until_ms", last_ms) + _RECONNECT_MS
    is_lost = (session_ms > 0) & joined_ms.between(last_ms - HEARTBEAT_MS, latest_ms)
    is_at_once = (joined_ms <= last_ms) & (joined_ms > F.col("until_ms"))
    lost_ms = F.when(is_at_once, joined_ms).otherwise(last_ms - HEARTBEAT_MS // 2)
    return F.when(is_lost, F.least(joined_ms, lost_ms))
