"""What each generation changed: members that came and went, partitions that moved.

reads   generations, generation_members, assignments, timeline
writes  churn   one row per generation
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.assignments import ACTUAL
from jobs.assignors.forced_moves import given, there, with_forced_moves
from jobs.command_line.arguments import main
from jobs.lake.tables import Lake
from jobs.timeline import GENERATION, LIFE, PUTS_OUT

READS = ("generations", "generation_members", "assignments", "timeline")

PARTITION = [*LIFE, "topic", "partition"]


def churn(
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    timeline: DataFrame,
    unowned: DataFrame | None = None,
) -> DataFrame:
    """``unowned``: who last had the partitions that nobody has when these tables begin."""
    known = generations.select(
        *GENERATION,
        "event_date",
        "evidence",
        _last_recorded(F.col("generation"), F.desc("generation")).alias("followed_by"),
    )
    kept = F.filter("owned_next", lambda generation: generation == F.col("followed_by"))
    told = (
        known.join(_member_counts(generation_members), on=GENERATION, how="left")
        .join(_departures(timeline), on=GENERATION, how="left")
        .join(_partition_counts(_owned(assignments, unowned)), on=GENERATION, how="left")
        .withColumn("let_go", F.col("assigned") - F.size(kept))
        .drop("followed_by", "owned_next")
    )
    # Who went and what was let go of count for the generation with the next record.
    before = _last_recorded(F.struct("gone", "let_go"), F.asc("generation"))
    counted = with_forced_moves(told).withColumn("before", before)

    def with_records(column: str) -> Column:
        return F.when(F.col("evidence") != "log", F.coalesce(column, F.lit(0))).cast("int")

    def with_log(column: str) -> Column:
        return F.when(F.col("evidence") != "records", F.coalesce(column, F.lit(0))).cast("int")

    return counted.select(
        *GENERATION,
        "event_date",
        with_records("joined").alias("members_joined"),
        with_log("left_").alias("members_left"),
        with_log("expired").alias("members_expired"),
        with_log("dropped").alias("members_dropped"),
        F.coalesce(with_log("replaced_by_log"), with_records("replaced")).alias("members_replaced"),
        with_records("retained").alias("members_retained"),
        with_records("before.gone").alias("members_gone"),
        with_records("assigned").alias("partitions_assigned"),
        with_records("moved").alias("partitions_moved"),
        with_records("before.let_go").alias("partitions_orphaned"),
        with_records("new").alias("partitions_new"),
        with_records("forced").alias("moves_forced"),
    )


def _last_recorded(what: Column, order: Column) -> Column:
    """Of the last generation with a record that comes before, in that order, in the same life."""
    before = Window.partitionBy(*LIFE).orderBy(order).rowsBetween(Window.unboundedPreceding, -1)
    return F.last(F.when(F.col("evidence") != "log", what), ignorenulls=True).over(before)


def _member_counts(members: DataFrame) -> DataFrame:
    return members.groupBy(*GENERATION).agg(
        _count_if(F.col("change") != "retained").alias("joined"),
        _count_if(F.col("change") == "replaced").alias("replaced"),
        _count_if(F.col("change") == "retained").alias("retained"),
        _count_if(F.col("gone")).alias("gone"),
        there(),
    )


def _departures(timeline: DataFrame) -> DataFrame:
    """By log: who went before the generation's join barrier fell, and which instances came back."""
    backwards = Window.partitionBy(*LIFE).orderBy(F.desc("seq"))
    after = backwards.rowsBetween(Window.unboundedPreceding, -1)
    # A replacement belongs to the record or barrier that first has the new member id.
    milestone = F.when(F.col("event") != "REBALANCE_START", F.col("event_generation"))
    lands_in = F.coalesce(F.last(milestone, ignorenulls=True).over(after), "current_generation")
    replaced = F.col("event") == "STATIC_REPLACED"
    told = timeline.withColumn("lands_in", lands_in).withColumn(
        "generation", F.when(replaced, F.col("lands_in")).otherwise(F.col("forming_generation"))
    )
    return told.groupBy(*GENERATION).agg(
        _count_if((F.col("event") == "LEFT") & ~F.col("step").eqNullSafe("pending")).alias("left_"),
        _count_if(F.col("event") == "HEARTBEAT_EXPIRED").alias("expired"),
        F.sum(F.when(F.expr(PUTS_OUT), F.size("members"))).alias("dropped"),
        _count_if(replaced).alias("replaced_by_log"),
    )


def _owned(assignments: DataFrame, unowned: DataFrame | None) -> DataFrame:
    """Each partition given beside its last owner, however many generations ago that was, and
    ``owned_next``, the generation in which it is given again.

    An assignor of one's own may give a partition to several: the last of them is its owner.
    """
    columns = [*GENERATION, "topic", "partition", "process", "member_id"]
    given = assignments.where(F.col("assignor") == ACTUAL).select(*columns)
    if unowned is not None:
        before = unowned.withColumnRenamed("context_incarnation", "incarnation")
        no_generation = F.lit(None).cast("int")
        given = given.unionByName(before.withColumn("generation", no_generation).select(*columns))
    in_order = (F.asc_nulls_first("generation"), "member_id")
    history = Window.partitionBy(*PARTITION).orderBy(*in_order)
    owned = given.withColumn("owned_next", F.lead("generation").over(history)).where(
        "owned_next IS NULL OR NOT owned_next <=> generation"
    )
    last = F.lag(F.struct("process", "member_id")).over(history)
    # A member that stays owns what it had, by whatever name its process goes from some date on.
    stays = F.coalesce(F.col("last.member_id") == F.col("member_id"), F.lit(False))
    return owned.withColumn("last", last).where("generation IS NOT NULL").select(
        *GENERATION,
        "topic",
        "partition",
        "process",
        F.when(stays, F.col("process")).otherwise(F.col("last.process")).alias("last_owner"),
        "owned_next",
    )  # fmt: skip


def _partition_counts(owned: DataFrame) -> DataFrame:
    # Shuffled as they are: a generation's partitions come from many tasks, none could add them up.
    return (
        owned.repartition(*GENERATION)
        .groupBy(*GENERATION)
        .agg(
            F.count("*").alias("assigned"),
            _count_if(F.col("last_owner") != F.col("process")).alias("moved"),
            _count_if(F.col("last_owner").isNull()).alias("new"),
            F.collect_list("owned_next").alias("owned_next"),
            given(),
        )
    )


def _count_if(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def run(lake: Lake) -> None:
    lake.replace("churn", churn(*map(lake.read, READS), lake.carried("unowned_partitions")))


if __name__ == "__main__":
    main(__doc__, run)
