"""The settings that a prediction can change, as KEY=VALUE, and the cost of changing them.

Each setting has a short name and, but for ``era``, ``client_library`` and ``protocol``, Kafka's own
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.whatif.kafka_names import (
    CONSUMER_SESSION,
    GROUP_PROTOCOL,
    INSTANCE_ID,
    MIGRATION_BACK,
    MIGRATION_START,
    NAME_OF,
    REMOTE_ASSIGNOR,
    SETTING_OF,
    STRATEGY,
    short_settings,
)
from coordinator_core.whatif.utc_times import utc_ms

COOPERATIVE = "cooperative-sticky"
EAGER = "range"
PROCESS, ORDINAL = "process", "ordinal"
CLASSIC_PROTOCOL, CONSUMER_PROTOCOL = "classic", "consumer"
# session.timeout.ms of a group that becomes classic: the default of classic clients since Kafka 3.0
# and of librdkafka 2.
CLASSIC_SESSION_MS = 45_000


# Time from the end of a process to its next start, by a supervisor or in a migration.
RESTART_MS = 3000


class InvalidSetting(ValueError):
    """An invalid KEY=VALUE; the message says which values are valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """Changed settings; None: unchanged.  Times in ms.

    ``instance_ids``, only with static membership: where group.instance.id comes from.  ``process``,
    the default: the process's own name; a process that replaces another under a new name is a new
    member, and the other one's partitions wait for the end of its session.  ``ordinal`` is a name
    that lasts, such as that of a StatefulSet's pod.

    ``client_library`` is the library and version of all clients, a name of LIBRARIES.

    ``group_protocol`` is classic or consumer (KIP-848).  Of consumer groups: ``remote_assignor``,
    and the group's own configuration at the broker (``consumer_``...).  ``restart_ms`` is from the
    end of a process whose client failed, or that a migration restarts, to its next start.

    ``commit_interval_ms`` is the time between two automatic commits of a partition, or two commits
    of the application; only records_reprocessed depends on it.

    ``migration_start`` says when a rolling migration to ``group_protocol`` begins, in UTC, else all
    processes always have this protocol; ``migration_interval_ms`` is from one restart to the next;
    ``migration_processes`` are those that restart, in order, separated by commas; None: all;
    ``migration_back`` says when they begin to go back; ``migration_policy`` is that of the broker.
    """

    membership: str | None = None
    instance_ids: str | None = None
    protocol: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    initial_rebalance_delay_ms: int | None = None
    assignor: str | None = None
    era: str | None = None
    client_library: str | None = None
    group_protocol: str | None = None
    remote_assignor: str | None = None
    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
    consumer_assignment_interval_ms: int | None = None
    restart_ms: int | None = None
    commit_interval_ms: int | None = None
    migration_start: str | None = None
    migration_interval_ms: int | None = None
    migration_processes: str | None = None
    migration_back: str | None = None
    migration_policy: str | None = None

    @classmethod
    def of(cls, texts: Iterable[str]) -> SettingsChange:
        """Parse KEY=VALUE texts such as ``membership=static`` or ``session.timeout.ms=45000``.
        Raises InvalidSetting.
        """
        values: dict[str, str | int] = {}
        for text in texts:
            for name, value in short_settings(text):
                if name not in SETTINGS:
                    raise InvalidSetting(f"{text}: unknown setting; {_names_like(name)}")
                if name in values:
                    raise InvalidSetting(f"{text}: {name} is given more than once")
                values[name] = _value(name, value, text)
        if "instance_ids" in values and values.get("membership") != "static":
            raise InvalidSetting(f"instance_ids={values['instance_ids']}: needs membership=static")
        _check_protocol(values)
        _check_migration(values)
        return cls(**values)  # type: ignore[arg-type]  # _value matches each name

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values().items()) or "unchanged"

    def in_kafka_names(self) -> str:
        """The change with Kafka's names of the settings."""
        texts = [
            f"{NAME_OF.get(name, name)}={value}"
            for name, value in self.values().items()
            if name in _COMMON_NAMES
        ]
        if self.membership == "static":
            source = (
                "a name that a process keeps" if self.instance_ids == ORDINAL else "process name"
            )
            texts.insert(0, f"{INSTANCE_ID} ({source})")
        elif self.membership is not None:
            texts.insert(0, f"no {INSTANCE_ID}")
        if self.assignors is not None:
            texts.append(f"{STRATEGY}={self.assignors[0]}")
        return ", ".join(texts) or "unchanged"

    def names(self) -> list[str]:
        """The settings that it changes."""
        return list(self.values())

    def values(self) -> dict[str, str | int]:
        """The settings that it changes, by name."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def cost(self) -> int:
        """Effort of the change: 1 for a consumer setting; 2 for instance ids of all processes, or
        for another protocol, which takes two deployments; 4 for a setting of all the broker's
        groups, or for processes whose names last; 8 for another version of brokers or clients.
        """
        costs = sum(_COSTS[name] for name in SETTINGS if getattr(self, name) is not None)
        return costs + (_LASTING_NAMES_COST if self.instance_ids == ORDINAL else 0)

    def protocol_of(self, present: str) -> str:
        """The group's protocol after the change, ``present`` being that before it."""
        return self.group_protocol or present

    @property
    def migration_start_ms(self) -> int | None:
        """In ms since the epoch; ``migration_back_ms``, too."""
        return None if self.migration_start is None else utc_ms(self.migration_start)

    @property
    def migration_back_ms(self) -> int | None:
        return None if self.migration_back is None else utc_ms(self.migration_back)

    @property
    def migrated_processes(self) -> tuple[str, ...]:
        """In order; empty: all."""
        return tuple(filter(None, (self.migration_processes or "").split(",")))

    @property
    def assignors(self) -> tuple[str, ...] | None:
        if self.assignor is not None:
            return (self.assignor,)
        return {None: None, "cooperative": (COOPERATIVE,), "eager": (EAGER,)}[self.protocol]


