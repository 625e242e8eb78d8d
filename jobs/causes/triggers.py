"""Triggers that are neither an arrival nor a departure: rejoins, changes of the group's protocol.

The line about the start of a rebalance names its cause and, of most causes, a member.  For a
rebalance without such a line, the cause follows from records; it is omitted if an arrival or a
departure explains the rebalance.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.causes.rows import cause_rows
from jobs.generations import TASK_CAUSES
from jobs.lake.keys import GENERATION_KEY
from jobs.rebalance_latency import REJOINS

# Triggers that are not departures: a member named here that also leaves before the join completes
# gets both causes.
NO_DEPARTURE = [*REJOINS, *TASK_CAUSES, "STORE_ERROR"]


def other_triggers(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Causes of generations that are neither an arrival nor a departure in ``members``.  A
    generation without a logged start only gets a cause if ``members`` has no cause for it.
    """
    caused = generations.where("cause IS NOT NULL")
    explained = members.select(
        *GENERATION_KEY, "kind", F.col("member_id").alias("culprit_member_id")
    )
    explains = (F.col("kind") != "departure") | ~F.col("cause").isin(NO_DEPARTURE)
    same = [
        F.col(f"start.{name}") == F.col(f"explained.{name}")
        for name in (*GENERATION_KEY, "culprit_member_id")
    ]
    by_log = (
        caused.where("preparing_time IS NOT NULL")
        .alias("start")
        .join(explained.alias("explained"), on=[*same, explains], how="left_anti")
    )
    by_records = caused.where("preparing_time IS NULL").join(
        explained, on=GENERATION_KEY, how="left_anti"
    )
    return cause_rows(
        by_log.unionByName(by_records),
        *("generation", "cause", "reason", "client_reason"),
        member_id=F.col("culprit_member_id"),
        event_time=F.col("preparing_time"),
        kind=F.lit("other"),
        evidence=F.when(F.col("preparing_time").isNull(), "records").otherwise("log"),
        absorbed=F.lit(False),
    )
