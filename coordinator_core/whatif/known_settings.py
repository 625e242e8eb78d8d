"""Settings in force of brokers and groups, from configuration files or the Admin API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# The brokers' default of a group's own setting has this prefix.
_BROKER_PREFIX = "group."
# Kafka's defaults of the settings of consumer groups at the broker.
BROKER_DEFAULTS = {
    "group.consumer.session.timeout.ms": 45_000,
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.min.session.timeout.ms": 45_000,
    "group.consumer.max.session.timeout.ms": 60_000,
    "group.consumer.min.heartbeat.interval.ms": 5000,
    "group.consumer.max.heartbeat.interval.ms": 15_000,
}
DEFAULT = "Kafka's default"


class KnownSetting(NamedTuple):
    """``source``: a file, or the Admin API."""

    value: str
    source: str


class KnownSettings(NamedTuple):
    """Settings by Kafka's names.  ``of_brokers``: such as group.consumer.session.timeout.ms;
    ``of_group``: the group's own configuration, such as consumer.session.timeout.ms.
    """

    of_brokers: Mapping[str, KnownSetting] = {}
    of_group: Mapping[str, KnownSetting] = {}

    def broker_ms(self, name: str) -> int | None:
        """The brokers' value of a setting in ms; None: unknown."""
        return _number(self.of_brokers.get(name))

    def of_consumer_group(self, name: str) -> KnownSetting | None:
        """A setting such as consumer.session.timeout.ms: of the group, else of the brokers."""
        own = self.of_group.get(name)
        return own if own is not None else self.of_brokers.get(_BROKER_PREFIX + name)

    def consumer_ms(self, name: str) -> int | None:
        return _number(self.of_consumer_group(name))

    def limit_ms(self, name: str) -> int:
        """The brokers' value, or Kafka's default; ``name``: one of BROKER_DEFAULTS."""
        value_ms = self.broker_ms(name)
        return BROKER_DEFAULTS[name] if value_ms is None else value_ms


def _number(setting: KnownSetting | None) -> int | None:
    return int(setting.value) if setting is not None and setting.value.isdigit() else None


NOTHING_KNOWN = KnownSettings()
