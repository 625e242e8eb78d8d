"""LeaveGroup: members leave, or an administrator removes static members."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.handlers.checks import checked_member
from coordinator_core.coordinator.classic.reactions import react
from coordinator_core.coordinator.classic.rebalance import forget, remove_member
from coordinator_core.coordinator.classic.states import Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import Event, LeaveGroup, Leaver, LeaveResponse


def handle(turn: Turn, request: LeaveGroup) -> None:
    """2.5 to 3.9: members leave one by one, each with its own rebalance."""
    group = _group(turn, request)
    if group is None:
        return
    results = tuple([_result(each, _leave(turn, group, each)) for each in request.members])
    turn.effects.respond(request.request_id, LeaveResponse(Errors.NONE, results))


def handle_together(turn: Turn, request: LeaveGroup) -> None:
    """4.x: all members leave, then one reaction follows; the answer waits for its append."""
    group = _group(turn, request)
    if group is None:
        return
    results, input_ = [], None
    for leaver in request.members:
        was_pending = leaver.member_id in group.pending
        error, event = _remove(turn, group, leaver)
        turn.effects.of_turn += event
        results.append(_result(leaver, error))
        if error is Errors.NONE and input_ is not Input.MEMBER_LEFT:
            input_ = Input.PENDING_MEMBER_LEFT if was_pending else Input.MEMBER_LEFT
    if input_ is not None:
        members = tuple([member_id for member_id, _, error in results if error is Errors.NONE])
        react(turn, input_, group, {"cause": "LEAVE", "members": members})
    errors = turn.era.group_store_errors
    turn.log.answer(
        request,
        LeaveResponse(Errors.NONE, tuple(results)),
        lambda error: LeaveResponse(errors.get(error, error)),
    )


def handle_single(turn: Turn, request: LeaveGroup) -> None:
    """Up to 2.3, a request has one member, whose error is the request's error."""
    group = turn.groups.classic.get(request.group_id)
    if not request.group_id and turn.era.empty_group_id_is_invalid:
        error = Errors.INVALID_GROUP_ID
    elif group is None:
        error = Errors.UNKNOWN_MEMBER_ID
    else:
        error = _leave(turn, group, request.members[0])
    turn.effects.respond(request.request_id, LeaveResponse(error))


def _group(turn: Turn, request: LeaveGroup) -> ClassicGroup | None:
    """The request's group; answers the request and returns None if the group does not exist."""
    group = turn.groups.classic.get(request.group_id)
    if not request.group_id:
        turn.log.answer(request, LeaveResponse(Errors.INVALID_GROUP_ID))
    elif group is None:
        unknown = tuple([_result(each, Errors.UNKNOWN_MEMBER_ID) for each in request.members])
        turn.log.answer(request, LeaveResponse(Errors.NONE, unknown))
    return group if request.group_id else None


def _result(leaver: Leaver, error: Errors) -> tuple[str, str | None, Errors]:
    return leaver.member_id, leaver.instance_id, error


def _leave(turn: Turn, group: ClassicGroup, leaver: Leaver) -> Errors:
    was_pending = leaver.member_id in group.pending
    is_logged_last = turn.era.logs_leave_last
    # Up to 2.8 the reason has the member id of the request, which is empty if the request has only
    # the instance id.
    member_id = _member_id(group, leaver) if is_logged_last else leaver.member_id
    error, event = _remove(turn, group, leaver)
    if error is not Errors.NONE:
        return error
    if not is_logged_last:
        turn.effects.of_turn += event
    if was_pending:
        react(turn, Input.PENDING_MEMBER_LEFT, group, {})
    else:
        cause = {"cause": "LEAVE", "member_id": member_id, "client_reason": leaver.reason}
        react(turn, Input.MEMBER_LEFT, group, cause)
    if is_logged_last:
        turn.effects.of_turn += event
    return error


def _member_id(group: ClassicGroup, leaver: Leaver) -> str:
    """The request's member id, else the id of the member with its instance id, else ""."""
    if leaver.member_id or leaver.instance_id is None:
        return leaver.member_id
    return group.static_members.get(leaver.instance_id, "")


_Removed = tuple[Errors, list[Event]]  # an error, or the event to log


def _remove(turn: Turn, group: ClassicGroup, leaver: Leaver) -> _Removed:
    member_id = _member_id(group, leaver)
    if not member_id:
        return Errors.UNKNOWN_MEMBER_ID, []
    if member_id in group.pending and member_id not in group.members:
        return _remove_pending(turn, group, leaver, member_id)
    error = checked_member(turn, group, member_id, leaver.instance_id, "leave-group")
    if error is not Errors.NONE:
        return error, []
    member = group.members[member_id]
    member.is_leaving = True
    turn.timers.end_session(group, member_id)
    remove_member(turn, group, member)
    return Errors.NONE, [_left(group, member, leaver)]


def _left(group: ClassicGroup, member: ClassicMember, leaver: Leaver) -> Event:
    fields = {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "protocols": tuple([name for name, _ in member.protocols]),
        "client_reason": leaver.reason,
        "step": "member",
    }
    return Event("LEFT", group.group_id, group.state.value, group.generation, fields)


def _remove_pending(turn: Turn, group: ClassicGroup, leaver: Leaver, member_id: str) -> _Removed:
    if leaver.instance_id is not None and not turn.era.leaving_pending_may_be_static:
        if leaver.instance_id in group.static_members:
            return Errors.FENCED_INSTANCE_ID, []
        raise UnexpectedState(f"pending member {member_id} with an instance id")
    forget(turn, group, member_id)
    turn.timers.end_session(group, member_id)
    fields = {"member_id": member_id, "client_reason": leaver.reason, "step": "pending"}
    return Errors.NONE, [Event("LEFT", group.group_id, group.state.value, group.generation, fields)]
