"""Sticky for a small group with equal subscriptions and ordinary claims, in as few steps as can be.

Ordinary: on partitions that exist, none claimed twice. ``_equal`` knows every case and is the
reference: the answers are equal, list order included.
Codes here are ``PartitionFirst``'s, so that Kafka's order of kept partitions is plain ascent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from typing import TypeVar

from coordinator_core.assignors.members import in_one_step_each
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

MapOrder = Callable[[], Iterable[int]]
P = TypeVar("P")
"""A partition: its code or its name."""


class PartitionFirst:
    """Codes that ascend by partition, then topic name; ``by_topic`` has each partition's."""

    def __init__(self, topics: Topics) -> None:
        self._width = len(topics.names)
        self.by_topic: dict[str, dict[int, int]] = {}
        codes: list[int] = []
        for first, (topic, count) in enumerate(zip(topics.names, topics.sizes, strict=True)):
            its_codes = range(first, first + count * self._width, self._width)
            self.by_topic[topic] = dict(enumerate(its_codes))
            codes += its_codes
        self.name_of: dict[int, TopicPartition] = dict(zip(codes, topics.table, strict=True))
        self.all = frozenset(codes)

    def by_name(self, codes: Iterable[int]) -> list[int]:
        """The codes by topic, then partition."""
        ordered = sorted(codes)
        ordered.sort(key=self._width.__rmod__)
        return ordered

    def claims(self, ordered: Iterable[Member]) -> list[list[int]]:
        """Everybody's claimed codes, ascending; KeyError if one lies beyond its topic."""
        lists, by_topic = [], self.by_topic
        for owned in map(_owned, ordered):
            mine: list[int] = []
            for topic, partitions in owned:
                if topic in by_topic:
                    if len(partitions) > 1:
                        mine += itemgetter(*partitions)(by_topic[topic])
                    elif partitions:
                        mine.append(by_topic[topic][partitions[0]])
            mine.sort()
            lists.append(mine)
        return lists


_id = itemgetter(Member._fields.index("member_id"))
_owned = itemgetter(Member._fields.index("owned"))


def assign(
    topics: Topics, ordered: Sequence[Member], map_order: MapOrder, cooperative: bool
) -> Assignment | None:
    """None if some claim is not ordinary; ``map_order`` is asked if the answer rests on it."""
    table = topics.partition_first
    try:
        lists = table.claims(ordered)
    except KeyError:
        return None
    counts = [*map(len, lists)]
    free = table.all.difference(*lists)
    if len(free) + sum(counts) > topics.total:
        return None
    level(lists, counts, free, topics.total, table.by_name, map_order, cooperative)
    names = in_one_step_each(table.name_of, lists)
    return dict(zip(map(_id, ordered), names, strict=True))


def level(
    lists: list[list[P]],
    counts: list[int],
    free: Collection[P],
    total: int,
    by_name: Callable[[Iterable[P]], list[P]],
    map_order: MapOrder,
    cooperative: bool,
) -> None:
    """Cuts everybody's kept partitions, ``counts`` of them, to the quotas; fills who is short."""
    low, extra = divmod(total, len(lists))
    given_up: dict[P, int] = {}
    if max(counts) > low:
        given_up, extra = _cut(lists, counts, low, extra, map_order)
        free = [*free, *given_up]
    if not free:
        return
    new: Iterable[tuple[P, int]]
    new = zip(by_name(free), _takers(counts, low, extra), strict=False)
    if cooperative and given_up:
        new = (pair for pair in new if given_up.get(pair[0], pair[1]) == pair[1])
    for partition, rank in new:
        lists[rank].append(partition)


def _cut(
    lists: list[list[P]], counts: list[int], low: int, extra: int, map_order: MapOrder
) -> tuple[dict[P, int], int]:
    """Cuts lists and counts to the quotas; returns who gave what up, and the extras left."""
    rich = [rank for rank, count in enumerate(counts) if count > low]
    if len(rich) > extra > 0:
        rich = [rank for rank in map_order() if counts[rank] > low]
    given_up: dict[P, int] = {}
    for rank in rich:
        counts[rank] = quota = low + (extra > 0)
        extra -= extra > 0
        mine = lists[rank]
        while len(mine) > quota:
            given_up[mine.pop()] = rank
    return given_up, extra


def _takers(counts: Sequence[int], low: int, extra: int) -> list[int]:
    """Who takes the free partitions: one each per turn up to low, then one more each at low."""
    under = [rank for rank, count in enumerate(counts) if count < low]
    takers = under
    even = not under or min(counts) == low - 1
    if not even:
        takers = under * (low - counts[under[0]])
        if len(under) > 1:
            turns = [(turn, rank) for rank in under for turn in range(low - counts[rank])]
            takers = [rank for _, rank in sorted(turns)]
    if extra:
        at_low = [rank for rank, count in enumerate(counts) if count == low]
        done_in_order = under if even else sorted(under, key=counts.__getitem__, reverse=True)
        takers = [*takers, *at_low, *done_in_order]
    return takers
