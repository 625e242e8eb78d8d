"""The duration of each rebalance, before and after its join barrier, and the logical rebalances.

reads   generations, churn
writes  rebalance_latency   one row per rebalance
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.lake.group_types import COUNTS_AS_CLASSIC, HAS_EPOCHS
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.lake.scope import RunScope

READS = ("generations", "churn")

# No timeout of Kafka is longer: a longer or a negative duration shows that a clock was set.
MOST_MS = 2**31 - 1
# The log line and the record get their times from the same clock, but at different moments.
MOMENT_MS = 1000
# Logged causes of a member's rejoin for a second cooperative round.
REJOINS = ["LEADER_REJOIN", "METADATA_CHANGE", "JOINING_IN_PREPARE", "STATIC_UPDATE", "REJOIN"]


def rebalance_latency(
    generations: DataFrame, churn: DataFrame, context: DataFrame | None = None
) -> DataFrame:
    """``context`` has this table's rows for the first generations of ``generations``, if these are
    not the first of their incarnation.

    A rebalance that empties the group ends at its join barrier: time in Empty is not part of it.
    """
    withheld = churn.select(*GENERATION_KEY, "partitions_orphaned")
    rebalances = generations.join(withheld, on=GENERATION_KEY, how="left")
    end = (
        F.when(F.col("outcome") == "empty", F.col("joined_time"))
        .when(F.col("outcome") == "stable", F.col("stable_time"))
        # Lines do not show when the members of a modern group reach the target.
        .when(~F.expr(f"COALESCE({HAS_EPOCHS}, false) AND evidence = 'log'"), F.col("ended_time"))
    )
    elapsed_ms = _ms_between("joined_time", "to_time")
    completing_ms = F.when(elapsed_ms.between(-MOMENT_MS, -1), 0).otherwise(_possible(elapsed_ms))
    sync_ms = F.coalesce("reconciling_ms", completing_ms)
    join_ms = _possible(_ms_between("preparing_time", "joined_time"))
    return _with_logical(rebalances.withColumn("to_time", end), context).select(
        *GENERATION_KEY,
        "event_date",
        "preparing_time",
        "to_time",
        join_ms.alias("join_ms"),
        sync_ms.alias("sync_ms"),
        (join_ms + sync_ms).alias("total_ms"),
        "cause",
        "outcome",
        "logical_rebalance",
        "round",
        "evidence",
    )


def _with_logical(rebalances: DataFrame, context: DataFrame | None) -> DataFrame:
    """A logical rebalance of a classic group continues with the next generation if it was
    superseded or failed, or if it left partitions unowned (cooperative: revoked, not yet assigned)
    and a member rejoined.
    """
    incarnation = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    previous = F.lag(
        F.struct("generation", "outcome", "protocol", "partitions_orphaned")
    ).over(incarnation)  # fmt: skip
    next_of_previous = F.col("previous.generation") == F.col("generation") - 1
    unfinished = F.col("previous.outcome").isin("superseded", "failed")
    second_round = (
        F.col("previous.protocol").contains("cooperative")
        & (F.col("previous.partitions_orphaned") > 0)
        & F.col("cause").isin(*REJOINS)
    )
    continues = F.coalesce(
        F.expr(COUNTS_AS_CLASSIC) & next_of_previous & (unfinished | second_round), F.lit(False)
    )
    first = F.when(~F.col("continues"), F.col("generation"))
    rounds = rebalances.withColumn("previous", previous).withColumn("continues", continues)
    if context is not None:
        # The first generation of these rows may continue a logical rebalance that began earlier.
        began = context.select(*GENERATION_KEY, F.col("logical_rebalance").alias("began"))
        rounds = rounds.join(began, on=GENERATION_KEY, how="left")
        first = F.when(F.col("previous").isNull(), F.coalesce("began", first)).otherwise(first)
    logical_rebalance = F.last(first, ignorenulls=True).over(incarnation)
    return rounds.withColumn("logical_rebalance", logical_rebalance).withColumn(
        "round", F.col("generation") - F.col("logical_rebalance") + 1
    )


def _possible(duration_ms: Column) -> Column:
    """The duration, or null if no clocks that run on can show it."""
    return F.when(duration_ms.between(0, MOST_MS), duration_ms)


def _ms_between(start: str, end: str) -> Column:
    return F.unix_millis(F.col(end)) - F.unix_millis(F.col(start))


def run(scope: RunScope) -> None:
    generations, churn = map(scope.read, READS)
    context = scope.context_rows("rebalance_latency")
    scope.replace("rebalance_latency", rebalance_latency(generations, churn, context))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("rebalance_latency")
