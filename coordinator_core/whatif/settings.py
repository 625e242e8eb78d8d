"""The settings that a prediction can change, as KEY=VALUE, and the cost of changing them.

Each setting has a short name and, but for ``era`` and ``protocol``, Kafka's own name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.whatif.kafka_names import INSTANCE_ID, SETTING_OF, STRATEGY, short_settings

COOPERATIVE = "cooperative-sticky"
EAGER = "range"
PROCESS, ORDINAL = "process", "ordinal"


class InvalidSetting(ValueError):
    """An invalid KEY=VALUE; the message says which values are valid."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """Changed settings; None: unchanged.  Times in ms.

    ``instance_ids``, only with static membership: where group.instance.id comes from.  ``process``,
    the default: the process' own name, so a process that replaces another under a new name is a new
    member, and the other one's partitions wait for the end of its session.  ``ordinal``: a name
    that lasts, such as that of a StatefulSet's pod.
    """

    membership: str | None = None
    instance_ids: str | None = None
    protocol: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    initial_rebalance_delay_ms: int | None = None
    assignor: str | None = None
    era: str | None = None

    @classmethod
    def of(cls, texts: Iterable[str]) -> SettingsChange:
        """Parse KEY=VALUE texts such as ``membership=static`` or ``session.timeout.ms=45000``.
        Raises InvalidSetting.
        """
        values: dict[str, str | int] = {}
        for text in texts:
            for name, value in short_settings(text):
                if name not in SETTINGS:
                    names = ", ".join([*SETTINGS, *SETTING_OF])
                    raise InvalidSetting(f"{text}: unknown setting; must be one of {names}")
                if name in values:
                    raise InvalidSetting(f"{text}: {name} is given twice")
                values[name] = _value(name, value, text)
        if "instance_ids" in values and values.get("membership") != "static":
            raise InvalidSetting(f"instance_ids={values['instance_ids']}: needs membership=static")
        return cls(**values)  # type: ignore[arg-type]  # _value matches each name

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self._values()) or "unchanged"

    def in_kafka_names(self) -> str:
        """The change with Kafka's names of the settings."""
        names = {short: name for name, short in SETTING_OF.items()}
        texts = [
            f"{names.get(name, name)}={value}"
            for name, value in self._values()
            if name in _COMMON_NAMES
        ]
        if self.membership == "static":
            source = "a name that lasts" if self.instance_ids == ORDINAL else "process name"
            texts.insert(0, f"{INSTANCE_ID} ({source})")
        elif self.membership is not None:
            texts.insert(0, f"no {INSTANCE_ID}")
        if self.assignors is not None:
            texts.append(f"{STRATEGY}={self.assignors[0]}")
        return ", ".join(texts) or "unchanged"

    def _values(self) -> list[tuple[str, str | int]]:
        values = [(name, getattr(self, name)) for name in SETTINGS]
        return [(name, value) for name, value in values if value is not None]

    @property
    def cost(self) -> int:
        """Effort of the change: 1 for a consumer setting; 2 for instance ids of all processes, or
        for another protocol, which takes two deployments; 4 for a setting of all the broker's
        groups, or for processes whose names last; 8 for another broker version.
        """
        costs = sum(_COSTS[name] for name in SETTINGS if getattr(self, name) is not None)
        return costs + (_LASTING_NAMES_COST if self.instance_ids == ORDINAL else 0)

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
}
_LASTING_NAMES_COST = 4
# Settings that have the same value in Kafka's configuration.
_COMMON_NAMES = ("session_timeout_ms", "rebalance_timeout_ms", "initial_rebalance_delay_ms", "era")
_CHOICES = {
    "membership": ("static", "dynamic"),
    "instance_ids": (PROCESS, ORDINAL),
    "protocol": ("eager", "cooperative"),
    "assignor": tuple(CLIENT_ASSIGNORS),
    "era": tuple(ERAS),
}


def _value(name: str, value: str, text: str) -> str | int:
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
