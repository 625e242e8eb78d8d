"""librdkafka's cooperative-sticky assignor, which moves other partitions than Kafka's assignor
does.

With equal subscriptions, members keep the partitions that they own, and all other partitions go one
by one to the member with the fewest partitions.  Then partitions move from members that have at
least two too many, starting with the member with the most partitions.  Kafka's assignor cuts each
member down to its quota instead.  With different subscriptions both use the same algorithm.  A
partition that changes its owner is withheld until the old owner has revoked it.  A partition that
no longer exists stays with its owner.

Each member's list is sorted, while librdkafka's list has the order of a hash map.  Source:
rdkafka_sticky_assignor.c, and for withheld partitions rdkafka_cgrp.c, of librdkafka 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import chain

from coordinator_core.assignors.members import same_topics, subscribed
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics
from coordinator_core.assignors.sticky import assign as assign_sticky


def assign_cooperative(
    topics: Topics, members: Sequence[Member], hashed: bool = True
) -> Assignment:
    """``hashed`` has no effect.  Source: KIP-54, KIP-429."""
    ordered = sorted(members, key=lambda member: member.member_id)
    if same_topics(ordered):
        balanced = _Balancing(topics.only(subscribed(ordered[:1])), ordered).assignment()
    else:
        balanced = assign_sticky(topics, ordered, hashed)
    return _with_withheld(balanced, ordered)


class _Balancing:
    """The assignment of members with equal subscriptions, before partitions are withheld."""

    def __init__(self, topics: Topics, ordered: Sequence[Member]) -> None:
        self._lists: dict[str, list[TopicPartition]] = {m.member_id: [] for m in ordered}
        self._owner: dict[TopicPartition, str] = {}
        self._previous: dict[TopicPartition, str] = {}
        self._all = [
            partition
            for topic in reversed(topics.names)
            for partition in topics.table_of[topic][::-1]
        ]
        self._settle(ordered)

    def _settle(self, ordered: Sequence[Member]) -> None:
        """The claim of the highest generation holds; two claims of the same generation are both
        dropped.
        """
        claims: dict[TopicPartition, list[tuple[int, str]]] = {}
        for member in ordered:
            for partition in _owned(member):
                claims.setdefault(partition, []).append((member.field_generation, member.member_id))
        existing = set(self._all)
        for partition, claimants in sorted(claims.items()):
            generations = [generation for generation, _ in claimants]
            if partition in existing and len(set(generations)) == len(generations):
                *older, (_, owner) = sorted(claimants)
                self._take(partition, owner)
                if older:
                    self._previous[partition] = older[-1][1]

    def _take(self, partition: TopicPartition, member_id: str) -> None:
        self._owner[partition] = member_id
        self._lists[member_id].append(partition)

    def assignment(self) -> Assignment:
        in_order = [*self._from_most_loaded()]
        free = [partition for partition in self._all if partition not in self._owner]
        if not in_order:
            free.sort()
        self._fill(free)
        in_order += free
        for candidates in (free, in_order):
            while self._move_from(candidates):
                pass
        return self._lists

    def _from_most_loaded(self) -> Iterator[TopicPartition]:
        """Yield owned partitions, each time from the member with the most left; partitions that
        another member also claimed come first.
        """
        left = {
            member_id: sorted(owned, key=lambda each: (each not in self._previous, each))
            for member_id, owned in self._lists.items()
            if owned
        }
        while left:
            most = max(left, key=lambda member_id: (len(left[member_id]), member_id))
            yield left[most].pop(0)
            if not left[most]:
                del left[most]

    def _fill(self, free: Iterable[TopicPartition]) -> None:
        heap = [(len(owned), member_id) for member_id, owned in self._lists.items()]
        heapify(heap)
        for partition in free:
            load, member_id = heap[0]
            self._take(partition, member_id)
            heapreplace(heap, (load + 1, member_id))

    def _move_from(self, candidates: Iterable[TopicPartition]) -> bool:
        """Make one pass over the candidates; returns whether a partition moved."""
        moved = False
        for partition in candidates:
            fewest = min(self._lists, key=self._load)
            load = len(self._lists[self._owner[partition]])
            previous = self._previous.get(partition)
            if previous is not None and load > len(self._lists[previous]) + 1:
                self._move(partition, previous)
            elif load > len(self._lists[fewest]) + 1:
                self._move(partition, fewest)
            else:
                continue
            moved = True
        return moved

    def _load(self, member_id: str) -> tuple[int, str]:
        return len(self._lists[member_id]), member_id

    def _move(self, partition: TopicPartition, to: str) -> None:
        self._lists[self._owner[partition]].remove(partition)
        self._take(partition, to)


def _owned(member: Member) -> Iterator[TopicPartition]:
    for topic, partitions in member.owned:
        for partition in partitions:
            yield topic, partition


def _with_withheld(balanced: Assignment, ordered: Sequence[Member]) -> Assignment:
    owners = {partition: member.member_id for member in ordered for partition in _owned(member)}
    lists: Assignment = {
        member_id: [p for p in partitions if owners.get(p, member_id) == member_id]
        for member_id, partitions in balanced.items()
    }
    assigned = {*chain.from_iterable(balanced.values())}
    for partition, member_id in owners.items():
        if partition not in assigned:
            lists[member_id].append(partition)
    return {member_id: sorted(partitions) for member_id, partitions in lists.items()}
