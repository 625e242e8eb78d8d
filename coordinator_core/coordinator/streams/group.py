"""A streams group and its members: data and derived values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.modern.group import MemberRow, ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.coordinator.streams.owners import TaskOwners
from coordinator_core.coordinator.streams.rules import StreamsRules
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.coordinator.streams.tasks import (
    NO_TARGET,
    NOTHING,
    AssignedTasks,
    TargetTasks,
)
from coordinator_core.coordinator.streams.topology import (
    ConfiguredTopology,
    required_topics,
    sources_of,
)
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.messages import Topology

JOINING = 0  # epoch of a member until its assignment is written by the same append
LEFT = -1
LEFT_FOR_A_WHILE = -2  # epoch of a static member that left temporarily and may return
NO_TOPOLOGY = -1
NO_SNAPSHOT = -1
_NO_TAGS: Mapping[str, str] = MappingProxyType({})
_Refined = tuple[int, Mapping[str, TargetTasks]]
_Unwritten = tuple[int, str, ConfiguredTopology | None, _Refined]


class StreamsMember(NamedTuple):
    """One member, which is immutable: every change makes a new value.

    ``pending`` has tasks to be revoked.
    """

    member_id: str
    epoch: int = JOINING
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NO_TOPOLOGY
    process_id: str = ""
    endpoint: tuple[str, int] | None = None
    client_tags: Mapping[str, str] = _NO_TAGS
    assigned: AssignedTasks = NOTHING
    pending: AssignedTasks = NOTHING

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is StreamsMemberState.STABLE and self.epoch == epoch


class StreamsGroup(ModernGroup):
    """``members`` and ``targets`` are by member id; ``static_members`` has ids by instance id.

    ``topology`` is as a member brought it; ``configured``: against the topics, not written, so a
    loaded group has none.  ``validated_epoch`` is the epoch of the topology for which all topics
    existed. ``refined`` is the assignment that members were last led to, and its epoch.  ``state``
    is as of the last record.
    """

    __slots__ = (
        "_unwritten",
        "assignment_configs",
        "configured",
        "endpoint_epoch",
        "members",
        "order",
        "owners",
        "refined",
        "reverted",
        "rules",
        "shown_endpoints",
        "shutdown_member_id",
        "state",
        "static_members",
        "targets",
        "topology",
        "validated_epoch",
    )

    group_type: ClassVar[GroupType] = STREAMS
    protocol_type: ClassVar[str] = "streams"

    def __init__(
        self,
        group_id: str,
        partition: int,
        offsets: OffsetStore,
        epoch: int,
        rules: StreamsRules,
    ) -> None:
        super().__init__(group_id, partition, offsets, epoch)
        self.rules = rules
        self.assignment_epoch = rules.first_target_epoch
        self.members: dict[str, StreamsMember] = {}
        self.static_members: dict[str, str] = {}
        self.order = TimelineKeys[str](string_hash)
        self.owners = TaskOwners(is_strict=rules.fails_on_task_conflicts)
        self.targets: dict[str, TargetTasks] = {}
        self.topology: Topology | None = None
        self.configured: ConfiguredTopology | None = None
        self.validated_epoch = NO_TOPOLOGY
        self.assignment_configs: dict[str, str] = {}
        self.refined: _Refined = (LEFT, {})
        self.shutdown_member_id: str | None = None
        self.endpoint_epoch = rules.first_endpoint_epoch
        # members whose endpoint and tasks were sent to the group's members
        self.shown_endpoints: set[str] = set()
        self.state = "Empty"
        # members whose records were reverted since the last append
        self.reverted: dict[str, None] = {}
        # A snapshot of the log, and of the values that no record contains.
        self._unwritten: _Unwritten = NO_SNAPSHOT, self.state, None, self.refined

    def forget_reverted(self) -> None:
        self.reverted.clear()

    def put_member(self, member_id: str, member: StreamsMember | None) -> None:
        """Add, replace or remove the member."""
        before = self.members.pop(member_id, None)
        if before is not None and before.instance_id is not None:
            self.static_members.pop(before.instance_id, None)
        self.shown_endpoints.discard(member_id)
        if member is None:
            self.order.discard(member_id)
            return
        self.members[member_id] = member
        self.order.add(member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member_id

    def static_member(self, instance_id: str | None) -> StreamsMember | None:
        member_id = self.static_members.get(instance_id or "")
        return None if member_id is None else self.members.get(member_id)

    def with_member(self, member: StreamsMember | None) -> list[StreamsMember]:
        """All members in the order of the map, with this member, without the member that it
        replaces.
        """
        if member is None:
            return [self.members[member_id] for member_id in self.order]
        replaced = self.replaced_by(member)
        order = [each for each in self.order if each != replaced]
        if member.member_id not in self.order:
            order.append(member.member_id)
        members = {**self.members, member.member_id: member}
        return [members[member_id] for member_id in order]

    def replaced_by(self, member: StreamsMember) -> str | None:
        """The id of another member with this member's instance id."""
        member_id = self.static_members.get(member.instance_id or "")
        return None if member_id == member.member_id else member_id

    def targets_with(self, member: StreamsMember | None) -> dict[str, TargetTasks]:
        """The targets by member id; a returning member takes the target of the member that it
        replaces.
        """
        targets = dict(self.targets)
        replaced = None if member is None else self.replaced_by(member)
        if member is not None and replaced is not None:
            target = targets.pop(replaced, None)
            if target is not None:
                targets[member.member_id] = target
        return targets

    def change_unwritten(self, snapshot: int) -> None:
        """Call before a change of what no record holds; ``snapshot`` is the snapshot of the log.

        Administrators see the change with the next snapshot; a failed append reverts it.
        """
        if self._unwritten[0] != snapshot:
            self._unwritten = snapshot, self.state, self.configured, self.refined

    def revert_unwritten(self, snapshot: int) -> None:
        if self._unwritten[0] == snapshot:
            _, self.state, self.configured, self.refined = self._unwritten

    def configure(self, configured: ConfiguredTopology) -> None:
        self.configured = configured
        self.shown_endpoints.clear()
        if not self.rules.writes_validated_epoch:
            self.update_state()

    def seen_at(self, snapshot: int) -> tuple[str, ConfiguredTopology | None]:
        """State and configured topology as of a snapshot of the log."""
        if self._unwritten[0] == snapshot:
            return self._unwritten[1], self._unwritten[2]
        return self.state, self.configured

    def state_at(self, snapshot: int) -> str:
        return self.seen_at(snapshot)[0]

    def update_state(self) -> None:
        """Set the state from what the group has now."""
        self.state = self._state()
        if self.state == "Empty":
            self.shutdown_member_id = None

    def _state(self) -> str:
        if not self.members:
            return "Empty"
        if not self._is_ready():
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        epoch = self.assignment_epoch
        is_stable = all([member.is_reconciled_to(epoch) for member in self.members.values()])
        return "Stable" if is_stable else "Reconciling"

    def _is_ready(self) -> bool:
        if self.topology is None:
            return False
        if self.rules.writes_validated_epoch:
            return self.topology.epoch == self.validated_epoch
        return self.configured is not None and self.configured.is_ready

    def is_empty(self) -> bool:
        return self.state == "Empty"

    def state_name(self) -> str:
        return self.state

    def epoch_of(self, member_id: str) -> int | None:
        member = self.members.get(member_id)
        return None if member is None else member.epoch

    def member_rows(self) -> list[MemberRow]:
        return [
            (member_id, member.epoch, member.state.name)
            for member_id, member in sorted(self.members.items())
        ]

    def subscribes_to(self, topic: str) -> bool:
        """Returns whether the topic is a source of the topology, in 4.1 of a configured one."""
        is_configured = self.configured is not None and self.configured.is_ready
        if self.is_empty() or self.topology is None:
            return False
        return topic in self.subtopology_of_topics() and (
            self.rules.writes_validated_epoch or is_configured
        )

    def subtopology_of_topics(self) -> dict[str, str]:
        """The subtopology that reads each topic."""
        assert self.topology is not None
        return {
            topic: each.subtopology_id
            for each in self.topology.subtopologies
            for topic in sources_of(each)
        }

    def depends_on(self, topic: str) -> bool:
        return self.topology is not None and topic in required_topics(self.topology)

    def target_of(self, member_id: str) -> TargetTasks:
        return self.targets.get(member_id, NO_TARGET)
