"""Settings in force of brokers and groups, from files, lines of brokers, or the Admin API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from coordinator_core.modern_history.heartbeats import ConfiguredTiming

# Prefix of a broker setting that is the default of a group setting.
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
# Source of a group's settings that a broker logged.
LINE = "line of a broker"
_OF_GROUP = "group"  # entity_type of a group's own settings


class KnownSetting(NamedTuple):
    """``source`` is a file, a line of a broker, or the Admin API."""

    value: str
    source: str


class KnownSettings(NamedTuple):
    """Settings by Kafka's names.  ``of_brokers``: such as group.consumer.session.timeout.ms;
    ``of_group`` is the group's own configuration, such as consumer.session.timeout.ms.
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

    def timing(self, group_type: str) -> ConfiguredTiming:
        """Heartbeat interval and session timeout of a consumer, share or streams group."""
        return ConfiguredTiming(
            self.consumer_ms(f"{group_type}.heartbeat.interval.ms"),
            self.consumer_ms(f"{group_type}.session.timeout.ms"),
        )

    def limit_ms(self, name: str) -> int:
        """The brokers' value, or Kafka's default; ``name`` is one of BROKER_DEFAULTS."""
        value_ms = self.broker_ms(name)
        return BROKER_DEFAULTS[name] if value_ms is None else value_ms


def _number(setting: KnownSetting | None) -> int | None:
    return int(setting.value) if setting is not None and setting.value.isdigit() else None


NOTHING_KNOWN = KnownSettings()


class ConfiguredCluster(NamedTuple):
    """Settings of the brokers, and each group's own."""

    of_brokers: Mapping[str, KnownSetting] = {}
    of_groups: Mapping[str, Mapping[str, KnownSetting]] = {}

    def of(self, group_id: str) -> KnownSettings:
        return KnownSettings(self.of_brokers, self.of_groups.get(group_id, {}))


def configured_in(rows: Iterable[Any]) -> ConfiguredCluster:
    """``rows``: of schemas/evidence/configurations.sql.  A setting whose value differs between
    brokers is unknown.
    """
    of_brokers: dict[str, KnownSetting] = {}
    of_groups: dict[str, dict[str, KnownSetting]] = {}
    differ = set()
    for row in sorted(rows, key=_is_line):
        name, setting = row["name"], KnownSetting(row["value"], _named(row["source"]))
        if row["entity_type"] == _OF_GROUP:
            if not row["is_default"]:
                of_groups.setdefault(row["entity"], {}).setdefault(name, setting)
        elif of_brokers.setdefault(name, setting).value != setting.value:
            differ.add(name)
    agreed = {name: each for name, each in of_brokers.items() if name not in differ}
    return ConfiguredCluster(agreed, of_groups)


def _is_line(row: Any) -> bool:
    return bool(row["source"] == LINE)


def _named(source: str) -> str:
    """The name of a file, without its folders."""
    return source.rsplit("/", 1)[-1]
