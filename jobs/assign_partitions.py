"""What the group's own assignor and others give for every generation that has a record.

reads   timeline, group_metadata, generation_members
        topic_partitions   if anybody filled it (jobs.topic_partitions)
writes  seen_partitions    partitions that topics were seen with
        assignments        rows of every assignor but 'actual': one step after what really was
        assignor_quality   the same steps, chains of steps, and what really was, in figures

A step needs the generation before and nothing else, so work is cut into chunks of a life's
generations, and a group with half of all generations is many tasks.  Each chunk is given the last
generation before it.  A chain, an assignor fed with its own results, goes from one end of a chunk
to the other: there the next begins, with what the group really had, or for an assignor without
memory with what it gives there, which is the same wherever it is cut.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.assignors import ASSIGNORS
from jobs.assignments import ACTUAL
from jobs.assignors.partition_counts import (
    partition_counts,
    said_of_groups,
    seen_partitions,
    time_ms,
)
from jobs.assignors.rerun import GIVEN, NAMES, PLACE, SCHEMA, Rerun
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope

# After `assignments`, which writes the other rows of its table.
READS = ("timeline", "group_metadata", "generation_members", "topic_partitions", "assignments")

# Generations to a chunk: a chain is at most that long.
# Nor does one go over a midnight: what a date's rows are does not rest on where it began.
CHUNK = 256
CHUNKS_A_DAY = 1 << 24
# Generations to a frame of the UDF, about: small groups share one, for its overhead.
FRAME = 1000
# Frames to a task that writes, about: it sorts what it writes, and each of the pieces in which it
# does so takes of the heap.
FRAMES_WRITTEN = 128


def recorded(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """A row per generation of consumers whose subscriptions can be read.

    Its first record is what the leader gave; static members may have other ids in the last one.
    """
    placed = timeline.where("event = 'RECORD' AND event_generation IS NOT NULL").select(
        *RECORD_KEY, "incarnation", "seq"
    )
    readable = F.forall("members.subscribed_topics", lambda topics: topics.isNotNull())
    in_order = Window.partitionBy(*GENERATION_KEY).orderBy("seq")
    whole = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    records = (
        group_metadata.where((F.col("protocol_type") == "consumer") & readable)
        .join(placed, on=RECORD_KEY, how="inner")
        .withColumn("last_ids", F.last("members.member_id").over(whole))
        .withColumn("age", F.row_number().over(in_order))
        .where("age = 1")
    )
    process = generation_members.groupBy(*GENERATION_KEY).agg(
        F.map_from_entries(F.collect_list(F.struct("member_id", "process"))).alias("process_of")
    )
    return records.join(process, on=GENERATION_KEY, how="inner").select(
        *GENERATION_KEY,
        "event_date",
        time_ms().alias("time_ms"),
        "protocol",
        "members.member_id",
        "members.instance_id",
        "members.subscription",
        "members.assignment",
        _processes(F.col("members.member_id")).alias("process"),
        "last_ids",
        _processes(F.col("last_ids")).alias("last_process"),
    )


def _processes(member_ids: Column) -> Column:
    return F.transform(member_ids, lambda member_id: F.element_at("process_of", member_id))


def in_chunks(generations: DataFrame) -> DataFrame:
    """Each date's and chunk's generations, and ``carried`` into it the last one before it."""
    day, part = F.unix_date("event_date").cast("long"), F.floor(F.col("generation") / CHUNK)
    own = day * CHUNKS_A_DAY + part
    borders = _borders(generations.select(*GENERATION_KEY, own.alias("own")))
    also = F.when(F.col("next_chunk").isNotNull(), F.array("own", "next_chunk"))
    return (
        generations.withColumn("own", own)
        .join(borders, on=GENERATION_KEY, how="left")
        .withColumn("chunk", F.explode(F.coalesce(also, F.array("own"))))
        .withColumn("carried", F.col("chunk") != F.col("own"))
        .drop("own", "next_chunk")
    )


def _borders(generations: DataFrame) -> DataFrame:
    """The last generation of each chunk but the life's last, and the chunk that comes next."""
    life = Window.partitionBy(*INCARNATION_KEY).orderBy("own")
    return (
        generations.groupBy(*INCARNATION_KEY, "own")
        .agg(F.max("generation").alias("generation"))
        .withColumn("next_chunk", F.lead("own").over(life))
        .where("next_chunk IS NOT NULL")
        .select(*GENERATION_KEY, "next_chunk")
    )


def rerun(chunks: DataFrame, assignors: tuple[str, ...], frames: int) -> DataFrame:
    """One row per generation and assignor, step and chain, in ``frames`` frames of whole chunks."""
    frame = F.pmod(F.xxhash64(*INCARNATION_KEY, "chunk"), F.lit(frames))
    again = Rerun(assignors)

    # Not the object itself: Spark counts the arguments, and takes `self` for the key.
    def told(rows: pa.Table) -> pa.Table:
        return again(rows)

    # A task a frame, for chunks differ in what they cost.
    framed = chunks.withColumn("frame", frame).repartition(frames, "frame")
    return framed.groupBy("frame").applyInArrow(told, from_arrow_schema(SCHEMA))


def quality(told: DataFrame) -> DataFrame:
    return told.drop(*NAMES, *GIVEN)


def assignments(told: DataFrame) -> DataFrame:
    steps = told.where((F.col("mode") == "step") & (F.col("assignor") != ACTUAL))
    given = steps.withColumn("given", F.explode(F.arrays_zip(*GIVEN)))
    return given.select(
        *PLACE,
        "assignor",
        F.get("member_ids", "given.member").alias("member_id"),
        F.get("processes", "given.member").alias("process"),
        F.get("topics", "given.topic").alias("topic"),
        "given.partition",
    )


def store(scope: RunScope, told: DataFrame, frames: int) -> None:
    told.persist(StorageLevel.DISK_ONLY)
    try:
        told.count()  # Worked out frame by frame, whoever is free; then written in few files.
        at_once = scope.lake.parallelism
        few = told.coalesce(max(at_once, frames // FRAMES_WRITTEN))
        scope.replace("assignor_quality", quality(few))
        scope.replace("assignments", assignments(few), where=f"assignor <> '{ACTUAL}'")
    finally:
        told.unpersist()


def run(scope: RunScope, assignors: tuple[str, ...] = tuple(ASSIGNORS)) -> None:
    later = scope.later_dates()
    known = None if later is None else partition_counts(*_counted(scope))
    seen = seen_partitions(scope.read("group_metadata"))
    scope.replace_or_upsert("seen_partitions", seen, if_="n.since < t.since")
    _run_again(scope, assignors)
    # What came late may show that a topic had more partitions than the dates after it knew.
    if later is not None and known is not None:
        counts = partition_counts(*_counted(scope))
        if counts.differ_from(known, later.first_ms):
            _run_again(later, assignors)


def _counted(scope: RunScope) -> tuple[DataFrame, DataFrame]:
    return scope.read("topic_partitions"), scope.read("seen_partitions")


def _run_again(scope: RunScope, assignors: tuple[str, ...]) -> None:
    tables = {
        name: scope.read(name) for name in ("timeline", "group_metadata", "generation_members")
    }
    frames = 1 + tables["timeline"].where("event = 'RECORD'").count() // FRAME
    said = said_of_groups(tables["group_metadata"], *_counted(scope))
    chunks = in_chunks(recorded(**tables)).join(said, on=GROUP_KEY, how="left")
    store(scope, rerun(chunks, assignors, frames), frames)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("assign_partitions")
