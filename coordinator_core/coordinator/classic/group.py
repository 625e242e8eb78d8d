"""A classic group and its members: data, and the rules that hold in every era."""

from __future__ import annotations

from typing import ClassVar

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.classic.states import MOVES, GroupState
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.offsets import CommittedOffset, OffsetStore
from coordinator_core.jvm.java_maps import HashMapKeys
from coordinator_core.jvm.scala_maps import Scala212Keys
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import Protocols, TopicPartition

CONSUMER = "consumer"  # protocol type of groups whose member metadata are consumer subscriptions


class ClassicMember:
    """A member; ``awaiting_join`` and ``awaiting_sync`` are the ids of waiting requests, if any."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "heartbeat_satisfied",
        "instance_id",
        "is_leaving",
        "is_new",
        "latest_heartbeat_ms",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: str | None = None
        self.awaiting_sync: str | None = None
        self.is_new = False  # the member is still in its first join
        self.is_leaving = False
        self.heartbeat_satisfied = False
        self.latest_heartbeat_ms = -1

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise UnexpectedState(f"{self.member_id} does not support protocol {protocol}")

    def is_alive(self) -> bool:
        """Returns whether the session need not expire: while it awaits an answer, a member sends
        nothing.

        A member in its first join may have stopped, so its wait does not count.
        """
        if self.is_new:
            return self.heartbeat_satisfied
        awaits = self.awaiting_join is not None or self.awaiting_sync is not None
        return awaits or self.heartbeat_satisfied


class ClassicGroup:
    """A group's data and the rules that hold in every era.

    ``members`` is a dict; ``in_order`` returns them in the order of the era's hash map.
    ``partition`` is the partition of `__consumer_offsets` that holds the group.
    """

    __slots__ = (
        "_ordered",
        "awaiting_join_count",
        "generation",
        "group_id",
        "leader",
        "members",
        "new_member_added",
        "offsets",
        "order",
        "partition",
        "pending",
        "pending_sync",
        "previous_state",
        "protocol",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "supported",
    )

    group_type: ClassVar[GroupType] = CLASSIC

    def __init__(
        self,
        group_id: str,
        partition: int,
        now_ms: int,
        order: HashMapKeys | Scala212Keys,
        offsets: OffsetStore,
    ) -> None:
        self.group_id = group_id
        self.partition = partition
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        # member ids handed out to clients that have not joined yet
        self.pending: dict[str, None] = {}
        self.pending_sync: dict[str, None] = {}  # members that have not synced in this generation
        self.awaiting_join_count = 0
        self.supported: dict[str, int] = {}  # protocol -> number of members that support it
        self.subscribed_topics: frozenset[str] | None = None
        self.new_member_added = False
        self.offsets = offsets
        self.order = order
        self._ordered: list[ClassicMember] | None = None

    def move_to(self, target: GroupState, now_ms: int) -> None:
        if target not in MOVES[self.state]:
            raise UnexpectedState(f"{self.group_id}: {self.state.value} -> {target.value}")
        self.previous_state = self.state
        self.state = target
        self.state_timestamp_ms = now_ms

    def in_order(self) -> list[ClassicMember]:
        """Members in the order of the era's hash map; the caller must not change the list."""
        if self._ordered is None:
            self._ordered = [self.members[key] for key in self.order]
        return self._ordered

    def add(self, member: ClassicMember, awaiting_join: str | None) -> None:
        """Add a member; the first one leads. The caller sets the protocol type."""
        if self.leader is None:
            self.leader = member.member_id
        self._put(member)
        self._count_protocols(member, 1)
        member.awaiting_join = awaiting_join
        if awaiting_join is not None:
            self.awaiting_join_count += 1

    def remove(self, member_id: str) -> ClassicMember | None:
        """Remove a member; if it led, the first in the order of the hash map leads."""
        member = self._take(member_id)
        if member is not None:
            self._count_protocols(member, -1)
            if member.awaiting_join is not None:
                self.awaiting_join_count -= 1
        if self.leader == member_id:
            self.leader = self.in_order()[0].member_id if self.members else None
        return member

    def update(
        self, member: ClassicMember, protocols: Protocols, awaiting_join: str | None
    ) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        awaited, awaits = member.awaiting_join is not None, awaiting_join is not None
        self.awaiting_join_count += awaits - awaited
        member.awaiting_join = awaiting_join

    def rename(self, member: ClassicMember, new_member_id: str) -> None:
        """Give a static member a new id; if it led, it leads under the new id."""
        old_member_id = member.member_id
        self._take(old_member_id)
        member.member_id = new_member_id
        self._put(member)
        if self.leader == old_member_id:
            self.leader = new_member_id

    def take_join(self, member: ClassicMember) -> str | None:
        """End the wait of the member's join; returns its request id, None if none waits."""
        request_id = member.awaiting_join
        if request_id is not None:
            member.awaiting_join = None
            self.awaiting_join_count -= 1
        return request_id

    def is_simple(self) -> bool:
        """Returns whether the group only holds offsets of a simple consumer: it has no record."""
        return self.protocol_type is None and not self.members and not self.pending

    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def has_all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Returns whether a member with these protocols can be in the group (from 2.0 on)."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        return self.protocol_type == protocol_type and self.supports_any(protocols)

    def supports_any(self, protocols: Protocols) -> bool:
        count = len(self.members)
        return any(self.supported.get(name, 0) == count for name, _ in protocols)

    def votes(self) -> dict[str, int]:
        """Votes by protocol, in order of members, each for its first protocol that all support."""
        count = len(self.members)
        votes: dict[str, int] = {}
        for member in self.in_order():
            choice = next((p for p, _ in member.protocols if self.supported.get(p) == count), None)
            if choice is None:
                raise UnexpectedState(f"{member.member_id} supports no candidate protocol")
            votes[choice] = votes.get(choice, 0) + 1
        return votes

    def offset_unused_since_ms(
        self, partition: TopicPartition, committed: CommittedOffset, *, only_when_stable: bool
    ) -> int | None:
        """KIP-211: the time from which the retention counts, or None while the offset is in use.

        ``only_when_stable`` means that offsets of topics without a subscriber are in use until the
        group is Stable (KAFKA-13636).
        """
        if self.protocol_type is None:
            return committed.commit_timestamp_ms
        if self.state is GroupState.EMPTY:
            is_recorded = self.state_timestamp_ms != -1
            return self.state_timestamp_ms if is_recorded else committed.commit_timestamp_ms
        topics = self.subscribed_topics if self.protocol_type == CONSUMER else None
        is_settled = self.state is GroupState.STABLE or not only_when_stable
        if is_settled and topics is not None and partition[0] not in topics:
            return committed.commit_timestamp_ms
        return None

    def _put(self, member: ClassicMember) -> None:
        self.members[member.member_id] = member
        self.order.add(member.member_id)
        self._ordered = None

    def _take(self, member_id: str) -> ClassicMember | None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self.order.discard(member_id)
            self._ordered = None
        return member

    def _count_protocols(self, member: ClassicMember, by: int) -> None:
        supported = self.supported
        for name, _ in member.protocols:
            supported[name] = supported.get(name, 0) + by
