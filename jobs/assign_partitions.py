"""Runs the group's own assignor and other assignors again on every recorded generation.

reads   timeline, group_metadata, generation_members
        group_records      targets of consumer groups; topic_ids: names of their topics
        topic_partitions   partition counts, if jobs.topic_partitions filled it
writes  seen_partitions    partition counts seen in assignments
        assignor_reruns    one step of every assignor, from the actual previous assignment
        assignor_quality   figures of these steps, of chains of steps, and of the actual assignment

A step depends on the previous generation only.  Therefore an incarnation's generations are cut into
chunks, and a group with half of all generations becomes many tasks.  Each chunk also gets the last
generation before the chunk.  A chain, in which an assignor continues its own results, ends with its
chunk; the next chunk starts a new chain from the actual assignment, or, for an assignor without
memory, from its own result, which is the same for any cut.

In consumer groups the coordinator's assignors run again on the targets, one incarnation per task.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.assignors import ASSIGNORS, SERVER_ASSIGNORS
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from jobs.assignments import ACTUAL, RERUNS
from jobs.assignors.partition_counts import (
    partition_counts,
    seen_partitions,
    time_ms,
    topic_counts_of_groups,
)
from jobs.assignors.rerun import (
    ASSIGNED_LISTS,
    GENERATION_COLUMNS,
    LARGE,
    LARGE_RERUNS,
    SCHEMA,
    Rerun,
)
from jobs.assignors.targets import TARGET, TargetRows
from jobs.engine.keeping import kept
from jobs.lake.epoch_rows import new_records, topic_names
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.played import of_histories

READS = (
    "timeline", "group_metadata", "generation_members", "topic_partitions", "assignments",
    "group_records", "topic_ids",
)  # fmt: skip

# Generations per chunk, which is the maximum length of a chain.  A chunk ends at midnight UTC, so
# that a date's rows do not depend on the dates of the run.
CHUNK = 256
CHUNKS_PER_DAY = 1 << 24
# Lists with one element per member, which cost memory.
MEMBER_LISTS = ["member_id", "instance_id", "subscription", "assignment", "last_ids", "processes"]
# Approximate number of generations per frame of the UDF; small groups share a frame.
FRAME = 1000
# Approximate number of frames per writing task: a task sorts its rows, and sorting needs heap.
FRAMES_PER_WRITER = 128


def recorded(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """One row per generation of a consumer group with readable subscriptions.

    The generation's first record has the leader's assignment; in its last record, static members
    may have other ids.
    """
    record_events = timeline.where("event = 'RECORD' AND event_generation IS NOT NULL").select(
        *RECORD_KEY, "incarnation", "seq"
    )
    # Use no lambda: the embedded engine cannot push a lambda down to a table.
    readable = F.size(F.array_compact("members.subscribed_topics")) == F.size("members")
    in_order = Window.partitionBy(*GENERATION_KEY).orderBy("seq")
    all_records = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    records = (
        group_metadata.where((F.col("protocol_type") == "consumer") & readable)
        .join(record_events, on=RECORD_KEY, how="inner")
        .withColumn("last_ids", F.last("members.member_id").over(all_records))
        .withColumn("record_number", F.row_number().over(in_order))
        .where("record_number = 1")
    )
    # Python looks up the processes: a lambda would get a copy of all members for each member.
    members = generation_members.groupBy(*GENERATION_KEY).agg(
        F.collect_list(F.struct("member_id", "process")).alias("processes")
    )
    lists = F.flatten(F.array_compact("members.assigned"))
    rows = records.join(members, on=GENERATION_KEY, how="inner").withColumn("lists", lists)
    partitions = F.size(F.flatten("lists.partitions"))
    return rows.select(
        *GENERATION_KEY,
        "event_date",
        time_ms().alias("time_ms"),
        "protocol",
        "members.member_id",
        "members.instance_id",
        "members.subscription",
        "members.assignment",
        "last_ids",
        "processes",
        partitions.alias("partitions_assigned"),
        _in_bounds(F.size("members") + partitions).alias("in_bounds"),
    )


def _in_bounds(size: Column) -> Column:
    """Whether at most LARGE_RERUNS generations of the date, up to this one, are large."""
    of_date = Window.partitionBy(*INCARNATION_KEY, "event_date").orderBy("generation")
    so_far = of_date.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return F.count(F.when(size > LARGE, 1)).over(so_far) <= LARGE_RERUNS


def in_chunks(generations: DataFrame) -> DataFrame:
    """The generations of each chunk; ``carried`` is the last one before it, added to the chunk."""
    day, part = F.unix_date("event_date").cast("long"), F.floor(F.col("generation") / CHUNK)
    own = day * CHUNKS_PER_DAY + part
    borders = _borders(generations.select(*GENERATION_KEY, own.alias("own")))
    is_read = F.col("in_bounds") | F.col("carried")
    both = F.when(F.col("next_chunk").isNotNull(), F.array("own", "next_chunk"))
    return (
        generations.withColumn("own", own)
        .join(borders, on=GENERATION_KEY, how="left")
        .withColumn("chunk", F.explode(F.coalesce(both, F.array("own"))))
        .withColumn("carried", F.col("chunk") != F.col("own"))
        .drop("own", "next_chunk")
        .withColumns({name: F.when(is_read, F.col(name)) for name in MEMBER_LISTS})
    )


def _borders(generations: DataFrame) -> DataFrame:
    """The last generation of each chunk that has a next chunk, and that chunk."""
    chunks = Window.partitionBy(*INCARNATION_KEY).orderBy("own")
    return (
        generations.groupBy(*INCARNATION_KEY, "own")
        .agg(F.max("generation").alias("generation"))
        .withColumn("next_chunk", F.lead("own").over(chunks))
        .where("next_chunk IS NOT NULL")
        .select(*GENERATION_KEY, "next_chunk")
    )


def rerun(chunks: DataFrame, assignors: tuple[str, ...], frames: int) -> DataFrame:
    """Returns one row per generation, assignor and mode (step, chain), computed in ``frames``
    frames.
    """
    frame = F.pmod(F.xxhash64(*INCARNATION_KEY, "chunk"), F.lit(frames))
    rerun_frame = Rerun(assignors)

    # This must be a function: Spark would count the parameter `self` of a callable object as the
    # key argument.
    def rerun_rows(rows: pa.Table) -> pa.Table:
        return rerun_frame(rows)

    # One task per frame, since the cost of chunks differs.
    framed = chunks.withColumn("frame", frame).repartition(frames, "frame")
    return framed.groupBy("frame").applyInArrow(rerun_rows, from_arrow_schema(SCHEMA))


def target_results(
    timeline: DataFrame,
    group_records: DataFrame,
    names: Mapping[str, str],
    assignors: tuple[str, ...],
) -> DataFrame:
    """The rows of `rerun` for the targets of consumer groups, by the coordinator's assignors."""
    of_server = tuple(name for name in assignors if name in SERVER_ASSIGNORS)
    rows_of = TargetRows(names, of_server, CHUNK)
    records = group_records.where(f"group_type = '{CONSUMER.name}'")
    return of_histories(rows_of, from_arrow_schema(SCHEMA), timeline, records)


