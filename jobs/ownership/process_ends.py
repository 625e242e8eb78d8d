"""When a departed member stopped to own partitions, and what shows it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.ownership.commits import COMMIT_JITTER_MS
from jobs.ownership.rebalances import HEARTBEAT_MS

# auto.commit.interval.ms, its default.
COMMIT_INTERVAL_MS = 5000
# After a slow poll a member leaves max.poll.interval.ms after its last commit, give or take this.
COMMIT_SLACK_MS = 6000
SAME_MOMENT_MS = 50


def with_end(members: DataFrame) -> DataFrame:
    """``end``: at_ms, by (as ``evidence`` of the table), is_estimated; null while the member lasts,
    and if nothing shows how it departed.
    """
    has_returned = F.coalesce("has_returned", F.lit(False))
    back_or_left_ms = F.coalesce("back_ms", "left_ms")
    end = (
        F.when(has_returned, _end(F.col("back_ms"), "log", True))
        .when(F.col("left_how") == "left", _left())
        .when(F.col("left_how") == "expired", _expired())
        .when(F.col("left_how") == "replaced", _replaced())
        .when(F.col("left_how") == "dropped", _end(back_or_left_ms, "log", True))
    )
    return members.withColumn("end", end)


def _end(at_ms: Column, by: str, is_estimated: bool) -> Column:
    return F.struct(
        at_ms.alias("at_ms"), F.lit(by).alias("by"), F.lit(is_estimated).alias("is_estimated")
    )


def _left() -> Column:
    """When it left; after a slow poll, when its application polled and joined again."""
    polled_again = F.coalesce(_is_slow_poll(), F.lit(False)) & F.col("back_ms").isNotNull()
    return F.when(polled_again, _end(F.col("back_ms"), "log", True)).otherwise(
        _end(F.col("left_ms"), "log", False)
    )


def _is_slow_poll() -> Column:
    poll_ms, quiet_ms = F.col("rebalance_timeout_ms"), F.col("left_ms") - F.col("committed_ms")
    stopped_committing = (
        F.col("client_reason").isNull()
        & (poll_ms > 0)
        & (quiet_ms > COMMIT_SLACK_MS)
        & (F.abs(quiet_ms - poll_ms) <= COMMIT_SLACK_MS)
    )
    return F.col("client_cause").eqNullSafe("POLL_TIMEOUT") | stopped_committing


def _expired() -> Column:
    """Between the last contact, a session timeout before the expiry, and the next heartbeat."""
    contact_ms = F.col("left_ms") - F.col("session_timeout_ms")
    return (
        F.when(
            F.coalesce(_ended_in_join(contact_ms), F.lit(False)), _end(_mid_join_ms(), "log", True)
        )
        .when(
            is_closing() & (F.col("committed_ms") >= contact_ms),
            _end(F.col("committed_ms"), "commits", True),
        )
        .otherwise(_end(_after_contact_ms(contact_ms), "log", True))
    )


def _ended_in_join(contact_ms: Column) -> Column:
    """The end of a join and the assignment count as contact: a member may have ended in a long
    join."""
    since_joined_ms = contact_ms - F.col("joined_ms")
    join_ms = F.col("joined_ms") - F.col("began_ms")
    return since_joined_ms.between(-SAME_MOMENT_MS, SAME_MOMENT_MS) & (join_ms > 2 * HEARTBEAT_MS)


def _mid_join_ms() -> Column:
    return ((F.greatest("began_ms", "arrived_ms") + F.col("joined_ms")) / 2).cast("long")


def _after_contact_ms(contact_ms: Column) -> Column:
    earliest_ms = F.greatest(contact_ms, "committed_ms")
    back_ms = F.when(F.col("back_ms") >= earliest_ms, F.col("back_ms"))
    next_heartbeat_ms = F.least(contact_ms + HEARTBEAT_MS, F.col("left_ms"), back_ms)
    latest_ms = F.greatest(next_heartbeat_ms, earliest_ms)
    return ((earliest_ms + latest_ms) / 2).cast("long")


def _replaced() -> Column:
    """At its last commit, which a client sends when it is closed, or half a commit interval later.

    Without a commit since the oldest last contact, nothing shows that the process ended earlier.
    """
    replaced_ms, session_ms = F.coalesce("left_ms", "back_ms"), F.col("session_timeout_ms")
    quiet_ms = replaced_ms - F.col("committed_ms")
    is_recent = F.coalesce(quiet_ms <= session_ms + COMMIT_INTERVAL_MS, F.lit(False))
    half_later_ms = F.greatest(
        F.col("committed_ms") + COMMIT_INTERVAL_MS // 2, replaced_ms - session_ms
    )
    later_ms = F.least(half_later_ms, replaced_ms)
    return (
        F.when(is_recent & is_closing(), _end(F.col("committed_ms"), "commits", True))
        .when(is_recent, _end(later_ms, "commits", True))
        .otherwise(_end(replaced_ms, "log", True))
    )


def is_closing() -> Column:
    """Whether the last commit is off the interval of the automatic ones."""
    since_ms = F.col("committed_ms") - F.col("earlier_ms")
    phase_ms = F.pmod(since_ms + COMMIT_JITTER_MS, F.lit(COMMIT_INTERVAL_MS))
    return F.coalesce(phase_ms > 2 * COMMIT_JITTER_MS, F.lit(False))
