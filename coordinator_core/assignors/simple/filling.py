"""The assignments of a share group while they change, and the quotas of its members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeVar

from coordinator_core.assignors.model import NoSuchElement
from coordinator_core.assignors.simple.model import ShareSubscriber, TopicIdAssignment
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import HashTable, IntSet, copied_ints, table_size_for

_P = TypeVar("_P")


def sized(entries: int) -> int:
    """The capacity that Kafka gives a table for this many entries."""
    return table_size_for(int((entries + 1) / 0.75 + 1))


def sharing(members: int, partitions: int) -> int:
    """Number of members that should share each partition."""
    return -(-members // partitions) if partitions else 0


def quotas(members: int, partitions: int) -> list[int]:
    """Number of partitions that each member should have."""
    each = sharing(members, partitions) * partitions / members
    return [ceil(each * (index + 1)) - ceil(each * index) for index in range(members)]


class Assignments:
    """The previous assignments of members by index, and copies of the assignments that change."""

    __slots__ = ("_members", "_new")

    def __init__(self, members: Sequence[ShareSubscriber]) -> None:
        self._members = members
        self._new: dict[int, HashTable[str, IntSet]] = {}

    def changed(self, member: int) -> HashTable[str, IntSet]:
        """The new assignment of the member, which begins as a copy of the previous assignment."""
        if member not in self._new:
            assigned = self._members[member].assigned
            copy = HashTable[str, IntSet](uuid_hash, table_size_for(len(assigned)))
            for topic, partitions in assigned.items():
                copy.put(topic, copied_ints(partitions))
            self._new[member] = copy
        return self._new[member]

    def add(self, member: int, topic: str, partition: int) -> None:
        self.changed(member).compute_if_absent(topic, IntSet).add(partition)

    def remove(self, member: int, topic: str, partition: int) -> bool:
        partitions = self.changed(member).get(topic)
        return partitions is not None and partitions.remove(partition)

    def result(self) -> dict[str, TopicIdAssignment]:
        """Assignments by member id.

        A topic of which a member gave up all partitions stays as an empty entry.
        """
        return {member.member_id: self._of(index) for index, member in enumerate(self._members)}

    def _of(self, member: int) -> TopicIdAssignment:
        if member not in self._new:
            return self._members[member].assigned
        return {topic: partitions.keys() for topic, partitions in self._new[member].items()}


def fill(
    owners: HashTable[_P, IntSet],
    desired_sharing: int,
    unfilled: IntSet,
    give: Callable[[int, _P], bool],
) -> None:
    """Give partitions with too few members to unfilled members, in turns.

    ``give`` assigns a partition to a member and returns whether the member is then filled.  Once no
    member takes a partition in a whole round, no member takes later partitions either.  A member
    can take a partition twice, which has no effect, because only sharers from before this function
    count.
    """
    waiting, place, progress = unfilled.keys(), 0, False
    for partition, sharers in owners.items():
        missing = desired_sharing - len(sharers)
        while missing > 0:
            if place == len(waiting):
                if not progress:
                    break
                waiting, place, progress = unfilled.keys(), 0, False
                if not waiting:
                    raise NoSuchElement("no member has room left")
            member = waiting[place]
            place += 1
            if member in sharers:
                continue
            missing -= 1
            progress = True
            if give(member, partition):
                unfilled.remove(member)
        if not len(unfilled):
            return
