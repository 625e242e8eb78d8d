"""The list of wordings, and an index from a message to the wordings that may fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import schemas.log_lines as data
from coordinator_core.log_lines.templates import Fields, Template, holds_in

# Every wording starts with this many fixed characters, or with a placeholder.
_KEY_LENGTH = 5


@dataclass(frozen=True)
class Wording:
    """One text of a coordinator, with the event or cause that it stands for."""

    template: Template
    coordinator: str
    versions: str
    event: str
    level: str = "INFO"
    logger: str = ""
    step: str | None = None
    protocol: str | None = None
    cause: str | None = None


class WordingIndex:
    """Wordings by their first characters, the most specific first."""

    def __init__(self, wordings: Iterable[Wording]) -> None:
        self._by_start: dict[str, list[Wording]] = defaultdict(list)
        seen: set[str] = set()
        for wording in sorted(wordings, key=lambda w: -w.template.fixed_length):
            if wording.template.text not in seen:
                seen.add(wording.template.text)
                start = wording.template.pieces[0][:_KEY_LENGTH]
                self._by_start[start if len(start) == _KEY_LENGTH else ""].append(wording)

    def beginning_like(self, message: str) -> list[Wording]:
        """The wordings with the same first characters as the message."""
        return self._by_start.get(message[:_KEY_LENGTH], [])

    def find(self, message: str) -> tuple[Wording, Fields] | None:
        """The wording that fits the whole message, and the message's fields."""
        for start in (message[:_KEY_LENGTH], ""):
            for wording in self._by_start.get(start, ()):
                fields = wording.template.read(message)
                if fields is not None:
                    return wording, fields
        return None


def _wording(entry: Mapping[str, str], coordinator: str, event: str) -> Wording:
    return Wording(
        Template(entry["text"]),
        coordinator,
        entry.get("versions", ""),
        event,
        entry.get("level", ""),
        entry.get("logger", ""),
        entry.get("step"),
        entry.get("protocol"),
        entry.get("cause"),
    )


@cache
def line_wordings() -> tuple[Wording, ...]:
    """Wordings of both coordinators, in the order of the data."""
    return tuple(
        _wording(entry, coordinator, entry.get("event", "OTHER"))
        for coordinator in data.COORDINATORS
        for entry in data.wordings(coordinator)
    )


@cache
def reason_wordings() -> tuple[Wording, ...]:
    """Wordings of reasons of both coordinators; their event is REASON."""
    return tuple(
        _wording(entry, coordinator, "REASON")
        for coordinator in data.COORDINATORS
        for entry in data.reasons(coordinator)
    )


@cache
def line_index() -> WordingIndex:
    return WordingIndex(line_wordings())


@cache
def reason_index() -> WordingIndex:
    return WordingIndex(reason_wordings())


@cache
def client_reason_index() -> WordingIndex:
    return WordingIndex(_wording(entry, "client", "REASON") for entry in data.reasons("client"))


def of_era(wordings: Iterable[Wording], era: str) -> Iterator[Wording]:
    """The wordings of an era's broker.  Raises ValueError for an unknown era."""
    eras = data.eras()
    if era not in eras:
        raise ValueError(f"unknown era {era!r}; one of {', '.join(eras)}")
    version, coordinator = eras[era]["version"], eras[era]["coordinator"]
    return (
        wording
        for wording in wordings
        if wording.coordinator == coordinator and holds_in(wording.versions, version)
    )
