"""The list of wordings, and an index from a message to the wordings that may fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import schemas.log_lines as data
from coordinator_core.log_lines.kafka_versions import coordinator_of, holds_in
from coordinator_core.log_lines.templates import Template

# Number of fixed characters at both ends by which wordings are indexed.
_KEY_LENGTH = 5
_BRACKET = "] "


@dataclass(frozen=True, kw_only=True)
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
    """Wordings by fixed characters that a message must have, the most specific first."""

    def __init__(self, wordings: Iterable[Wording]) -> None:
        self._by_start: dict[str, list[Wording]] = defaultdict(list)
        seen: set[str] = set()
        for wording in sorted(wordings, key=lambda w: -w.template.fixed_length):
            if wording.template.text not in seen:
                seen.add(wording.template.text)
                start = wording.template.pieces[0][:_KEY_LENGTH]
                self._by_start[start if len(start) == _KEY_LENGTH else ""].append(wording)
        beginning_freely = self._by_start.pop("", [])
        self._others = _Alike(beginning_freely)
        self._alike = {
            start: _Alike([*alike, *beginning_freely]) for start, alike in self._by_start.items()
        }

    def beginning_like(self, message: str) -> list[Wording]:
        """The wordings with the same first characters as the message."""
        return self._by_start.get(message[:_KEY_LENGTH], [])

    def may_fit(self, text: str) -> bool:
        """Returns whether a wording may fit the text or a beginning of it."""
        return self._alike.get(text[:_KEY_LENGTH], self._others).may_fit(text)

    def find(self, message: str) -> tuple[Wording, list[Any]] | None:
        """The wording that fits the whole message, and the values of its template's groups."""
        alike = self._alike.get(message[:_KEY_LENGTH], self._others)
        for anchor, wording in alike.candidates(message):
            if anchor in message:
                values = wording.template.read(message)
                if values is not None:
                    return wording, values
        return None


# pairs of a text that the message must contain, and its wording
_Candidates = tuple[tuple[str, Wording], ...]


class _Alike:
    """Wordings with the same first characters, by characters further on.

    The search for distinctive words takes time, and a run meets only a few of the wordings, so each
    part is computed when a message first needs it.
    """

    def __init__(self, wordings: list[Wording]) -> None:
        self._wordings = wordings
        self._words = [_words_of(wording.template) for wording in wordings]
        self._firsts = tuple({wording.template.pieces[0] for wording in wordings} - {""})
        self._by_end = _ByEnd(wordings)
        self._by_words: dict[str, _ByEnd | None] = dict.fromkeys(["", *self._words])

    def may_fit(self, text: str) -> bool:
        """Returns whether a wording may fit a beginning of the text."""
        begins = text.startswith(self._firsts)
        for anchor in self._anchors if begins else self._anchors_anywhere:
            if anchor in text:
                return True
        return False

    def candidates(self, message: str) -> _Candidates:
        """All wordings that may fit the message, in their order."""
        if message.startswith("[") and message.count(_BRACKET) == 1:
            words = _words_after_bracket(message)
            words = words if words in self._by_words else ""
            by_end = self._by_words[words] or self._with_words(words)
        else:
            by_end = self._by_end
        end = message[-_KEY_LENGTH:]
        candidates = by_end.found.get(end, by_end.found_otherwise)
        return by_end.find(end) if candidates is None else candidates

    def _with_words(self, words: str) -> _ByEnd:
        pairs = zip(self._wordings, self._words, strict=True)
        by_end = _ByEnd([wording for wording, its in pairs if its in ("", words)])
        self._by_words[words] = by_end
        return by_end

    @cached_property
    def _distinctive(self) -> _Candidates:
        return _candidates(self._wordings)

    @cached_property
    def _anchors(self) -> tuple[str, ...]:
        return tuple({anchor for anchor, _ in self._distinctive})

    @cached_property
    def _anchors_anywhere(self) -> tuple[str, ...]:
        starting_freely = (
            anchor for anchor, wording in self._distinctive if not wording.template.pieces[0]
        )
        return tuple(set(starting_freely))


class _ByEnd:
    """Wordings by a message's last characters, in their order; None if not searched yet."""

    def __init__(self, wordings: list[Wording]) -> None:
        self._wordings = wordings
        ends = {wording.template.pieces[-1][-_KEY_LENGTH:] for wording in wordings}
        self.found: dict[str, _Candidates | None] = dict.fromkeys(
            end for end in ends if len(end) == _KEY_LENGTH
        )
        self.found_otherwise: _Candidates | None = None

    def find(self, end: str) -> _Candidates:
        indexed_end = end if end in self.found else None
        fitting = [
            each for each in self._wordings if _may_end(each.template.pieces[-1], indexed_end)
        ]
        candidates = _candidates(fitting)
        if indexed_end is None:
            self.found_otherwise = candidates
        else:
            self.found[indexed_end] = candidates
        return candidates


def _candidates(wordings: list[Wording]) -> _Candidates:
    texts = [wording.template.text for wording in wordings]
    return tuple((_most_distinctive(wording.template, texts), wording) for wording in wordings)


def _most_distinctive(template: Template, texts: list[str]) -> str:
    """The longest of the fixed words that the fewest of these texts contain."""
    return min(
        template.pieces[::2], key=lambda words: (sum(words in t for t in texts), -len(words))
    )


def _may_end(last_words: str, end: str | None = None) -> bool:
    """Returns whether a message with this ``end``, or with an end of no wording, may fit the last
    words.
    """
    if len(last_words) < _KEY_LENGTH:
        return end is None or end.endswith(last_words)
    return end is not None and last_words.endswith(end)


def _words_of(template: Template) -> str:
    """The words that must follow a message's only bracket; "" if it may be any words."""
    fixed = [piece for piece in template.pieces[::2] if _BRACKET in piece]
    is_only = len(fixed) == 1 and fixed[0].count(_BRACKET) == 1
    words = _words_after_bracket(fixed[0]) if is_only else ""
    return words if len(words) == _KEY_LENGTH else ""


def _words_after_bracket(message: str) -> str:
    return message.partition(_BRACKET)[2][:_KEY_LENGTH]


def _wording(entry: Mapping[str, str], coordinator: str, event: str) -> Wording:
    return Wording(
        template=Template(entry["text"]),
        coordinator=coordinator,
        versions=entry.get("versions", ""),
        event=event,
        level=entry.get("level", ""),
        logger=entry.get("logger", ""),
        step=entry.get("step"),
        protocol=entry.get("protocol"),
        cause=entry.get("cause"),
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


def of_version(wordings: Iterable[Wording], version: str) -> Iterator[Wording]:
    """The wordings of the coordinator that brokers of this version of Kafka run by default."""
    coordinator = coordinator_of(version)
    return (
        wording
        for wording in wordings
        if wording.coordinator == coordinator and holds_in(wording.versions, version)
    )
