"""When each process of a group of the new types owned each partition: evidence, and rows.

Rules: `coordinator_core.epochs.tenures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from coordinator_core.epochs.evidence import Partition
from coordinator_core.epochs.handovers import ACTIVE
from coordinator_core.epochs.history import History
from coordinator_core.epochs.tenures import Ownership, Shutdown, Tenure, ownership
from jobs.engine.keeping import computed
from jobs.epochs.rows import Names, Row, topics_of
from jobs.lake.keys import GROUP_KEY, INCARNATION_KEY, PARTITION_KEY, RECORD_KEY
from jobs.ownership.tenures import NEVER_MS

# Earlier commits of a member that departed show nothing.
RECENT_MS = 120_000
CURRENT = "GroupCurrentMemberAssignment"
_BUCKET_MS = 60_000
_EPOCH = date(1970, 1, 1)

TENURES = StructType(
    [
        StructField(name, type_, nullable=True)
        for name, type_ in {
            **{name: StringType() for name in GROUP_KEY},
            "incarnation": IntegerType(),
            "generation": IntegerType(),
            "topic": StringType(),
            "partition": IntegerType(),
            "process": StringType(),
            "event_date": DateType(),
            "from_ms": LongType(),
            "until_ms": LongType(),
            "polled_ms": LongType(),
            "how": StringType(),
            "evidence": StringType(),
            "is_estimated": BooleanType(),
            "shutdown_ms": LongType(),
            "shutdown_generation": IntegerType(),
            "shutdown_date": DateType(),
            "stopped_ms": LongType(),
        }.items()
    ]
)


# Evidence beyond records and departures --------------------------------------------------------


def refusals(timeline: DataFrame) -> DataFrame:
    """Lines: a process was refused, as a member (``refused_id``) has its instance id."""
    return timeline.where("event = 'STATIC_FENCED' AND old_member_id IS NOT NULL").select(
        *INCARNATION_KEY,
        F.unix_millis("event_time").alias("time_ms"),
        F.col("old_member_id").alias("refused_id"),
    )


def commits(
    timeline: DataFrame,
    group_records: DataFrame,
    committed_offsets: DataFrame,
    topic_ids: DataFrame,
) -> DataFrame:
    """The last commits of the partitions that a member had when it departed, or has: one row per
    partition with ``committer_id`` and ``departed_ms``, 0 if it has not."""
    named = topic_ids.select("cluster_id", "topic_id", "topic")
    departures = computed(_departures(timeline, group_records))
    of_topics = departures.join(named, on=["cluster_id", "topic_id"], how="inner")
    of_tasks = departures.join(_sources(group_records), on=[*GROUP_KEY, "subtopology"], how="inner")
    marks = of_topics.unionByName(of_tasks)
    committed = committed_offsets.where("NOT tombstone AND append_time IS NOT NULL").select(
        *GROUP_KEY, *PARTITION_KEY, F.unix_millis("append_time").alias("at_ms")
    )
    committed = committed.withColumn("bucket", F.floor(F.col("at_ms") / _BUCKET_MS))
    recent = F.col("at_ms").between(F.col("until_ms") - RECENT_MS, F.col("until_ms"))
    return (
        marks.join(committed, on=[*GROUP_KEY, *PARTITION_KEY, "bucket"], how="inner")
        .where(recent)
        .groupBy(
            *INCARNATION_KEY, "committer_id", "departed_ms", "subtopology", "topic_id", "partition"
        )
        .agg(F.array_sort(F.collect_list("at_ms")).alias("commits"))
    )


def _departures(timeline: DataFrame, group_records: DataFrame) -> DataFrame:
    """One row per member, partition that it had when it departed, or has, and minute before.

    ``until_ms``: of its departure, or some time after the group's last event.
    """
    of_member = Window.partitionBy(*GROUP_KEY, "topic_partition", "member_id").orderBy("log_offset")
    current = group_records.where(F.col("record").endswith(CURRENT)).withColumns(
        {
            "had": F.lag("assigned").over(of_member),
            "is_last": F.lead("log_offset").over(of_member).isNull(),
        }
    )
    placed = timeline.where("log_offset IS NOT NULL").select(
        *RECORD_KEY, "incarnation", F.unix_millis("event_time").alias("time_ms")
    )
    ends = timeline.groupBy(*GROUP_KEY).agg(F.max(F.unix_millis("event_time")).alias("last_ms"))
    is_gone = F.col("tombstone")
    until_ms = F.when(is_gone, F.col("time_ms")).otherwise(F.col("last_ms") + RECENT_MS // 2)
    last_bucket = F.floor(F.col("until_ms") / _BUCKET_MS)
    return (
        current.where("tombstone OR is_last")
        .join(placed, on=RECORD_KEY, how="inner")
        .join(ends, on=GROUP_KEY, how="inner")
        .select(
            *INCARNATION_KEY,
            F.col("member_id").alias("committer_id"),
            F.when(is_gone, F.col("time_ms")).otherwise(F.lit(0)).alias("departed_ms"),
            until_ms.alias("until_ms"),
            F.explode(F.when(is_gone, F.col("had")).otherwise(F.col("assigned"))).alias("each"),
        )
        .where("each.role = 'active'")
        .withColumn(
            "bucket", F.explode(F.sequence(last_bucket - RECENT_MS // _BUCKET_MS, last_bucket))
        )
        .select(
            *INCARNATION_KEY,
            "committer_id",
            "departed_ms",
            "until_ms",
            "bucket",
            "each.subtopology",
            "each.topic_id",
            F.explode("each.partitions").alias("partition"),
        )
    )


def _sources(group_records: DataFrame) -> DataFrame:
    """The topics that each subtopology reads."""
    each = group_records.select(*GROUP_KEY, F.explode("subtopologies").alias("each"))
    topics = F.concat("each.source_topics", "each.repartition_source_topics")
    return each.select(
        *GROUP_KEY, F.col("each.subtopology").alias("subtopology"), F.explode(topics).alias("topic")
    ).distinct()


# Rows ------------------------------------------------------------------------------------------


def tenure_rows(history: History, rows: Iterable[Row], names: Names) -> Iterator[Row]:
    """The tenures of an incarnation; ``rows``: its refusals and commits."""
    refusals: dict[str, list[int]] = {}
    commits: dict[tuple[str, int], dict[Partition, list[int]]] = {}
    for row in rows:
        if row["refused_id"] is not None:
            refusals.setdefault(row["refused_id"], []).append(row["time_ms"])
        else:
            of_member = commits.setdefault((row["committer_id"], row["departed_ms"]), {})
            partition = (ACTIVE, row["subtopology"], row["topic_id"], row["partition"])
            of_member[partition] = row["commits"]
    for membership in history.memberships:
        membership.refused_ms = tuple(refusals.get(membership.member_id, ()))
    owned = ownership(history, commits)
    for tenure in owned.tenures:
        yield from _tenure_rows(tenure, owned, history, names)


def _tenure_rows(tenure: Tenure, owned: Ownership, history: History, names: Names) -> Iterator[Row]:
    _, subtopology, topic_id, partition = tenure.partition
    shutdown = _shutdown_after(tenure, owned)
    for topic in topics_of(subtopology, topic_id, history, names):
        yield {
            "generation": tenure.generation,
            "topic": topic,
            "partition": partition,
            "process": tenure.process,
            "event_date": _date(tenure.from_ms),
            "from_ms": tenure.from_ms,
            "until_ms": NEVER_MS if tenure.until_ms is None else tenure.until_ms,
            "polled_ms": tenure.polled_ms,
            "how": tenure.how,
            "evidence": tenure.by,
            "is_estimated": tenure.is_estimated,
            "shutdown_ms": shutdown and shutdown.at_ms,
            "shutdown_generation": shutdown and shutdown.generation,
            "shutdown_date": shutdown and _date(shutdown.at_ms),
            "stopped_ms": shutdown and shutdown.stopped_ms,
        }


def _shutdown_after(tenure: Tenure, owned: Ownership) -> Shutdown | None:
    return next((each for each in owned.shutdowns if each.at_ms >= tenure.from_ms), None)


def _date(ms: int) -> date:
    return _EPOCH + timedelta(days=ms // 86_400_000)
