"""Simple for members with the same topics: quotas over all partitions of all topics.

Source: SimpleHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.simple.filling import Assignments, fill, quotas, sharing, sized
from coordinator_core.assignors.simple.model import (
    ShareSubscriber,
    ShareTopics,
    TopicIdAssignment,
    TopicIdPartition,
    partition_hash,
)
from coordinator_core.jvm.hash_tables import HashTable, IntSet

Partitions = HashTable[TopicIdPartition, None]


def assign(topics: ShareTopics, members: Sequence[ShareSubscriber]) -> dict[str, TopicIdAssignment]:
    """Raises PartitionAssignorError if a topic has no metadata."""
    if not members[0].topics:
        return {}
    targets = topics.targets(members[0].topics)
    group = _Group(members, targets)
    group.revoke_unsubscribed()
    group.revoke_overfilled()
    group.revoke_overshared()
    for partition in targets:
        group.owners.compute_if_absent(partition, IntSet)
    if len(group.unfilled):
        fill(group.owners, group.sharing, group.unfilled, group.give)
    return group.assignments.result()


class _Group:
    """The owners of partitions while the assignment changes; members are indexes."""

    def __init__(self, members: Sequence[ShareSubscriber], targets: list[TopicIdPartition]) -> None:
        self._members = members
        self._subscribed = set(members[0].topics)
        self.assignments = Assignments(members)
        self.sharing = sharing(len(members), len(targets))
        self._quotas = quotas(len(members), len(targets))
        self.owners = HashTable[TopicIdPartition, IntSet](partition_hash, sized(len(targets)))
        self._held: dict[int, Partitions] = {}
        self.unfilled = IntSet(capacity=sized(len(members)))

    def revoke_unsubscribed(self) -> None:
        for index, member in enumerate(self._members):
            for topic, partitions in member.assigned.items():
                if topic not in self._subscribed:
                    self.assignments.changed(index).remove(topic)
                    continue
                for number in partitions:
                    self.owners.compute_if_absent((topic, number), IntSet).add(index)
                    self._of(index).put((topic, number), None)
                    if len(self._of(index)) >= self._quotas[index]:
                        # The member keeps its topics; only their order differs.
                        self.assignments.changed(index)
            if len(self._of(index)) < self._quotas[index]:
                self.unfilled.add(index)

    def revoke_overfilled(self) -> None:
        for index, quota in enumerate(self._quotas):
            held = self._of(index)
            for topic, number in held.keys()[: max(len(held) - quota, 0)]:
                self.assignments.remove(index, topic, number)
                self.owners[topic, number].remove(index)
                held.remove((topic, number))

    def revoke_overshared(self) -> None:
        for (topic, number), sharers in self.owners.items():
            for index in sharers.keys() if len(sharers) > self.sharing else ():
                if self.assignments.remove(index, topic, number):
                    sharers.remove(index)
                    self._of(index).remove((topic, number))
                    self.unfilled.add(index)
                if len(sharers) <= self.sharing:
                    break

    def give(self, index: int, partition: TopicIdPartition) -> bool:
        self.assignments.add(index, *partition)
        held = self._of(index)
        held.compute_if_absent(partition, lambda: None)
        return len(held) >= self._quotas[index]

    def _of(self, index: int) -> Partitions:
        if index not in self._held:
            self._held[index] = Partitions(partition_hash)
        return self._held[index]
