"""Uniform for members with the same topics: quotas, kept partitions, then the free partitions in
order.

Partitions are indexes into ``Topics.table_by_id``.
Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import itemgetter

from coordinator_core.assignors.members import in_one_step
from coordinator_core.assignors.model import Assignment, Member, Topics

_id = itemgetter(Member._fields.index("member_id"))


def assign(topics: Topics, members: Sequence[Member]) -> Assignment:
    """``topics`` are the subscribed topics."""
    lists = [_owned(topics, member) for member in members]
    share, extras = divmod(topics.total, len(members))
    free = sorted(set(range(topics.total)).difference(*lists))
    unfilled: list[tuple[list[int], int]] = []
    for left, mine in zip(range(len(members), 0, -1), lists, strict=True):
        room = share - len(mine)
        # A member that owns at most its share leaves the extra partition to later members, as
        # long as more members than extra partitions are left.
        if extras and (room < 0 or left <= extras):
            room += 1
            extras -= 1
        if room < 0:
            free += mine[room:]
            del mine[room:]
        elif room:
            unfilled.append((mine, room))
    unassigned = iter(free)
    for mine, room in unfilled:
        mine += islice(unassigned, room)
    table = topics.table_by_id
    return {
        m: [*in_one_step(table, sorted(mine))]
        for m, mine in zip(map(_id, members), lists, strict=True)
    }


def _owned(topics: Topics, member: Member) -> list[int]:
    """Owned partitions of subscribed topics that still exist, in the order given."""
    return [
        topics.start_by_id[topic] + partition
        for topic, partitions in member.owned
        if topic in topics.start_by_id
        for partition in partitions
        if 0 <= partition < topics.partitions[topic]
    ]
