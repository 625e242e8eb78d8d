"""JoinGroup: adds members, lets members rejoin, and replaces static members that return."""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.group_records import group_record, new_group_record
from coordinator_core.coordinator.classic.handlers.checks import checked_member
from coordinator_core.coordinator.classic.reactions import react
from coordinator_core.coordinator.classic.rebalance import (
    failed_join,
    forget,
    joined,
    prepare,
    prepare_or_check_join,
)
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import JoinGroup, JoinResponse, Record, SyncResponse


def handle(turn: Turn, request: JoinGroup) -> None:
    error = check(turn, request)
    if error is not Errors.NONE:
        refuse(turn, request, request.member_id, error)
    else:
        handle_replacing(turn, request, [], lambda: None)


def handle_replacing(
    turn: Turn, request: JoinGroup, removed: list[Record], revert: Callable[[], None]
) -> None:
    """A checked join; ``removed`` has tombstones of an empty group of another type with this id.

    ``revert`` is called if the append with them fails.
    """
    group = turn.groups.classic.get(request.group_id)
    is_new = group is None
    if group is None:
        if request.member_id:
            refuse(turn, request, request.member_id, Errors.UNKNOWN_MEMBER_ID)
            return
        group = turn.groups.new_classic(request.group_id, turn.now_ms)
    _join(turn, group, request)
    if is_new and turn.era.writes_new_groups and turn.log.own_append is None:
        _store_new_group(turn, group, request, removed, revert)


def check(turn: Turn, request: JoinGroup) -> Errors:
    config, timeout_ms = turn.config, request.session_timeout_ms
    if not request.group_id:
        return Errors.INVALID_GROUP_ID
    if config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms:
        return Errors.NONE
    return Errors.INVALID_SESSION_TIMEOUT


def refuse(turn: Turn, request: JoinGroup, member_id: str, error: Errors) -> None:
    turn.effects.respond(request.request_id, failed_join(turn, member_id, error))


