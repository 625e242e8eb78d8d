"""Members that left or were removed, by the lines about them: each in the generation that the
group formed without them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator_core.episodes.evidence import SESSION_EXPIRY
from jobs.causes.rows import cause_rows
from jobs.timeline import IS_EXPIRY, IS_LEAVE, IS_REMOVAL


def departures(timeline: DataFrame) -> DataFrame:
    """One row per member and line; a line about a removal may name several members."""
    single = timeline.where(f"({IS_LEAVE}) OR event IN ('HEARTBEAT_EXPIRED', 'FENCED')").withColumn(
        "departed_id", F.col("member_id")
    )
    listed = timeline.where(IS_REMOVAL).withColumn("departed_id", F.explode("members"))
    return cause_rows(
        single.unionByName(listed),
        *("event_time", "reason", "client_reason"),
        generation=F.col("forming_generation"),
        member_id=F.col("departed_id"),
        cause=_cause(),
        kind=F.lit("departure"),
        evidence=F.lit("log"),
        absorbed=F.lit(False),
    )


def _cause() -> Column:
    poll_timeout = F.col("client_cause") == "POLL_TIMEOUT"
    return (
        F.when(F.expr(IS_EXPIRY), SESSION_EXPIRY)
        .when(F.col("event") == "DROPPED_NOT_REJOINED", "NOT_REJOINED")
        .when(F.col("event") == "REBALANCE_START", "SYNC_TIMEOUT")
        .when(F.col("event") == "FENCED", "REBALANCE_TIMEOUT")
        .when(poll_timeout, "LEAVE_POLL_TIMEOUT")
        .otherwise("LEAVE")
    )
