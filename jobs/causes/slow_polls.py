"""The last commits of a member show whether it was slow to poll, or was closed.

A consumer that does not poll for max.poll.interval.ms leaves by itself, and commits nothing while
it does not poll.  Therefore the last commit for a partition that the member owned says when it last
polled. aiokafka continues to commit the same offsets in the meantime.  Members of Kafka Streams
commit when they are closed, but do not leave.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.client.libraries import ids_without_poll_interval
from coordinator_core.episodes.evidence import SESSION_EXPIRY
from coordinator_core.protocol.client_times import (
    COMMIT_SLACK_MS,
    SAME_COMMIT_MS,
    SAME_MOMENT_MS,
    TIMER_STEP_MS,
    is_commit_interval,
)
from jobs.assignments import IS_CONSUMER
from jobs.causes.rows import MEMBER_AND_TIME, predecessors
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY, PARTITION_KEY

# Members with a longer max.poll.interval.ms are not examined, because only the commits of the date
# of the leave and of the previous date are read.
LONGEST_POLL_MS = 80_000_000

# Members of these libraries are not examined, because a slow handler does not make them leave.
_WITHOUT_POLL_INTERVAL = f"^({ids_without_poll_interval()})$"

# Streams commits after it processed the fetched records, so its commit intervals vary by this
# share.
_SAME_INTERVAL = 0.25


def with_slow(
    causes: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame | None,
) -> DataFrame:
    """``was_slow`` says whether the member was slow to poll; null or False if it was not.
    ``was_closed`` says whether a member of Kafka Streams that expired was closed.

    Slow are members that left max.poll.interval.ms after the last commit for a partition they
    owned; members that are back after their session expired, if their last commit was longer ago;
    and static members that took their own place later than that, although their session lasted.
    A process that had run for a shorter time than max.poll.interval.ms was not slow.  Repeated
    commits of one offset do not count if there were records: the next owner commits a higher one.
    """
    if committed_offsets is None:
        return causes.withColumns({"was_slow": F.lit(False), "was_closed": F.lit(False)})
    last = _last_commits(_ended(causes), generations, assignments, committed_offsets)
    handled = F.when(F.col("had_records"), F.col("advanced"))
    shows_by_offsets = F.coalesce(_shows_slow_poll(handled) | _repeats_offsets(), F.lit(False))
    is_slow = _shows_slow_poll(F.col("committed")) | (
        (F.col("cause") == "LEAVE") & shows_by_offsets
    )
    shown = last.groupBy(*MEMBER_AND_TIME).agg(
        F.max(is_slow & ~_is_classic_expiry()).alias("was_slow"),
        F.max(_shows_close()).alias("was_closed"),
    )
    return causes.join(shown, on=MEMBER_AND_TIME, how="left")


def _ended(causes: DataFrame) -> DataFrame:
    """Members that may have been slow, with their last ``generation``; ``started`` says when a
    static member's process last took its place.
    """
    before = Window.partitionBy(*INCARNATION_KEY, "process").orderBy("event_time")
    replaced = F.when(F.col("cause") == "STATIC_REPLACED", F.col("event_time"))
    started = F.last(replaced, ignorenulls=True).over(
        before.rowsBetween(Window.unboundedPreceding, -1)
    )
    has_poll_interval = ~F.coalesce(F.col("client_id").rlike(_WITHOUT_POLL_INTERVAL), F.lit(False))
    return causes.where(has_poll_interval).where(
        "(cause IN ('LEAVE', 'STATIC_REPLACED') OR cause = 'SESSION_EXPIRY'"
        " AND (is_own_return OR NOT is_new_type AND process_id IS NOT NULL))"
        f" AND rebalance_timeout_ms BETWEEN 1 AND {LONGEST_POLL_MS}"
    ).select(
        *MEMBER_KEY, "process", "cause", "is_new_type", "event_time", "rebalance_timeout_ms",
        "session_timeout_ms", F.col("last_generation").alias("generation"),
        started.alias("started"),
    )  # fmt: skip


def _last_commits(
    ended: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """``committed`` is the last commit for one of the member's partitions, until it ended;
    ``earlier`` is the time of the previous request; ``before_ms`` is from the commit before to
    ``earlier``; ``advanced`` is the last commit of a higher offset than before; ``had_records``
    means that the first commit after the end has a higher offset.

    A commit in an aborted transaction counts as well: it shows that the member was running.
    """
    in_order = Window.partitionBy(*GROUP_KEY, *PARTITION_KEY).orderBy("append_time", "log_offset")
    around = {
        "previous": F.lag("append_time").over(in_order),
        "before_previous": F.lag("append_time", 2).over(in_order),
        "is_higher": F.col("committed_offset") > F.lag("committed_offset").over(in_order),
        "next_time": F.lead("append_time").over(in_order),
        "next_is_higher": F.lead("committed_offset").over(in_order) > F.col("committed_offset"),
    }
    commits = (
        committed_offsets.where("NOT tombstone")
        .join(ended.select(*GROUP_KEY).distinct(), on=GROUP_KEY, how="left_semi")
        .withColumns(around)
        .select(*GROUP_KEY, *PARTITION_KEY, F.col("append_time").alias("committed"), *around)
    )
    is_own = ~F.col("is_new") | (F.col("previous") >= F.col("stable_time"))
    is_other = F.unix_millis("previous") < F.unix_millis("committed") - SAME_COMMIT_MS
    earlier = F.when(is_own & is_other, F.col("previous"))
    between_ms = F.unix_millis("previous") - F.unix_millis("before_previous")
    was_due = (F.col("next_time") > F.col("event_time")) & (
        F.unix_millis("next_time") - F.unix_millis("event_time") <= COMMIT_SLACK_MS
    )
    # A request need not commit all partitions, so the interval is the shortest time between two
    # commits of a partition.
    of_member = Window.partitionBy(*ended.columns)
    is_newest = F.col("earlier") == F.max("earlier").over(of_member)
    return (
        _with_partitions(ended, assignments, predecessors(generations))
        .join(_rebalance_times(generations), on=GENERATION_KEY, how="left")
        .join(commits, on=[*GROUP_KEY, *PARTITION_KEY], how="inner")
        .where("committed <= event_time AND (NOT is_new OR committed >= stable_time)")
        .withColumns({"earlier": earlier, "between_ms": between_ms})
        .withColumn("before_ms", F.when(is_newest, F.col("between_ms")))
        .groupBy(*ended.columns, "preparing_time", "stable_time")
        .agg(
            F.max("committed").alias("committed"),
            F.max("earlier").alias("earlier"),
            F.min("before_ms").alias("before_ms"),
            F.max(F.when(F.col("is_higher"), F.col("committed"))).alias("advanced"),
            F.max(F.coalesce(was_due & F.col("next_is_higher"), F.lit(False))).alias("had_records"),
        )
    )


def _with_partitions(
    ended: DataFrame, assignments: DataFrame, predecessors: DataFrame
) -> DataFrame:
    """Each member with the partitions of its last generation; ``is_new`` means that another process
    had the partition in the previous generation, and committed for it.
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
    """The time at which each rebalance began, including superseded rebalances before it, and the
    time at which it ended.
    """
    before = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    superseded = F.when(F.col("outcome") == "superseded", F.col("preparing_time"))
    began = F.coalesce(F.lag(superseded).over(before), "preparing_time")
    return generations.select(*GENERATION_KEY, began.alias("preparing_time"), "stable_time")


