"""Changes that a replayed record makes, each with what undoes it on ``turn.reverts``."""

from __future__ import annotations

from typing import TypeVar

from coordinator_core.coordinator.era import Fields
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.turn import Turn

V = TypeVar("V")
_NO_TARGET = -1  # the assignment epoch of a group whose target was removed


def set_field(turn: Turn, group: ModernGroup, name: str, value: object) -> None:
    before = getattr(group, name)
    setattr(group, name, value)
    turn.reverts.append(lambda: setattr(group, name, before))


def set_target(turn: Turn, group: ModernGroup, value: Fields | None) -> None:
    """Set the epoch and the time of the target assignment; ``value`` None: removed."""
    epoch = _NO_TARGET if value is None else value["assignment_epoch"]
    timestamp_ms = 0 if value is None else value.get("assignment_timestamp", 0)
    set_field(turn, group, "assignment_epoch", epoch)
    set_field(turn, group, "assignment_timestamp_ms", timestamp_ms)


def put(turn: Turn, mapping: dict[str, V], key: str, value: V | None) -> None:
    """Set the key's value; None removes the key."""
    before = mapping.get(key)
    put_or_remove(mapping, key, value)
    turn.reverts.append(lambda: put_or_remove(mapping, key, before))


def put_or_remove(mapping: dict[str, V], key: str, value: V | None) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = value