SETTINGS = tuple(field.name for field in fields(SettingsChange))
UNCHANGED = SettingsChange()
_COSTS = {
    "membership": 2,
    "instance_ids": 0,
    "protocol": 2,
    "session_timeout_ms": 1,
    "rebalance_timeout_ms": 1,
    "initial_rebalance_delay_ms": 4,
    "assignor": 1,
    "era": 8,
    "client_library": 8,
    "group_protocol": 2,
    "remote_assignor": 1,
    "consumer_session_timeout_ms": 1,
    "consumer_heartbeat_interval_ms": 1,
    "consumer_assignment_interval_ms": 1,
    "restart_ms": 1,
    "commit_interval_ms": 1,
    "migration_start": 0,
    "migration_interval_ms": 0,
    "migration_processes": 0,
    "migration_back": 0,
    "migration_policy": 4,
}
_LASTING_NAMES_COST = 4
# A consumer group's own configuration replaces these client settings.
_OF_CONSUMER_GROUPS = (
    "consumer_session_timeout_ms",
    "consumer_heartbeat_interval_ms",
    "consumer_assignment_interval_ms",
)
_OF_CLASSIC_GROUPS = ("session_timeout_ms", "protocol", "assignor", "initial_rebalance_delay_ms")
# Settings that have the same value in Kafka's configuration.
_COMMON_NAMES = (
    "session_timeout_ms",
    "rebalance_timeout_ms",
    "initial_rebalance_delay_ms",
    "era",
    "client_library",
    "group_protocol",
    "remote_assignor",
    *_OF_CONSUMER_GROUPS,
    "restart_ms",
    "commit_interval_ms",
    "migration_start",
    "migration_interval_ms",
    "migration_processes",
    "migration_back",
    "migration_policy",
)
REMOTE_ASSIGNORS = ("uniform", "range")
_CHOICES = {
    "membership": ("static", "dynamic"),
    "instance_ids": (PROCESS, ORDINAL),
    "protocol": ("eager", "cooperative"),
    "assignor": tuple(CLIENT_ASSIGNORS),
    "era": tuple(ERAS),
    "client_library": tuple(LIBRARIES),
    "group_protocol": (CLASSIC_PROTOCOL, CONSUMER_PROTOCOL),
    "remote_assignor": REMOTE_ASSIGNORS,
    "migration_policy": ("bidirectional", "upgrade", "downgrade", "disabled"),
}
TIMES = ("migration_start", "migration_back")
_OF_MIGRATIONS = ("migration_interval_ms", "migration_processes", "migration_back")


