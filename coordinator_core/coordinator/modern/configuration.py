"""The configuration of one group: its own (GroupConfig), else the broker's."""

from __future__ import annotations

from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.turn import Turn


def rules_of(turn: Turn) -> ModernRules:
    """The rules of an era that has modern groups."""
    assert turn.era.modern is not None
    return turn.era.modern


def setting(turn: Turn, group_id: str, group_type: GroupType, name: str) -> str:
    """A setting that only one group type has, one of OTHER_DEFAULTS."""
    own = turn.group_configs.get(group_id, {}).get(group_type.group_prefix + name)
    return turn.config.modern.other(group_type, name) if own is None else own


def setting_ms(turn: Turn, group_id: str, group_type: GroupType, name: str) -> int:
    """A setting that all three types have; ``name``: Kafka's name without the prefix."""
    own = turn.group_configs.get(group_id)
    if own is not None and group_type.group_prefix + name in own:
        return int(own[group_type.group_prefix + name])
    settings = turn.config.modern.of(group_type)
    if name == "session.timeout.ms":
        return settings.session_timeout_ms
    if name == "heartbeat.interval.ms":
        return settings.heartbeat_interval_ms
    return settings.assignment_interval_ms
