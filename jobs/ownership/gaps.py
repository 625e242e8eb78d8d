"""The times between the tenures of a partition."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from coordinator_core.whatif.baseline import SHUT_DOWN_MS
from jobs.engine.union import union_of
from jobs.lake.dates import NEVER_MS
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, PARTITION_KEY

_SHUTDOWN = ("shutdown_ms", "shutdown_generation", "shutdown_date", "stopped_ms")


def of_partitions(
    owners: DataFrame, classic_tenures: DataFrame, modern_tenures: DataFrame | None
) -> DataFrame:
    """The tenures of all partitions; ``owners``: see `jobs.ownership.of_run`."""
    owned = owners.join(classic_tenures, on=[*GENERATION_KEY, "member_id"], how="inner").withColumn(
        "is_modern", F.lit(False)
    )
    if modern_tenures is None:
        return owned
    return union_of(owned, modern_tenures.withColumn("is_modern", F.lit(True)))


def in_succession(owned: DataFrame) -> DataFrame:
    """The tenures of living members with ``is_continued`` (the process owned the partition until
    the partition was assigned again) and ``owner_...``: the begin of the partition's next tenure.
    """
    return _outlasting(_living(owned)).withColumns(_next_owner())


def gaps(owned: DataFrame) -> DataFrame:
    """Gaps count from a partition's first owner on.  If the group was shut down, they end when its
    last process stopped, or when its next incarnation, with another protocol, assigned the
    partition.  ``ended_...`` is the end of the gap, and its next owner; null while it is open.
    """
    until_ms = F.coalesce("owner_ms", F.lit(NEVER_MS))
    is_shut_down = F.coalesce(F.col("shutdown_ms") < until_ms, F.lit(False))
    away_ms = F.col("migrated_ms") - F.coalesce("shutdown_ms", "until_ms")
    is_migrated = F.coalesce(F.col("owner_ms").isNull() & (away_ms <= SHUT_DOWN_MS), F.lit(False))
    unowned = (
        in_succession(owned)
        .where(F.col("until_ms") < until_ms)
        .join(F.broadcast(_migrated(owned)), on=[*INCARNATION_KEY, *PARTITION_KEY], how="left")
        .withColumns(_ended(is_shut_down, is_migrated))
    )
    return unowned.where(F.col("until_ms") < F.coalesce("ended_ms", F.lit(NEVER_MS)))


def _of_partition() -> WindowSpec:
    return Window.partitionBy(*INCARNATION_KEY, *PARTITION_KEY).orderBy("generation", "from_ms")


def continued(earlier: DataFrame, tenures: DataFrame) -> DataFrame:
    """Earlier gaps as tenures that ended.  Gaps of an earlier version have no range."""
    shutdown = tenures.where("shutdown_ms IS NOT NULL")
    first = shutdown.groupBy(*INCARNATION_KEY).agg(*(F.min(name).alias(name) for name in _SHUTDOWN))
    how = F.when(F.col("why") == "rebalance", "revoked").otherwise(F.col("why"))
    return earlier.join(first, on=INCARNATION_KEY, how="left").select(
        *INCARNATION_KEY,
        *PARTITION_KEY,
        F.col("from_generation").alias("generation"),
        F.col("from_process").alias("process"),
        (F.unix_millis("from_time") - 1).alias("from_ms"),
        F.unix_millis("from_time").alias("until_ms"),
        _began_ms("unowned_ms_high").alias("earliest_until_ms"),
        _began_ms("unowned_ms_low").alias("latest_until_ms"),
        how.alias("how"),
        "evidence",
        F.col("estimated").alias("is_estimated"),
        F.when(F.col("shutdown_ms").isNotNull(), F.lit(False)).alias("is_modern"),
        *_SHUTDOWN,
    )


def _began_ms(unowned_ms: str) -> Column:
    """The time at which the gap began if it lasted this long."""
    shorter_ms = F.col("unowned_ms") - F.coalesce(unowned_ms, "unowned_ms")
    return F.unix_millis("from_time") + shorter_ms


def _living(owned: DataFrame) -> DataFrame:
    """The tenures of living members; ``how`` also says whether the next generation assigned the
    partition to nobody, or to a dead member."""
    is_dead = F.col("until_ms") <= F.col("from_ms")
    following = {
        "following_generation": F.lead("generation").over(_of_partition()),
        "following_how": F.lead(F.when(is_dead, F.col("how"))).over(_of_partition()),
    }
    following_ms = F.coalesce("following_generation", F.lit(NEVER_MS))
    how = (
        F.when(F.col("how") != "revoked", F.col("how"))
        .when(F.col("following_how").isNotNull(), F.col("following_how"))
        .when(following_ms > F.col("next_generation"), "not_assigned")
        .otherwise("revoked")
    )
    return (
        owned.withColumns(following | {"is_continued": _is_continued()})
        .withColumn("since_ms", _since_ms())
        .where(~is_dead & (F.col("polled_ms").isNull() | (F.col("since_ms") <= F.col("polled_ms"))))
        .withColumn("how", how)
    )


def _is_continued() -> Column:
    """The process owned the partition until it was assigned again."""
    is_same = F.lag("process").over(_of_partition()) == F.col("process")
    return F.coalesce(
        is_same & (F.lag("until_ms").over(_of_partition()) >= F.col("from_ms")), F.lit(False)
    )


def _since_ms() -> Column:
    """The time since which the process has owned the partition without interruption.

    librdkafka's cooperative members join while the application does not poll, and take a new
    partition only when it polls again.
    """
    so_far = _of_partition().rowsBetween(Window.unboundedPreceding, Window.currentRow)
    began_ms = F.when(~F.col("is_continued"), F.col("from_ms"))
    return F.last(began_ms, ignorenulls=True).over(so_far)


def _outlasting(owned: DataFrame) -> DataFrame:
    """The tenures except those that ended before an earlier tenure ended."""
    before = _of_partition().rowsBetween(Window.unboundedPreceding, -1)
    earlier_ms = F.max("until_ms").over(before)
    return owned.withColumn("earlier_ms", earlier_ms).where(
        "earlier_ms IS NULL OR until_ms >= earlier_ms"
    )


def _next_owner() -> dict[str, Column]:
    names = {
        "owner_ms": "from_ms",
        "owner_generation": "generation",
        "owner_date": "event_date",
        "owner": "process",
    }
    return {name: F.lead(column).over(_of_partition()) for name, column in names.items()}


def _migrated(owned: DataFrame) -> DataFrame:
    """INCARNATION_KEY, PARTITION_KEY, ``migrated_ms``, ``migrated_date``: the first assignment in
    the group's next incarnation, if the group changed to or from the classic protocol and every
    process that owned partitions at the end came back.  Other groups were shut down.
    """
    following = owned.where("incarnation > 1").withColumn("incarnation", F.col("incarnation") - 1)
    first = following.groupBy(*INCARNATION_KEY, *PARTITION_KEY).agg(
        F.min("from_ms").alias("migrated_ms"), F.min("event_date").alias("migrated_date")
    )
    next_began = following.groupBy(*INCARNATION_KEY).agg(
        F.min(F.struct("from_ms", "is_modern")).alias("began")
    )
    # A row per process: a set of all processes in the row of each partition would be quadratic.
    back = following.select(*INCARNATION_KEY, "process").distinct()
    back = back.withColumn("came_back", F.lit(True))
    is_back = F.coalesce("came_back", F.lit(False))
    is_other = F.col("began.is_modern") != F.col("is_modern")
    migrated = (
        owned.join(F.broadcast(next_began), on=INCARNATION_KEY, how="inner")
        .withColumn("next_ms", F.lead("from_ms").over(_of_partition()))
        .where("next_ms IS NULL")
        .join(back, on=[*INCARNATION_KEY, "process"], how="left")
        .groupBy(*INCARNATION_KEY)
        .agg(F.min((is_back & is_other).cast("int")).alias("is_migrated"))
        .where("is_migrated = 1")
    )
    return first.join(migrated.drop("is_migrated"), on=INCARNATION_KEY, how="inner")


def _ended(is_shut_down: Column, is_migrated: Column) -> dict[str, Column]:
    # The generation that assigned the partition again belongs to another incarnation.
    last_generation = F.coalesce("shutdown_generation", "generation")
    ends = {
        "ended_ms": (F.col("migrated_ms"), "stopped_ms", "owner_ms"),
        "ended_generation": (last_generation, "shutdown_generation", "owner_generation"),
        "ended_date": (F.col("migrated_date"), "shutdown_date", "owner_date"),
    }
    return {
        name: F.when(is_migrated, migrated)
        .when(is_shut_down, F.col(stopped))
        .otherwise(F.col(assigned))
        for name, (migrated, stopped, assigned) in ends.items()
    } | {"ended_process": F.when(~is_shut_down, F.col("owner"))}


def rows_of(gaps: DataFrame, last_events: DataFrame) -> DataFrame:
    """The table's rows.  ``last_events`` has ``last_date`` and ``last_ms`` per group, at which open
    gaps are cut.
    """
    until_ms = F.coalesce("ended_ms", F.greatest("last_ms", "until_ms"))

    def lasted_ms(since_ms: str) -> Column:
        return F.greatest(until_ms - F.coalesce(since_ms, "until_ms"), F.lit(0))

    return gaps.join(F.broadcast(last_events), on=GROUP_KEY, how="left").select(
        *INCARNATION_KEY,
        *PARTITION_KEY,
        F.coalesce("ended_date", "last_date").alias("event_date"),
        F.timestamp_millis("until_ms").alias("from_time"),
        F.timestamp_millis("ended_ms").alias("to_time"),
        (until_ms - F.col("until_ms")).alias("unowned_ms"),
        lasted_ms("latest_until_ms").alias("unowned_ms_low"),
        lasted_ms("earliest_until_ms").alias("unowned_ms_high"),
        F.col("process").alias("from_process"),
        F.col("ended_process").alias("to_process"),
        F.col("generation").alias("from_generation"),
        F.col("ended_generation").alias("generation"),
        _why().alias("why"),
        "evidence",
        F.col("is_estimated").alias("estimated"),
    )


def _why() -> Column:
    is_same = F.col("ended_process") == F.col("process")
    return F.when((F.col("how") == "revoked") & is_same, "rebalance").otherwise(F.col("how"))
