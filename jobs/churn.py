"""What each generation changed: members that joined and left, and partitions that moved.

reads   generations, generation_members, assignments, timeline
writes  churn   one row per generation
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.assignments import IS_OWNER
from jobs.assignors.forced_moves import member_subscriptions, partition_owners, with_forced_moves
from jobs.engine.keeping import by_key
from jobs.engine.pieces import in_pieces
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, PARTITION_KEY
from jobs.lake.scope import RunScope
from jobs.timeline import IS_EXPIRY, IS_FENCED, IS_LEAVE, IS_REMOVAL

READS = ("generations", "generation_members", "assignments", "timeline")

# Maximum number of rows of assignments in memory, on the embedded engine.
PARTITIONS_AT_ONCE = 2_000_000


def churn(
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    timeline: DataFrame,
    unowned: DataFrame | None = None,
) -> DataFrame:
    """``unowned`` has the last owners of the partitions that are unowned when these
    tables begin.
    """
    followed = generations.select(
        *GENERATION_KEY,
        "event_date",
        "evidence",
        _last_recorded(F.col("generation"), F.desc("generation")).alias("next_recorded"),
    )
    kept = F.filter("owned_next", lambda generation: generation == F.col("next_recorded"))
    counted = (
        followed.join(_member_counts(generation_members), on=GENERATION_KEY, how="left")
        .join(_departures(timeline), on=GENERATION_KEY, how="left")
        .join(_partition_counts(_owned(assignments, unowned)), on=GENERATION_KEY, how="left")
        .withColumn("unowned_next", F.col("assigned") - F.size(kept))
        .drop("next_recorded", "owned_next")
    )
    # Members that left and partitions that lost their owner count for the next recorded generation.
    previous = _last_recorded(F.struct("gone", "unowned_next"), F.asc("generation"))
    complete = with_forced_moves(counted).withColumn("previous", previous)

    def with_records(column: str) -> Column:
        return F.when(F.col("evidence") != "log", F.coalesce(column, F.lit(0))).cast("int")

    def with_log(column: str) -> Column:
        return F.when(F.col("evidence") != "records", F.coalesce(column, F.lit(0))).cast("int")

    return complete.select(
        *GENERATION_KEY,
        "event_date",
        with_records("joined").alias("members_joined"),
        with_log("left_").alias("members_left"),
        with_log("session_expired").alias("members_expired"),
        with_log("dropped").alias("members_dropped"),
        F.coalesce(with_log("replaced_by_log"), with_records("replaced")).alias("members_replaced"),
        with_records("retained").alias("members_retained"),
        with_records("previous.gone").alias("members_gone"),
        with_records("assigned").alias("partitions_assigned"),
        with_records("moved").alias("partitions_moved"),
        with_records("previous.unowned_next").alias("partitions_orphaned"),
        with_records("new").alias("partitions_new"),
        with_records("forced").alias("moves_forced"),
    )


def _last_recorded(value: Column, order: Column) -> Column:
    """``value`` of the last generation with a record before this one, in this order."""
    before = (
        Window.partitionBy(*INCARNATION_KEY)
        .orderBy(order)
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return F.last(F.when(F.col("evidence") != "log", value), ignorenulls=True).over(before)


def _member_counts(members: DataFrame) -> DataFrame:
    return members.groupBy(*GENERATION_KEY).agg(
        _count_if(F.col("change") != "retained").alias("joined"),
        _count_if(F.col("change") == "replaced").alias("replaced"),
        _count_if(F.col("change") == "retained").alias("retained"),
        _count_if(F.col("gone")).alias("gone"),
        member_subscriptions(),
    )


def _departures(timeline: DataFrame) -> DataFrame:
    """Departures before each generation's join barrier, and replaced instances, by the log."""
    backwards = Window.partitionBy(*INCARNATION_KEY).orderBy(F.desc("seq"))
    after = backwards.rowsBetween(Window.unboundedPreceding, -1)
    # A replacement belongs to the first record or join barrier with the new member id.
    milestone = F.when(F.col("event") != "REBALANCE_START", F.col("event_generation"))
    stored_in = F.coalesce(F.last(milestone, ignorenulls=True).over(after), "current_generation")
    replaced = F.col("event") == "STATIC_REPLACED"
    placed = timeline.withColumn("stored_in", stored_in).withColumn(
        "generation", F.when(replaced, F.col("stored_in")).otherwise(F.col("forming_generation"))
    )
    return placed.groupBy(*GENERATION_KEY).agg(
        _count_if(F.expr(IS_LEAVE)).alias("left_"),
        _count_if(F.expr(IS_EXPIRY)).alias("session_expired"),
        F.sum(F.when(F.expr(IS_REMOVAL), F.size("members")).when(F.expr(IS_FENCED), 1)).alias(
            "dropped"
        ),
        _count_if(replaced).alias("replaced_by_log"),
    )


def _owned(assignments: DataFrame, unowned: DataFrame | None) -> DataFrame:
    """Each assigned partition with its last owner, from any earlier generation, and ``owned_next``,
    the next generation in which it is assigned.

    A custom assignor may assign a partition to several members, of which the last member is the
    owner.
    """
    columns = [*GENERATION_KEY, *PARTITION_KEY, "process", "member_id"]
    assigned = assignments.where(IS_OWNER).select(*columns)
    if unowned is not None:
        earlier = unowned.withColumnRenamed("context_incarnation", "incarnation").withColumn(
            "generation", F.lit(None).cast("int")
        )
        assigned = assigned.unionByName(earlier.select(*columns))
    in_order = (F.asc_nulls_first("generation"), "member_id")
    history = Window.partitionBy(*INCARNATION_KEY, *PARTITION_KEY).orderBy(*in_order)
    owned = assigned.withColumn("owned_next", F.lead("generation").over(history)).where(
        "owned_next IS NULL OR NOT owned_next <=> generation"
    )
    # Use two columns, because the embedded engine is slower with `lag` of a struct.
    last = {f"last_{name}": F.lag(name).over(history) for name in ("process", "member_id")}
    # A retained member is the same owner, even if its process gets another name on some date.
    stays = F.coalesce(F.col("last_member_id") == F.col("member_id"), F.lit(False))
    return owned.withColumns(last).where("generation IS NOT NULL").select(
        *GENERATION_KEY,
        *PARTITION_KEY,
        "process",
        F.when(stays, F.col("process")).otherwise(F.col("last_process")).alias("last_owner"),
        "owned_next",
    )  # fmt: skip


def _partition_counts(owned: DataFrame) -> DataFrame:
    # A generation's rows are spread over many tasks, so partial counts would shuffle as many rows.
    return (
        by_key(owned, GENERATION_KEY)
        .groupBy(*GENERATION_KEY)
        .agg(
            F.count("*").alias("assigned"),
            _count_if(F.col("last_owner") != F.col("process")).alias("moved"),
            _count_if(F.col("last_owner").isNull()).alias("new"),
            F.collect_list("owned_next").alias("owned_next"),
            partition_owners(),
        )
    )


def _count_if(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def run(scope: RunScope) -> None:
    tables = {name: scope.read(name) for name in READS}
    if (unowned := scope.carried("unowned_partitions")) is not None:
        tables["unowned"] = unowned
    rows = in_pieces(churn, tables, largest="assignments", at_once=PARTITIONS_AT_ONCE)
    scope.replace("churn", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("churn")
