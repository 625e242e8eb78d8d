"""Uniform for members with the same topics: quotas, kept partitions, then contiguous runs.

Partitions are places in ``Topics.table_by_id`` here, and mostly come and go as runs of them: who
was given a run claims a run.
Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

Run = tuple[int, int]
"""Begin and end of consecutive places."""
Owned = Sequence[tuple[str, Sequence[int]]]


def assign(topics: Topics, members: Sequence[Member]) -> Assignment:
    """``topics`` are those that everybody subscribes to."""
    lists = [_claims(topics, member.owned) if member.owned else [] for member in members]
    share, extras = divmod(topics.total, len(members))
    free = _gaps(chain.from_iterable(lists), topics.total)
    unfilled: list[tuple[list[Run], int]] = []
    for left, mine in zip(range(len(members), 0, -1), lists, strict=True):
        extra = extras > 0
        room = share + extra
        for begin, end in mine:
            room -= end - begin
        if room < 0:
            free += _cut(mine, -room)
        elif room and extra and left > extras:
            room -= 1  # the extra goes to a later member while enough of them are left
            extra = False
        extras -= extra
        if room > 0:
            unfilled.append((mine, room))
    _hand_out(free, unfilled)
    table = topics.table_by_id
    return {m.member_id: _names(table, mine) for m, mine in zip(members, lists, strict=True)}


def _claims(topics: Topics, owned: Owned) -> list[Run]:
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


def _gaps(runs: Iterable[Run], total: int) -> list[Run]:
    """What is in none of ``runs``, ascending."""
    gaps, reached = [], 0
    for begin, end in sorted(runs):
        if begin > reached:
            gaps.append((reached, begin))
        reached = max(reached, end)
    if reached < total:
        gaps.append((reached, total))
    return gaps


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
        while room:
            if begin == end:
                begin, end = next(runs)
            taken = min(room, end - begin)
            mine.append((begin, begin + taken))
            begin += taken
            room -= taken


def _names(table: list[TopicPartition], runs: list[Run]) -> list[TopicPartition]:
    if len(runs) == 1:
        begin, end = runs[0]
        return table[begin:end]
    names: list[TopicPartition] = []
    for begin, end in sorted(runs):
        names += table[begin:end]
    return names
