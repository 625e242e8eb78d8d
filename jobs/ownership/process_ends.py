"""The time at which a departed member no longer owned partitions, and the evidence for it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator_core.client.libraries import ids_without_poll_interval
from coordinator_core.protocol.client_times import (
    COMMIT_INTERVAL_MS,
    COMMIT_SLACK_MS,
    HEARTBEAT_MS,
    SAME_MOMENT_MS,
    exceeded_poll_interval,
    is_commit_interval,
)
from coordinator_core.protocol.processes import Arithmetic, killed_between
from jobs.lake.dates import NEVER_MS
from jobs.lake.keys import MEMBER_KEY
from jobs.ownership.rebalances import stays_cooperative

# names of processes with one of these client ids, at any host
_WITHOUT_POLL_INTERVAL = f"^({ids_without_poll_interval()})@"

COLUMNS = Arithmetic(F.greatest, F.least, F.when)


def process_ends(departed: DataFrame) -> DataFrame:
    """MEMBER_KEY, ``end_ms``: when the departed member stopped owning partitions (null if no
    evidence), ``end_how`` it departed, ``end_by`` (as ``evidence`` of the table) and
    ``end_estimated``; ``earliest_end_ms`` and ``latest_end_ms`` are limits, by other explanations
    of the same evidence; ``polled_ms`` is the time at which a slow application last polled before
    it departed; ``heard_ms`` is the last contact before its session expired.
    """
    timed = departed.withColumns(
        {"contact_ms": F.col("left_ms") - F.col("session_timeout_ms"), "is_closing": _is_closing()}
    )
    ended = timed.withColumn("polled_ms", _polled_ms()).withColumn("end", _end())
    return ended.select(
        *MEMBER_KEY,
        F.col("end.at_ms").alias("end_ms"),
        F.col("left_how").alias("end_how"),
        F.col("end.by").alias("end_by"),
        F.col("end.is_estimated").alias("end_estimated"),
        F.col("end.earliest_ms").alias("earliest_end_ms"),
        F.col("end.latest_ms").alias("latest_end_ms"),
        "polled_ms",
        F.when(F.col("left_how") == "session_expired", F.col("contact_ms")).alias("heard_ms"),
    )


def _end() -> Column:
    has_polled = F.col("polled_ms").isNotNull()
    return (
        F.when(_is_fenced(), _at(F.col("fenced_ms"), "log", is_estimated=False))
        .when(_has_lost_session(), _at(F.col("lost_ms"), "log"))
        .when(F.coalesce("has_returned", F.lit(False)), _at(_returned_ms(), "log"))
        .when(has_polled & F.col("back_ms").isNotNull(), _at(_polled_again_ms(), "log"))
        .when(F.col("left_how") == "left", _left())
        .when(F.col("left_how") == "session_expired", _expired())
        .when(F.col("left_how") == "replaced", _replaced())
        .when(F.col("left_how") == "dropped", _at(F.coalesce("back_ms", "left_ms"), "log"))
    )


def _at(
    at_ms: Column,
    by: str,
    *,
    is_estimated: bool = True,
    earliest_ms: Column | None = None,
    latest_ms: Column | None = None,
) -> Column:
    """``earliest_ms``, ``latest_ms`` are limits by other explanations of the evidence; None:
    ``at_ms``.
    """
    return F.struct(
        at_ms.cast("long").alias("at_ms"),
        F.lit(by).alias("by"),
        F.lit(is_estimated).alias("is_estimated"),
        (at_ms if earliest_ms is None else earliest_ms).cast("long").alias("earliest_ms"),
        (at_ms if latest_ms is None else latest_ms).cast("long").alias("latest_ms"),
    )


# -- processes that were alive ---------------------------------------------------------------------


def _has_lost_session() -> Column:
    """Returns whether it lost its session in an outage of the coordinator, and was not closed
    before.  A dynamic member that expired may as well have been closed in the outage, unless it
    lost its session before another coordinator loaded the group.
    """
    was_closed = F.col("is_closing") & (F.col("committed_ms") <= F.col("outage_ms"))
    is_before_load = (F.col("left_how") == "replaced") | (F.col("lost_ms") < F.col("contact_ms"))
    return F.col("lost_ms").isNotNull() & is_before_load & ~F.coalesce(was_closed, F.lit(False))


def _polled_ms() -> Column:
    """A slow application's client leaves max.poll.interval.ms after the last poll.  A static one
    stops sending heartbeats."""
    poll_ms = F.col("rebalance_timeout_ms")
    last_heartbeat_ms = F.col("contact_ms") + HEARTBEAT_MS // 2
    is_static = F.col("instance_id").isNotNull() & (F.col("left_how") == "session_expired")
    has_left = F.col("left_how") == "left"
    is_slow = _has_reason() | _stopped_committing(F.col("left_ms"))
    return F.when(has_left & is_slow, F.col("left_ms") - poll_ms).when(
        is_static & _stopped_committing(F.col("contact_ms")), last_heartbeat_ms - poll_ms
    )


def _returned_ms() -> Column:
    """A frozen process owns its partitions until they are assigned to others, unless the evidence
    shows another time.
    """
    return F.coalesce("back_ms", F.lit(NEVER_MS))


def _polled_again_ms() -> Column:
    """A member that left joins again when its application polls; of a static one, the session goes
    on in between."""
    until_expired_ms = _middle(F.col("contact_ms"), F.least("back_ms", "left_ms"))
    return F.when(F.col("left_how") == "left", F.col("back_ms")).otherwise(until_expired_ms)


def _has_reason() -> Column:
    return F.col("client_cause").eqNullSafe("POLL_TIMEOUT")


def _stopped_committing(exceeded_ms: Column) -> Column:
    """Returns whether it stopped max.poll.interval.ms before this time.

    A member that joins commits nothing.
    """
    until_joined = F.col("committed_ms") >= F.col("began_ms") - COMMIT_SLACK_MS
    active_ms = F.when(until_joined, F.greatest("committed_ms", "assigned_ms")).otherwise(
        F.col("committed_ms")
    )
    poll_ms, quiet_ms = F.col("rebalance_timeout_ms"), exceeded_ms - active_ms
    # Members of libraries without this setting stay in the group, and commit nothing while there
    # are no records.
    has_poll_interval = ~F.coalesce(F.col("client").rlike(_WITHOUT_POLL_INTERVAL), F.lit(False))
    return F.coalesce(
        F.col("client_reason").isNull()
        & has_poll_interval
        & (poll_ms > 0)
        & exceeded_poll_interval(quiet_ms, poll_ms),
        F.lit(False),
    )


# -- processes that ended --------------------------------------------------------------------------


def _is_fenced() -> Column:
    """Returns whether the member's session expired after its client had been fenced and thereby
    ended.
    """
    return (F.col("left_how") == "session_expired") & F.col("fenced_ms").isNotNull()


def _left() -> Column:
    """The time at which the member left. librdkafka's clients that are closed during a join leave
    when the join ends; a cooperative client revoked its partitions in between, before its next
    process joined.
    """
    # A leave during a join may end the join; the leave of the last member always ends it.
    is_after_join = F.col("left_in") > F.col("revoking_generation")
    began_ms = F.when(_is_at_left("assigned_ms"), F.col("began_ms")).when(
        _is_at_left("revoking_joined_ms") & is_after_join, F.col("revoking_began_ms")
    )
    back_ms = F.when(F.col("back_ms") > began_ms, F.col("back_ms"))
    closed_ms = _middle(F.greatest(began_ms, "committed_ms"), F.least("left_ms", back_ms))
    was_waiting = stays_cooperative() & began_ms.isNotNull()
    return F.when(was_waiting, _at(closed_ms, "log")).otherwise(
        _at(F.col("left_ms"), "log", is_estimated=False)
    )


def _is_at_left(end_of_join: str) -> Column:
    after_ms = F.col("left_ms") - F.col(end_of_join)
    return F.coalesce(after_ms.between(0, SAME_MOMENT_MS), F.lit(False))


def _expired() -> Column:
    """The end is between the last contact, a session timeout before the expiry, and the next
    heartbeat.  If the process may have been frozen, the end is at the latest when the process was
    back.
    """
    is_last_contact = F.col("committed_ms") >= F.col("contact_ms") - SAME_MOMENT_MS
    return (
        F.when(_ended_in_join(), _killed_or_frozen(_mid_join_ms()))
        .when(F.col("is_closing") & is_last_contact, _at_last_commit())
        .otherwise(_killed_or_frozen(_after_contact_ms()))
    )


def _killed_or_frozen(killed_ms: Column, by: str = "log") -> Column:
    may_be_frozen = _may_be_frozen(F.col("back_ms"), _is_same_host())
    # If several processes share a client id, any of these processes may have come back.
    may_be_next = _may_be_frozen(F.col("next_ms"), F.col("back_ms").isNull())
    latest_ms = (
        F.when(may_be_frozen, F.col("back_ms"))
        .when(may_be_next, F.col("next_ms"))
        .otherwise(killed_ms)
    )
    return _at(killed_ms, by, latest_ms=latest_ms)


def _at_last_commit() -> Column:
    """A static member does not leave when it is closed.  A dynamic one does, so the library commits
    at other times, as after each batch: sarama, kafka-go, kafkajs.
    """
    committed_ms = F.col("committed_ms")
    return F.when(F.col("instance_id").isNotNull(), _at(committed_ms, "commits")).otherwise(
        _killed_or_frozen(committed_ms, "commits")
    )


def _is_same_host() -> Column:
    return F.col("back_at").eqNullSafe(F.col("client_host"))


def _may_be_frozen(back_ms: Column, is_same_host: Column) -> Column:
    """A frozen process is back after its session expired, from the same host.  A dynamic
    cooperative member would have shown its earlier generation (`jobs.ownership.returns`).
    """
    shows_state = stays_cooperative() & F.col("instance_id").isNull()
    is_late = F.coalesce(back_ms >= F.col("left_ms"), F.lit(False))
    return is_late & is_same_host & ~shows_state


def _ended_in_join() -> Column:
    """The end of a join and the assignment count as contact: a member may have ended in a long
    join."""
    since_joined_ms = F.col("contact_ms") - F.col("joined_ms")
    is_at_end = since_joined_ms.between(-SAME_MOMENT_MS, SAME_MOMENT_MS)
    is_long = F.col("joined_ms") - F.col("began_ms") > 2 * HEARTBEAT_MS
    return F.coalesce(is_at_end & is_long, F.lit(False))


def _mid_join_ms() -> Column:
    return _middle(F.greatest("began_ms", "arrived_ms"), F.col("joined_ms"))


def _after_contact_ms() -> Column:
    next_heartbeat_ms = F.col("contact_ms") + HEARTBEAT_MS
    sent_ms, due_ms = ("contact_ms", "committed_ms"), (next_heartbeat_ms, F.col("left_ms"))
    return _middle(*killed_between(sent_ms, due_ms, [F.col("back_ms")], by=COLUMNS))


def _replaced() -> Column:
    """The end is at its last commit, which a client sends when it is closed, or between this commit
    and the next automatic commit.

    Nothing shows that the process ended earlier if it has no commit since the oldest last contact.
    A process that was fenced was alive.
    """
    replaced_ms, session_ms = F.coalesce("left_ms", "back_ms"), F.col("session_timeout_ms")
    quiet_ms = replaced_ms - F.col("committed_ms")
    is_recent = F.coalesce(quiet_ms <= session_ms + COMMIT_INTERVAL_MS, F.lit(False))
    next_commit_ms = F.col("committed_ms") + COMMIT_INTERVAL_MS
    sent_ms = ("committed_ms", replaced_ms - session_ms)
    earliest_ms, latest_ms = killed_between(sent_ms, (next_commit_ms, replaced_ms), by=COLUMNS)
    killed_ms = _middle(earliest_ms, latest_ms)
    return (
        F.when(F.col("was_fenced"), _at(replaced_ms, "log"))
        .when(is_recent & F.col("is_closing"), _at(F.col("committed_ms"), "commits"))
        # The process may also have been closed when an automatic commit was due.
        .when(
            is_recent,
            _at(killed_ms, "commits", earliest_ms=F.col("committed_ms"), latest_ms=latest_ms),
        )
        .otherwise(_at(replaced_ms, "log"))
    )


def _middle(from_ms: Column, to_ms: Column) -> Column:
    return ((from_ms + to_ms) / 2).cast("long")


# -- automatic commits -----------------------------------------------------------------------------


def _is_closing() -> Column:
    """Returns whether the last commit was no automatic one: these follow each other, the assignment
    (Java) or the start of the process (librdkafka) at multiples of the interval.
    """
    assigned_ms = F.when(F.col("is_new"), F.greatest("assigned_ms", "arrived_ms")).otherwise(
        F.col("assigned_ms")
    )
    is_first = F.coalesce(F.col("earlier_ms") < assigned_ms, F.lit(True))
    is_automatic = _is_interval_after(F.col("earlier_ms")) | (
        is_first & (_is_interval_after(assigned_ms) | _is_interval_after(F.col("arrived_ms")))
    )
    return F.col("committed_ms").isNotNull() & ~is_automatic


def _is_interval_after(at_ms: Column) -> Column:
    is_interval = is_commit_interval(F.col("committed_ms") - at_ms)
    return F.coalesce(is_interval, F.lit(False))