def _join(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    if not turn.era.accepts_size(turn, group, request):
        _refuse_for_size(turn, group, request)
    else:
        input_ = turn.era.classify_join(turn, group, request)
        if input_ is not None:
            react(turn, input_, group, request)
    if turn.era.checks_join_after_any_join:
        turn.timers.check_join(group)


def _refuse_for_size(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """Refuse a join of a full group; a member that rejoins late is removed."""
    forget(turn, group, request.member_id)
    if not turn.era.takes_new_timeouts and request.instance_id is not None:
        # Eras up to 2.5 remove whichever member has the instance id.
        group.static_members.pop(request.instance_id, None)
    refuse(turn, request, "", Errors.GROUP_MAX_SIZE_REACHED)


def _store_new_group(
    turn: Turn,
    group: ClassicGroup,
    request: JoinGroup,
    removed: list[Record],
    revert: Callable[[], None],
) -> None:
    """4.x: write the group that the join created; if the append fails, the join fails."""

    def written(error: Errors) -> None:
        if error is Errors.NONE:
            return
        revert()
        for member in group.members.values():
            if member.awaiting_join == request.request_id:
                group.take_join(member)
                refuse(turn, request, "", turn.era.group_store_errors.get(error, error))

    turn.log.append(group.group_id, group.partition, [*removed, new_group_record(group)], written)


# -- classify ------------------------------------------------------------------------------------


def classify(turn: Turn, group: ClassicGroup, request: JoinGroup) -> Input | None:
    """The input of this join, or None if it was refused."""
    if not group.supports(request.protocol_type, request.protocols):
        refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return _new_member(group, request)
    if request.member_id in group.pending and request.member_id not in group.members:
        if request.instance_id is not None:
            raise UnexpectedState(f"pending member {request.member_id} with an instance id")
        return Input.NEW_MEMBER
    return _rejoining_member(turn, group, request)


def classify_before_kip_394(turn: Turn, group: ClassicGroup, request: JoinGroup) -> Input | None:
    """Up to 2.1, all members are dynamic, and a new member joins at once."""
    if not group.supports(request.protocol_type, request.protocols):
        refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return Input.NEW_MEMBER
    return _rejoining_member(turn, group, request)


def classify_unchecked_first(turn: Turn, group: ClassicGroup, request: JoinGroup) -> Input | None:
    """Up to 0.11, the first member of a group may join without protocols, and then gets stuck."""
    is_same_type = group.protocol_type == request.protocol_type
    if group.members and not (is_same_type and group.supports_any(request.protocols)):
        refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return Input.NEW_MEMBER
    return _rejoining_member(turn, group, request)


def _new_member(group: ClassicGroup, request: JoinGroup) -> Input:
    if request.instance_id is not None:
        returns = request.instance_id in group.static_members
        return Input.STATIC_MEMBER_RETURNS if returns else Input.NEW_MEMBER
    return Input.NEW_MEMBER_NEEDS_ID if request.requires_known_member_id else Input.NEW_MEMBER


def _rejoining_member(turn: Turn, group: ClassicGroup, request: JoinGroup) -> Input | None:
    error = checked_member(turn, group, request.member_id, request.instance_id, "join-group")
    if (
        error is Errors.NONE
        and request.instance_id is not None
        and request.instance_id not in group.static_members
    ):
        error = Errors.UNKNOWN_MEMBER_ID
    if error is not Errors.NONE:
        response = failed_join(turn, request.member_id, error)
        response = response._replace(protocol_name=turn.era.failed_rejoin_protocol)
        turn.effects.respond(request.request_id, response)
        return None
    is_leader = group.leader == request.member_id
    if group.members[request.member_id].protocols == request.protocols:
        return Input.REJOIN_UNCHANGED_LEADER if is_leader else Input.REJOIN_UNCHANGED_FOLLOWER
    return Input.REJOIN_CHANGED_LEADER if is_leader else Input.REJOIN_CHANGED_FOLLOWER


# -- reactions -----------------------------------------------------------------------------------


def require_id(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """KIP-394: the client joins again with the id it is given, so a retry adds no second member."""
    member_id = turn.member_ids(group.group_id, request.client_id)
    _event_of_join(turn, group, request, member_id, "id_required")
    group.pending[member_id] = None
    turn.timers.watch_pending(group, member_id, request.session_timeout_ms)
    refuse(turn, request, member_id, Errors.MEMBER_ID_REQUIRED)


def add(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """Add a new or pending member; its join waits."""
    member_id, step = request.member_id, "pending"
    if not member_id:
        prefix = request.client_id if request.instance_id is None else request.instance_id
        member_id = turn.member_ids(group.group_id, prefix)
        step = "direct" if request.instance_id is None else "static"
    _event_of_join(turn, group, request, member_id, step)
    if request.instance_id is not None:
        instance_id = request.instance_id
        turn.effects.event("STATIC_NEW", group, member_id=member_id, instance_id=instance_id)
    member = _member(turn, request, member_id)
    if group.state is GroupState.PREPARING_REBALANCE and _extends_initial_delay(turn, group):
        group.new_member_added = True
    if not group.members:
        group.protocol_type = request.protocol_type
    if request.instance_id is not None:
        group.static_members[request.instance_id] = member_id
    group.add(member, request.request_id)
    group.pending.pop(member_id, None)
    _watch_new_member(turn, group, member)
    cause = _cause("MEMBER_NEW", request, member_id, instance_id=request.instance_id)
    prepare_or_check_join(turn, group, cause)


def _member(turn: Turn, request: JoinGroup, member_id: str) -> ClassicMember:
    has_own = turn.era.has_rebalance_timeout
    member = ClassicMember(
        member_id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms
        if has_own
        else request.session_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
    )
    member.is_new = turn.era.times_out_first_joins
    return member


def _extends_initial_delay(turn: Turn, group: ClassicGroup) -> bool:
    if turn.era.extends_every_initial_delay:
        return group.previous_state is GroupState.EMPTY
    return group.generation == 0


def _watch_new_member(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    """KAFKA-7610: limit the wait of a new member, which cannot send heartbeats yet."""
    if turn.era.times_out_first_joins:
        timeout_ms = turn.config.group_new_member_join_timeout_ms
        turn.timers.renew_session(group, member, timeout_ms)


def _event_of_join(
    turn: Turn, group: ClassicGroup, request: JoinGroup, member_id: str, step: str
) -> None:
    turn.effects.event(
        "MEMBER_JOIN",
        group,
        member_id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        step=step,
    )


def _cause(
    kind: str, request: JoinGroup, member_id: str, **fields: str | None
) -> dict[str, object]:
    return {
        "cause": kind,
        "member_id": member_id,
        "client_reason": request.reason,
        **fields,
    }


def rejoin_in_rebalance(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    _update_and_rebalance(turn, group, request, "JOINING_IN_PREPARE")


def rejoin_changed(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """Changed metadata require a new assignment."""
    _update_and_rebalance(turn, group, request, "METADATA_CHANGE")


def rejoin_of_leader(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """A leader rejoins to get a rebalance: its topics may have changed."""
    _update_and_rebalance(turn, group, request, "LEADER_REJOIN")


def _update_and_rebalance(turn: Turn, group: ClassicGroup, request: JoinGroup, kind: str) -> None:
    member = group.members[request.member_id]
    _update(turn, group, member, request)
    cause = _cause(kind, request, member.member_id, during=group.state.value)
    prepare_or_check_join(turn, group, cause)


def _update(turn: Turn, group: ClassicGroup, member: ClassicMember, request: JoinGroup) -> None:
    group.update(member, request.protocols, request.request_id)
    if turn.era.takes_new_timeouts:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms


def answer_again(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """Answer with the present generation: the answer to the first join may have been lost."""
    turn.effects.respond(request.request_id, joined(turn, group, group.members[request.member_id]))


# -- static members (KIP-345) --------------------------------------------------------------------


def replace_and_wait(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """During a rebalance the returning member joins under its new id."""
    _replace(turn, group, request)
    turn.timers.check_join(group)


def replace_and_rebalance(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """The leader may already assign to the old id: begin another rebalance."""
    member = _replace(turn, group, request)
    cause = _cause("STATIC_UPDATE", request, member.member_id, instance_id=request.instance_id)
    prepare(turn, group, cause)


def replace_and_store(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """No rebalance starts if the vote has the same result: store the new id; a leader need not
    assign.
    """
    old = _Replaced(turn, group, request)
    member = _replace(turn, group, request)
    if turn.era.protocol_of_votes(group.votes()) != group.protocol:
        cause = _cause("STATIC_UPDATE", request, member.member_id, instance_id=request.instance_id)
        prepare_or_check_join(turn, group, cause | {"reason_step": "protocol"})
        return
    turn.effects.event("STATIC_NO_REBALANCE", group)
    assignments = {each.member_id: each.assignment for each in group.in_order()}

    def written(error: Errors) -> None:
        if error is Errors.NONE:
            _answer_replacement(turn, group, request, member, old.leader)
        else:
            _event_of_failed_store(turn, group, error, member, old.member_id)
            old.restore(member, turn.era.group_store_errors.get(error, error))

    turn.log.append(
        group.group_id, group.partition, [group_record(turn.era, group, assignments)], written
    )


def _event_of_failed_store(
    turn: Turn, group: ClassicGroup, error: Errors, member: ClassicMember, old_member_id: str
) -> None:
    turn.effects.event(
        "STORE_FAILED",
        group,
        step="static",
        error=turn.era.group_store_errors.get(error, error).name,
        member_id=member.member_id,
        instance_id=member.instance_id,
        old_member_id=old_member_id,
    )


def replace_and_answer(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    """2.5: no vote and no record; a leader is sent its old id as leader, so it does not assign."""
    leader = group.leader
    member = _replace(turn, group, request)
    turn.effects.event("STATIC_NO_REBALANCE", group)
    _answer_replacement(turn, group, request, member, leader)


def replace_impossible(turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
    raise UnexpectedState(f"static member {request.instance_id} in {group.state.value}")


def _replace(turn: Turn, group: ClassicGroup, request: JoinGroup) -> ClassicMember:
    """Give the static member a new id; the requests of its old id that wait are fenced."""
    assert request.instance_id is not None
    member = group.members[group.static_members[request.instance_id]]
    new_member_id = turn.member_ids(group.group_id, request.instance_id)
    turn.effects.event(
        "STATIC_REPLACED",
        group,
        member_id=new_member_id,
        old_member_id=member.member_id,
        instance_id=request.instance_id,
    )
    _fence(turn, group, member)
    _rename(turn, group, member, new_member_id)
    _update(turn, group, member, request)
    return member


def _fence(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    error = Errors.FENCED_INSTANCE_ID
    join, sync = group.take_join(member), member.awaiting_sync
    member.awaiting_sync = None
    if join is not None:
        response = JoinResponse(error=error, member_id=member.member_id)
        turn.effects.respond(join, response)
    if sync is not None:
        turn.effects.respond(sync, SyncResponse(error))


def _rename(turn: Turn, group: ClassicGroup, member: ClassicMember, new_member_id: str) -> None:
    assert member.instance_id is not None
    group.rename(member, new_member_id)
    group.static_members[member.instance_id] = new_member_id
    if turn.era.static_return_ends_first_join:
        member.is_new = False
    turn.timers.renew_session(group, member, member.session_timeout_ms)


def _answer_replacement(
    turn: Turn,
    group: ClassicGroup,
    request: JoinGroup,
    member: ClassicMember,
    old_leader: str | None,
) -> None:
    request_id = group.take_join(member)
    if request_id is None:
        return
    if request.supports_skipping_assignment and turn.era.skips_assignment:
        response = joined(turn, group, member)
        is_leader = group.leader == member.member_id
        turn.effects.respond(request_id, response._replace(skip_assignment=is_leader))
    else:
        response = joined(turn, group, member, as_leader=False)
        turn.effects.respond(request_id, response._replace(leader=old_leader))


class _Replaced:
    """A static member before its replacement, to restore it if the new id cannot be stored."""

    __slots__ = ("group", "leader", "member_id", "protocols", "request", "timeouts", "turn")

    def __init__(self, turn: Turn, group: ClassicGroup, request: JoinGroup) -> None:
        assert request.instance_id is not None
        member = group.members[group.static_members[request.instance_id]]
        self.turn, self.group, self.request = turn, group, request
        self.leader = group.leader
        self.member_id = member.member_id
        self.protocols = member.protocols
        self.timeouts = member.rebalance_timeout_ms, member.session_timeout_ms

    def restore(self, member: ClassicMember, error: Errors) -> None:
        turn, group = self.turn, self.group
        restores = turn.era.failed_replacement_restores_protocols
        protocols = self.protocols if restores else member.protocols
        group.update(member, protocols, None)
        member.rebalance_timeout_ms, member.session_timeout_ms = self.timeouts
        _fence(turn, group, member)
        _rename(turn, group, member, self.member_id)
        response = joined(turn, group, member, as_leader=False)
        turn.effects.respond(
            self.request.request_id,
            response._replace(error=error, member_id="", leader=self.leader),
        )
