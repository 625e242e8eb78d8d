"""A share group and its members: data and derived values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from coordinator_core.assignors.simple import TopicIdAssignment
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.modern.group import MemberRow, ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.jvm.hash_codes import string_hash, uuid_hash
from coordinator_core.jvm.hash_tables import (
    HashTable,
    capacity_of_copy,
    capacity_of_map_copy,
    copied_ints,
)
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.jvm.timeline_maps import TimelineKeys

JOINING = 0  # epoch of a member until the same append writes the member's assignment
LEFT = -1
NOTHING: TopicIdAssignment = MappingProxyType({})


class ShareMember(NamedTuple):
    """One member, which is immutable: every change makes a new value.

    ``topics`` are names, in a HashSet's order.
    """

    member_id: str
    epoch: int = JOINING
    previous_epoch: int = LEFT
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    assigned: TopicIdAssignment = NOTHING


class InitTopic(NamedTuple):
    """A topic of which share partitions are initialised, and when that was written."""

    name: str
    partitions: Sequence[int]
    timestamp_ms: int = -1


InitTopics = Mapping[str, InitTopic]  # by topic id


class ShareStates(NamedTuple):
    """The topics whose share partitions have states, by topic id; ``deleting``: ids alone."""

    initializing: InitTopics = MappingProxyType({})
    initialized: InitTopics = MappingProxyType({})
    deleting: tuple[str, ...] = ()


class ShareGroup(ModernGroup):
    """``members`` and ``targets`` by member id; ``states`` None: never initialised anything."""

    __slots__ = ("members", "names", "order", "reverted", "states", "targets")

    group_type: ClassVar[GroupType] = SHARE
    protocol_type: ClassVar[str] = "share"

    def __init__(self, group_id: str, partition: int, offsets: OffsetStore, epoch: int) -> None:
        super().__init__(group_id, partition, offsets, epoch)
        self.members: dict[str, ShareMember] = {}
        self.order = TimelineKeys[str](string_hash)
        self.names = TimelineKeys[str](string_hash)  # hash of the subscribed topics
        self.targets: dict[str, TopicIdAssignment] = {}
        self.states: ShareStates | None = None
        # members whose records were reverted since the last append
        self.reverted: dict[str, None] = {}

    def put_member(self, member_id: str, member: ShareMember | None) -> None:
        """Add, replace or remove the member."""
        before = self.members.get(member_id)
        self._replace_names(() if before is None else before.topics, member)
        if member is None:
            self.members.pop(member_id, None)
            self.order.discard(member_id)
        else:
            self.members[member_id] = member
            self.order.add(member_id)

    def _replace_names(self, before: tuple[str, ...], member: ShareMember | None) -> None:
        """A name that only this member had is removed, and comes back if the member still has
        it.
        """
        counts = subscribed_names(self.members.values())
        for name in before:
            if counts[name] == 1:
                self.names.discard(name)
        for name in () if member is None else member.topics:
            self.names.add(name)

    def names_with(self, before: ShareMember, after: ShareMember) -> list[str]:
        """The subscribed names in the iteration order of a HashMap copy, with the member's new
        names.
        """
        counts = subscribed_names(self.members.values())
        copy = HashTable[str, int](string_hash, capacity_of_map_copy(len(self.names)))
        for name in self.names:
            copy.put(name, counts[name])
        for name in before.topics:
            if counts.get(name, 0) == 1:
                copy.remove(name)
        for name in after.topics:
            copy.compute_if_absent(name, int)
        return copy.keys()

    def with_member(self, member: ShareMember) -> list[ShareMember]:
        """All members in the order of the map, with this member in place of the member with its
        id.
        """
        members = {**self.members, member.member_id: member}
        return [members[member_id] for member_id in self.order.with_key(member.member_id)]

    def forget_reverted(self) -> None:
        self.reverted.clear()

    def is_empty(self) -> bool:
        return not self.members

    def subscribes_to(self, topic: str) -> bool:
        return any([topic in member.topics for member in self.members.values()])

    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    def epoch_of(self, member_id: str) -> int | None:
        member = self.members.get(member_id)
        return None if member is None else member.epoch

    def member_rows(self) -> list[MemberRow]:
        return [(each, member.epoch, "STABLE") for each, member in sorted(self.members.items())]


def topic_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names in the iteration order of a HashSet made of them."""
    listed = [*names]
    return tuple(hash_order(listed, capacity_of_copy(len(listed))))


def subscribed_names(members: Iterable[ShareMember]) -> dict[str, int]:
    """The number of members that subscribe to each topic, by name."""
    counts: dict[str, int] = {}
    for member in members:
        for name in member.topics:
            counts[name] = counts.get(name, 0) + 1
    return counts


def as_read(rows: Iterable[tuple[str, Sequence[int]]]) -> TopicIdAssignment:
    """Topic ids and partitions in the order of the map and sets that a record is read into."""
    table = HashTable[str, list[int]](uuid_hash)
    for topic_id, partitions in rows:
        table.put(topic_id, copied_ints(partitions).keys())
    return dict(table.items())


def is_same(one: TopicIdAssignment, other: TopicIdAssignment) -> bool:
    """Returns whether both assignments have the same topics and partitions, in any order."""
    return {topic: {*one[topic]} for topic in one} == {topic: {*other[topic]} for topic in other}


def without_topics(assignment: TopicIdAssignment, removed: Sequence[str]) -> TopicIdAssignment:
    """The assignment itself if nothing is removed, else in the order of a copy of its HashMap."""
    if not removed:
        return assignment
    table = HashTable[str, Sequence[int]](uuid_hash, capacity_of_map_copy(len(assignment)))
    for topic_id, partitions in assignment.items():
        table.put(topic_id, partitions)
    for topic_id in removed:
        table.remove(topic_id)
    return dict(table.items())
