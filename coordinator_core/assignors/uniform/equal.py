"""Uniform for members with the same topics: quotas, kept partitions, then contiguous runs.

Partitions are places in ``Topics.table_by_id`` here, and mostly come and go as runs of them: who
was given a run claims a run.
Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from coordinator_core.assignors.consecutive import Owned, Run, claimed_runs, gaps
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

_id = itemgetter(Member._fields.index("member_id"))
_owned = itemgetter(Member._fields.index("owned"))


def assign(topics: Topics, members: Sequence[Member]) -> Assignment:
    """``topics`` are those that everybody subscribes to."""
    lists = claimed_runs(topics.start_by_id, topics.numbers, map(_owned, members))
    if lists is None:
        lists = [_one_by_one(topics, owned) for owned in map(_owned, members)]
    share, extras = divmod(topics.total, len(members))
    free = gaps(chain.from_iterable(lists), topics.total)
    unfilled: list[tuple[list[Run], int]] = []
    for left, mine in zip(range(len(members), 0, -1), lists, strict=True):
        room = share
        for begin, end in mine:
            room -= end - begin
        # The extra goes to a later member while enough of them are left.
        if extras and (room < 0 or left <= extras):
            room += 1
            extras -= 1
        if room < 0:
            free += _cut(mine, -room)
        elif room:
            unfilled.append((mine, room))
    _hand_out(free, unfilled)
    table = topics.table_by_id
    names = [
        table[mine[0][0] : mine[0][1]] if len(mine) == 1 else _joined(table, mine) for mine in lists
    ]
    return dict(zip(map(_id, members), names, strict=True))


def _one_by_one(topics: Topics, owned: Owned) -> list[Run]:
    """What is still subscribed and exists, in the order given."""
    runs: list[Run] = []
    start_of, numbers_of = topics.start_by_id, topics.numbers
    for topic, partitions in owned:
        if topic in start_of and partitions:
            start, first = start_of[topic], partitions[0]
            end = first + len(partitions)
            if partitions == numbers_of[topic][first:end]:
                runs.append((start + first, start + end))
            else:
                size = topics.partitions[topic]
                runs += [(start + p, start + p + 1) for p in partitions if 0 <= p < size]
    return runs


def _cut(runs: list[Run], count: int) -> list[Run]:
    """Takes the last ``count`` places from ``runs``; returns them in their order."""
    cut: list[Run] = []
    while count:
        begin, end = runs.pop()
        if end - begin > count:
            runs.append((begin, end - count))
            begin = end - count
        cut.append((begin, end))
        count -= end - begin
    return cut[::-1]


def _hand_out(free: Iterable[Run], unfilled: Iterable[tuple[list[Run], int]]) -> None:
    """Fills one member after the other."""
    runs: Iterator[Run] = iter(free)
    begin = end = 0
    for mine, room in unfilled:
        while room > end - begin:
            if begin < end:
                mine.append((begin, end))
                room -= end - begin
            begin, end = next(runs)
        mine.append((begin, begin + room))
        begin += room


def _joined(table: list[TopicPartition], runs: list[Run]) -> list[TopicPartition]:
    runs.sort()
    names: list[TopicPartition] = []
    for begin, end in runs:
        names += table[begin:end]
    return names
