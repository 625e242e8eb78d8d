"""How long each rebalance took, split at the join barrier, and which belong together.

reads   generations, churn
writes  rebalance_latency   one row per rebalance
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.command_line.arguments import main
from jobs.lake.tables import Lake
from jobs.timeline import LIFE

READS = ("generations", "churn")

# What a member's rejoin for a second cooperative round is logged as.
REJOINS = ["LEADER_REJOIN", "METADATA_CHANGE", "JOINING_IN_PREPARE", "STATIC_UPDATE", "REJOIN"]


def rebalance_latency(
    generations: DataFrame, churn: DataFrame, known: DataFrame | None = None
) -> DataFrame:
    """``known``: rows of this table where these tables do not begin with a life's beginning.

    Time in Empty is nobody's rebalance: one that empties the group ends at its join barrier."""
    withheld = churn.select(*LIFE, "generation", "partitions_orphaned")
    told = generations.join(withheld, on=[*LIFE, "generation"], how="left")
    end = (
        F.when(F.col("outcome") == "empty", F.col("joined_time"))
        .when(F.col("outcome") == "stable", F.col("stable_time"))
        .otherwise(F.col("ended_time"))
    )
    # A log line and a record's time are read off one clock, but not in one moment.
    elapsed_ms = _ms_between("joined_time", "end_time")
    sync_ms = F.when(elapsed_ms < 0, 0).otherwise(elapsed_ms)
    join_ms = _ms_between("preparing_time", "joined_time")
    return _logical(told.withColumn("end_time", end), known).select(
        *LIFE,
        "generation",
        "event_date",
        "preparing_time",
        "end_time",
        join_ms.alias("join_ms"),
        sync_ms.alias("sync_ms"),
        (join_ms + sync_ms).alias("total_ms"),
        "cause",
        "outcome",
        "logical_rebalance",
        "round",
        "evidence",
    )


def _logical(rebalances: DataFrame, known: DataFrame | None) -> DataFrame:
    """A rebalance goes on in the next generation if it was superseded, or if it withheld partitions
    (cooperative: taken from one, not yet given to another) and a member came back for them.
    """
    life = Window.partitionBy(*LIFE).orderBy("generation")
    previous = F.lag(
        F.struct("generation", "outcome", "protocol", "partitions_orphaned")
    ).over(life)  # fmt: skip
    next_of_previous = F.col("previous.generation") == F.col("generation") - 1
    unfinished = F.col("previous.outcome").isin("superseded", "failed")
    second_round = (
        F.col("previous.protocol").contains("cooperative")
        & (F.col("previous.partitions_orphaned") > 0)
        & F.col("cause").isin(*REJOINS)
    )
    goes_on = F.coalesce(next_of_previous & (unfinished | second_round), F.lit(False))
    begins = F.when(~F.col("goes_on"), F.col("generation"))
    told = rebalances.withColumn("previous", previous).withColumn("goes_on", goes_on)
    if known is not None:
        # The first generation there is went on from one that is not there.
        began = known.select(*LIFE, "generation", F.col("logical_rebalance").alias("began"))
        told = told.join(began, on=[*LIFE, "generation"], how="left")
        begins = F.when(F.col("previous").isNull(), F.coalesce("began", begins)).otherwise(begins)
    begun = F.last(begins, ignorenulls=True).over(life)
    return told.withColumn("logical_rebalance", begun).withColumn(
        "round", F.col("generation") - F.col("logical_rebalance") + 1
    )


def _ms_between(start: str, end: str) -> Column:
    return F.unix_millis(F.col(end)) - F.unix_millis(F.col(start))


def run(lake: Lake) -> None:
    known = lake.start_rows("rebalance_latency")
    lake.replace("rebalance_latency", rebalance_latency(*map(lake.read, READS), known))


if __name__ == "__main__":
    main(__doc__, run)
