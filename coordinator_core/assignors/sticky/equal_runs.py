"""Sticky with equal subscriptions where claims are runs of consecutive partitions.

That is what a group owns that was assigned by range or by the coordinator's uniform. Partitions
go by their names all the way, for a run's names are one slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter

from coordinator_core.assignors.consecutive import Run, claimed_runs, gaps
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics
from coordinator_core.assignors.sticky.small import MapOrder, level

_SHORT = 10
"""Partitions of a run up to which partition by partition is faster: measured."""

_id = itemgetter(Member._fields.index("member_id"))
_owned = itemgetter(Member._fields.index("owned"))
_partition = itemgetter(1)


def are_few(topics: Topics, ordered: Iterable[Member]) -> bool:
    """Whether claims are in so few topics each that they may be long runs."""
    return sum(map(len, map(_owned, ordered))) * _SHORT <= topics.total


def assign(
    topics: Topics, ordered: Sequence[Member], map_order: MapOrder, cooperative: bool
) -> Assignment | None:
    """None if some claim is not a run, on unknown partitions or on another's."""
    claimed = claimed_runs(topics.start, topics.numbers, map(_owned, ordered))
    if claimed is None:
        return None
    start_of, table = topics.start, topics.table
    lists = [
        table[runs[0][0] : runs[0][1]] if len(runs) == 1 else _partition_first(table, runs)
        for runs in claimed
    ]
    counts = [*map(len, lists)]
    free: list[TopicPartition] = []
    for begin, end in gaps(chain.from_iterable(claimed), topics.total):
        free += table[begin:end]
    if len(free) + sum(counts) > topics.total:
        return None

    def by_name(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        return sorted(partitions, key=lambda named: start_of[named[0]] + named[1])

    level(lists, counts, free, topics.total, by_name, map_order, cooperative)
    return dict(zip(map(_id, ordered), lists, strict=True))


def _partition_first(table: Sequence[TopicPartition], runs: list[Run]) -> list[TopicPartition]:
    """The partitions of ``runs``, by number, then by topic name."""
    by_topic = [table[begin:end] for begin, end in sorted(runs)]
    return sorted(chain.from_iterable(by_topic), key=_partition)