def _shows_close() -> Column:
    """The member's last request was a commit, but no automatic commit: automatic commits follow at
    the default interval, or at the interval of earlier commits.  The log has the expiry of a
    session some ms late.
    """
    contact_ms = F.unix_millis("event_time") - F.col("session_timeout_ms")
    committed_ms = F.unix_millis("committed")
    since_ms = committed_ms - F.unix_millis(F.coalesce("earlier", "stable_time"))
    before_ms = F.col("before_ms")
    is_as_before = F.abs(since_ms - before_ms) <= _SAME_INTERVAL * before_ms
    is_closing = (
        (committed_ms >= contact_ms - 2 * SAME_MOMENT_MS)
        & (since_ms >= TIMER_STEP_MS)
        & ~is_commit_interval(since_ms, F.pmod)
        & ~F.coalesce(is_as_before, F.lit(False))
    )
    return _is_classic_expiry() & F.coalesce(is_closing, F.lit(False))


def _is_classic_expiry() -> Column:
    return (F.col("cause") == SESSION_EXPIRY) & ~F.col("is_new_type")


def _repeats_offsets() -> Column:
    """A rebalance timeout that equals the session timeout, as aiokafka's by default, is not
    max.poll.interval.ms: the member handled nothing for at least this time, and went on to commit.
    """
    ended_ms, poll_ms = F.unix_millis("event_time"), F.col("rebalance_timeout_ms")
    is_unknown = poll_ms == F.col("session_timeout_ms")
    committed_ms, advanced_ms = F.unix_millis("committed"), F.unix_millis("advanced")
    goes_on = committed_ms >= ended_ms - poll_ms
    return is_unknown & F.col("had_records") & goes_on & (ended_ms - advanced_ms >= poll_ms)


def _shows_slow_poll(last: Column) -> Column:
    """A member commits nothing while it does not poll, nor during a rebalance.  ``last`` says when
    it last committed.
    """
    ended, prepared = F.unix_millis("event_time"), F.unix_millis("preparing_time")
    committed = F.unix_millis(last)
    poll_ms, session_ms = F.col("rebalance_timeout_ms"), F.col("session_timeout_ms")
    polled = ended - poll_ms
    in_rebalance = (prepared <= polled + COMMIT_SLACK_MS) & (
        F.unix_millis("stable_time") >= polled - COMMIT_SLACK_MS
    )
    # Spark's function `least` ignores nulls.
    earliest = F.least(polled, F.when(in_rebalance, prepared))
    left = (
        (ended - committed > COMMIT_SLACK_MS)
        & (committed >= earliest - COMMIT_SLACK_MS)
        & (committed <= polled + COMMIT_SLACK_MS)
    )
    # The member kept sending heartbeats; without them its session would have expired.
    replaced = (
        (committed <= polled)
        & (ended - committed >= session_ms + COMMIT_SLACK_MS)
        & (committed >= polled - poll_ms - COMMIT_SLACK_MS)
        & F.coalesce(F.unix_millis("started") <= polled, F.lit(True))
    )
    # The member sent heartbeats for max.poll.interval.ms, so its session lasted longer than that.
    expired = ended - committed > poll_ms
    return (
        F.when(F.col("cause") == "LEAVE", left)
        .when(F.col("cause") == SESSION_EXPIRY, expired)
        .otherwise(replaced)
    )
