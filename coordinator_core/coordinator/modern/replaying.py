"""Changes that a replayed record makes, each with what undoes it on ``turn.log.reverts``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.records import Fields
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import UnexpectedState

V = TypeVar("V")
G = TypeVar("G", bound=ModernGroup)
_JOINING = 0
_NO_TARGET = -1  # assignment epoch of a group whose target was removed


def group_of(
    turn: Turn,
    kind: type[G],
    key: Fields,
    value: Fields | None,
    make: Callable[[Turn, str], G],
    *,
    replaces_simple: bool = False,
) -> G | None:
    """The group of a record; a record with a value creates it, a tombstone does not.

    ``replaces_simple`` also allows it in place of a classic group that only holds offsets.  Raises
    UnexpectedState for a group of another type.
    """
    group_id = key["group_id"]
    group = turn.groups.modern.get(group_id)
    if isinstance(group, kind):
        return group
    if value is None:
        return None
    classic = turn.groups.classic.get(group_id)
    is_replaced = classic is None or (replaces_simple and classic.is_simple())
    if group is not None or not is_replaced:
        raise UnexpectedState(f"{group_id} is not a {kind.group_type.name} group")
    created = make(turn, group_id)
    turn.groups.add_modern(created)
    return created


def put_member_back(turn: Turn, group: Any, member_id: str, before: Any) -> None:
    """Undo the change of a member of a share or streams group; ``before`` is None if the member was
    new.

    Reads still see the reverted entry, until an append succeeds.
    """
    group.put_member(member_id, before)
    if before is not None:
        group.reverted[member_id] = None
    if before is not None and before.epoch != _JOINING:
        group.order.put_back([member_id], turn.log.snapshot_of(group.partition))


def set_field(turn: Turn, group: ModernGroup, name: str, value: object) -> None:
    before = getattr(group, name)
    setattr(group, name, value)
    turn.log.reverts.append(lambda: setattr(group, name, before))


def set_target(turn: Turn, group: ModernGroup, value: Fields | None) -> None:
    """Set the epoch and the time of the target assignment; ``value`` None: removed."""
    epoch = _NO_TARGET if value is None else value["assignment_epoch"]
    timestamp_ms = 0 if value is None else value.get("assignment_timestamp", 0)
    set_field(turn, group, "assignment_epoch", epoch)
    set_field(turn, group, "assignment_timestamp_ms", timestamp_ms)


def put(turn: Turn, mapping: dict[str, V], key: str, value: V | None) -> None:
    """Set the key's value. A value of None removes the key."""
    before = mapping.get(key)
    put_or_remove(mapping, key, value)
    turn.log.reverts.append(lambda: put_or_remove(mapping, key, before))


def put_or_remove(mapping: dict[str, V], key: str, value: V | None) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = value
