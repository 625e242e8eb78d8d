"""Minimum number of moves of any assignment, for every generation that moved a partition.

The adapter between Arrow and coordinator_core.assignors.quality. It works on batches with one row
per generation, so that the generations of one flapping group spread over all tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, starmap
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from coordinator_core.assignors import Member, Topics
from coordinator_core.assignors.quality import PreviousOwners, owners

# Generations unpacked together: Limit of rows per call, because Python objects need ten times the
# memory of the Arrow batch.
AT_ONCE = 64

PARTITIONS, SUBSCRIPTIONS, FORCED = "partition_owners", "member_subscriptions", "forced"


def partition_owners() -> Column:
    """Aggregates process, topic, partition and last_owner (null for the first owner)."""
    owners = F.struct("process", "topic", "partition", "last_owner")
    return F.collect_list(owners).alias(PARTITIONS)


def member_subscriptions() -> Column:
    """Aggregates process and subscribed_topics (null if unreadable)."""
    return F.collect_list(F.struct("process", "subscribed_topics")).alias(SUBSCRIPTIONS)


def with_forced_moves(generations: DataFrame) -> DataFrame:
    """Replaces the two aggregates by a column ``forced``, which is 0 if ``moved`` is 0."""
    aggregates = (PARTITIONS, SUBSCRIPTIONS)
    kept = generations.drop(*aggregates)
    lists = (F.when(F.col("moved") > 0, F.col(name)).alias(name) for name in aggregates)
    return generations.select(*kept.columns, *lists).mapInArrow(
        _forced_in_batches, kept.schema.add(FORCED, IntegerType())
    )


def _forced_in_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        forced = pa.array(forced_moves(batch[PARTITIONS], batch[SUBSCRIPTIONS]), pa.int32())
        yield batch.drop_columns([PARTITIONS, SUBSCRIPTIONS]).append_column(FORCED, forced)


def forced_moves(partitions: pa.ListArray, subscriptions: pa.ListArray) -> Iterator[int]:
    """Yields the forced moves of each generation, given its two aggregates."""
    for start in range(0, len(partitions), AT_ONCE):
        rows = (_rows(lists.slice(start, AT_ONCE)) for lists in (partitions, subscriptions))
        yield from starmap(_forced_in_generation, zip(*rows, strict=True))


def _rows(lists: pa.ListArray) -> Iterator[list[Sequence[Any]]]:
    """Yields each list of structs as one list of values per field."""
    fields = [field.to_pylist() for field in lists.flatten().flatten()]
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    for start, end in pairwise(accumulate(lengths, initial=0)):
        yield [values[start:end] for values in fields]


def _forced_in_generation(
    partitions: Sequence[Sequence[Any]], subscriptions: Sequence[Sequence[Any]]
) -> int:
    """Takes the highest assigned partition for a topic's count, as records lack the count."""
    moved = 0
    counts: dict[str, int] = {}
    previous_lists: dict[str, list[tuple[str, int]]] = defaultdict(list)
    assigned_topics: dict[str, set[str]] = defaultdict(set)
    for process, topic, number, last_owner in zip(*partitions, strict=True):
        if number >= counts.get(topic, 0):
            counts[topic] = number + 1
        assigned_topics[process].add(topic)
        if last_owner is not None:
            previous_lists[last_owner].append((topic, number))
            moved += last_owner != process
    topics_of: dict[str, set[str]] = defaultdict(set)
    for process, topics in zip(*subscriptions, strict=True):
        # A process with an unreadable subscription gets the topics of its assignment.
        topics_of[process].update(assigned_topics[process] if topics is None else topics)
    # Regular expressions and topologies name no topics, so these members share the topics of their
    # assignments.
    unnamed = [process for process, topics in topics_of.items() if not topics]
    matched = set[str]().union(*(assigned_topics[process] for process in unnamed))
    for process in unnamed:
        topics_of[process] = matched
    members = [
        Member(member_id=process, topics=sorted(topics))
        for process, topics in sorted(topics_of.items())
    ]
    topics = _topics(tuple(sorted(counts.items())))
    previous = PreviousOwners(topics, members, owners(previous_lists))
    # A cooperative round that only revokes has not moved any partition yet.
    return min(previous.moves_forced, moved)


@lru_cache(maxsize=1024)
def _topics(counts: tuple[tuple[str, int], ...]) -> Topics:
    return Topics(dict(counts))
