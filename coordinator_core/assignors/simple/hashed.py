"""Simple of 4.1: each member gets the partition that its id hashes to, then free partitions in
turns.

Source: SimpleAssignor of Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from coordinator_core.assignors.model import PartitionAssignorError
from coordinator_core.assignors.simple.filling import sized
from coordinator_core.assignors.simple.model import (
    ShareSubscriber,
    ShareTopics,
    TopicIdAssignment,
    TopicIdPartition,
    partition_hash,
)
from coordinator_core.jvm.hash_codes import string_hash, uuid_hash
from coordinator_core.jvm.hash_tables import HashTable, IntSet

Owners = HashTable[TopicIdPartition, list[str]]
Partitions = HashTable[TopicIdPartition, None]
ByMember = HashTable[str, Partitions]


def assign_equal(
    topics: ShareTopics, members: Sequence[ShareSubscriber]
) -> dict[str, TopicIdAssignment]:
    """Raises PartitionAssignorError if a topic has no metadata."""
    if not members[0].topics:
        return {}
    subscribed = set(members[0].topics)
    targets = topics.targets(members[0].topics)
    enough = -(-len(targets) // len(members))
    hashed = Owners(partition_hash, sized(len(targets)))
    for member in members:
        _place_by_hash(member.member_id, targets, hashed)
    held = _by_member(members, hashed)
    placed = set(hashed)
    for partition, owners in _current(members).items():
        if partition[0] in subscribed:
            for member_id in owners:
                if len(_of(held, member_id)) < enough and partition not in hashed:
                    _of(held, member_id).put(partition, None)
                    placed.add(partition)
    _in_turns(members, [each for each in targets if each not in placed], held, enough)
    return _result(members, held)


def assign_unequal(
    topics: ShareTopics, members: Sequence[ShareSubscriber]
) -> dict[str, TopicIdAssignment]:
    """Raises PartitionAssignorError if a topic has no metadata."""
    targets = HashTable[str, list[TopicIdPartition]](string_hash)
    subscribers = HashTable[str, dict[str, None]](uuid_hash)
    for member in members:
        if member.topics:
            targets.put(member.member_id, topics.targets(member.topics))
    owners = Owners(partition_hash)
    for member_id, partitions in targets.items():
        for topic, _ in partitions:
            subscribers.compute_if_absent(topic, dict)[member_id] = None
        _place_by_hash(member_id, partitions, owners)
    current = _current(members)
    free = HashTable[str, list[TopicIdPartition]](uuid_hash)
    for partition in dict.fromkeys(chain.from_iterable(targets.values())):
        if partition not in owners and partition not in current:
            free.compute_if_absent(partition[0], list).append(partition)
    for topic, unowned in free.items():
        takers = [*subscribers[topic]]
        for place, partition in enumerate(unowned):
            owners.compute_if_absent(partition, list).append(takers[place % len(takers)])
    held = _by_member(members, owners)
    for partition, previous in current.items():
        for member_id in previous if partition not in owners else ():
            if member_id in (subscribers.get(partition[0]) or ()):
                _of(held, member_id).put(partition, None)
    return _result(members, held)


def _current(members: Iterable[ShareSubscriber]) -> Owners:
    owners = Owners(partition_hash)
    for member in members:
        for topic, partitions in member.assigned.items():
            for number in partitions:
                owners.compute_if_absent((topic, number), list).append(member.member_id)
    return owners


def _place_by_hash(member_id: str, targets: list[TopicIdPartition], owners: Owners) -> None:
    if targets:
        place = abs(string_hash(member_id)) % len(targets)
        owners.compute_if_absent(targets[place], list).append(member_id)


def _by_member(members: Sequence[ShareSubscriber], owners: Owners) -> ByMember:
    held = ByMember(string_hash, sized(len(members)))
    for partition, member_ids in owners.items():
        for member_id in member_ids:
            _of(held, member_id).put(partition, None)
    return held


def _of(held: ByMember, member_id: str) -> Partitions:
    return held.compute_if_absent(member_id, lambda: Partitions(partition_hash))


def _in_turns(
    members: Sequence[ShareSubscriber], free: list[TopicIdPartition], held: ByMember, enough: int
) -> None:
    """Members take turns; a member with more than ``enough`` partitions drops out."""
    waiting = [member.member_id for member in members]
    place = 0
    for partition in free:
        while True:
            if place == len(waiting):
                place = 0
                if not waiting:
                    raise PartitionAssignorError("no member has room left")
            taken = _of(held, waiting[place])
            if len(taken) <= enough:
                break
            del waiting[place]
        taken.put(partition, None)
        place += 1


def _result(members: Sequence[ShareSubscriber], held: ByMember) -> dict[str, TopicIdAssignment]:
    return {member.member_id: _by_topic(held.get(member.member_id)) for member in members}


def _by_topic(partitions: Partitions | None) -> TopicIdAssignment:
    topics = HashTable[str, IntSet](uuid_hash)
    for topic, number in partitions or ():
        topics.compute_if_absent(topic, IntSet).add(number)
    return {topic: numbers.keys() for topic, numbers in topics.items()}
