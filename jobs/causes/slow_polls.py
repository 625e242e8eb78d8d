"""Members that were slow to poll, by their commits.

A consumer that does not poll for max.poll.interval.ms leaves by itself, and commits nothing while
it does not poll.  So the last commit for a partition that the member owned says when it last
polled.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.protocol.client_times import COMMIT_SLACK_MS
from jobs.assignments import IS_CONSUMER
from jobs.causes.rows import MEMBER_AND_TIME, predecessors
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY, PARTITION_KEY

# Members with a longer max.poll.interval.ms are not examined: only the commits of the date of the
# leave and of the previous date are read.
LONGEST_POLL_MS = 80_000_000


def with_slow(
    causes: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame | None,
) -> DataFrame:
    """``was_slow``: whether the member was slow to poll; null or False if it was not.

    Slow are members that left max.poll.interval.ms after the last commit for a partition they
    owned; members that are back after their session expired, if their last commit was longer ago;
    and static members that took their own place later than that, although their session lasted.
    A process that had run for a shorter time than max.poll.interval.ms was not slow.
    """
    if committed_offsets is None:
        return causes.withColumn("was_slow", F.lit(False))
    last = _last_commits(_ended(causes), generations, assignments, committed_offsets)
    slow = last.where(_shows_slow_poll()).select(*MEMBER_AND_TIME).distinct()
    return causes.join(slow.withColumn("was_slow", F.lit(True)), on=MEMBER_AND_TIME, how="left")


def _ended(causes: DataFrame) -> DataFrame:
    """Members that may have been slow, with their last ``generation``; ``started``: when a static
    member's process last took its place.
    """
    before = Window.partitionBy(*INCARNATION_KEY, "process").orderBy("event_time")
    replaced = F.when(F.col("cause") == "STATIC_REPLACED", F.col("event_time"))
    started = F.last(replaced, ignorenulls=True).over(
        before.rowsBetween(Window.unboundedPreceding, -1)
    )
    return causes.where(
        "(cause IN ('LEAVE', 'STATIC_REPLACED') OR cause = 'SESSION_EXPIRY' AND is_own_return)"
        f" AND rebalance_timeout_ms BETWEEN 1 AND {LONGEST_POLL_MS}"
    ).select(
        *MEMBER_KEY, "process", "cause", "event_time", "rebalance_timeout_ms",
        "session_timeout_ms", F.col("last_generation").alias("generation"),
        started.alias("started"),
    )  # fmt: skip


def _last_commits(
    ended: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """``committed``: the last commit for one of the member's partitions, until it ended.

    A commit in an aborted transaction counts as well: it shows that the member was running.
    """
    commits = committed_offsets.where("NOT tombstone").select(
        *GROUP_KEY, *PARTITION_KEY, F.col("append_time").alias("committed")
    )
    return (
        _with_partitions(ended, assignments, predecessors(generations))
        .join(_rebalance_times(generations), on=GENERATION_KEY, how="left")
        .join(commits, on=[*GROUP_KEY, *PARTITION_KEY], how="inner")
        .where("committed <= event_time AND (NOT is_new OR committed >= stable_time)")
        .groupBy(*ended.columns, "preparing_time", "stable_time")
        .agg(F.max("committed").alias("committed"))
    )


def _with_partitions(
    ended: DataFrame, assignments: DataFrame, predecessors: DataFrame
) -> DataFrame:
    """Each member with the partitions of its last generation; ``is_new``: another process had the
    partition in the previous one, and committed for it.
    """
    actual = assignments.where(IS_CONSUMER)
    owned = actual.select(*GENERATION_KEY, "process", *PARTITION_KEY)
    previous = actual.select(
        *INCARNATION_KEY,
        F.col("generation").alias("previous"),
        *PARTITION_KEY,
        F.col("process").alias("previous_process"),
    )
    of_members = ended.join(owned, on=[*GENERATION_KEY, "process"], how="inner")
    is_new = F.coalesce(F.col("previous_process") != F.col("process"), F.lit(False))
    return (
        of_members.join(predecessors, on=GENERATION_KEY, how="left")
        .join(previous, on=[*INCARNATION_KEY, "previous", *PARTITION_KEY], how="left")
        .drop("previous")
        .withColumn("is_new", is_new)
    )


def _rebalance_times(generations: DataFrame) -> DataFrame:
    """When each rebalance began, with a superseded one before it, and when it ended."""
    before = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    superseded = F.when(F.col("outcome") == "superseded", F.col("preparing_time"))
    began = F.coalesce(F.lag(superseded).over(before), "preparing_time")
    return generations.select(*GENERATION_KEY, began.alias("preparing_time"), "stable_time")


def _shows_slow_poll() -> Column:
    """A member commits nothing while it does not poll, nor during a rebalance."""
    ended, committed, prepared = (
        F.unix_millis(name) for name in ("event_time", "committed", "preparing_time")
    )
    poll_ms, session_ms = F.col("rebalance_timeout_ms"), F.col("session_timeout_ms")
    polled = ended - poll_ms
    in_rebalance = (prepared <= polled + COMMIT_SLACK_MS) & (
        F.unix_millis("stable_time") >= polled - COMMIT_SLACK_MS
    )
    # Spark's least ignores nulls.
    earliest = F.least(polled, F.when(in_rebalance, prepared))
    left = (
        (ended - committed > COMMIT_SLACK_MS)
        & (committed >= earliest - COMMIT_SLACK_MS)
        & (committed <= polled + COMMIT_SLACK_MS)
    )
    # It kept sending heartbeats: otherwise its session would have expired.
    replaced = (
        (committed <= polled)
        & (ended - committed >= session_ms + COMMIT_SLACK_MS)
        & (committed >= polled - poll_ms - COMMIT_SLACK_MS)
        & F.coalesce(F.unix_millis("started") <= polled, F.lit(True))
    )
    # It sent heartbeats for max.poll.interval.ms, and its session lasted after that.
    expired = ended - committed > poll_ms
    return (
        F.when(F.col("cause") == "LEAVE", left)
        .when(F.col("cause") == "SESSION_EXPIRY", expired)
        .otherwise(replaced)
    )
