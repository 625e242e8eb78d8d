"""Simple for members with different topics: quotas within each topic, topic by topic.

A topic without subscribers is skipped: it stays in the target assignment of its previous members,
and the coordinator omits it from their assignments.  Source: SimpleHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.simple.filling import Assignments, fill, quotas, sharing, sized
from coordinator_core.assignors.simple.model import ShareSubscriber, ShareTopics, TopicIdAssignment
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import HashTable, IntSet


def assign(topics: ShareTopics, members: Sequence[ShareSubscriber]) -> dict[str, TopicIdAssignment]:
    """Raises PartitionAssignorError if a topic has no metadata."""
    subscribers = _subscribers(members)
    targets = {topic: topics.targets_of(topic) for topic in subscribers}
    if not targets:
        return {}
    assignments = Assignments(members)
    for topic, subscribed in subscribers.items():
        _Topic(topic, members, subscribed, targets[topic], assignments).balance()
    return assignments.result()


def _subscribers(members: Sequence[ShareSubscriber]) -> HashTable[str, list[int]]:
    """Indexes of the members that subscribe to each topic; topics in the order of a HashSet."""
    subscribers = HashTable[str, list[int]](uuid_hash)
    for index, member in enumerate(members):
        for topic in member.topics:
            if topic not in subscribers:
                subscribers.put(topic, [])
            subscribers[topic].append(index)
    return subscribers


class _Topic:
    """One topic: the owners of its partitions; members are indexes."""

    def __init__(
        self,
        topic: str,
        members: Sequence[ShareSubscriber],
        subscribed: list[int],
        targets: list[int],
        assignments: Assignments,
    ) -> None:
        self._topic, self._targets, self._subscribed = topic, targets, subscribed
        self._assignments = assignments
        self._sharing = sharing(len(subscribed), len(targets))
        self._quotas = dict(zip(subscribed, quotas(len(subscribed), len(targets)), strict=True))
        self._owners = HashTable[int, IntSet](int, sized(len(targets)))
        self._held = HashTable[int, IntSet](int, sized(len(subscribed)))
        self._unfilled = IntSet(capacity=sized(len(members)))
        for index, member in enumerate(members):
            for number in member.assigned.get(topic, ()):
                self._owners.compute_if_absent(number, IntSet).add(index)
                self._held.compute_if_absent(index, IntSet).add(number)

    def balance(self) -> None:
        self._revoke_overfilled()
        self._revoke_overshared()
        for number in self._targets:
            self._owners.compute_if_absent(number, self._no_sharers)
        for index in self._subscribed:
            if self._count(index) < self._quotas[index]:
                self._unfilled.add(index)
        fill(self._owners, self._sharing, self._unfilled, self._give)

    def _no_sharers(self) -> IntSet:
        return IntSet(capacity=sized(len(self._subscribed)))

    def _revoke_overfilled(self) -> None:
        for index, held in self._held.items():
            excess = max(len(held) - self._quotas.get(index, 0), 0)
            for number in held.keys()[:excess]:
                self._owners[number].remove(index)
                held.remove(number)
                self._assignments.remove(index, self._topic, number)

    def _revoke_overshared(self) -> None:
        for number, sharers in self._owners.items():
            for index in sharers.keys() if len(sharers) > self._sharing else ():
                if self._assignments.remove(index, self._topic, number):
                    sharers.remove(index)
                    self._held[index].remove(number)
                if len(sharers) <= self._sharing:
                    break

    def _give(self, index: int, number: int) -> bool:
        self._assignments.add(index, self._topic, number)
        held = self._held.compute_if_absent(index, IntSet)
        held.add(number)
        return len(held) >= self._quotas[index]

    def _count(self, index: int) -> int:
        held = self._held.get(index)
        return 0 if held is None else len(held)
