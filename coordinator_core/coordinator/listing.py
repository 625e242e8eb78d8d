"""ListGroups: the groups of all types."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import ListGroups, ListResponse


def handle_list(turn: Turn, request: ListGroups) -> None:
    """All groups in the order of their ids; Kafka's own order is the order of a hash map."""
    states = {state.lower() for state in request.states}
    listed = sorted([_row(turn, group) for group in turn.groups.seen()])
    rows = [row for row in listed if not states or row[2].lower() in states]
    turn.effects.respond(request.request_id, ListResponse(tuple(rows)))


def _row(turn: Turn, group: ClassicGroup | ModernGroup) -> tuple[str, str, str, str]:
    if isinstance(group, ClassicGroup):
        state = turn.era.state_names[group.state]
    else:
        state = group.state_at(turn.log.snapshot_of(group.partition))
    return group.group_id, group.protocol_type or "", state, group.group_type.name
