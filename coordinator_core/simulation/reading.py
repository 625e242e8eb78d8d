"""Values of a spec file, with what is wrong said in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


class SpecError(ValueError):
    """What is wrong with a spec, and where."""


def duration_ms(text: str) -> int:
    """``90s``, ``1h30m``, ``250ms`` in ms; ValueError for anything else."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is no duration; write it as 90s, 1h30m or 250ms")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))


class Table:
    """One table of a spec; ``close`` says which of its keys nobody asked for."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise SpecError(f"{where}: a table is wanted")
        self.where = where
        self._values: Mapping[str, Any] = values
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str | None = None) -> str:
        found = self._value(name, default)
        return found if isinstance(found, str) and found else self.wrong(name, "a text")

    def count(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        found = self._value(name, default)
        if isinstance(found, bool) or not isinstance(found, int) or found < least:
            self.wrong(name, f"a whole number from {least} on")
        return int(found)

    def flag(self, name: str, default: bool) -> bool:
        found = self._value(name, default)
        return found if isinstance(found, bool) else self.wrong(name, "true or false")

    def chance(self, name: str) -> float:
        found = self._value(name, 0.0)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
            self.wrong(name, "a probability, 0 to 1")
        return float(found)

    def time_ms(self, name: str, default: str | None = None) -> int:
        found = self._value(name, default)
        try:
            return duration_ms(found) if isinstance(found, str) else self.wrong(name, "a duration")
        except ValueError as error:
            raise SpecError(f"{self.where}.{name}: {error}") from None

    def time_or_none_ms(self, name: str) -> int | None:
        return self.time_ms(name) if name in self else None

    def span_ms(self, name: str, default: tuple[str, str]) -> tuple[int, int]:
        """Two durations, the shorter first: something takes between one and the other."""
        found = self._value(name, list(default))
        if not isinstance(found, list) or len(found) != 2:
            self.wrong(name, "two durations, the shorter first")
        both = Table(dict(zip("ab", found, strict=True)), f"{self.where}.{name}")
        shorter, longer = both.time_ms("a"), both.time_ms("b")
        if shorter > longer:
            self.wrong(name, "two durations, the shorter first")
        return shorter, longer

    def texts(self, name: str, default: Iterable[str] | None = None) -> tuple[str, ...]:
        found = self._value(name, None if default is None else list(default))
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            self.wrong(name, "a list of texts")
        return tuple(found)

    def numbers(self, name: str) -> tuple[int, ...]:
        found = self._value(name, [])
        if not isinstance(found, list) or not all(isinstance(each, int) for each in found):
            self.wrong(name, "a list of whole numbers")
        return tuple(found)

    def table(self, name: str) -> Table:
        return Table(self._value(name, {}), f"{self.where}.{name}".lstrip("."))

    def tables(self, name: str) -> list[Table]:
        found = self._value(name, [])
        if not isinstance(found, list):
            self.wrong(name, "a list of tables")
        where = f"{self.where}.{name}".lstrip(".")
        return [Table(each, f"{where}[{n}]") for n, each in enumerate(found, start=1)]

    def whole(self) -> Mapping[str, Any]:
        """All values, unread."""
        self._asked.update(self._values)
        return self._values

    def one_of(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        found = self.text(name, default)
        return found if found in known else self.wrong(name, f"one of {', '.join(sorted(known))}")

    def wrong(self, name: str, wanted: str) -> NoReturn:
        raise SpecError(f"{self.where}.{name}: {wanted} is wanted".lstrip("."))

    def close(self) -> None:
        unknown = sorted(set(self._values) - self._asked)
        if unknown:
            known = ", ".join(sorted(self._asked))
            raise SpecError(f"{self.where or 'the spec'}: unknown {unknown[0]}; known: {known}")

    def _value(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        if name in self._values:
            return self._values[name]
        if default is None:
            raise SpecError(f"{self.where}.{name} is missing".lstrip("."))
        return default
