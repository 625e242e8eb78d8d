"""DescribeGroups and ListGroups, the requests of administrators."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.reactions import react
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    DescribeGroup,
    DescribeResponse,
)

_KIP_1043_DESCRIBE = 6


def handle(turn: Turn, request: DescribeGroup) -> None:
    group = turn.groups.readable_classic(request.group_id)
    if group is not None:
        react(turn, Input.DESCRIBE, group, request)
        return
    is_reported = turn.era.reports_missing_groups and request.version >= _KIP_1043_DESCRIBE
    error = Errors.GROUP_ID_NOT_FOUND if is_reported else Errors.NONE
    turn.effects.respond(request.request_id, DescribeResponse(error, GroupState.DEAD.value))


def show_with_metadata(turn: Turn, group: ClassicGroup, request: DescribeGroup) -> None:
    """A Stable group: each member's metadata and assignment."""
    is_doubled = turn.era.describes_assignment_as_metadata
    members = tuple(
        [
            (
                m.member_id,
                m.instance_id,
                m.client_id,
                m.client_host,
                m.assignment if is_doubled else m.metadata(group.protocol),
                m.assignment,
            )
            for m in group.in_order()
        ]
    )
    response = DescribeResponse(
        Errors.NONE,
        turn.era.state_names[group.state],
        group.protocol_type or "",
        group.protocol or "",
        members,
    )
    turn.effects.respond(request.request_id, response)


def show(turn: Turn, group: ClassicGroup, request: DescribeGroup) -> None:
    """A group in any other state: its members only."""
    _show(turn, group, request, with_assignments=False)


def show_with_assignments(turn: Turn, group: ClassicGroup, request: DescribeGroup) -> None:
    """4.x: a group in any other state still shows its members' last assignments."""
    _show(turn, group, request, with_assignments=True)


def _show(
    turn: Turn, group: ClassicGroup, request: DescribeGroup, *, with_assignments: bool
) -> None:
    members = tuple(
        [
            (
                m.member_id,
                m.instance_id,
                m.client_id,
                m.client_host,
                b"",
                m.assignment if with_assignments else b"",
            )
            for m in group.in_order()
        ]
    )
    state = turn.era.state_names[group.state]
    response = DescribeResponse(Errors.NONE, state, group.protocol_type or "", "", members)
    turn.effects.respond(request.request_id, response)
