"""The names of topic ids: records of consumer and share groups have topics' ids only.

reads   committed_offsets   commits with names and ids (Kafka 4.1 and up)
        group_records       records with both; subscriptions and targets
writes  topic_ids           one row per topic id with a name
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from coordinator_core.modern_history.topic_names import (
    lost_ids,
    names_by_deletion,
    names_by_subscription,
    observations,
)
from jobs.lake.epoch_rows import new_records
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.evidence import unordered_records

READS = ("committed_offsets", "group_records")

_NAMES = ArrayType(StringType())
_OBSERVED = StructType([StructField("ids", _NAMES), StructField("topics", _NAMES)])


def named_topics(committed_offsets: DataFrame, group_records: DataFrame) -> DataFrame:
    """(topic_id, topic, evidence) for commits and records that have both the id and the name."""
    commits = committed_offsets.where("topic_id IS NOT NULL").select(
        "topic_id", "topic", F.lit("commits").alias("evidence")
    )
    each = F.explode("topic_ids").alias("named")
    records = group_records.select(each).select("named.*", F.lit("records").alias("evidence"))
    both = commits.unionByName(records)
    return both.groupBy("topic_id").agg(
        F.min(F.struct("evidence", "topic")).alias("named")
    ).select("topic_id", "named.topic", "named.evidence")  # fmt: skip


def observed_targets(group_records: DataFrame) -> DataFrame:
    """The topic ids of each group's targets, and the topics subscribed to at that time."""
    return group_records.groupBy(*GROUP_KEY).applyInArrow(_observed(), _OBSERVED)


def _observed() -> Callable[[pa.Table], pa.Table]:
    def observed(records: pa.Table) -> pa.Table:
        seen = observations(unordered_records(records.to_pylist()))
        rows = [{"ids": sorted(ids), "topics": sorted(topics)} for ids, topics in seen]
        schema = pa.schema([(name, pa.list_(pa.string())) for name in ("ids", "topics")])
        return pa.Table.from_pylist(rows, schema)

    return observed


_LOST = StructType(
    [
        StructField("cluster_id", StringType()),
        StructField("group_id", StringType()),
        StructField("at_ms", LongType()),
        StructField("ids", _NAMES),
    ]
)


def lost_by_targets(group_records: DataFrame) -> DataFrame:
    """The topic ids that a target of a group does not have any more, and its time."""

    def lost(records: pa.Table) -> pa.Table:
        rows = records.to_pylist()
        key = {name: rows[0][name] for name in GROUP_KEY}
        targets = lost_ids(unordered_records(rows))
        schema = pa.schema(
            [*((name, pa.string()) for name in GROUP_KEY), ("at_ms", pa.int64()),
             ("ids", pa.list_(pa.string()))]
        )  # fmt: skip
        return pa.Table.from_pylist(
            [key | {"at_ms": at_ms, "ids": sorted(ids)} for at_ms, ids in targets], schema
        )

    timed = group_records.withColumn("time_ms", F.unix_millis("append_time"))
    return timed.groupBy(*GROUP_KEY).applyInArrow(lost, _LOST)


def deleted_topics(committed_offsets: DataFrame) -> DataFrame:
    """The time at which the offsets of a topic were deleted in a group: the time of the first
    tombstone.
    """
    return (
        committed_offsets.where("tombstone AND append_time IS NOT NULL")
        .groupBy(*GROUP_KEY, "topic")
        .agg(F.min(F.unix_millis("append_time")).alias("at_ms"))
    )


def assigned_ids(group_records: DataFrame) -> set[str]:
    """The topic ids of all assignments."""
    each = group_records.select(F.explode("assigned").alias("each"))
    ids = each.select("each.topic_id").where("topic_id IS NOT NULL").distinct()
    return {row.topic_id for row in ids.collect()}


def _inferred(
    commits: DataFrame, records: DataFrame, names: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """(topic_id, topic, evidence) of further ids; ``names`` are the names that commits or records
    contain.
    """
    removed = _by_deletion(commits, records, names)
    for topic_id, topic in removed.items():
        yield topic_id, topic, "deletions"
    observed = observed_targets(records).distinct().collect()
    pairs = ((frozenset(row.ids), frozenset(row.topics)) for row in observed)
    for topic_id, topic in names_by_subscription(pairs, {**names, **removed}).items():
        yield topic_id, topic, "subscriptions"


def _by_deletion(
    commits: DataFrame, records: DataFrame, named: Mapping[str, str]
) -> dict[str, str]:
    lost, deleted = (
        _by_group(rows.collect()) for rows in (lost_by_targets(records), deleted_topics(commits))
    )
    names: dict[str, str] = {}
    for group, targets in lost.items():
        of_group = [(row.at_ms, row.topic) for row in deleted.get(group, ())]
        left = [(row.at_ms, frozenset(row.ids)) for row in targets]
        names |= names_by_deletion(left, of_group, named)
    return names


def _by_group(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in GROUP_KEY), []).append(row)
    return groups


def run(scope: RunScope) -> None:
    commits, records = scope.read_days("committed_offsets"), new_records(scope)
    rows: list[tuple[Any, ...]] = []
    if records is not None:
        named = {row.topic_id: row for row in named_topics(commits, records).collect()}
        stored = scope.read("topic_ids").where("evidence <> 'subscriptions'").collect()
        names = {row.topic_id: row.topic for row in [*stored, *named.values()]}
        rows = [(row.topic_id, row.topic, row.evidence) for row in named.values()]
        # In most runs the commits name all ids, so the targets need not be read in order.
        if not assigned_ids(records) <= names.keys():
            rows += _inferred(commits, records, names)
    cluster = scope.lake.cluster_id
    frame = scope.lake.frame("topic_ids", [(cluster, *row) for row in sorted(rows)])
    better = "n.evidence <> 'subscriptions' AND NOT (n.topic <=> t.topic)"
    scope.replace_or_upsert("topic_ids", frame, if_=better)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("topic_ids")
