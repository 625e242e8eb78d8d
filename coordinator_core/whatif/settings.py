"""The settings that can be changed, as KEY=VALUE, and what a change costs whoever makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from coordinator_core.assignors import CLIENT_ASSIGNORS
from coordinator_core.coordinator.eras import ERAS

COOPERATIVE = "cooperative-sticky"
EAGER = "range"


class InvalidSetting(ValueError):
    """What is wrong with a KEY=VALUE, and what is wanted."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """Other settings than the observed ones; None: as it was.  Times in ms."""

    membership: str | None = None
    protocol: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    initial_rebalance_delay_ms: int | None = None
    assignor: str | None = None
    era: str | None = None

    @classmethod
    def of(cls, texts: Iterable[str]) -> SettingsChange:
        """From ``membership=static`` and the like.  Raises WrongSetting."""
        values: dict[str, str | int] = {}
        for text in texts:
            name, _, value = text.partition("=")
            if name not in SETTINGS:
                raise InvalidSetting(f"{text}: no such setting; there are {', '.join(SETTINGS)}")
            if name in values:
                raise InvalidSetting(f"{text}: {name} is given twice")
            values[name] = _value(name, value, text)
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        given = [(name, getattr(self, name)) for name in SETTINGS]
        told = [f"{name}={value}" for name, value in given if value is not None]
        return " ".join(told) or "unchanged"

    @property
    def cost(self) -> int:
        """How much work it is: one consumer setting is 1; names for all processes or a move to
        another protocol, which takes two deployments, 2; what all groups of the broker share, 4.
        """
        return sum(_COSTS[name] for name in SETTINGS if getattr(self, name) is not None)

    @property
    def assignors(self) -> tuple[str, ...] | None:
        if self.assignor is not None:
            return (self.assignor,)
        return {None: None, "cooperative": (COOPERATIVE,), "eager": (EAGER,)}[self.protocol]


SETTINGS = tuple(field.name for field in fields(SettingsChange))
UNCHANGED = SettingsChange()
_COSTS = {
    "membership": 2,
    "protocol": 2,
    "session_timeout_ms": 1,
    "rebalance_timeout_ms": 1,
    "initial_rebalance_delay_ms": 4,
    "assignor": 1,
    "era": 8,
}
_CHOICES = {
    "membership": ("static", "dynamic"),
    "protocol": ("eager", "cooperative"),
    "assignor": tuple(CLIENT_ASSIGNORS),
    "era": tuple(ERAS),
}


def _value(name: str, value: str, text: str) -> str | int:
    choices = _CHOICES.get(name)
    if choices is not None:
        if value not in choices:
            raise InvalidSetting(f"{text}: {name} is one of {', '.join(choices)}")
        return value
    if not value.isascii() or not value.isdigit():
        raise InvalidSetting(f"{text}: {name} is a whole number of milliseconds")
    number = int(value)
    least = 0 if name == "initial_rebalance_delay_ms" else 1
    if not least <= number < 1 << 31:
        raise InvalidSetting(f"{text}: {name} is {least} to {(1 << 31) - 1}")
    return number


# Twelve that between them have what KIP-134, KIP-345, KIP-429 and KIP-735 offer.
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
