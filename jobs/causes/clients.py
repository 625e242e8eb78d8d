"""What clients logged about generations that also have broker evidence.

The coordinator logs that a session expired; the client's log shows what its process did: it polled
too slowly, or was frozen.  Causes that only a client logged are added, such as the return of a
removed member to a broker before Kafka 3.x, which does not log such a return.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.episodes.evidence import SESSION_EXPIRY
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY

# Cause of a row about a member without partitions, which is not the cause of a rebalance.
WITHOUT_PARTITIONS = "WITHOUT_PARTITIONS"
DEPARTURES = (
    *(SESSION_EXPIRY, "LEAVE", "LEAVE_POLL_TIMEOUT"),
    *("NOT_REJOINED", "REBALANCE_TIMEOUT", "SYNC_TIMEOUT"),
)
# Tolerance for times of lines, which may be rounded to seconds.
_SLACK_MS = 1000
_NO_ANSWER = "session expired; no response from the coordinator for "
_NO_PARTITIONS = "no line shows the end of its session; the member had no partitions"
_UUID = "-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_ADDED = [
    *("event_time", "cause", "story", "instance_id", "client_id", "process"),
    *("rebalance_timeout_ms", "client_reason"),
]


def with_clients(causes: DataFrame, of_clients: DataFrame, generations: DataFrame) -> DataFrame:
    """``causes`` with roles and stories, refined and completed by ``of_clients``: rows of
    rebalance_causes about the same generations, and of WITHOUT_PARTITIONS.
    """
    dates = generations.select(*GENERATION_KEY, "event_date")
    logged = (
        _in_generation_of_departure(of_clients, causes)
        .where(F.col("cause") != WITHOUT_PARTITIONS)
        .drop("event_date")
        .join(dates, on=GENERATION_KEY, how="inner")
    )
    return _refined(_with_idle(causes, of_clients), logged).unionByName(
        _only_of_clients(causes, logged), allowMissingColumns=True
    )


def expiries_without_group(causes: DataFrame, client_events: DataFrame) -> DataFrame:
    """Rows of rebalance_causes of expired sessions that clients logged without their group, as
    librdkafka does by default.

    The line says for how long the coordinator had not answered: the session expired a session
    timeout later, or up to a heartbeat interval more, as the last heartbeat may lack an answer.
    A line and an expired session belong together only if neither fits another one.
    """
    lines = client_events.where(
        "group_id IS NULL AND event = 'SESSION_EXPIRED' AND duration_ms IS NOT NULL"
    ).select(
        "cluster_id",
        F.col("client_id").alias("line_client_id"),
        *("file_id", "position", "duration_ms"),
        (F.unix_millis("event_time") - F.col("duration_ms")).alias("answered_ms"),
    )
    expired = causes.where(F.col("cause") == SESSION_EXPIRY).select(
        *(*GENERATION_KEY, "member_id", "client_id", "cause", "role"),
        F.unix_millis("event_time").alias("expired_ms"),
        "session_timeout_ms",
    )
    later_ms = F.col("expired_ms") - F.col("session_timeout_ms") - F.col("answered_ms")
    interval_ms = F.col("session_timeout_ms") / 3
    same = expired.join(F.broadcast(lines), on="cluster_id", how="inner").where(
        later_ms.between(-_SLACK_MS, interval_ms + _SLACK_MS)
        & F.coalesce(F.col("line_client_id") == F.col("client_id"), F.lit(True))
    )
    of_line = Window.partitionBy("cluster_id", "file_id", "position")
    of_member = Window.partitionBy(*GENERATION_KEY, "member_id")
    silent_s = F.round(F.col("duration_ms") / 1000, 1).cast("string")
    reason = F.concat(F.lit(_NO_ANSWER), silent_s, F.lit(" s"))
    return (
        same.withColumns(
            {"lines": F.sum(F.lit(1)).over(of_member), "members": F.sum(F.lit(1)).over(of_line)}
        )
        .where("lines = 1 AND members = 1")
        .select(
            *(*GENERATION_KEY, "member_id", "client_id", "cause", "role"),
            F.lit("frozen").alias("story"),
            reason.alias("client_reason"),
            F.lit("clients").alias("evidence"),
        )
    )


def _in_generation_of_departure(of_clients: DataFrame, causes: DataFrame) -> DataFrame:
    """Departures in the generation of the broker, if the member departed once: a client notices
    late that its session expired, and some logs name the ids of other members, too."""
    departures = F.col("cause").isin(*DEPARTURES)
    departed = (
        causes.where(departures & F.col("member_id").isNotNull())
        .groupBy(*INCARNATION_KEY, "member_id")
        .agg(F.max("generation").alias("departed_in"), F.count_distinct("event_time").alias("n"))
        .where("n = 1")
        .drop("n")
    )
    generation = F.coalesce(F.when(departures, F.col("departed_in")), "generation")
    joined = of_clients.join(departed, on=[*INCARNATION_KEY, "member_id"], how="left")
    return joined.withColumn("generation", generation).drop("departed_in")


def _with_idle(causes: DataFrame, of_clients: DataFrame) -> DataFrame:
    """Expired members that had no partitions, by their client's log."""
    idle = (
        of_clients.where(F.col("cause") == WITHOUT_PARTITIONS)
        .select(*GROUP_KEY, "member_id", F.lit(True).alias("is_idle"))
        .distinct()
    )
    is_idle = F.coalesce("is_idle", F.lit(False)) & (F.col("cause") == SESSION_EXPIRY)
    reason = F.when(is_idle, F.coalesce("client_reason", F.lit(_NO_PARTITIONS)))
    return (
        causes.join(idle, on=[*GROUP_KEY, "member_id"], how="left")
        .withColumns(
            {
                "client_reason": F.coalesce(reason, "client_reason"),
                "evidence": F.when(is_idle, _with_word()).otherwise(F.col("evidence")),
            }
        )
        .drop("is_idle")
    )


