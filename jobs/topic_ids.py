"""The names of topic ids: records of consumer and share groups have topics' ids only.

reads   committed_offsets   commits with names and ids (Kafka 4.1 and up)
        group_records       records with both; subscriptions and targets
writes  topic_ids           one row per topic id with a name
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from coordinator_core.epochs.topic_names import names_by_subscription, observations
from jobs.epochs.evidence import unordered_records
from jobs.epochs.inputs import new_records
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope

READS = ("committed_offsets", "group_records")

_NAMES = ArrayType(StringType())
_OBSERVED = StructType([StructField("ids", _NAMES), StructField("topics", _NAMES)])


def named_topics(committed_offsets: DataFrame, group_records: DataFrame) -> DataFrame:
    """(topic_id, topic, evidence) of commits and records that have both."""
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


def run(scope: RunScope) -> None:
    commits, records = scope.read_days("committed_offsets"), new_records(scope)
    rows: list[tuple[Any, ...]] = []
    if records is not None:
        named = {row.topic_id: row for row in named_topics(commits, records).collect()}
        stored = scope.read("topic_ids").where("evidence <> 'subscriptions'").collect()
        names = {row.topic_id: row.topic for row in [*stored, *named.values()]}
        observed = observed_targets(records).distinct().collect()
        inferred = names_by_subscription(
            ((frozenset(row.ids), frozenset(row.topics)) for row in observed), names
        )
        rows = [(row.topic_id, row.topic, row.evidence) for row in named.values()]
        rows += [(topic_id, topic, "subscriptions") for topic_id, topic in inferred.items()]
    cluster = scope.lake.cluster_id
    frame = scope.lake.frame("topic_ids", [(cluster, *row) for row in sorted(rows)])
    better = "n.evidence <> 'subscriptions' AND NOT (n.topic <=> t.topic)"
    scope.replace_or_upsert("topic_ids", frame, if_=better)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("topic_ids")
