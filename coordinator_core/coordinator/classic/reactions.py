"""Reactions of a classic group: the grid's cell for an input, and moves between states."""

from __future__ import annotations

from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn


def react(turn: Turn, input_: Input, group: ClassicGroup, subject: Any) -> None:
    """Call the reaction of the group's state to the input."""
    turn.era.grid[input_][group.state](turn, group, subject)


def move(turn: Turn, group: ClassicGroup, target: GroupState) -> None:
    """Move the group to another state; an illegal move raises after an event with its state."""
    try:
        group.move_to(target, turn.now_ms)
    finally:
        turn.effects.event("STATE", group)
