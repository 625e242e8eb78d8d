"""StreamsGroupHeartbeat: a member joins, stays or leaves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from coordinator_core.assignors.model import AssignorError
from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.modern.configuration import rules_of, setting, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord, classic_tombstone
from coordinator_core.coordinator.modern.timers import Failed
from coordinator_core.coordinator.modern.writing import answer
from coordinator_core.coordinator.streams import records, timers
from coordinator_core.coordinator.streams.checks import (
    check_epoch,
    check_owned,
    check_request,
    check_size,
    check_static,
)
from coordinator_core.coordinator.streams.endpoints import announce_endpoints
from coordinator_core.coordinator.streams.group import (
    LEFT,
    LEFT_FOR_A_WHILE,
    NO_TOPOLOGY,
    StreamsGroup,
    StreamsMember,
)
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.coordinator.streams.loading import new_group
from coordinator_core.coordinator.streams.reconciliation import reconciled
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.coordinator.streams.target import (
    TAGS,
    Targets,
    assignment_configs,
    update_target,
)
from coordinator_core.coordinator.streams.tasks import (
    NO_TARGET,
    NOTHING,
    from_rows,
    same_tasks,
)
from coordinator_core.coordinator.streams.topology import (
    ConfiguredTopology,
    InvalidTopology,
    Status,
    configure,
    required_topics,
)
from coordinator_core.coordinator.streams.writing import write_for
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import (
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
    Topology,
)

# time after which the hash of the topics would be computed again without other cause
_NEVER_MS = 2147483647
_STATUS_OF_TAGS_VERSION = 1


class Update(Enum):
    """The effect of a heartbeat on the assignment; all values except NONE bump the epoch."""

    NONE = 0
    REFINED = 1  # members continue to reconcile, and the target stays
    RECOMPUTE = 2


def handle(turn: Turn, request: StreamsGroupHeartbeat) -> None:
    try:
        error = check_request(rules_of(turn).streams, request)
        if error is Errors.NONE:
            leaves = request.member_epoch in (LEFT, LEFT_FOR_A_WHILE)
            error = _leave(turn, request) if leaves else _stay(turn, request)
    except UnexpectedState:  # Kafka's coordinator throws
        error = Errors.UNKNOWN_SERVER_ERROR
    if error is not Errors.NONE:
        turn.log.answer(request, _refusal(error))


def _refusal(error: Errors) -> StreamsHeartbeatResponse:
    return StreamsHeartbeatResponse(error=error, member_id="")


# -- leaving


def _leave(turn: Turn, request: StreamsGroupHeartbeat) -> Errors:
    group = turn.groups.modern.get(request.group_id)
    if not isinstance(group, StreamsGroup):
        return Errors.GROUP_ID_NOT_FOUND
    if request.shutdown:
        _request_shutdown(turn, group, request.member_id)
    if request.instance_id is None:
        member = group.members.get(request.member_id)
        error = Errors.UNKNOWN_MEMBER_ID if member is None else Errors.NONE
    else:
        member = group.static_member(request.instance_id)
        error = check_static(member, request.member_id)
    if member is None or error is not Errors.NONE:
        return error
    if request.member_epoch == LEFT_FOR_A_WHILE:
        step, leaving = "temporarily", [_left_for_a_while(turn, group, member)]
    else:
        step, leaving = "member", timers.removal(turn, group, member)
    fields = {"member_id": member.member_id, "step": step, "protocol": "streams"}
    if request.instance_id is not None:
        fields["instance_id"] = request.instance_id
    turn.effects.modern_event("LEFT", group.group_id, **fields)
    write_for(turn, group, leaving)
    response = StreamsHeartbeatResponse(
        error=Errors.NONE, member_id=member.member_id, member_epoch=request.member_epoch
    )
    answer(turn, request, response, _refusal)
    return Errors.NONE


def _left_for_a_while(turn: Turn, group: StreamsGroup, member: StreamsMember) -> ModernRecord:
    """A static member keeps its tasks until its session ends."""
    active = {
        subtopology: dict.fromkeys(epochs, 0)
        for subtopology, epochs in member.assigned.active.items()
    }
    assigned = member.assigned._replace(active=active)
    left = member._replace(epoch=LEFT_FOR_A_WHILE, assigned=assigned, pending=NOTHING)
    return records.current_record(rules_of(turn), group.group_id, left)


def _request_shutdown(turn: Turn, group: StreamsGroup, member_id: str) -> None:
    if group.shutdown_member_id is None:
        group.shutdown_member_id = member_id
        turn.effects.modern_event("SHUTDOWN_REQUESTED", group.group_id, member_id=member_id)


# -- joining and staying


def _stay(turn: Turn, request: StreamsGroupHeartbeat) -> Errors:
    group, writing, error = _group_for(turn, request)
    if group is None:
        return error
    return _Heartbeat(turn, group, request, writing).run()


def _group_for(
    turn: Turn, request: StreamsGroupHeartbeat
) -> tuple[StreamsGroup | None, list[ModernRecord], Errors]:
    """The group of the heartbeat, and the records that come first; a joining member creates it."""
    group = turn.groups.modern.get(request.group_id)
    writing: list[ModernRecord] = []
    joins = request.member_epoch == 0
    if group is None and joins and _may_create(turn, turn.groups.classic.get(request.group_id)):
        if request.group_id in turn.groups.classic:
            writing.append(classic_tombstone(request.group_id))
            turn.effects.modern_event("CONVERT", request.group_id, step="empty_to_streams")
        group = new_group(turn, request.group_id)
    if not isinstance(group, StreamsGroup):
        return None, writing, Errors.GROUP_ID_NOT_FOUND
    if joins:
        max_size = turn.config.modern.streams.max_size
        error = check_size(rules_of(turn).streams, group, request, max_size)
        if error is not Errors.NONE:
            return None, writing, error
    return group, writing, Errors.NONE


def _may_create(turn: Turn, classic: ClassicGroup | None) -> bool:
    if classic is None:
        return True
    return rules_of(turn).streams.converts_empty_groups and classic.state is GroupState.EMPTY


class _Heartbeat:
    """The heartbeat of a member that joins or stays, with what it changes."""

    def __init__(
        self,
        turn: Turn,
        group: StreamsGroup,
        request: StreamsGroupHeartbeat,
        writing: list[ModernRecord],
    ) -> None:
        self._turn, self._group, self._request = turn, group, request
        self._rules = rules_of(turn)
        self._records = writing
        self._joins = request.member_epoch == 0
        self._owned = None if request.owned is None else from_rows(request.owned)
        self._status: list[Status] = []
        self._epoch = group.epoch
        self._snapshot = turn.log.snapshot_of(group.partition)
        self._replaced: StreamsMember | None = None
        self._before = self._after = StreamsMember(member_id=request.member_id)

    def run(self) -> Errors:
        """Collect the records of each step, write them, answer.

        Returns an error, and writes nothing, if the heartbeat is refused.
        """
        # 0. Find the member.  A static member that returns replaces the member with its instance
        #    id: writes the tombstones of the replaced member, then copies under the new id.
        error = self._find_member()
        if error is not Errors.NONE:
            return error

        # 1. Create or update the member: writes StreamsGroupMemberMetadata.
        update = self._write_member()

        # 2. Initialize the topology with the topology that the first member sends: writes
        # StreamsGroupTopology.
        topology, error = self._topology()
        if topology is None:
            return error

        # 3. Configure the topology with the existing topics: derives the tasks per subtopology, and
        # missing internal topics.  No record holds the configured topology.
        try:
            configured, metadata_hash, has_other_topics = self._configured(topology)
        except InvalidTopology:
            return Errors.STREAMS_INVALID_TOPOLOGY
        if has_other_topics:
            update = Update.RECOMPUTE
        validated_epoch = NO_TOPOLOGY
        if configured.is_ready:
            validated_epoch = topology.epoch
            error = check_owned(configured.subtopologies or {}, self._owned)
            if error is not Errors.NONE:
                return error

        # 4. Bump the group epoch if the member, the topology, its topics or the assignment
        #    configurations changed: writes StreamsGroupMetadata.
        configs = assignment_configs(self._turn, self._group.group_id)
        if self._rules.streams.writes_validated_epoch:
            update = self._update(update, validated_epoch, configs)
        if update is not Update.NONE:
            self._bump(metadata_hash, validated_epoch, configs)

        # 5. Compute the target assignment if the group epoch is ahead of it and no initial delay
        #    runs: writes a StreamsGroupTargetAssignmentMember per changed member, then
        #    StreamsGroupTargetAssignmentMetadata.
        self._start_initial_delay()
        try:
            epoch, targets, is_delayed = update_target(
                self._turn,
                self._group,
                self._epoch,
                self._after,
                configured,
                configs,
                self._records,
                only_refined=update is Update.REFINED,
            )
        except AssignorError:
            return Errors.UNKNOWN_SERVER_ERROR
        if is_delayed:
            self._status.append(Status.ASSIGNMENT_DELAYED)

        # 6. Reconcile the member with its target: writes StreamsGroupCurrentMemberAssignment, and
        #    starts or ends the wait for its revocations.
        error = self._reconcile(epoch, self._refined(epoch, targets))
        if error is not Errors.NONE:
            return error

        # 7. Restart the session; collect the endpoints and the status codes for the answer.
        self._announce(configured, configs)

        # 8. Write the records, and answer once they are in the log.
        write_for(self._turn, self._group, self._records)
        answer(self._turn, self._request, self._response(), _refusal)
        return Errors.NONE

    # -- the member

    def _find_member(self) -> Errors:
        """Set the stored member, and the member with the changes of the request."""
        member, error = self._member()
        if error is Errors.NONE:
            self._before, self._after = member, self._updated(member)
        return error

    def _member(self) -> tuple[StreamsMember, Errors]:
        request, group = self._request, self._group
        unknown = StreamsMember(member_id=request.member_id)
        static = group.static_member(request.instance_id)
        if static is not None and static.member_id != request.member_id:
            self._replaced = static
            group.change_unwritten(self._snapshot)
            _relabel(group, static.member_id, request.member_id)
        if request.instance_id is not None:
            return self._static_member(static, unknown)
        member = group.members.get(request.member_id)
        if member is None and not self._joins:
            return unknown, Errors.UNKNOWN_MEMBER_ID
        member = member or unknown
        error = self._check_epoch(member)
        if error is Errors.NONE and self._joins:
            self._event("MEMBER_JOIN", step="direct")
        return member, error

    def _check_epoch(self, member: StreamsMember) -> Errors:
        epoch = self._request.member_epoch
        return check_epoch(self._rules.streams, member, epoch, self._owned)

    def _static_member(
        self, static: StreamsMember | None, unknown: StreamsMember
    ) -> tuple[StreamsMember, Errors]:
        """``static`` is the member with the request's instance id."""
        member_id, instance_id = self._request.member_id, self._request.instance_id
        if not self._joins:
            error = check_static(static, member_id)
            if static is None or error is not Errors.NONE:
                return unknown, error
            return static, self._check_epoch(static)
        if static is None:
            self._event("MEMBER_JOIN", step="direct", instance_id=instance_id)
            return self._group.members.get(member_id) or unknown, Errors.NONE
        if static.epoch != LEFT_FOR_A_WHILE:
            return unknown, Errors.UNRELEASED_INSTANCE_ID
        return self._take_over(static), Errors.NONE

    def _take_over(self, static: StreamsMember) -> StreamsMember:
        """A static member that comes back gets all that its predecessor has."""
        group_id, member_id = self._group.group_id, self._request.member_id
        member = static._replace(member_id=member_id, epoch=0, previous_epoch=0)
        self._records += records.member_tombstones(group_id, static.member_id)
        self._records.append(records.member_record(group_id, member))
        target = self._group.target_of(static.member_id)
        self._records.append(records.member_target_record(group_id, member_id, target))
        self._records.append(records.current_record(self._rules, group_id, member))
        fields = {"instance_id": static.instance_id, "old_member_id": static.member_id}
        self._event("STATIC_REPLACED", member_id=member_id, **fields)
        return member

    def _updated(self, member: StreamsMember) -> StreamsMember:
        """The member with what the request says; what it leaves out stays."""
        request = self._request
        resets_endpoint = self._joins and self._rules.streams.joins_reset_endpoint
        endpoint = request.endpoint if resets_endpoint else request.endpoint or member.endpoint
        timeout_ms, topology, tags = (
            request.rebalance_timeout_ms,
            request.topology,
            request.client_tags,
        )
        process_id, rack_id = request.process_id, request.rack_id
        return member._replace(
            instance_id=request.instance_id or member.instance_id,
            rack_id=member.rack_id if rack_id is None else rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topology_epoch=member.topology_epoch if topology is None else topology.epoch,
            client_id=request.client_id,
            client_host=request.client_host,
            process_id=member.process_id if process_id is None else process_id,
            client_tags=member.client_tags if tags is None else dict(tags),
            endpoint=endpoint,
        )

    def _write_member(self) -> Update:
        before, after = self._before, self._after
        if after == before:
            return Update.NONE
        self._records.append(records.member_record(self._group.group_id, after))
        self._event("MEMBER_UPDATED", member_id=after.member_id, member=after)
        is_static = self._request.instance_id is not None
        if is_static and _assigned_by(before) == _assigned_by(after):
            return Update.NONE
        return Update.RECOMPUTE

    # -- the group

    def _topology(self) -> tuple[Topology | None, Errors]:
        """The group's topology. Returns None and an error if the member has another topology."""
        present, sent = self._group.topology, self._request.topology
        if sent is not None and len({each.subtopology_id for each in sent.subtopologies}) < len(
            sent.subtopologies
        ):
            raise UnexpectedState("two subtopologies have the same id")
        if sent is not None and present is None:
            self._records.append(records.topology_record(self._group.group_id, sent))
            self._event("TOPOLOGY_INITIALIZED", epoch=sent.epoch)
            return sent, Errors.NONE
        if present is None:
            raise UnexpectedState("neither the group nor the member has a topology")
        if sent is not None and sent.epoch >= present.epoch and not _is_same(sent, present):
            return None, Errors.INVALID_REQUEST
        if sent is not None and sent.epoch < present.epoch:
            self._event("TOPOLOGY_STALE", epoch=sent.epoch)
        if self._after.topology_epoch < present.epoch:
            self._status.append(Status.STALE_TOPOLOGY)
        return present, Errors.NONE

    def _configured(self, topology: Topology) -> tuple[ConfiguredTopology, int, bool]:
        """The topology configured, the hash of its topics, and whether that changed."""
        group, turn = self._group, self._turn
        is_new = group.topology is None
        metadata_hash, has_changed = group.metadata_hash, False
        if is_new or group.configured is None or group.needs_refresh(turn.now_ms):
            metadata_hash = turn.image.group_hash(required_topics(topology))
            has_changed = metadata_hash != group.metadata_hash
            if has_changed:
                fields = {"step": "streams_metadata_hash", "metadata_hash": metadata_hash}
                self._event("METADATA_HASH", **fields)
            if is_new or has_changed or group.configured is None:
                self._event("TOPOLOGY_CONFIGURED", epoch=topology.epoch)
                configured = configure(topology, turn.image)
                self._log_topics(configured, topology.epoch)
                group.change_unwritten(self._snapshot)
                group.configure(configured)
        assert group.configured is not None
        return group.configured, metadata_hash, has_changed

    def _log_topics(self, configured: ConfiguredTopology, epoch: int) -> None:
        if configured.problem in (None, Status.MISSING_INTERNAL_TOPICS):
            topics = configured.missing_topics
            step = "topics_missing" if topics else "topics_valid"
            self._event("TOPICS_CHECKED", step=step, epoch=epoch, topics=topics)

    def _update(self, update: Update, validated_epoch: int, configs: Mapping[str, str]) -> Update:
        """The update with the reasons that 4.2 and later know, too."""
        group = self._group
        if validated_epoch != group.validated_epoch:
            return Update.RECOMPUTE
        if update is Update.NONE and configs != group.assignment_configs:
            self._event("ASSIGNMENT_CONFIGS_CHANGED", configs=dict(configs))
            return Update.RECOMPUTE
        if (
            update is Update.NONE
            and self._rules.streams.refines_targets
            and group.state == "Stable"
        ):
            target = group.target_of(self._after.member_id)
            if not same_tasks(target, self._after.assigned):
                return Update.REFINED
        return update

    def _bump(self, metadata_hash: int, validated_epoch: int, configs: Mapping[str, str]) -> None:
        group = self._group
        self._epoch += 1
        self._records.append(
            records.epoch_record(
                self._rules, group, self._epoch, metadata_hash, validated_epoch, configs
            )
        )
        fields = {"metadata_hash": metadata_hash, "validated_epoch": validated_epoch}
        self._event("EPOCH_BUMP", epoch=self._epoch, **fields)
        group.refreshed(self._turn.now_ms + _NEVER_MS, self._epoch)

    def _start_initial_delay(self) -> None:
        turn, group_id = self._turn, self._group.group_id
        if not self._rules.streams.has_initial_delay or not self._group.is_empty():
            return
        name = "initial.rebalance.delay.ms"
        delay_ms = int(setting(turn, group_id, STREAMS, name))
        if delay_ms > 0:
            timers.start_initial_delay(turn, group_id, delay_ms, _DelayedAssignment(turn, group_id))

    def _refined(self, epoch: int, targets: Targets) -> Targets:
        """The targets to which members are led; they are kept for an epoch if there may be
        warm-ups.

        Kafka 4.4.0 makes them of the targets without a change.
        """
        turn, group = self._turn, self._group
        warmups = setting(turn, group.group_id, STREAMS, "num.warmup.replicas")
        if not self._rules.streams.refines_targets or int(warmups) == 0:
            return targets
        if group.refined[0] != epoch:
            group.change_unwritten(self._snapshot)
            group.refined = epoch, dict(targets)
        return group.refined[1]

    def _reconcile(self, epoch: int, targets: Targets) -> Errors:
        group, member = self._group, self._after
        if member.is_reconciled_to(epoch):
            return Errors.NONE
        target = targets.get(member.member_id, NO_TARGET)
        changed = reconciled(self._rules.streams, group, member, epoch, target, self._owned)
        if changed is None:
            return Errors.FENCED_MEMBER_EPOCH
        if changed == member:
            return Errors.NONE
        self._records.append(records.current_record(self._rules, group.group_id, changed))
        self._event("RECONCILE", member=changed)
        if changed.state is StreamsMemberState.UNREVOKED_TASKS:
            timers.start_rebalance(self._turn, group.group_id, changed)
        else:
            timers.end_rebalance(self._turn, group.group_id, member.member_id)
        self._after = changed
        return Errors.NONE

    # -- the answer

    def _announce(self, configured: ConfiguredTopology, configs: Mapping[str, str]) -> None:
        """Restart the session; what the answer says besides the assignment."""
        turn, group, request = self._turn, self._group, self._request
        timers.start_session(turn, group.group_id, request.member_id)
        if request.shutdown:
            _request_shutdown(turn, group, request.member_id)
        announce_endpoints(turn, group, request, self._before, self._after, self._replaced)
        if configured.problem is not None:
            self._status.append(configured.problem)
        if group.shutdown_member_id is not None:
            self._status.append(Status.SHUTDOWN_APPLICATION)
        if request.version >= _STATUS_OF_TAGS_VERSION and self._lacks_tags(configs):
            self._status.append(Status.MISSING_CLIENT_TAGS)

    def _lacks_tags(self, configs: Mapping[str, str]) -> bool:
        tags = [tag.strip() for tag in configs.get(TAGS, "").split(",") if tag.strip()]
        return any(tag not in self._after.client_tags for tag in tags)

    def _response(self) -> StreamsHeartbeatResponse:
        group, after = self._group, self._after
        has_changed = after.assigned != self._before.assigned
        interval_ms = setting_ms(self._turn, group.group_id, STREAMS, "heartbeat.interval.ms")
        assert group.configured is not None
        return StreamsHeartbeatResponse(
            error=Errors.NONE,
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=interval_ms,
            assignment=after.assigned.rows() if self._joins or has_changed else None,
            status=tuple(sorted(self._status)),
            creatable_topics=group.configured.missing_topics,
        )

    def _event(self, kind: str, **fields: object) -> None:
        fields = {"member_id": self._request.member_id, "protocol": "streams", **fields}
        self._turn.effects.modern_event(kind, self._request.group_id, **fields)


