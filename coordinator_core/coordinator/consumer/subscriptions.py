"""The subscriptions of a group after one of its members changes, and the epoch that follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.consumer.records import (
    group_record,
    partition_metadata_record,
    partition_metadata_tombstone,
)
from coordinator_core.coordinator.metadata_image import MetadataImage, TopicImage
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.hash_tables import (
    HashTable,
    capacity_of_copy,
    capacity_of_map_copy,
    table_size_for,
)
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.jvm.timeline_maps import TimelineKeys

REFRESH_MS = 2147483647  # latest time at which the hash of the topics is computed again


class Subscriptions:
    """The subscriptions of all members of a group, as they will be.

    ``regexes`` has the number of members that use each regular expression, resolved or not.
    """

    __slots__ = ("members", "regexes", "resolved")

    def __init__(self, group: ConsumerGroup, members: Collection[ConsumerMember]) -> None:
        self.members = members
        self.regexes: dict[str, int] = {}
        for member in members:
            if member.regex:
                self.regexes[member.regex] = self.regexes.get(member.regex, 0) + 1
        self.resolved = {
            regex: resolved.topics
            for regex, resolved in group.regexes.items()
            if regex in self.regexes
        }

    def topics(self) -> set[str]:
        topics: set[str] = set()
        for member in self.members:
            topics |= member.topics
        for resolved in self.resolved.values():
            topics |= resolved
        return topics

    def are_equal(self) -> bool:
        """Returns whether all members subscribe to the same topics, as Kafka tells it by
        counting.
        """
        topics = [member.topics for member in self.members]
        if not self.regexes:
            return all(each == topics[0] for each in topics)
        return len(self.regexes) == 1 and (
            sum(self.regexes.values()) == len(self.members) and not any(topics)
        )


def names_in_order(group: ConsumerGroup, member: ConsumerMember) -> tuple[str, ...]:
    """The member's topics, in the iteration order of the union of two sets: named topics and
    matched topics.
    """
    resolved = group.regexes.get(member.regex) if member.regex else None
    return _union(member.topics, frozenset() if resolved is None else resolved.topics)


@lru_cache(maxsize=1 << 12)
def _union(named: frozenset[str], matched: frozenset[str]) -> tuple[str, ...]:
    sets = [named, matched]
    if len(named) <= len(matched):
        sets.reverse()  # the larger set comes first
    in_order = [hash_order(sorted(each), capacity_of_copy(len(each))) for each in sets]
    return tuple(dict.fromkeys(in_order[0] + in_order[1]))


def with_member(group: ConsumerGroup, after: ConsumerMember) -> list[ConsumerMember]:
    """The members once ``after`` has joined or changed; it replaces who had its instance id."""
    members = {member_id: group.members[member_id] for member_id in group.order}
    if after.instance_id is not None:
        replaced = group.static_members.get(after.instance_id, "")
        if replaced != after.member_id:
            members.pop(replaced, None)
    members[after.member_id] = after
    return list(members.values())


def votes(members: Collection[ConsumerMember]) -> dict[str, int]:
    """Votes by server assignor."""
    counts: dict[str, int] = {}
    for member in members:
        if member.assignor is not None:
            counts[member.assignor] = counts.get(member.assignor, 0) + 1
    return counts


def preferred_assignor(group: ConsumerGroup, default: str) -> str:
    """The server assignor with most votes; of several, the first in Kafka's map of the group."""
    counts = votes(group.members.values())
    return max(_in_order(counts), key=counts.__getitem__, default=default)


def next_assignor(group: ConsumerGroup, after: ConsumerMember, default: str) -> str:
    """The preferred one once ``after`` has joined or changed.

    If several assignors have the most votes, the first in a copy of the group's map, which is a
    HashMap; ``preferred_assignor`` may name another one.
    """
    present, counts = votes(group.members.values()), votes(with_member(group, after))
    copy: HashTable[str, None] = HashTable(string_hash, capacity_of_map_copy(len(present)))
    for name in _in_order(present):
        copy.put(name, None)
    before = group.members.get(after.member_id) or group.static_member(after.instance_id)
    if before is not None and before.assignor is not None and present[before.assignor] == 1:
        copy.remove(before.assignor)  # The topic may be inserted again at another position.
    if after.assignor is not None:
        copy.compute_if_absent(after.assignor, lambda: None)
    return max(copy, key=counts.__getitem__, default=default)


def _in_order(counts: Iterable[str]) -> list[str]:
    """Names as a TimelineHashMap iterates."""
    order: TimelineKeys[str] = TimelineKeys(string_hash)
    for name in counts:
        order.add(name)
    return list(order)


def update_epoch(draft: Draft, subscriptions: Subscriptions, *, bumps: bool) -> None:
    """Write a new epoch if the topics differ from the topics last written, or if ``bumps``."""
    group, turn = draft.group, draft.turn
    take_topics(draft, subscriptions.topics(), bumps=bumps)
    draft.are_equal = subscriptions.are_equal()
    group.refreshed(turn.now_ms + REFRESH_MS, draft.epoch)
    if group.has_partition_metadata and not draft.rules.writes_topics:
        draft.records.append(partition_metadata_tombstone(group.group_id))


def take_topics(draft: Draft, names: Collection[str], *, bumps: bool) -> None:
    """Write the topics, or their hash, if they changed; that or ``bumps`` makes a new epoch."""
    turn = draft.turn
    metadata_hash = turn.image.group_hash(names)
    has_changed = metadata_hash != draft.group.metadata_hash
    if has_changed and draft.rules.writes_topics:
        topics = _as_computed(names, turn.image)
        draft.records.append(partition_metadata_record(draft.group_id, topics))
    if not has_changed and not bumps:
        return
    draft.epoch += 1
    draft.records.append(group_record(draft.rules, draft.group_id, draft.epoch, metadata_hash))
    fields = {"epoch": draft.epoch}
    if not draft.rules.writes_topics:
        fields["metadata_hash"] = metadata_hash
    turn.effects.modern_event("EPOCH_BUMP", draft.group_id, **fields)


def _as_computed(names: Collection[str], image: MetadataImage) -> list[TopicImage]:
    """The topics that exist, in the order of the HashMap that Kafka computes them in."""
    order: HashTable[str, TopicImage] = HashTable(string_hash, table_size_for(len(names)))
    for name in hash_order(sorted(names)):
        if name in image.topics:
            order.put(name, image.topics[name])
    return [order[name] for name in order]


def topics_as_kept(names: Collection[str], image: MetadataImage) -> list[TopicImage]:
    """The topics that exist, in the order of the group's own map."""
    in_order = _in_order(topic.name for topic in _as_computed(names, image))
    return [image.topics[name] for name in in_order]
