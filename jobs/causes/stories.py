"""What the process of each cause did, in the column ``story``.

The story of a departure depends on how the coordinator noticed it, when the process was back, and
when it last committed.  The story of an arrival depends on whether the process was in the group
earlier, and the story of a rejoin on what changed in the assignment.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator_core.episodes.evidence import SESSION_EXPIRY
from coordinator_core.lives.processes import RESTART_MS
from coordinator_core.modern_history.causes import COMPLETIONS
from jobs.causes.administrators import GROUP_CONFIG, GROUP_DELETED
from jobs.causes.modern_groups import STATIC_REFUSED
from jobs.causes.rows import predecessors
from jobs.generations import PROBING_REBALANCE, SCHEDULED_REBALANCE
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.rebalance_latency import REJOINS


def with_story(causes: DataFrame, churn: DataFrame, generations: DataFrame) -> DataFrame:
    changes = churn.select(*GENERATION_KEY, F.col("partitions_new").alias("new_partitions"))
    unowned = churn.select(
        *INCARNATION_KEY,
        F.col("generation").alias("previous"),
        F.col("partitions_orphaned").alias("unowned_before"),
    )
    by_commits = F.coalesce("was_slow", F.lit(False)) & F.col("cause").isin(
        "LEAVE", "STATIC_REPLACED", SESSION_EXPIRY
    )
    return (
        causes.join(changes, on=GENERATION_KEY, how="left")
        .join(predecessors(generations), on=GENERATION_KEY, how="left")
        .join(unowned, on=[*INCARNATION_KEY, "previous"], how="left")
        .withColumns(
            {
                "story": F.when(F.col("kind") == "departure", _departure_story())
                .when(F.col("kind") == "arrival", _arrival_story())
                .otherwise(_other_story()),
                "evidence": F.when(by_commits, "commits").otherwise(F.col("evidence")),
            }
        )
    )


def _departure_story() -> Column:
    was_slow = F.coalesce("was_slow", F.lit(False))
    slow = (F.col("cause") == "LEAVE_POLL_TIMEOUT") | was_slow
    # Static members do not leave when they are closed, and neither do Kafka Streams' classic
    # members.
    never_leaves = F.col("instance_id").isNotNull() | F.col("process_id").isNotNull()
    expired = F.col("cause") == SESSION_EXPIRY
    is_back = F.col("is_own_return")
    heard_ms = F.unix_millis("event_time") - F.col("session_timeout_ms")
    ended_ms = F.when(F.col("was_closed"), heard_ms).otherwise(
        F.unix_millis(F.coalesce(F.when(expired, F.col("away_time")), "event_time"))
    )
    back_in_ms = F.unix_millis("next_arrival_time") - ended_ms
    closed = F.when(F.coalesce(back_in_ms <= RESTART_MS, F.lit(False)), "restart").otherwise("stop")
    return (
        F.when(F.col("cause") == "NOT_REJOINED", "slow_rejoin")
        .when(F.col("cause") == "SYNC_TIMEOUT", "no_sync")
        .when(F.col("cause") == "REBALANCE_TIMEOUT", "slow_revoke")
        .when(expired & F.col("away_time").isNotNull(), closed)
        .when(expired & is_back, F.when(was_slow, "slow_poll").otherwise("frozen"))
        .when(expired & F.col("was_fenced"), "client_fenced")
        .when(F.col("was_closed"), closed)
        # A static member of a classic group does not leave when it is closed.
        .when(expired & never_leaves & ~F.col("is_new_type"), "stop_or_session_expired")
        .when(expired, "session_expired")
        .when(slow | is_back, "slow_poll")
        .otherwise(closed)
    )


def _arrival_story() -> Column:
    is_replacement = F.col("cause") == "STATIC_REPLACED"
    own_id = F.coalesce(F.col("replaces") == F.col("member_id"), F.lit(False))
    has_been = is_replacement | (F.col("earlier_arrivals") > 0) | F.col("was_seen")
    return (
        F.when(is_replacement & F.col("was_alive"), "takeover")
        .when(is_replacement & F.col("was_slow"), "slow_poll")
        .when(is_replacement & own_id, "return")
        .when(F.coalesce("lost_session", F.lit(False)) & has_been, "session_lost")
        .when(is_replacement, "restart")
        .when(F.col("was_killed") & F.col("is_new_type"), "crash_restart")
        # Lines do not show which process a dynamic member is.
        .when(F.coalesce("process", "instance_id").isNull(), F.lit(None).cast("string"))
        .when(F.col("has_new_id") & (F.col("evidence") == "records"), "restart")
        .when(has_been, "return")
        .otherwise("start")
    )


def _other_story() -> Column:
    rejoin = (
        F.when(F.col("unowned_before") > 0, "follow_up")
        .when(F.col("new_partitions") > 0, "topic_change")
        .otherwise("rejoin")
    )
    return (
        F.when(F.col("cause").isin(*REJOINS), rejoin)
        .when(F.col("cause").isin(SCHEDULED_REBALANCE, PROBING_REBALANCE), "scheduled")
        .when(F.col("cause") == STATIC_REFUSED, "refused")
        .when(F.col("cause") == GROUP_DELETED, "deleted")
        .when(F.col("cause") == GROUP_CONFIG, "group_config")
        .when(F.col("is_new_type") & F.col("reason").isin(*COMPLETIONS), "follow_up")
        .when(F.col("is_new_type") & F.col("cause").isin("REGEX", "TOPIC_CHANGE"), "topic_change")
    )
