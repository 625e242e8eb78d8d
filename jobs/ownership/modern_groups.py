"""The time for which members of a modern group keep their partitions after its downgrade."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from coordinator_core.modern_history.process_ends import CONVERTED, REVOKED
from coordinator_core.protocol.client_times import HEARTBEAT_MS
from jobs.lake.dates import NEVER_MS
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY


def until_revoked(tenures: DataFrame, rebalances: DataFrame) -> DataFrame:
    """Tenures that a downgrade ended last until the first classic rebalance revokes them.

    This rebalance begins with the downgrade, or later if a static member that replaced another
    member made the group classic (`GroupMetadataManager.convertToClassicGroup`).  Without such a
    rebalance the tenures last.  An eager member revokes at its next heartbeat, but before it has
    joined; a cooperative one when the next generation is assigned.
    """
    converted = tenures.where(F.col("how") == CONVERTED)
    following = (
        converted.select(*GENERATION_KEY)
        .distinct()
        .join(_numbered(rebalances), on=INCARNATION_KEY, how="inner")
        .where("next_generation > generation")
        .groupBy(*GENERATION_KEY)
        .agg(F.min("rebalance").alias("rebalance"), F.min("assigned").alias("assigned"))
    )
    began_ms = F.greatest("until_ms", "rebalance.began_ms")
    revoked_ms = F.when(
        F.col("rebalance").isNotNull(),
        F.least(began_ms + HEARTBEAT_MS // 2, F.greatest("until_ms", "rebalance.joined_ms")),
    )
    until_ms = F.when(F.col("assigned.is_cooperative"), F.col("assigned.assigned_ms"))
    revoked = (
        converted.join(following, on=GENERATION_KEY, how="left")
        .withColumns(
            {
                "until_ms": F.coalesce(until_ms, revoked_ms, F.lit(NEVER_MS)),
                "is_estimated": ~F.coalesce("assigned.is_cooperative", F.lit(False)),
                "how": F.lit(REVOKED),
            }
        )
        .select(*tenures.columns)
    )
    return tenures.where(F.col("how") != CONVERTED).unionByName(revoked)


def _numbered(rebalances: DataFrame) -> DataFrame:
    """``rebalance`` is each classic generation's; ``assigned`` is null if it was not assigned."""
    assigned = F.struct("generation", "is_cooperative", "assigned_ms")
    return rebalances.select(
        *INCARNATION_KEY,
        F.col("generation").alias("next_generation"),
        F.struct("generation", "began_ms", "joined_ms").alias("rebalance"),
        F.when(F.col("is_assigned"), assigned).alias("assigned"),
    )