def _names_like(name: str) -> str:
    names = [*SETTINGS, *SETTING_OF]
    similar = get_close_matches(name, names, n=1)
    return f"did you mean {similar[0]}?" if similar else f"must be one of {', '.join(names)}"


def _check_protocol(values: Mapping[str, str | int]) -> None:
    """Each protocol has settings of its own."""
    protocol = values.get("group_protocol")
    for refusal in [] if protocol is None else refused_by_protocol(str(protocol), values):
        raise InvalidSetting(refusal)


def refused_by_protocol(protocol: str, names: Iterable[str]) -> Iterator[str]:
    """The settings, by name, that a group of this protocol does not have."""
    is_consumer = protocol == CONSUMER_PROTOCOL
    others = _OF_CLASSIC_GROUPS if is_consumer else ("remote_assignor", *_OF_CONSUMER_GROUPS)
    for name in names:
        if name in others and is_consumer:
            yield (
                f"{NAME_OF.get(name, name)}: {GROUP_PROTOCOL}={CONSUMER_PROTOCOL} does not use "
                f"it; use {REMOTE_ASSIGNOR}, {CONSUMER_SESSION}"
            )
        elif name in others:
            yield f"{NAME_OF[name]}: needs {GROUP_PROTOCOL}={CONSUMER_PROTOCOL}"


def _check_migration(values: Mapping[str, str | int]) -> None:
    """A migration has a start and a protocol to go to; it goes back after its start."""
    for name in _OF_MIGRATIONS:
        if name in values and "migration_start" not in values:
            raise InvalidSetting(f"{name}={values[name]}: needs {MIGRATION_START}")
    start, back = (values.get(name) for name in TIMES)
    if start is not None and "group_protocol" not in values:
        raise InvalidSetting(f"{MIGRATION_START}={start}: needs {GROUP_PROTOCOL}")
    if start is not None and back is not None and utc_ms(str(back)) <= utc_ms(str(start)):
        raise InvalidSetting(f"{MIGRATION_BACK}={back}: must be after {MIGRATION_START}={start}")


def _time(text: str, value: str) -> str:
    try:
        utc_ms(value)
    except ValueError:
        raise InvalidSetting(f"{text}: expected a UTC time, e.g. 2026-11-21T00:46:30") from None
    return value


def _value(name: str, value: str, text: str) -> str | int:
    if name in TIMES:
        return _time(text, value)
    if name == "migration_processes":
        if not all(value.split(",")):
            raise InvalidSetting(f"{text}: expected process names, separated by commas")
        return value
    choices = _CHOICES.get(name)
    if choices is not None:
        if value not in choices:
            raise InvalidSetting(f"{text}: {name} must be one of {', '.join(choices)}")
        return value
    if not value.isascii() or not value.isdigit():
        raise InvalidSetting(f"{text}: {name} must be a whole number of milliseconds")
    number = int(value)
    minimum = 0 if name == "initial_rebalance_delay_ms" else 1
    if not minimum <= number < 1 << 31:
        raise InvalidSetting(f"{text}: {name} must be {minimum} to {(1 << 31) - 1}")
    return number


# Twelve changes that cover KIP-134, KIP-345, KIP-429 and KIP-735.
GRID = tuple(
    SettingsChange.of(text.split())
    for text in (
        "membership=static",
        "protocol=cooperative",
        "session_timeout_ms=30000",
        "session_timeout_ms=45000",
        "membership=static session_timeout_ms=30000",
        "membership=static session_timeout_ms=45000",
        "membership=static session_timeout_ms=120000",
        "membership=static protocol=cooperative",
        "membership=static protocol=cooperative session_timeout_ms=45000",
        "rebalance_timeout_ms=600000",
        "assignor=sticky",
        "initial_rebalance_delay_ms=10000",
    )
)
