"""The last offset commits of each member before it departed, and before it rejoined."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.protocol.client_times import SAME_COMMIT_MS
from jobs.engine.union import union_of
from jobs.lake.keys import (
    GENERATION_KEY,
    GROUP_KEY,
    INCARNATION_KEY,
    MEMBER_KEY,
    PARTITION_KEY,
)
from jobs.ownership.rebalances import stays_cooperative

_MEMBER = [*MEMBER_KEY, "generation"]


def last_commits(members: DataFrame, owners: DataFrame, committed_offsets: DataFrame) -> DataFrame:
    """Per member of a generation, the last commits of its partitions since it arrived:
    ``committed_ms`` before it departed, ``earlier_ms`` by the request before that; and
    ``rejoined_ms`` before the end of the next join, as eager members commit before they rejoin.
    """
    last = _at_marks(_commits(committed_offsets), _marks(members, owners)).withColumn(
        "latest_ms", F.max("last_ms").over(Window.partitionBy(*_MEMBER, "mark"))
    )
    is_departure = F.col("mark") == "departure"
    is_earlier = F.col("last_ms") < F.col("latest_ms") - SAME_COMMIT_MS
    earlier_ms = F.when(is_earlier, F.col("last_ms")).otherwise(F.col("previous_ms"))
    own_earlier_ms = F.when(earlier_ms >= F.col("since_ms"), earlier_ms)
    return last.groupBy(*_MEMBER).agg(
        F.max(F.when(is_departure, F.col("last_ms"))).alias("committed_ms"),
        F.max(F.when(is_departure, own_earlier_ms)).alias("earlier_ms"),
        F.max(F.when(~is_departure, F.col("last_ms"))).alias("rejoined_ms"),
    )


def _commits(committed_offsets: DataFrame) -> DataFrame:
    in_time = Window.partitionBy(*GROUP_KEY, *PARTITION_KEY).orderBy("at_ms")
    return (
        committed_offsets.where("NOT tombstone AND append_time IS NOT NULL")
        .select(*GROUP_KEY, *PARTITION_KEY, F.unix_millis("append_time").alias("at_ms"))
        .withColumns({"last_ms": F.col("at_ms"), "previous_ms": F.lag("at_ms").over(in_time)})
    )


def _marks(members: DataFrame, owners: DataFrame) -> DataFrame:
    """The times before which the commits of a member's partitions matter; ``since_ms`` is the time
    before which commits are not the member's.
    """
    departing = members.where("left_ms IS NOT NULL")
    # Without a log, the time at which a join began is unknown.
    rejoining = members.where(~stays_cooperative() & F.col("revoking_is_logged"))
    acquired_ms = F.when(F.col("is_own"), F.col("arrived_ms")).otherwise(
        F.greatest("arrived_ms", "assigned_ms")
    )
    departures = _of_partitions(
        _mark(departing, "departure", F.col("left_ms")), _with_is_own(owners, departing)
    ).withColumn("since_ms", acquired_ms)
    rejoins = _of_partitions(
        _mark(rejoining, "rejoin", F.col("revoking_joined_ms")), owners
    ).withColumn("since_ms", F.col("arrived_ms"))
    columns = [*_MEMBER, *PARTITION_KEY, "mark", "at_ms", "since_ms"]
    return departures.select(*columns).unionByName(rejoins.select(*columns))


def _with_is_own(owners: DataFrame, departing: DataFrame) -> DataFrame:
    """``is_own`` means that the partition's previous owner was the same process."""
    in_order = Window.partitionBy(*INCARNATION_KEY, *PARTITION_KEY).orderBy("generation")
    is_own = F.lag("process").over(in_order) == F.col("process")
    groups = departing.select(*GROUP_KEY).distinct()
    return owners.join(groups, on=GROUP_KEY, how="left_semi").withColumn("is_own", is_own)


def _mark(members: DataFrame, mark: str, at_ms: Column) -> DataFrame:
    return members.where(at_ms.isNotNull()).select(
        *_MEMBER,
        "arrived_ms",
        "assigned_ms",
        F.col("assigned_as").alias("owner"),
        F.lit(mark).alias("mark"),
        at_ms.alias("at_ms"),
    )


def _of_partitions(marks: DataFrame, owners: DataFrame) -> DataFrame:
    owned = owners.withColumnRenamed("member_id", "owner")
    return marks.join(owned, on=[*GENERATION_KEY, "owner"], how="inner")


def _at_marks(commits: DataFrame, marks: DataFrame) -> DataFrame:
    """The last commit of the partition at each mark, and the commit before that."""
    so_far = (
        Window.partitionBy(*GROUP_KEY, *PARTITION_KEY)
        .orderBy("at_ms", F.col("mark").isNotNull(), "generation", "member_id", "mark")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    # Commits are sorted by time, so the maximum is the last commit.
    return (
        union_of(commits, marks)
        .withColumns({name: F.max(name).over(so_far) for name in ("last_ms", "previous_ms")})
        .where("mark IS NOT NULL AND last_ms >= since_ms")
    )