def quality(results: DataFrame) -> DataFrame:
    return results.drop(*ASSIGNED_LISTS)


def assignor_reruns(results: DataFrame) -> DataFrame:
    steps = results.where((F.col("mode") == "step") & (F.col("assignor") != ACTUAL))
    assigned = F.explode(F.arrays_zip(*ASSIGNED_LISTS)).alias("assigned")
    return steps.select(*GENERATION_COLUMNS, "assignor", assigned).select(
        *GENERATION_COLUMNS,
        "assignor",
        *(f"assigned.{name}" for name in ASSIGNED_LISTS),
        F.lit("active").alias("role"),
        F.lit(None).cast("string").alias("subtopology"),
    )


def store(scope: RunScope, results: DataFrame, frames: int) -> None:
    with kept(results) as rows:
        rows.count()  # This computes frame by frame with all tasks, before few tasks write.
        writers = max(scope.lake.parallelism, frames // FRAMES_PER_WRITER)
        coalesced = _without_repeated(rows, scope.read("assignments")).coalesce(writers)
        scope.replace("assignor_quality", quality(coalesced))
        scope.replace(RERUNS, assignor_reruns(coalesced))


def _without_repeated(results: DataFrame, assignments: DataFrame) -> DataFrame:
    """The record that a downgrade writes repeats a target: it is no generation of its own."""
    is_target = F.lit(True).alias("has_target")
    targets = assignments.where("is_target = true").select(*GENERATION_KEY, is_target).distinct()
    of_target = F.col("partition_count_source") == TARGET
    return (
        results.join(targets, on=GENERATION_KEY, how="left")
        .where(F.col("has_target").isNull() | of_target)
        .drop("has_target")
    )


def run(scope: RunScope, assignors: tuple[str, ...] = tuple(ASSIGNORS)) -> None:
    later = scope.later_dates()
    previous_counts = None if later is None else partition_counts(*_count_tables(scope))
    seen = seen_partitions(scope.read("group_metadata"))
    scope.replace_or_upsert("seen_partitions", seen, if_="n.since < t.since")
    _rerun_scope(scope, assignors)
    # Late records may show that a topic had more partitions than were known for later dates.
    if later is not None and previous_counts is not None:
        counts = partition_counts(*_count_tables(scope))
        if counts.differ_from(previous_counts, later.first_ms):
            _rerun_scope(later, assignors)


def _count_tables(scope: RunScope) -> tuple[DataFrame, DataFrame]:
    return scope.read("topic_partitions"), scope.read("seen_partitions")


def _rerun_scope(scope: RunScope, assignors: tuple[str, ...]) -> None:
    tables = {
        name: scope.read(name) for name in ("timeline", "group_metadata", "generation_members")
    }
    frames = 1 + tables["timeline"].where("event = 'RECORD'").count() // FRAME
    topic_counts = topic_counts_of_groups(tables["group_metadata"], *_count_tables(scope))
    chunks = in_chunks(recorded(**tables)).join(topic_counts, on=GROUP_KEY, how="left")
    results = rerun(chunks, assignors, frames)
    if (records := new_records(scope)) is not None:
        names = topic_names(scope)
        new = target_results(tables["timeline"], records, names, assignors)
        results = results.unionByName(new)
    store(scope, results, frames)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("assign_partitions")
