"""What each generation changed: members that came and went, partitions that moved.

reads   generations, generation_members, assignments, timeline
writes  churn   one row per generation
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.arguments import main
from jobs.assignments import ACTUAL
from jobs.forced_moves import forced_moves
from jobs.tables import Lake
from jobs.timeline import GENERATION, LIFE, PUTS_OUT

READS = ("generations", "generation_members", "assignments", "timeline")

PARTITION = [*LIFE, "topic", "partition"]


def churn(
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    timeline: DataFrame,
    ownerless: DataFrame | None = None,
) -> DataFrame:
    """``ownerless``: who last had the partitions that nobody has when these tables begin."""
    numbered = _numbered(generations)
    owned = _owned(numbered, assignments, ownerless)
    told = (
        numbered.join(_member_counts(numbered, generation_members), on=GENERATION, how="left")
        .join(_departures(timeline), on=GENERATION, how="left")
        .join(_partition_counts(owned), on=GENERATION, how="left")
        .join(_orphaned(owned, numbered), on=GENERATION, how="left")
        .join(forced_moves(owned, generation_members), on=GENERATION, how="left")
    )

    def with_records(column: str) -> Column:
        return F.when(F.col("evidence") != "log", F.coalesce(column, F.lit(0))).cast("int")

    def with_log(column: str) -> Column:
        return F.when(F.col("evidence") != "records", F.coalesce(column, F.lit(0))).cast("int")

    return told.select(
        *GENERATION,
        "event_date",
        with_records("joined").alias("members_joined"),
        with_log("left_").alias("members_left"),
        with_log("expired").alias("members_expired"),
        with_log("dropped").alias("members_dropped"),
        F.coalesce(with_log("replaced_by_log"), with_records("replaced")).alias("members_replaced"),
        with_records("retained").alias("members_retained"),
        with_records("gone").alias("members_gone"),
        with_records("assigned").alias("partitions_assigned"),
        with_records("moved").alias("partitions_moved"),
        with_records("orphaned").alias("partitions_orphaned"),
        with_records("new").alias("partitions_new"),
        with_records("forced").alias("moves_forced"),
    )


def _numbered(generations: DataFrame) -> DataFrame:
    """Generations with records, counted: the one before may be several numbers back."""
    life = Window.partitionBy(*LIFE).orderBy("generation")
    so_far = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    has_record = F.col("evidence") != "log"
    return generations.select(*GENERATION, "event_date", "evidence").withColumn(
        "record_no", F.when(has_record, F.sum(has_record.cast("int")).over(so_far))
    )


def _member_counts(numbered: DataFrame, members: DataFrame) -> DataFrame:
    """``gone`` counts for the generation with the next record, the others for their own."""
    placed = members.join(numbered.select(*GENERATION, "record_no"), on=GENERATION, how="inner")
    own = placed.groupBy(*GENERATION).agg(
        _count_if(F.col("change") != "retained").alias("joined"),
        _count_if(F.col("change") == "replaced").alias("replaced"),
        _count_if(F.col("change") == "retained").alias("retained"),
    )
    went = (
        placed.where("gone")
        .groupBy(*LIFE, (F.col("record_no") + 1).alias("record_no"))
        .agg(F.count("*").alias("gone"))
        .join(numbered, on=[*LIFE, "record_no"], how="inner")
        .select(*GENERATION, "gone")
    )
    return own.join(went, on=GENERATION, how="full")


def _departures(timeline: DataFrame) -> DataFrame:
    """By log: who went before the generation's join barrier fell, and which instances came back."""
    backwards = Window.partitionBy(*LIFE).orderBy(F.desc("seq"))
    after = backwards.rowsBetween(Window.unboundedPreceding, -1)
    # A replacement belongs to the record or barrier that first has the new member id.
    milestone = F.when(F.col("sign") != "REBALANCE_START", F.col("level"))
    lands_in = F.coalesce(F.last(milestone, ignorenulls=True).over(after), "current_generation")
    replaced = F.col("sign") == "STATIC_REPLACED"
    told = timeline.withColumn("lands_in", lands_in).withColumn(
        "generation", F.when(replaced, F.col("lands_in")).otherwise(F.col("forming_generation"))
    )
    return told.groupBy(*GENERATION).agg(
        _count_if((F.col("sign") == "LEFT") & ~F.col("step").eqNullSafe("pending")).alias("left_"),
        _count_if(F.col("sign") == "HEARTBEAT_EXPIRED").alias("expired"),
        F.sum(F.when(F.expr(PUTS_OUT), F.size("members"))).alias("dropped"),
        _count_if(replaced).alias("replaced_by_log"),
    )


def _owned(numbered: DataFrame, assignments: DataFrame, ownerless: DataFrame | None) -> DataFrame:
    """Each partition beside its last owner, however many generations ago that was."""
    actual = assignments.where(F.col("assignor") == ACTUAL)
    owned = actual.join(numbered.select(*GENERATION, "record_no"), on=GENERATION, how="inner")
    columns = [*GENERATION, "record_no", "topic", "partition", "process", "member_id"]
    placed = owned.select(*columns)
    if ownerless is not None:
        before = ownerless.withColumnRenamed("context_incarnation", "incarnation").withColumns(
            {"generation": F.lit(None).cast("int"), "record_no": F.lit(0).cast("long")}
        )
        placed = placed.unionByName(before.select(*columns))
    history = Window.partitionBy(*PARTITION).orderBy("record_no")
    last = F.lag(F.struct("process", "member_id")).over(history)
    # A member that stays owns what it had, by whatever name its process goes from some date on.
    stays = F.coalesce(F.col("last.member_id") == F.col("member_id"), F.lit(False))
    return placed.withColumns(
        {"last": last, "owned_next": F.lead("record_no").over(history)}
    ).where("generation IS NOT NULL").select(
        *GENERATION,
        "record_no",
        "topic",
        "partition",
        "process",
        F.when(stays, F.col("process")).otherwise(F.col("last.process")).alias("last_owner"),
        "owned_next",
    )  # fmt: skip


def _partition_counts(owned: DataFrame) -> DataFrame:
    return owned.groupBy(*GENERATION).agg(
        F.count("*").alias("assigned"),
        _count_if(F.col("last_owner") != F.col("process")).alias("moved"),
        _count_if(F.col("last_owner").isNull()).alias("new"),
    )


def _orphaned(owned: DataFrame, numbered: DataFrame) -> DataFrame:
    """Counts for the generation after the one in which the partition was last owned."""
    let_go = owned.where("owned_next IS NULL OR owned_next <> record_no + 1")
    counted = let_go.groupBy(*LIFE, (F.col("record_no") + 1).alias("record_no")).agg(
        F.count("*").alias("orphaned")
    )
    return counted.join(numbered, on=[*LIFE, "record_no"], how="inner").select(
        *GENERATION, "orphaned"
    )


def _count_if(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def run(lake: Lake) -> None:
    lake.replace("churn", churn(*map(lake.read, READS), lake.carried("ownerless")))


if __name__ == "__main__":
    main(__doc__, run)
