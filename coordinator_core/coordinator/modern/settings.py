"""Kafka's configuration of consumer, share and streams groups, of the broker and of single groups.

Names are Kafka's names without the prefix group.consumer., group.share. or group.streams.; a
group's own configuration (GroupConfig) has the prefix consumer., share. or streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import MODERN_TYPES

_MAX_INT = 2147483647
# Defaults of settings that only one group type has, by the broker's names of the settings.
OTHER_DEFAULTS = {
    "group.consumer.assignors": "uniform,range",
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.regex.refresh.interval.ms": "600000",
    "group.streams.initial.rebalance.delay.ms": "3000",
    "group.streams.num.standby.replicas": "0",
    "group.streams.num.warmup.replicas": "2",
    "group.streams.rack.aware.assignment.tags": "",
}
_INTERNAL = {"bidirectional": (True, True), "upgrade": (True, False), "downgrade": (False, True)}


@dataclass(frozen=True, slots=True)
class TypeSettings:
    """The settings of one group type; times in ms."""

    session_timeout_ms: int = 45000
    heartbeat_interval_ms: int = 5000
    assignment_interval_ms: int = 1000
    max_size: int = _MAX_INT
    others: tuple[tuple[str, str], ...] = ()

    def other(self, name: str, default: str) -> str:
        """A setting by Kafka's name without the prefix."""
        return dict(self.others).get(name, default)

    def with_kafka(self, values: Mapping[str, str]) -> TypeSettings:
        """The settings with the values of ``values``, by Kafka's names without the prefix."""
        return replace(
            self,
            session_timeout_ms=int(values.get("session.timeout.ms", self.session_timeout_ms)),
            heartbeat_interval_ms=int(
                values.get("heartbeat.interval.ms", self.heartbeat_interval_ms)
            ),
            assignment_interval_ms=int(
                values.get("assignment.interval.ms", self.assignment_interval_ms)
            ),
            max_size=int(values.get("max.size", self.max_size)),
            others=tuple(sorted(values.items())),
        )


@dataclass(frozen=True, slots=True)
class ModernSettings:
    """The settings of the three group types, and the migration policy of consumer groups."""

    consumer: TypeSettings = field(default_factory=TypeSettings)
    share: TypeSettings = field(default_factory=lambda: TypeSettings(max_size=200))
    streams: TypeSettings = field(default_factory=TypeSettings)

    @property
    def upgrades_online(self) -> bool:
        return _INTERNAL.get(self._policy, (False, False))[0]

    @property
    def downgrades_online(self) -> bool:
        return _INTERNAL.get(self._policy, (False, False))[1]

    @property
    def _policy(self) -> str:
        return self.other(CONSUMER, "migration.policy").lower()

    def other(self, group_type: GroupType, name: str) -> str:
        """A setting of OTHER_DEFAULTS, by Kafka's name without the prefix."""
        return self.of(group_type).other(name, OTHER_DEFAULTS[group_type.broker_prefix + name])

    def of(self, group_type: GroupType) -> TypeSettings:
        settings: TypeSettings = getattr(self, group_type.name)
        return settings


DEFAULTS = ModernSettings()


def modern_settings(values: Mapping[str, object]) -> ModernSettings:
    """The settings from Kafka's full names, such as group.consumer.session.timeout.ms."""
    return ModernSettings(
        **{
            each.name: DEFAULTS.of(each).with_kafka(_with_prefix(values, each.broker_prefix))
            for each in MODERN_TYPES
        }
    )


def _with_prefix(values: Mapping[str, object], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): str(value)
        for name, value in values.items()
        if name.startswith(prefix)
    }
