"""JoinGroup: take members in, let known ones rejoin, and give static ones their place back."""

from __future__ import annotations

from coordinator_core.coordinator import written_records as stored
from coordinator_core.coordinator.classic.group import Group, Member
from coordinator_core.coordinator.classic.handlers.checks import checked_member
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
from coordinator_core.protocol.messages import JoinGroup, JoinResponse, SyncResponse


def handle(turn: Turn, request: JoinGroup) -> None:
    error = _check(turn, request)
    if error is not Errors.NONE:
        _refuse(turn, request, request.member_id, error)
        return
    group = turn.groups.get(request.group_id)
    is_new = group is None
    if group is None:
        if request.member_id:
            _refuse(turn, request, request.member_id, Errors.UNKNOWN_MEMBER_ID)
            return
        group = turn.new_group(request.group_id)
    _join(turn, group, request)
    if is_new and turn.era.is_new_coordinator and turn.own_append is None:
        _store_new_group(turn, group, request)


def _check(turn: Turn, request: JoinGroup) -> Errors:
    config, timeout_ms = turn.config, request.session_timeout_ms
    if not request.group_id:
        return Errors.INVALID_GROUP_ID
    if config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms:
        return Errors.NONE
    return Errors.INVALID_SESSION_TIMEOUT


def _refuse(turn: Turn, request: JoinGroup, member_id: str, error: Errors) -> None:
    turn.respond(request.request_id, failed_join(turn, member_id, error))


def _join(turn: Turn, group: Group, request: JoinGroup) -> None:
    if not turn.era.accepts_size(turn, group, request):
        _turn_away(turn, group, request)
    else:
        input_ = turn.era.classify_join(turn, group, request)
        if input_ is not None:
            turn.react(input_, group, request)
    if turn.era.checks_join_after_any_join:
        turn.era.check_join(turn, group)


def _turn_away(turn: Turn, group: Group, request: JoinGroup) -> None:
    """A late member of a full group is a member no more."""
    forget(turn, group, request.member_id)
    if not turn.era.takes_new_timeouts and request.instance_id is not None:
        group.static_members.pop(request.instance_id, None)  # 2.5 forgets whoever has it
    _refuse(turn, request, "", Errors.GROUP_MAX_SIZE_REACHED)


def _store_new_group(turn: Turn, group: Group, request: JoinGroup) -> None:
    """The new coordinator writes a group when it makes one; without the record there is none."""

    def written(error: Errors) -> None:
        if error is Errors.NONE:
            return
        for member in group.members.values():
            if member.awaiting_join == request.request_id:
                group.take_join(member)
                _refuse(turn, request, "", turn.era.group_store_errors.get(error, error))

    turn.append(group, [stored.new_group_record(group)], written)


# -- classify ------------------------------------------------------------------------------------


def classify(turn: Turn, group: Group, request: JoinGroup) -> Input | None:
    """Which join this is; None if it was refused."""
    if not group.supports(request.protocol_type, request.protocols):
        _refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return _new_member(group, request)
    if request.member_id in group.pending and request.member_id not in group.members:
        if request.instance_id is not None:
            raise UnexpectedState(f"pending member {request.member_id} with an instance id")
        return Input.NEW_MEMBER
    return _known_member(turn, group, request)


def classify_before_kip_345(turn: Turn, group: Group, request: JoinGroup) -> Input | None:
    """Up to 2.0 all members are dynamic, and a new one joins at once."""
    if not group.supports(request.protocol_type, request.protocols):
        _refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return Input.NEW_MEMBER
    return _known_member(turn, group, request)


