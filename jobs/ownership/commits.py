"""The last offset commits of each member before it departed, and before it rejoined."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.engine.union import union_of
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, MEMBER_KEY, PARTITION_KEY
from jobs.ownership.rebalances import stays_cooperative

# How exactly clients keep auto.commit.interval.ms.
COMMIT_JITTER_MS = 250
_MEMBER = [*MEMBER_KEY, "generation"]


def last_commits(members: DataFrame, owners: DataFrame, committed_offsets: DataFrame) -> DataFrame:
    """Per member of a generation, the last commits of its partitions: ``committed_ms`` before it
    departed, ``earlier_ms`` before that by more than a timer's jitter; and ``rejoined_ms`` before
    the end of the next join, as eager members commit before they rejoin.
    """
    last = _at_marks(_commits(committed_offsets), _marks(members, owners)).withColumn(
        "latest_ms", F.max("last_ms").over(Window.partitionBy(*_MEMBER, "mark"))
    )
    is_departure = F.col("mark") == "departure"
    is_earlier = F.col("last_ms") < F.col("latest_ms") - COMMIT_JITTER_MS
    earlier_ms = F.when(is_earlier, F.col("last_ms")).otherwise(F.col("previous_ms"))
    return last.groupBy(*_MEMBER).agg(
        F.max(F.when(is_departure, F.col("last_ms"))).alias("committed_ms"),
        F.max(F.when(is_departure, earlier_ms)).alias("earlier_ms"),
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
    """The times before which the commits of a member's partitions matter."""
    # Without a log, the begin of a join is unknown.
    is_eager = ~stays_cooperative() & F.col("revoking_is_logged")
    marks = union_of(
        _mark(members, "departure", F.col("left_ms")),
        _mark(members.where(is_eager), "rejoin", F.col("revoking_joined_ms")),
    )
    owned = owners.select(*GENERATION_KEY, *PARTITION_KEY, F.col("member_id").alias("owner"))
    return marks.join(owned, on=[*GENERATION_KEY, "owner"], how="inner").drop("owner")


def _mark(members: DataFrame, mark: str, at_ms: Column) -> DataFrame:
    return members.where(at_ms.isNotNull()).select(
        *_MEMBER,
        F.col("assigned_as").alias("owner"),
        F.lit(mark).alias("mark"),
        at_ms.alias("at_ms"),
    )


def _at_marks(commits: DataFrame, marks: DataFrame) -> DataFrame:
    """The last commit of the partition at each mark, and the commit before that."""
    so_far = (
        Window.partitionBy(*GROUP_KEY, *PARTITION_KEY)
        .orderBy("at_ms", F.col("mark").isNotNull(), "generation", "member_id", "mark")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    # Commits are in the order of time: the maximum is that of the last one.
    return (
        union_of(commits, marks)
        .withColumns({name: F.max(name).over(so_far) for name in ("last_ms", "previous_ms")})
        .where("mark IS NOT NULL AND last_ms IS NOT NULL")
    )
