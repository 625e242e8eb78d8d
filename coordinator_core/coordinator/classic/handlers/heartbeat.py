"""Heartbeat: renews the member's session; its answer announces a rebalance."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.handlers.checks import checked_member
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Heartbeat, HeartbeatResponse

_ALIVE = HeartbeatResponse(Errors.NONE)
_REJOIN = HeartbeatResponse(Errors.REBALANCE_IN_PROGRESS)


def handle(turn: Turn, request: Heartbeat) -> None:
    group = turn.groups.classic.get(request.group_id)
    if not request.group_id and turn.era.empty_group_id_is_invalid:
        error = Errors.INVALID_GROUP_ID
    elif group is None:
        error = Errors.UNKNOWN_MEMBER_ID
    else:
        error = _check(turn, group, request)
    if error is not Errors.NONE or group is None:
        turn.log.answer(request, HeartbeatResponse(error))
        return
    turn.era.grid[Input.HEARTBEAT][group.state](turn, group, request)


def _check(turn: Turn, group: ClassicGroup, request: Heartbeat) -> Errors:
    if not turn.era.has_empty_state and group.state is not GroupState.STABLE:
        # Up to 0.10.0, unknown members receive this error, too.
        return Errors.REBALANCE_IN_PROGRESS
    error = checked_member(turn, group, request.member_id, request.instance_id, "heartbeat")
    return turn.era.check_heartbeat(turn.era, group, request) if error is Errors.NONE else error


def keep_alive(turn: Turn, group: ClassicGroup, request: Heartbeat) -> None:
    member = group.members[request.member_id]
    turn.timers.renew_session(group, member, member.session_timeout_ms)
    turn.log.answer(request, _ALIVE)


def ask_to_rejoin(turn: Turn, group: ClassicGroup, request: Heartbeat) -> None:
    member = group.members[request.member_id]
    turn.timers.renew_session(group, member, member.session_timeout_ms)
    turn.log.answer(request, _REJOIN)


def ask_not_renewing(turn: Turn, group: ClassicGroup, request: Heartbeat) -> None:
    """Before KAFKA-10134 a heartbeat between join and sync did not renew the session."""
    turn.log.answer(request, _REJOIN)
