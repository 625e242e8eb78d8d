"""Each generation with the rebalance that ended it, and with the next shutdown of the group."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from coordinator_core.protocol.client_times import HEARTBEAT_MS
from coordinator_core.whatif.baseline import SHUT_DOWN_MS
from jobs.lake.fenced_clients import fenced_clients
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.timeline import IS_REMOVAL, SAME_CALL_MS

COOPERATIVE = ("cooperative-sticky", "stream")
_BY_REJOIN = ("LEADER_REJOIN", "METADATA_CHANGE", "STATIC_UPDATE")
_BY_EXPIRY = ("SESSION_EXPIRY", "SYNC_TIMEOUT", "NOT_REJOINED")


def rebalances(
    generations: DataFrame, timeline: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """Each generation with its times in ms; ``revoking_...`` is the rebalance that ended it;
    ``next_...`` is the next generation with a record; ``shutdown_...`` is the group's next
    shutdown.
    """
    timed = (
        _timed(generations)
        .join(_departures(timeline), on=GENERATION_KEY, how="left")
        .join(_fenced(timeline), on=GENERATION_KEY, how="left")
        .join(_never_leaving(generation_members), on=GENERATION_KEY, how="left")
        .withColumn("has_departure", F.col("departed_ms") > F.col("began_ms") + SAME_CALL_MS)
    )
    return _with_shutdown(timed.withColumns(_revoking() | _next()))


def _timed(generations: DataFrame) -> DataFrame:
    joined_ms = F.unix_millis("joined_time")
    return generations.select(
        *GENERATION_KEY,
        "event_date",
        ((F.col("outcome") == "stable") & (F.col("evidence") != "log")).alias("is_assigned"),
        (F.col("outcome") == "empty").alias("is_empty"),
        F.coalesce(F.col("cause").isin(*_BY_EXPIRY), F.lit(False)).alias("is_by_expiry"),
        F.coalesce(F.col("protocol").isin(*COOPERATIVE), F.lit(False)).alias("is_cooperative"),
        F.col("preparing_time").isNotNull().alias("is_logged"),
        F.when(F.col("cause").isin(*_BY_REJOIN), F.col("culprit_member_id")).alias("rejoined_by"),
        joined_ms.alias("joined_ms"),
        F.unix_millis("stable_time").alias("assigned_ms"),
        F.coalesce(F.unix_millis("preparing_time"), joined_ms - HEARTBEAT_MS).alias("began_ms"),
    )


def _departures(timeline: DataFrame) -> DataFrame:
    """The last departure during each rebalance."""
    return (
        timeline.where(F.expr(f"event IN ('LEFT', 'HEARTBEAT_EXPIRED') OR {IS_REMOVAL}"))
        .groupBy(*INCARNATION_KEY, F.col("forming_generation").alias("generation"))
        .agg(F.max(F.unix_millis("event_time")).alias("departed_ms"))
    )


def _fenced(timeline: DataFrame) -> DataFrame:
    """Generations that were formed without static members whose clients had been fenced."""
    fenced = fenced_clients(timeline).withColumnRenamed("fenced_generation", "generation")
    return fenced.groupBy(*GENERATION_KEY).agg(F.max(F.lit(True)).alias("has_fenced"))


def _never_leaving(generation_members: DataFrame) -> DataFrame:
    """Returns whether no member leaves when it is closed: static members, and members of
    Streams.
    """
    stays = F.col("instance_id").isNotNull() | F.col("process_id").isNotNull()
    return generation_members.groupBy(*GENERATION_KEY).agg(
        F.min(stays.cast("int")).alias("never_leave")
    )


def _history() -> WindowSpec:
    return Window.partitionBy(*INCARNATION_KEY).orderBy("generation")


def _ahead() -> WindowSpec:
    """Descending: Spark reads a frame that ends with the last row in full for every row."""
    backwards = Window.partitionBy(*INCARNATION_KEY).orderBy(F.desc("generation"))
    return backwards.rowsBetween(Window.unboundedPreceding, -1)


def _revoking() -> dict[str, Column]:
    names = ("generation", "began_ms", "joined_ms", "is_logged", "has_departure", "rejoined_by")
    return {f"revoking_{name}": F.lead(name).over(_history()) for name in names}


def _next() -> dict[str, Column]:
    return _next_where(
        F.col("is_assigned"),
        next_generation="generation",
        next_assigned_ms="assigned_ms",
        next_is_cooperative="is_cooperative",
    )


def _next_where(condition: Column, **columns: str) -> dict[str, Column]:
    """The values of these columns in the next generation that meets the condition."""
    return {
        name: F.last(F.when(condition, F.col(column)), ignorenulls=True).over(_ahead())
        for name, column in columns.items()
    }


def _with_shutdown(followed: DataFrame) -> DataFrame:
    """A group was shut down if it became empty and none of its members was back in time.  Dynamic
    members whose sessions expired were not shut down.  Static members do not leave when they are
    shut down; if their sessions expired, they may instead have been fenced.
    """
    before = _history().rowsBetween(Window.unboundedPreceding, -1)
    never_left = F.last("never_leave", ignorenulls=True).over(before)
    is_away = F.col("revoking_began_ms") - F.col("joined_ms") > SHUT_DOWN_MS
    is_shutdown = (
        F.col("is_empty")
        & (
            ~F.col("is_by_expiry")
            | (F.col("never_left").eqNullSafe(1) & F.col("has_fenced").isNull())
        )
        & F.coalesce(is_away, F.lit(True))
    )
    shutdown = _next_where(
        is_shutdown,
        shutdown_ms="joined_ms",
        shutdown_generation="generation",
        shutdown_date="event_date",
    )
    return followed.withColumn("never_left", never_left).withColumns(shutdown)


def stays_cooperative() -> Column:
    return F.col("is_cooperative") & F.coalesce("next_is_cooperative", F.lit(True))
