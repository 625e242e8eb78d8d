"""How many partitions a topic had at a time: as a table says, else as far as was seen."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

TABLE, ASSIGNMENTS = "table", "assignments"

# An entry of what is known: ``is_told`` by a table, or seen.
SAID = ["topic", "partitions", "since_ms", "is_told"]
Said = tuple[str, int, int]
"""Topic, partitions, and since when, in ms since the epoch."""
Known = dict[str, tuple[list[int], list[int]]]
"""By topic: times in order, and the number of partitions from each on."""


class PartitionCounts:
    """What is known of topics' partitions at any time."""

    def __init__(self, told: Iterable[Said], seen: Iterable[Said]) -> None:
        """``told`` holds until it is told otherwise; of what was ``seen`` the most."""
        self._told = _by_time(told)
        self._seen = {
            topic: (since, list(accumulate(counts, max)))
            for topic, (since, counts) in _by_time(seen).items()
        }

    def at(self, topics: Iterable[str], time_ms: int) -> tuple[dict[str, int], str]:
        """Partitions of the topics that are known, and who knows: the table only if it has all."""
        known, known_by = {}, TABLE
        for topic in topics:
            count = _at(self._told, topic, time_ms)
            if count is None:
                known_by = ASSIGNMENTS
                count = _at(self._seen, topic, time_ms)
            if count is not None:
                known[topic] = count
        return known, known_by

    def differ_from(self, other: PartitionCounts, time_ms: int) -> bool:
        """Whether these say of any topic something else, at that time or later."""
        return any(
            _at(mine, topic, at) != _at(theirs, topic, at)
            for mine, theirs in ((self._told, other._told), (self._seen, other._seen))
            for topic in {*mine, *theirs}
            for at in {time_ms, *_changes(mine, topic), *_changes(theirs, topic)}
            if at >= time_ms
        )


def _by_time(said: Iterable[Said]) -> Known:
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for topic, partitions, since_ms in said:
        changes[topic].append((since_ms, partitions))
    return {
        topic: ([since for since, _ in pairs], [count for _, count in pairs])
        for topic, pairs in ((topic, sorted(pairs)) for topic, pairs in changes.items())
    }


def _changes(known: Known, topic: str) -> list[int]:
    since, _ = known.get(topic, ([], []))
    return since


def _at(known: Known, topic: str, time_ms: int) -> int | None:
    since, counts = known.get(topic, ([], []))
    place = bisect_right(since, time_ms)
    return counts[place - 1] if place else None


def seen_partitions(group_metadata: DataFrame) -> DataFrame:
    """The rows of the table: since when anybody was given so high a partition of a topic."""
    members = group_metadata.select(
        "cluster_id", time_ms().alias("since_ms"), F.explode("members").alias("member")
    )
    return (
        members.select("cluster_id", "since_ms", F.explode("member.assigned").alias("given"))
        .where("size(given.partitions) > 0")
        .groupBy(
            "cluster_id",
            "given.topic",
            (F.array_max("given.partitions") + 1).alias("partitions"),
        )
        .agg(F.timestamp_millis(F.min("since_ms")).alias("since"))
    )


def partition_counts(topic_partitions: DataFrame, seen_partitions: DataFrame) -> PartitionCounts:
    """Collected: a row for each topic and each number of partitions it was seen with."""
    return counts_said(_said(topic_partitions, seen_partitions).select(*SAID).collect())


def counts_said(said: Iterable[Row | Mapping[str, Any]]) -> PartitionCounts:
    """Of entries with SAID."""
    told, seen = list[Said](), list[Said]()
    for entry in said:
        rows = told if entry["is_told"] else seen
        rows.append((entry["topic"], entry["partitions"], entry["since_ms"]))
    return PartitionCounts(told, seen)


def said_of_groups(
    group_metadata: DataFrame, topic_partitions: DataFrame, seen_partitions: DataFrame
) -> DataFrame:
    """A row per group: cluster_id, group_id, and in ``said`` entries of SAID, of topics that any
    of its members subscribed to: a cluster's topics are many, a group's are few."""
    readable = F.filter("members.subscribed_topics", lambda topics: topics.isNotNull())
    topic = F.explode(F.array_distinct(F.flatten(readable))).alias("topic")
    subscribed = group_metadata.select("cluster_id", "group_id", topic).distinct()
    said = _said(topic_partitions, seen_partitions)
    return (
        subscribed.join(said, on=["cluster_id", "topic"], how="inner")
        .groupBy("cluster_id", "group_id")
        .agg(F.collect_list(F.struct(*SAID)).alias("said"))
    )


def _said(topic_partitions: DataFrame, seen_partitions: DataFrame) -> DataFrame:
    since_ms = F.coalesce(F.unix_millis("since"), F.lit(0)).alias("since_ms")
    told, seen = (
        rows.select("cluster_id", "topic", "partitions", since_ms, F.lit(is_told).alias("is_told"))
        for rows, is_told in ((topic_partitions, True), (seen_partitions, False))
    )
    return told.unionByName(seen)


def time_ms() -> Column:
    """A record without a time (message format 0) is as old as can be."""
    return F.coalesce(F.unix_millis("append_time"), F.lit(0))
