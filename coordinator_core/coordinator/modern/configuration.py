"""The configuration of one group: its own (GroupConfig), else the broker's."""

from __future__ import annotations

from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.turn import Turn


def rules_of(turn: Turn) -> ModernRules:
    """The rules of an era that has such groups."""
    assert turn.era.modern is not None
    return turn.era.modern


def setting(turn: Turn, group_id: str, group_type: str, name: str, default: str) -> str:
    """A setting that only one group type has."""
    own = turn.group_configs.get(group_id, {}).get(f"{group_type}.{name}")
    return turn.config.modern.of(group_type).other(name, default) if own is None else own
