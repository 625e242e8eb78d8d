"""The time in which each member owned the partitions that a generation assigns to it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.protocol.client_times import HEARTBEAT_MS
from jobs.lake.dates import NEVER_MS
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.ownership.rebalances import stays_cooperative

# Members that were assigned partitions at the same time send heartbeats at the same times for this
# long.
IN_STEP_MS = 60_000
HEARTBEAT_JITTER_MS = 150
# A join of at most a heartbeat interval plus this time did not wait for a slow or dead member.
JOIN_SLACK_MS = 500


def tenures(members: DataFrame) -> DataFrame:
    """GENERATION_KEY, ``member_id`` (of the assignment), event_date, ``from_ms``, ``until_ms``,
    ``how`` the tenure ended, ``evidence`` and ``is_estimated`` of its end, ``earliest_until_ms``
    and ``latest_until_ms`` (by other explanations of it), ``next_generation`` (for which an eager
    member revoked), ``polled_ms`` of a slow application, the group's next shutdown, and
    ``stopped_ms``: when its last process stopped before that.  A dead member owns no partitions.
    ``revoking_ms`` is the begin of the rebalance that ended the generation.  Columns about a member
    that departed after this generation: ``departed_ms``, ``heard_ms`` (see `process_ends`) and
    ``back_ms``.
    """
    timed = (
        members.where("is_assigned")
        .withColumns({"from_ms": _from_ms(), "released_ms": _released_ms()})
        .withColumns(
            {
                "until_ms": _until_ms("end_ms"),
                "earliest_until_ms": _until_ms("earliest_end_ms"),
                "latest_until_ms": _until_ms("latest_end_ms"),
            }
        )
        .withColumn("by_end", F.coalesce(F.col("end_ms") <= F.col("until_ms"), F.lit(False)))
    )
    return timed.select(
        *GENERATION_KEY,
        F.col("assigned_as").alias("member_id"),
        _date().alias("event_date"),
        "from_ms",
        "until_ms",
        "earliest_until_ms",
        "latest_until_ms",
        "polled_ms",
        F.col("revoking_began_ms").alias("revoking_ms"),
        F.col("instance_id").isNotNull().alias("is_static"),
        *(
            F.when(F.col("left_how").isNotNull(), F.col(name)).alias(alias)
            for name, alias in (
                ("left_ms", "departed_ms"),
                ("heard_ms", "heard_ms"),
                ("back_ms", "back_ms"),
                ("rebalance_timeout_ms", "poll_ms"),
            )
        ),
        _how().alias("how"),
        F.when(F.col("by_end"), F.col("end_by")).otherwise(_shown_by()).alias("evidence"),
        _is_estimated().alias("is_estimated"),
        F.when(~stays_cooperative(), F.col("next_generation")).alias("next_generation"),
        "shutdown_ms",
        "shutdown_generation",
        "shutdown_date",
    ).withColumn("stopped_ms", _stopped_ms())


def _from_ms() -> Column:
    replaces = F.col("is_new") & F.col("instance_id").isNotNull()
    return F.when(replaces, F.greatest("assigned_ms", "arrived_ms")).otherwise(F.col("assigned_ms"))


def _date() -> Column:
    """The date of the generation, or for a member that replaced another member later, the date of
    the replacement.
    """
    return F.when(
        F.col("from_ms") > F.col("assigned_ms"), F.to_date(F.timestamp_millis("from_ms"))
    ).otherwise(F.col("event_date"))


def _is_unexplained() -> Column:
    return F.col("gone") & F.col("end_ms").isNull()


def _released_ms() -> Column:
    """A member that does not rejoin learns of the rebalance only when it is back."""
    did_not_rejoin = F.col("gone") & ((F.col("left_how") != "left") | F.col("end_estimated"))
    return (
        F.when(_is_unexplained(), F.col("revoking_began_ms"))
        .when(did_not_rejoin, None)
        .when(stays_cooperative(), F.col("next_assigned_ms"))
        .otherwise(_revoked_ms())
    )


def _until_ms(end_ms: str) -> Column:
    until_ms = F.least(end_ms, "released_ms", "next_assigned_ms")
    return F.greatest(F.coalesce(until_ms, F.lit(NEVER_MS)), "assigned_ms")


def _how() -> Column:
    return (
        F.when(F.col("by_end"), F.col("end_how"))
        .when(_is_unexplained(), "left")
        .otherwise("revoked")
    )


def _shown_by() -> Column:
    has_commit = ~stays_cooperative() & _commit_before_rejoin().isNotNull()
    return (
        F.when(has_commit, "commits").when(F.col("revoking_is_logged"), "log").otherwise("records")
    )


def _is_estimated() -> Column:
    return F.when(F.col("by_end"), F.col("end_estimated")).otherwise(
        ~stays_cooperative() | _is_unexplained()
    )


def _commit_before_rejoin() -> Column:
    is_in_join = (F.col("rejoined_ms") > F.col("revoking_began_ms")) & F.col("revoking_is_logged")
    return F.when(is_in_join, F.col("rejoined_ms"))


def _revoked_ms() -> Column:
    """The time at which an eager member revokes: at the heartbeat that shows the rebalance, before
    it rejoins.  It commits at this time if it has new offsets.

    Otherwise: heartbeats coincide after an assignment.  If the join ends with the next heartbeats,
    they still coincide; if it ends later, they are spread over the join, unless the join waited for
    a slow or dead member.
    """
    began_ms, join_ms = F.col("revoking_began_ms"), _join_ms()
    next_ms = _next_heartbeat_ms()
    is_spread = (
        F.col("revoking_is_logged")
        & ~F.coalesce("revoking_has_departure", F.lit(False))
        & (join_ms <= HEARTBEAT_MS + JOIN_SLACK_MS)
        & (F.abs(join_ms - F.coalesce(next_ms, F.lit(0))) > HEARTBEAT_JITTER_MS)
    )
    after_ms = F.when(is_spread, (join_ms * 2 / 3).cast("long")).otherwise(
        F.coalesce(next_ms, F.lit(HEARTBEAT_MS // 2))
    )
    # The member whose JoinGroup triggers the rebalance has revoked its partitions before.
    has_begun = F.coalesce(F.col("revoking_rejoined_by") == F.col("member_id"), F.lit(False))
    return F.when(has_begun, began_ms).otherwise(
        F.coalesce(_commit_before_rejoin(), began_ms + F.least(after_ms, join_ms))
    )


def _join_ms() -> Column:
    return F.col("revoking_joined_ms") - F.col("revoking_began_ms")


def _next_heartbeat_ms() -> Column:
    """The time of the next heartbeat, from the begin of the rebalance; null if the heartbeats no
    longer coincide.
    """
    since_ms = F.col("revoking_began_ms") - F.col("assigned_ms")
    return F.when(since_ms <= IN_STEP_MS, F.pmod(-since_ms, F.lit(HEARTBEAT_MS)))


def _stopped_ms() -> Column:
    # Without a shutdown, use one window partition per generation, because a single partition would
    # be as large as the group's history.
    alone = F.when(F.col("shutdown_generation").isNull(), F.col("generation"))
    shutdown = Window.partitionBy(*INCARNATION_KEY, "shutdown_generation", alone)
    has_ended = (F.col("until_ms") < NEVER_MS) & (F.col("until_ms") > F.col("from_ms"))
    return F.max(F.when(has_ended, F.col("until_ms"))).over(shutdown)
