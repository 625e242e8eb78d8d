"""ListGroups: the groups of all types."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import ListGroups, ListResponse

_Listed = tuple[str, str, str, str]


def handle_list(turn: Turn, request: ListGroups) -> None:
    """All groups in the order of their ids; Kafka's own order is that of a hash map."""
    states = {state.lower() for state in request.states}
    listed = sorted(_classic_groups(turn) + _modern_groups(turn))
    rows = [row for row in listed if not states or row[2].lower() in states]
    turn.respond(request.request_id, ListResponse(tuple(rows)))


def _classic_groups(turn: Turn) -> list[_Listed]:
    names = turn.era.state_names
    groups = [group for group in map(turn.readable, turn.groups) if group is not None]
    groups += [group for group in turn.put_back.values() if isinstance(group, ClassicGroup)]
    return [
        (group.group_id, group.protocol_type or "", names[group.state], "classic")
        for group in groups
    ]


def _modern_groups(turn: Turn) -> list[_Listed]:
    return [
        (group.group_id, group.protocol_type, _state(turn, group), group.group_type)
        for group in (
            *turn.modern.values(),
            *turn.unwritten_removals.values(),
            *[group for group in turn.put_back.values() if not isinstance(group, ClassicGroup)],
        )
    ]


def _state(turn: Turn, group: ModernGroup) -> str:
    return group.state_at(turn.shard_of(group.partition).snapshot)
