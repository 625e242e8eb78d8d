"""Reads the values of a spec file; an invalid value raises SpecError with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)(ms|s|m|h|d)")


class SpecError(ValueError):
    """An invalid spec: one line with the place and the expected value."""


def duration_ms(text: str) -> int:
    """The ms of ``90s``, ``1h30m``, ``250ms``; raises ValueError for any other text."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration; write it as 90s, 1h30m or 250ms")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))


class SpecTable:
    """One table of a spec; ``close`` refuses keys that were not read."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise SpecError(f"{where}: must be a table")
        self.where = where
        self._values: Mapping[str, Any] = values
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str | None = None) -> str:
        value = self._value(name, default)
        return value if isinstance(value, str) and value else self.wrong(name, "a non-empty string")

    def count(self, name: str, default: int | None = None, *, minimum: int = 0) -> int:
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            self.wrong(name, f"a whole number, at least {minimum}")
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default)
        return value if isinstance(value, bool) else self.wrong(name, "true or false")

    def probability(self, name: str) -> float:
        value = self._value(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.wrong(name, "a probability between 0 and 1")
        return float(value)

    def time_ms(self, name: str, default: str | None = None) -> int:
        value = self._value(name, default)
        try:
            return duration_ms(value) if isinstance(value, str) else self.wrong(name, "a duration")
        except ValueError as error:
            raise SpecError(f"{self.where}.{name}: {error}") from None

    def time_or_none_ms(self, name: str) -> int | None:
        return self.time_ms(name) if name in self else None

    def span_ms(self, name: str, default: tuple[str, str]) -> tuple[int, int]:
        """Two durations, the shorter first: bounds of a random duration."""
        value = self._value(name, list(default))
        if not isinstance(value, list) or len(value) != 2:
            self.wrong(name, "two durations, the shorter first")
        both = SpecTable(dict(zip("ab", value, strict=True)), f"{self.where}.{name}")
        shorter, longer = both.time_ms("a"), both.time_ms("b")
        if shorter > longer:
            self.wrong(name, "two durations, the shorter first")
        return shorter, longer

    def texts(self, name: str, default: Iterable[str] | None = None) -> tuple[str, ...]:
        value = self._value(name, None if default is None else list(default))
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.wrong(name, "a list of strings")
        return tuple(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self._value(name, [])
        if not isinstance(value, list) or not all(isinstance(each, int) for each in value):
            self.wrong(name, "a list of whole numbers")
        return tuple(value)

    def table(self, name: str) -> SpecTable:
        return SpecTable(self._value(name, {}), f"{self.where}.{name}".lstrip("."))

    def tables(self, name: str) -> list[SpecTable]:
        value = self._value(name, [])
        if not isinstance(value, list):
            self.wrong(name, "a list of tables")
        where = f"{self.where}.{name}".lstrip(".")
        return [SpecTable(each, f"{where}[{n}]") for n, each in enumerate(value, start=1)]

    def raw(self) -> Mapping[str, Any]:
        """All values unchanged; marks every key as read."""
        self._read.update(self._values)
        return self._values

    def one_of(self, name: str, allowed: Iterable[str], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in allowed:
            self.wrong(name, f"one of {', '.join(sorted(allowed))}")
        return value

    def wrong(self, name: str, expected: str) -> NoReturn:
        raise SpecError(f"{self.where}.{name}: must be {expected}".lstrip("."))

    def close(self) -> None:
        unknown = sorted(set(self._values) - self._read)
        if unknown:
            readable_keys = ", ".join(sorted(self._read))
            raise SpecError(
                f"{self.where or 'the spec'}: unknown key {unknown[0]}; known keys: {readable_keys}"
            )

    def _value(self, name: str, default: Any) -> Any:
        self._read.add(name)
        if name in self._values:
            return self._values[name]
        if default is None:
            raise SpecError(f"{self.where}.{name} is missing".lstrip("."))
        return default
