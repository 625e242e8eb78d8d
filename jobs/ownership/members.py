"""Each member of each generation, with the time of its arrival, and the way and time of its
departure.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY

_ARRIVALS = ("MEMBER_JOIN", "STATIC_NEW", "STATIC_REPLACED")


def members_of(
    timeline: DataFrame, generation_members: DataFrame, rebalances: DataFrame
) -> DataFrame:
    """One row per member and generation, with the columns of ``rebalances``.

    ``back_...`` is the next arrival of the same client, if its members are one process.
    ``assigned_as`` have the member id under which the generation's last record has the member, as a
    static replacement writes another record.
    """
    members = _memberships(generation_members).join(rebalances, on=GENERATION_KEY, how="inner")
    arrivals = _arrivals(
        members, _logged_arrivals(timeline), _first_records(timeline, generation_members)
    )
    return (
        members.join(_with_back(arrivals), on=MEMBER_KEY, how="left")
        .join(_leaves(timeline), on=MEMBER_KEY, how="left")
        .withColumn("assigned_as", _assigned_as())
    )


def _memberships(generation_members: DataFrame) -> DataFrame:
    client = F.coalesce("instance_id", F.concat_ws("@", "client_id", "client_host"))
    return generation_members.select(
        *MEMBER_KEY,
        "generation",
        "instance_id",
        client.alias("client"),
        "client_host",
        # If several processes share the client, each member is a process.
        F.col("process").eqNullSafe(F.col("member_id")).alias("is_shared"),
        "session_timeout_ms",
        "rebalance_timeout_ms",
        (F.col("change") != "retained").alias("is_new"),
        "left_how",
        F.unix_millis("left_time").alias("left_ms"),
        "gone",
    )


def _arrivals(members: DataFrame, logged: DataFrame, recorded: DataFrame) -> DataFrame:
    """One row per member with the time of its arrival, and its generation (``new_in``; null if
    earlier).
    """
    first = members.groupBy(*MEMBER_KEY, "client").agg(
        F.min(F.when(F.col("is_new"), F.col("generation"))).alias("new_in"),
        F.min(F.coalesce("began_ms", "assigned_ms")).alias("first_ms"),
        F.max("is_shared").alias("is_shared"),
        F.max("client_host").alias("arrived_at"),
    )
    client = F.when(F.col("is_shared"), F.col("member_id")).otherwise(F.col("client"))
    arrived_ms = F.coalesce("logged_ms", "recorded_ms", "first_ms")
    return (
        first.join(logged, on=MEMBER_KEY, how="left")
        .join(recorded, on=MEMBER_KEY, how="left")
        .select(
            *MEMBER_KEY,
            client.alias("client"),
            "new_in",
            arrived_ms.alias("arrived_ms"),
            "arrived_at",
        )
    )


def _logged_arrivals(timeline: DataFrame) -> DataFrame:
    logged = timeline.where(F.col("event").isin(*_ARRIVALS) & F.col("member_id").isNotNull())
    return logged.groupBy(*MEMBER_KEY).agg(F.min(F.unix_millis("event_time")).alias("logged_ms"))


def _first_records(timeline: DataFrame, generation_members: DataFrame) -> DataFrame:
    """The time of the first record with each static member: no log line has the member id of the
    next process with an instance id.
    """
    static = generation_members.where("instance_id IS NOT NULL").select(*MEMBER_KEY).distinct()
    recorded = timeline.where("event = 'RECORD'").select(
        *INCARNATION_KEY, F.explode("members").alias("member_id"), "event_time"
    )
    return (
        recorded.join(static, on=MEMBER_KEY, how="left_semi")
        .groupBy(*MEMBER_KEY)
        .agg(F.min(F.unix_millis("event_time")).alias("recorded_ms"))
    )


def _with_back(arrivals: DataFrame) -> DataFrame:
    """``last_id`` is the client's last member id that is new in the same generation."""
    same_generation = Window.partitionBy(*INCARNATION_KEY, "client", "new_in").orderBy(
        F.desc("arrived_ms"), "member_id"
    )
    later = Window.partitionBy(*GROUP_KEY, "client").orderBy(
        F.desc("arrived_ms"), F.desc("new_in"), "member_id"
    )
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    back = {
        "back_ms": "arrived_ms",
        "back_generation": "new_in",
        "back_id": "member_id",
        "back_last_id": "last_id",
        "back_at": "arrived_at",
    }
    return (
        arrivals.withColumn("last_id", F.first("member_id").over(same_generation))
        .withColumns(
            {
                name: F.last(F.when(F.col("new_in").isNotNull(), F.col(column)), True).over(later)
                for name, column in back.items()
            }
        )
        .drop("client", "arrived_at")
    )


def _assigned_as() -> Column:
    is_static = F.col("instance_id").isNotNull()
    return (
        F.when(is_static & (F.col("new_in") == F.col("generation")), F.col("last_id"))
        .when(is_static & (F.col("back_generation") == F.col("generation")), F.col("back_last_id"))
        .otherwise(F.col("member_id"))
    )


def _leaves(timeline: DataFrame) -> DataFrame:
    """``left_in`` is the generation that the leave affected; ``was_fenced`` means that the member
    sent a request after another process with its instance id had replaced it.
    """
    is_left = F.col("event") == "LEFT"
    events = timeline.where("event IN ('LEFT', 'STATIC_FENCED') AND member_id IS NOT NULL")
    return events.groupBy(*MEMBER_KEY).agg(
        F.max(F.when(is_left, F.col("client_cause"))).alias("client_cause"),
        F.max(F.when(is_left, F.col("client_reason"))).alias("client_reason"),
        F.max(F.when(is_left, F.col("forming_generation"))).alias("left_in"),
        F.max(~is_left).alias("was_fenced"),
    )