def _assigned_by(member: StreamsMember) -> tuple[object, ...]:
    """The fields of a static member whose change makes the assignment be computed again."""
    return member.topology_epoch, member.rack_id, dict(member.client_tags), member.process_id


def _is_same(sent: Topology, present: Topology) -> bool:
    """Returns whether both have the same subtopologies, in any order."""
    ours = {each.subtopology_id: each for each in present.subtopologies}
    return sent.epoch == present.epoch and ours == {
        each.subtopology_id: each for each in sent.subtopologies
    }


def _relabel(group: StreamsGroup, old_member_id: str, member_id: str) -> None:
    """The target that the old member is led to is its successor's, even if that is refused."""
    epoch, targets = group.refined
    if old_member_id in targets:
        others = {each: target for each, target in targets.items() if each != old_member_id}
        group.refined = epoch, {**others, member_id: targets[old_member_id]}


class _DelayedAssignment:
    """Computes the first target assignment of a group when its initial delay is over."""

    def __init__(self, turn: Turn, group_id: str) -> None:
        self._turn, self._group_id = turn, group_id

    def __call__(self, failed: Failed) -> None:
        group = self._turn.groups.modern.get(self._group_id)
        if not isinstance(group, StreamsGroup) or group.is_empty():
            return
        if group.epoch <= group.assignment_epoch or group.configured is None:
            return  # The next heartbeat computes the target.
        writing: list[ModernRecord] = []
        try:
            update_target(
                self._turn,
                group,
                group.epoch,
                None,
                group.configured,
                group.assignment_configs,
                writing,
            )
        except AssignorError:
            # Kafka schedules its timer without a retry, so the next heartbeat computes the target.
            return
        write_for(self._turn, group, writing)
