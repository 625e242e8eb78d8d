"""A consumer group and its members: data and derived values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.modern.group import MemberRow, ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.messages import Protocols

# partitions by topic id; a target's sets iterate in Kafka's order
Partitions = Mapping[str, Set[int]]
Owned = Mapping[str, Mapping[int, int]]  # topic id -> partition -> epoch at which it was assigned

LEFT_FOR_A_WHILE = -2  # the epoch of a static member that left and may return
LEFT = -1
_FREE = -1
_UNRESOLVED: frozenset[str] = frozenset()


class ClassicMetadata(NamedTuple):
    """The data that a member of the classic protocol sent with its JoinGroup."""

    session_timeout_ms: int
    protocols: Protocols


class ConsumerMember(NamedTuple):
    """One member, which is immutable: every change makes a new value.

    ``previous_epoch`` is accepted, too, because the last answer may have been lost.  ``regex`` is
    "" without a regular expression.  ``pending`` has the partitions to be revoked.  ``classic``: It
    is None unless the member uses the classic protocol.
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: ConsumerMemberState = ConsumerMemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str = ""
    assignor: str | None = None
    assigned: Owned = MappingProxyType({})
    pending: Owned = MappingProxyType({})
    classic: ClassicMetadata | None = None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is ConsumerMemberState.STABLE and self.epoch == epoch


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched; ``version`` is the version of the metadata
    image.
    """

    topics: frozenset[str]
    version: int
    timestamp_ms: int


class ConsumerGroup(ModernGroup):
    """``members`` and ``targets`` are by member id; ``static_members`` has ids by instance id."""

    __slots__ = (
        "_classic_count",
        "_name_counts",
        "_partition_epochs",
        "_regex_counts",
        "_regex_topics",
        "are_equal",
        "frees_instance_ids",
        "has_partition_metadata",
        "members",
        "order",
        "regexes",
        "reverted",
        "static_members",
        "targets",
    )

    group_type: ClassVar[GroupType] = CONSUMER
    protocol_type: ClassVar[str] = "consumer"

    def __init__(self, group_id: str, partition: int, offsets: OffsetStore, epoch: int) -> None:
        super().__init__(group_id, partition, offsets, epoch)
        self.members: dict[str, ConsumerMember] = {}
        self.order: TimelineKeys[str] = TimelineKeys(string_hash)  # epoch of Kafka's map of members
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        # members whose records were reverted since the last append
        self.reverted: dict[str, None] = {}
        # whether a member that joins with another instance id frees its previous instance id
        self.frees_instance_ids = True
        # whether the log has a record of type 4 that must be removed
        self.has_partition_metadata = False
        self._partition_epochs: dict[tuple[str, int], int] = {}
        self._classic_count = 0
        # number of members per topic that they subscribe to by name
        self._name_counts: dict[str, int] = {}
        self._regex_counts: dict[str, int] = {}  # number of members per regular expression
        # number of regular expressions that match each topic
        self._regex_topics: dict[str, int] = {}
        # whether all subscriptions are equal, as of the last change of a member
        self.are_equal = True

    # -- changes

    def put_member(self, member: ConsumerMember) -> None:
        """Add the member, or replace the member with its id."""
        before = self.members.get(member.member_id)
        if before is not None:
            self._release(before)
            if before.instance_id is not None and self.frees_instance_ids:
                self.static_members.pop(before.instance_id, None)
        self.order.add(member.member_id)  # the table may grow even if the key is there
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._count(member, 1)
        for owned in (member.assigned, member.pending):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    self._partition_epochs[topic_id, partition] = member.epoch
        self.are_equal = self._has_equal_subscriptions()

    def drop_member(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self.order.discard(member_id)
        self._release(member)
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        self.are_equal = self._has_equal_subscriptions()

    def put_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """Set the topics of a regular expression; None removes it."""
        before = self.regexes.pop(regex, None)
        if before is not None:
            _add(self._regex_topics, before.topics, -1)
        if resolved is not None:
            self.regexes[regex] = resolved
            _add(self._regex_topics, resolved.topics, 1)

    def _count(self, member: ConsumerMember, by: int) -> None:
        self._classic_count += by * (member.classic is not None)
        _add(self._name_counts, member.topics, by)
        if member.regex:
            _add(self._regex_counts, (member.regex,), by)

    def _has_equal_subscriptions(self) -> bool:
        """Returns whether all members subscribe to the same topics, as Kafka tells it by counting.

        Topics of regular expressions that nobody uses count until the tombstone of the expression
        is written.
        """
        size = len(self.members)
        if not self._regex_counts:
            named = all([count == size for count in self._name_counts.values()])
            return named and self._regex_topics.keys() <= self._name_counts.keys()
        is_common = list(self._regex_counts.values()) == [size]
        is_single = all([count == 1 for count in self._regex_topics.values()])
        return is_common and is_single and not self._name_counts

    def _release(self, member: ConsumerMember) -> None:
        self._count(member, -1)
        for owned in (member.assigned, member.pending):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    self._partition_epochs.pop((topic_id, partition), None)

    # -- members

    def in_order(self) -> list[ConsumerMember]:
        """The members in the order of Kafka's map."""
        return [self.members[member_id] for member_id in self.order]

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        if instance_id is None:
            return None
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member: ConsumerMember) -> Partitions:
        """The member's target; a static member that returns takes the target of the member that it
        replaces.
        """
        member_id = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id, "")
        return self.targets.get(member_id, {})

    def is_free(self, topic_id: str, partition: int) -> bool:
        """Returns whether no member has the partition, not even to be revoked."""
        return self._partition_epochs.get((topic_id, partition), _FREE) == _FREE

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Returns whether another member still has a partition of the member's target."""
        if member.state is not ConsumerMemberState.UNRELEASED_PARTITIONS:
            return False
        return any(
            partition not in member.assigned.get(topic_id, {})
            and not self.is_free(topic_id, partition)
            for topic_id, partitions in self.targets.get(member.member_id, {}).items()
            for partition in partitions
        )

    # -- subscriptions

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """Names of the topics that the member subscribes to, by name or regular expression."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def subscribed_topics(self) -> set[str]:
        return self._name_counts.keys() | self._regex_topics.keys()

    def subscribes_to(self, topic: str) -> bool:
        return topic in self._name_counts or topic in self._regex_topics

    @property
    def regex_counts(self) -> Mapping[str, int]:
        """The number of members that subscribe by each regular expression."""
        return self._regex_counts

    def regex_count(self, regex: str) -> int:
        return self._regex_counts.get(regex, 0)

    # -- classic members

    def all_classic_except(self, members: Iterable[ConsumerMember]) -> bool:
        """Returns whether all other members use the classic protocol."""
        leaving = list(members)
        classic = sum([member.classic is not None for member in leaving])
        return self._classic_count - classic == len(self.members) - len(leaving)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Returns whether all classic members have one of the protocols."""
        if protocol_type != self.protocol_type:
            return False
        if not self.members:
            return bool(protocols)
        return any(self._classic_members_with(name) == self._classic_count for name, _ in protocols)

    def _classic_members_with(self, protocol: str) -> int:
        return sum(
            [
                any(name == protocol for name, _ in member.classic.protocols)
                for member in self.members.values()
                if member.classic is not None
            ]
        )

    # -- states

    def forget_reverted(self) -> None:
        self.reverted.clear()

    def is_empty(self) -> bool:
        return not self.members

    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        epoch = self.assignment_epoch
        is_stable = all([member.is_reconciled_to(epoch) for member in self.members.values()])
        return "Stable" if is_stable else "Reconciling"

    def epoch_of(self, member_id: str) -> int | None:
        member = self.members.get(member_id)
        return None if member is None else member.epoch

    def classic_members(self) -> list[str]:
        if not self._classic_count:
            return []
        return [each for each, member in self.members.items() if member.classic is not None]

    def regexes_resolved_ms(self) -> list[int]:
        return [each.timestamp_ms for each in self.regexes.values()]

    def member_rows(self) -> list[MemberRow]:
        return [
            (member_id, member.epoch, member.state.name)
            for member_id, member in sorted(self.members.items())
        ]


def _add(counts: dict[str, int], keys: Iterable[str], by: int) -> None:
    """Count keys; keys with count 0 are removed."""
    for key in keys:
        count = counts.get(key, 0) + by
        if count:
            counts[key] = count
        else:
            counts.pop(key, None)
