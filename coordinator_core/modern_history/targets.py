"""The input from which the coordinator computed each target assignment of a consumer group.

A server assignor reads the members in the order of the coordinator's map, the topics to which each
member subscribes, and the previous target.  All of this input is in the records before the target's
records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from coordinator_core.coordinator.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    ResolvedRegex,
)
from coordinator_core.coordinator.consumer.subscriptions import Subscriptions, names_in_order
from coordinator_core.coordinator.offsets import OffsetStore, ScalaPartitions
from coordinator_core.modern_history.evidence import GroupRecord, RecordKind

# Possible epochs of a group's first record: 1, and since Kafka 4.4 also 2.
FIRST_EPOCHS = (1, 2)
ListsByTopic = Mapping[str, tuple[int, ...]]
"""Partitions in ascending order, by topic id; topic ids in the order of the record."""
NOTHING: ListsByTopic = MappingProxyType({})


class Subscriber(NamedTuple):
    """A member; ``names`` are names of the target's topics, in the order of the
    coordinator's set.
    """

    member_id: str
    instance_id: str | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetInput:
    """Members in the order of the coordinator's map, and the previous target by member id.

    ``are_equal`` means that the coordinator considers all subscriptions equal.  ``is_complete``
    means that the records go back to the group's creation, without a gap.  ``is_first`` means that
    no record has a previous target.
    """

    members: tuple[Subscriber, ...]
    previous: Mapping[str, ListsByTopic]
    target: Mapping[str, ListsByTopic]
    are_equal: bool
    is_complete: bool
    is_first: bool


class TargetInputs:
    """Follows the records of one incarnation; `play` receives all records in log order."""

    def __init__(self, *, is_complete: bool = False) -> None:
        """``is_complete`` means that the group was classic before."""
        self._group = ConsumerGroup("", 0, OffsetStore(ScalaPartitions()), 0)
        self._targets: dict[str, ListsByTopic] = {}
        # targets of members, whose records immediately precede the target's own record
        self._next_targets: dict[str, ListsByTopic] = {}
        self._time_ms = 0
        self._new_members: list[str] = []  # of the batch
        self._is_recomputed = False  # whether the current batch computes the subscriptions again
        self._epoch: int | None = None
        self._is_complete = is_complete
        self._has_target = False

    def play(self, record: GroupRecord) -> None:
        if record.time_ms != self._time_ms:
            self._time_ms, self._new_members, self._is_recomputed = record.time_ms, [], False
        if record.kind is RecordKind.TARGET_MEMBER and not record.is_tombstone:
            self._next_targets[record.member_id or ""] = _lists(record)
            return
        self._targets |= self._next_targets
        self._next_targets = {}
        if record.kind is RecordKind.MEMBER:
            self._member(record)
        elif record.kind is RecordKind.TARGET_MEMBER:
            self._targets.pop(record.member_id or "", None)
        elif record.kind is RecordKind.TARGET:
            self._has_target = True
        elif record.kind is RecordKind.REGEX:
            resolved = ResolvedRegex(frozenset(record.topics), 0, 0)
            self._group.put_regex(record.regex or "", None if record.is_tombstone else resolved)
        elif record.kind is RecordKind.GROUP:
            self._bump(record)

    def at(self, target: GroupRecord) -> TargetInput:
        """The input of this target, whose record is the next one to play."""
        group = self._group
        is_recomputed = self._is_recomputed and target.time_ms == self._time_ms
        new = self._new_members if target.time_ms == self._time_ms else []
        in_order = [each for each in group.order if each not in new]
        in_order += [each for each in new if each in group.members]
        members = [_subscriber(group, group.members[each]) for each in in_order]
        subscriptions = Subscriptions(group, group.members.values()) if is_recomputed else None
        return TargetInput(
            tuple(members),
            dict(self._targets),
            self._targets | self._next_targets,
            group.are_equal if subscriptions is None else subscriptions.are_equal(),
            self._is_complete,
            not self._has_target and not self._is_complete,
        )

    def _member(self, record: GroupRecord) -> None:
        member_id = record.member_id or ""
        self._is_recomputed = True
        if record.is_tombstone:
            if member_id in self._group.members:
                self._group.drop_member(member_id)
            return
        if member_id not in self._group.members:
            self._new_members.append(member_id)
        topics, regex = frozenset(record.topics), record.regex or ""
        member = ConsumerMember(member_id=member_id, instance_id=record.instance_id)
        self._group.put_member(member._replace(topics=topics, regex=regex))

    def _bump(self, record: GroupRecord) -> None:
        """The group is complete from its first epoch on, until an epoch is missing."""
        self._is_recomputed = True
        if self._epoch is None:
            self._is_complete |= record.epoch in FIRST_EPOCHS and self._has_only_its_first_member()
        elif record.epoch != self._epoch + 1:
            self._is_complete = False
        self._epoch = record.epoch

    def _has_only_its_first_member(self) -> bool:
        """The member joins in this batch, or before it if its regular expression has to be
        resolved.
        """
        members = list(self._group.members.values())
        return len(members) == 1 and (
            members[0].member_id in self._new_members or members[0].regex != ""
        )


def _subscriber(group: ConsumerGroup, member: ConsumerMember) -> Subscriber:
    return Subscriber(member.member_id, member.instance_id, names_in_order(group, member))


def _lists(record: GroupRecord) -> ListsByTopic:
    lists: dict[str, list[int]] = {topic_id: [] for topic_id in record.topic_ids}
    for _, _, topic_id, partition in sorted(record.assigned, key=lambda each: each[3]):
        lists.setdefault(topic_id or "", []).append(partition)
    return {topic_id: tuple(numbers) for topic_id, numbers in lists.items()}