def classify_unchecked_first(turn: Turn, group: Group, request: JoinGroup) -> Input | None:
    """Up to 1.1 the first member of a group may bring no protocol at all, and is stuck then."""
    is_known_type = group.protocol_type == request.protocol_type
    if group.members and not (is_known_type and group.supports_any(request.protocols)):
        _refuse(turn, request, request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        return None
    if not request.member_id:
        return Input.NEW_MEMBER
    return _known_member(turn, group, request)


def _new_member(group: Group, request: JoinGroup) -> Input:
    if request.instance_id is not None:
        is_back = request.instance_id in group.static_members
        return Input.STATIC_MEMBER_BACK if is_back else Input.NEW_MEMBER
    return Input.NEW_MEMBER_NEEDS_ID if request.requires_known_member_id else Input.NEW_MEMBER


def _known_member(turn: Turn, group: Group, request: JoinGroup) -> Input | None:
    error = checked_member(turn, group, request.member_id, request.instance_id, "join-group")
    if (
        error is Errors.NONE
        and request.instance_id is not None
        and request.instance_id not in group.static_members
    ):
        error = Errors.UNKNOWN_MEMBER_ID
    if error is not Errors.NONE:
        response = failed_join(turn, request.member_id, error)
        if turn.era.is_new_coordinator:
            response = response._replace(protocol_name=None)
        turn.respond(request.request_id, response)
        return None
    is_leader = group.leader == request.member_id
    if group.members[request.member_id].protocols == request.protocols:
        return Input.REJOIN_UNCHANGED_LEADER if is_leader else Input.REJOIN_UNCHANGED_FOLLOWER
    return Input.REJOIN_CHANGED_LEADER if is_leader else Input.REJOIN_CHANGED_FOLLOWER


# -- reactions -----------------------------------------------------------------------------------


def give_id(turn: Turn, group: Group, request: JoinGroup) -> None:
    """KIP-394: the client joins again with the id it is given, so that a retry makes no ghost."""
    member_id = turn.member_ids(group.group_id, request.client_id)
    _event_of_join(turn, group, request, member_id, "id_required")
    group.pending[member_id] = None
    turn.era.watch_pending(turn, group, member_id, request.session_timeout_ms)
    _refuse(turn, request, member_id, Errors.MEMBER_ID_REQUIRED)


def add(turn: Turn, group: Group, request: JoinGroup) -> None:
    """Take a new member, or a pending one, in; its join waits."""
    member_id, step = request.member_id, "pending"
    if not member_id:
        prefix = request.client_id if request.instance_id is None else request.instance_id
        member_id = turn.member_ids(group.group_id, prefix)
        step = "direct" if request.instance_id is None else "static"
    _event_of_join(turn, group, request, member_id, step)
    if request.instance_id is not None:
        instance_id = request.instance_id
        turn.event("STATIC_NEW", group, member_id=member_id, instance_id=instance_id)
    member = _member(turn, request, member_id)
    if group.state is GroupState.PREPARING_REBALANCE and _is_initial(turn, group):
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


def _member(turn: Turn, request: JoinGroup, member_id: str) -> Member:
    has_own = turn.era.has_rebalance_timeout
    member = Member(
        member_id,
        request.instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms if has_own else request.session_timeout_ms,
        request.session_timeout_ms,
        request.protocols,
    )
    member.is_new = turn.era.times_out_first_joins
    return member


def _is_initial(turn: Turn, group: Group) -> bool:
    """Whether a new member extends the delay; the new coordinator asks if the group was empty."""
    if turn.era.is_new_coordinator:
        return group.previous_state is GroupState.EMPTY
    return group.generation == 0


def _watch_new_member(turn: Turn, group: Group, member: Member) -> None:
    """KAFKA-7610: a new member cannot send heartbeats, but its join does not wait for ever."""
    if turn.era.times_out_first_joins:
        timeout_ms = turn.config.group_new_member_join_timeout_ms
        turn.era.renew_session(turn, group, member, timeout_ms)


def _event_of_join(turn: Turn, group: Group, request: JoinGroup, member_id: str, step: str) -> None:
    turn.event(
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


def rejoin_in_rebalance(turn: Turn, group: Group, request: JoinGroup) -> None:
    _update_and_rebalance(turn, group, request, "JOINING_IN_PREPARE")


def rejoin_changed(turn: Turn, group: Group, request: JoinGroup) -> None:
    """Other metadata make another assignment necessary."""
    _update_and_rebalance(turn, group, request, "METADATA_CHANGE")


def rejoin_of_leader(turn: Turn, group: Group, request: JoinGroup) -> None:
    """The leader rejoins when it wants a rebalance, whatever for: topics may have changed."""
    _update_and_rebalance(turn, group, request, "LEADER_REJOIN")


def _update_and_rebalance(turn: Turn, group: Group, request: JoinGroup, kind: str) -> None:
    member = group.members[request.member_id]
    _update(turn, group, member, request)
    cause = _cause(kind, request, member.member_id, during=group.state.value)
    prepare_or_check_join(turn, group, cause)


def _update(turn: Turn, group: Group, member: Member, request: JoinGroup) -> None:
    group.update(member, request.protocols, request.request_id)
    if turn.era.takes_new_timeouts:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms


def tell_again(turn: Turn, group: Group, request: JoinGroup) -> None:
    """The answer to its join may have been lost: the generation as it is."""
    turn.respond(request.request_id, joined(turn, group, group.members[request.member_id]))


def refuse_rejoin_of_empty(turn: Turn, group: Group, request: JoinGroup) -> None:
    """A member of a group without members: let it reset its generation and id."""
    _refuse(turn, request, request.member_id, Errors.UNKNOWN_MEMBER_ID)


# -- static members (KIP-345) --------------------------------------------------------------------


def replace_and_wait(turn: Turn, group: Group, request: JoinGroup) -> None:
    """In a rebalance the new incarnation joins in the old one's place."""
    _replace(turn, group, request)
    turn.era.check_join(turn, group)


def replace_and_rebalance(turn: Turn, group: Group, request: JoinGroup) -> None:
    """The leader may have been told of the old id already: begin again."""
    member = _replace(turn, group, request)
    cause = _cause("STATIC_UPDATE", request, member.member_id, instance_id=request.instance_id)
    prepare(turn, group, cause)


def replace_and_store(turn: Turn, group: Group, request: JoinGroup) -> None:
    """If the vote holds there is no rebalance: the new id is stored, a leader skips its work."""
    old = _Replaced(turn, group, request)
    member = _replace(turn, group, request)
    if turn.era.protocol_of_votes(group.votes()) != group.protocol:
        cause = _cause("STATIC_UPDATE", request, member.member_id, instance_id=request.instance_id)
        prepare_or_check_join(turn, group, cause | {"reason_step": "protocol"})
        return
    turn.event("STATIC_NO_REBALANCE", group)
    assignments = {each.member_id: each.assignment for each in group.in_order()}

    def written(error: Errors) -> None:
        if error is Errors.NONE:
            _tell_replaced(turn, group, request, member, old.leader)
        else:
            _event_of_failed_store(turn, group, error, member, old.member_id)
            old.restore(member, turn.era.group_store_errors.get(error, error))

    turn.append(group, [stored.group_record(turn.era, group, assignments)], written)


def _event_of_failed_store(
    turn: Turn, group: Group, error: Errors, member: Member, old_member_id: str
) -> None:
    turn.event(
        "STORE_FAILED",
        group,
        step="static",
        error=turn.era.group_store_errors.get(error, error).name,
        member_id=member.member_id,
        instance_id=member.instance_id,
        old_member_id=old_member_id,
    )


def replace_and_answer(turn: Turn, group: Group, request: JoinGroup) -> None:
    """2.5: no vote and no record; a new leader is told of the old id, lest it assigns in vain."""
    leader = group.leader
    member = _replace(turn, group, request)
    turn.event("STATIC_NO_REBALANCE", group)
    _tell_replaced(turn, group, request, member, leader)


def replace_in_vain(turn: Turn, group: Group, request: JoinGroup) -> None:
    raise UnexpectedState(f"static member {request.instance_id} in {group.state.value}")


def _replace(turn: Turn, group: Group, request: JoinGroup) -> Member:
    """Give the instance's place to a new member id; requests of the old one are fenced."""
    assert request.instance_id is not None
    member = group.members[group.static_members[request.instance_id]]
    new_member_id = turn.member_ids(group.group_id, request.instance_id)
    turn.event(
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


def _fence(turn: Turn, group: Group, member: Member) -> None:
    error = Errors.FENCED_INSTANCE_ID
    join, sync = group.take_join(member), member.awaiting_sync
    member.awaiting_sync = None
    if join is not None:
        response = JoinResponse(error, member_id=member.member_id)
        turn.respond(join, response)
    if sync is not None:
        turn.respond(sync, SyncResponse(error))


def _rename(turn: Turn, group: Group, member: Member, new_member_id: str) -> None:
    assert member.instance_id is not None
    group.rename(member, new_member_id)
    group.static_members[member.instance_id] = new_member_id
    if turn.era.is_new_coordinator:
        member.is_new = False
    turn.era.renew_session(turn, group, member, member.session_timeout_ms)


def _tell_replaced(
    turn: Turn, group: Group, request: JoinGroup, member: Member, old_leader: str | None
) -> None:
    request_id = group.take_join(member)
    if request_id is None:
        return
    if request.supports_skipping_assignment and turn.era.skips_assignment:
        response = joined(turn, group, member)
        is_leader = group.leader == member.member_id
        turn.respond(request_id, response._replace(skip_assignment=is_leader))
    else:
        response = joined(turn, group, member, as_leader=False)
        turn.respond(request_id, response._replace(leader=old_leader))


class _Replaced:
    """A static member as it was before its replacement, to be put back if that cannot be stored."""

    __slots__ = ("group", "leader", "member_id", "protocols", "request", "timeouts", "turn")

    def __init__(self, turn: Turn, group: Group, request: JoinGroup) -> None:
        assert request.instance_id is not None
        member = group.members[group.static_members[request.instance_id]]
        self.turn, self.group, self.request = turn, group, request
        self.leader = group.leader
        self.member_id = member.member_id
        self.protocols = member.protocols
        self.timeouts = member.rebalance_timeout_ms, member.session_timeout_ms

    def restore(self, member: Member, error: Errors) -> None:
        turn, group = self.turn, self.group
        # Up to 3.9 the protocols are noted when they are the new ones already.
        protocols = self.protocols if turn.era.is_new_coordinator else member.protocols
        group.update(member, protocols, None)
        member.rebalance_timeout_ms, member.session_timeout_ms = self.timeouts
        _fence(turn, group, member)
        _rename(turn, group, member, self.member_id)
        response = joined(turn, group, member, as_leader=False)
        turn.respond(
            self.request.request_id,
            response._replace(error=error, member_id="", leader=self.leader),
        )