def _refined(causes: DataFrame, logged: DataFrame) -> DataFrame:
    """A member's departure, by the broker and by its client."""
    own = logged.where("member_id IS NOT NULL AND client_reason IS NOT NULL").select(
        *GENERATION_KEY,
        "member_id",
        *(F.col(name).alias(f"c_{name}") for name in _ADDED if name != "event_time"),
    )
    is_refined = F.col("c_cause").isNotNull()
    is_slow = F.col("c_story") == "slow_poll"
    is_frozen = (F.col("c_story") == "frozen") & (F.col("cause") == SESSION_EXPIRY)
    joined = causes.join(
        own.dropDuplicates([*GENERATION_KEY, "member_id"]),
        on=[*GENERATION_KEY, "member_id"],
        how="left",
    )
    values = {
        "cause": F.when(is_slow & (F.col("cause") == "LEAVE"), F.col("c_cause")).otherwise(
            F.col("cause")
        ),
        "story": F.when(is_slow | is_frozen, F.col("c_story")).otherwise(F.col("story")),
        "client_reason": F.coalesce("c_client_reason", "client_reason"),
        "evidence": F.when(is_refined, _with_word()).otherwise(F.col("evidence")),
        **{
            name: F.coalesce(name, f"c_{name}")
            for name in ("instance_id", "client_id", "process", "rebalance_timeout_ms")
        },
    }
    return joined.withColumns(values).drop(*(name for name in joined.columns if name[:2] == "c_"))


def _only_of_clients(causes: DataFrame, logged: DataFrame) -> DataFrame:
    """Causes of members that the broker's evidence does not have in this generation."""
    named = causes.select(*GENERATION_KEY, "member_id").where("member_id IS NOT NULL").distinct()
    arrived = (
        causes.where("cause = 'MEMBER_NEW'")
        .select(*GENERATION_KEY, F.regexp_replace("member_id", _UUID, "").alias("client_id"))
        .distinct()
    )
    has_trigger = causes.where("role = 'trigger'").select(*GENERATION_KEY).distinct()
    with_id = logged.where("member_id IS NOT NULL").join(
        named, on=[*GENERATION_KEY, "member_id"], how="left_anti"
    )
    without_id = logged.where("member_id IS NULL").join(
        arrived, on=[*GENERATION_KEY, "client_id"], how="left_anti"
    )
    role = F.when(F.col("has_trigger") & (F.col("role") == "trigger"), "contributing")
    return (
        with_id.unionByName(without_id)
        .join(has_trigger.withColumn("has_trigger", F.lit(True)), on=GENERATION_KEY, how="left")
        .withColumns(
            {
                "role": F.coalesce(role, "role"),
                "kind": F.lit("other"),
                "evidence": F.lit("clients+log"),
            }
        )
        .select(*GENERATION_KEY, "event_date", "member_id", "role", "kind", "evidence", *_ADDED)
    )


def _with_word() -> Column:
    """Words of several kinds of evidence are in alphabetical order."""
    return F.concat(F.lit("clients+"), F.col("evidence"))
