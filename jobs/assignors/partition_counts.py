"""Number of partitions of a topic at a time, from two sources.

The table ``topic_partitions`` has counts that a user or script filled in; each holds until the next
one. Without this table, the highest partition assigned to any group of the cluster is a lower bound
(table ``seen_partitions``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

TABLE, ASSIGNMENTS = "table", "assignments"

# Columns of an entry. ``from_table``: true for rows of topic_partitions, false for rows of
# seen_partitions.
ENTRY_COLUMNS = ["topic", "partitions", "since_ms", "from_table"]
Entry = tuple[str, int, int]
"""Topic, number of partitions, and the time since which the number holds, in ms since the epoch."""
CountsByTopic = dict[str, tuple[list[int], list[int]]]
"""By topic: ascending times, and the number of partitions from each time on."""


class PartitionCounts:
    """Number of partitions of each topic at any time."""

    def __init__(self, table: Iterable[Entry], seen: Iterable[Entry]) -> None:
        """A ``table`` entry holds until the next one; ``seen`` counts never decrease."""
        self._table = _by_time(table)
        self._seen = {
            topic: (since, list(accumulate(counts, max)))
            for topic, (since, counts) in _by_time(seen).items()
        }

    def at(self, topics: Iterable[str], time_ms: int) -> tuple[dict[str, int], str]:
        """Known counts of the topics, and their source: TABLE only if the table has all topics."""
        partitions, source = {}, TABLE
        for topic in topics:
            count = _at(self._table, topic, time_ms)
            if count is None:
                source = ASSIGNMENTS
                count = _at(self._seen, topic, time_ms)
            if count is not None:
                partitions[topic] = count
        return partitions, source

    def differ_from(self, other: PartitionCounts, time_ms: int) -> bool:
        """Returns whether the count of any topic differs at that time or later."""
        return any(
            _at(entries, topic, at) != _at(other_entries, topic, at)
            for entries, other_entries in ((self._table, other._table), (self._seen, other._seen))
            for topic in {*entries, *other_entries}
            for at in {time_ms, *_changes(entries, topic), *_changes(other_entries, topic)}
            if at >= time_ms
        )


def _by_time(entries: Iterable[Entry]) -> CountsByTopic:
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for topic, partitions, since_ms in entries:
        changes[topic].append((since_ms, partitions))
    return {
        topic: ([since for since, _ in pairs], [count for _, count in pairs])
        for topic, pairs in ((topic, sorted(pairs)) for topic, pairs in changes.items())
    }


def _changes(counts_by_topic: CountsByTopic, topic: str) -> list[int]:
    since, _ = counts_by_topic.get(topic, ([], []))
    return since


def _at(counts_by_topic: CountsByTopic, topic: str, time_ms: int) -> int | None:
    since, counts = counts_by_topic.get(topic, ([], []))
    index = bisect_right(since, time_ms)
    return counts[index - 1] if index else None


def seen_partitions(group_metadata: DataFrame) -> DataFrame:
    """Rows of the table: a topic's partition count (highest assigned + 1), and since when."""
    members = group_metadata.select(
        "cluster_id", time_ms().alias("since_ms"), F.explode("members").alias("member")
    )
    return (
        members.select("cluster_id", "since_ms", F.explode("member.assigned").alias("assigned"))
        .where("size(assigned.partitions) > 0")
        .groupBy(
            "cluster_id",
            "assigned.topic",
            (F.array_max("assigned.partitions") + 1).alias("partitions"),
        )
        .agg(F.timestamp_millis(F.min("since_ms")).alias("since"))
    )


def partition_counts(topic_partitions: DataFrame, seen_partitions: DataFrame) -> PartitionCounts:
    """Collects all entries: a row per topic and number of partitions."""
    entries = _entries(topic_partitions, seen_partitions).select(*ENTRY_COLUMNS)
    return counts_from_entries(entries.collect())


def counts_from_entries(entries: Iterable[Row | Mapping[str, Any]]) -> PartitionCounts:
    """``entries`` have ENTRY_COLUMNS."""
    table, seen = list[Entry](), list[Entry]()
    for entry in entries:
        rows = table if entry["from_table"] else seen
        rows.append((entry["topic"], entry["partitions"], entry["since_ms"]))
    return PartitionCounts(table, seen)


def topic_counts_of_groups(
    group_metadata: DataFrame, topic_partitions: DataFrame, seen_partitions: DataFrame
) -> DataFrame:
    """Returns one row per group: ``topic_counts`` has the entries of the topics that the group
    subscribed to.

    A cluster has many topics, a group few, so each group gets its own entries only.
    """
    readable = F.filter("members.subscribed_topics", lambda topics: topics.isNotNull())
    topic = F.explode(F.array_distinct(F.flatten(readable))).alias("topic")
    subscribed = group_metadata.select("cluster_id", "group_id", topic).distinct()
    entries = _entries(topic_partitions, seen_partitions)
    return (
        subscribed.join(entries, on=["cluster_id", "topic"], how="inner")
        .groupBy("cluster_id", "group_id")
        .agg(F.collect_list(F.struct(*ENTRY_COLUMNS)).alias("topic_counts"))
    )


def _entries(topic_partitions: DataFrame, seen_partitions: DataFrame) -> DataFrame:
    since_ms = F.coalesce(F.unix_millis("since"), F.lit(0)).alias("since_ms")
    columns = ("cluster_id", "topic", "partitions", since_ms)
    table, seen = (
        rows.select(*columns, F.lit(from_table).alias("from_table"))
        for rows, from_table in ((topic_partitions, True), (seen_partitions, False))
    )
    return table.unionByName(seen)


def time_ms() -> Column:
    """Append time of a record, in ms; 0 for a record without one (message format 0)."""
    return F.coalesce(F.unix_millis("append_time"), F.lit(0))
