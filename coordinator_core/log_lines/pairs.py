"""Messages with pairs of keys and values beside them, in any order and in any logger's layout.

Loggers of Go and JavaScript print `message` and its pairs apart: as JSON, as logfmt, or as
`message; key: value, key: value` (kgo.BasicLogger).  A wording of such a library is a text in the
last of these layouts, e.g. `synced; group: {group_id}, assigned: {partitions}`.  A line fits if its
message is equal and its pairs have each key of the wording, with the value in the wording if any.
A message of a wording may end in `{reason}`: any text.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from coordinator_core.log_lines.literals import any_of, spans_in
from coordinator_core.log_lines.templates import KINDS, PLAIN

_PAIR = re.compile(r'(?<![\w@.-])([\w@.-]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)')
_PAIRS_BEGIN = re.compile(r"; (?=\w+: )")
_LISTED = re.compile(r"(?:^|, )(\w+):(?: |$)")
_FIELD = re.compile(r"\{(\w+)\}")
_REASON = "{reason}"
_BEFORE = re.compile(r'(?:^|[\]\s":=>|-])$')
_BEHIND = re.compile(r'[";\s]|$')
_MOST_PAIRS = 200
_WORDS_ALONE = 2  # A message with at least this many spaces is recognized without its namespace.
_MOST_PLACES = 5

Pairs = Mapping[str, Any]


class PairWording(NamedTuple):
    """``fields`` has the field for each key's value; ``values`` has required values of
    other keys.
    """

    event: str
    message: str
    fields: Mapping[str, str]
    values: Mapping[str, str]

    @staticmethod
    def has_pairs(text: str) -> bool:
        """Returns whether a wording is a message with pairs."""
        return _PAIRS_BEGIN.search(text) is not None

    @staticmethod
    def of(event: str, text: str) -> PairWording:
        message, listed = _PAIRS_BEGIN.split(text, 1)
        pairs = listed_pairs(listed)
        named = {key: match for key, text in pairs.items() if (match := _FIELD.fullmatch(text))}
        return PairWording(
            event,
            message,
            {key: match[1] for key, match in named.items()},
            {key: text for key, text in pairs.items() if key not in named},
        )

    def read(self, pairs: Pairs) -> dict[str, Any] | None:
        """The fields, or None if a key is missing or a required value differs."""
        if any(shown(pairs.get(key, "")) != value for key, value in self.values.items()):
            return None
        fields: dict[str, Any] = {}
        for key, name in self.fields.items():
            if key not in pairs:
                return None
            kind = KINDS.get(name, PLAIN)
            text = shown(pairs[key])
            if kind.read is int and not re.fullmatch(kind.pattern, text):
                return None
            fields[name] = kind.read(text)
        fields.pop("_", None)
        return fields


class PairWordings:
    """Wordings by their message; wordings with most keys come first."""

    def __init__(self, wordings: Iterable[PairWording]) -> None:
        self._by_message: defaultdict[str, list[PairWording]] = defaultdict(list)
        self._with_reason: list[PairWording] = []
        for wording in wordings:
            if wording.message.endswith(_REASON):
                self._with_reason.append(wording)
                continue
            self._by_message[wording.message].append(wording)
            # An application's own logger may print KafkaJS' namespace at another place.
            _, namespace, message = wording.message.partition("] ")
            if namespace and message.count(" ") >= _WORDS_ALONE:
                self._by_message[message].append(wording)
        for alike in self._by_message.values():
            alike.sort(key=lambda w: -len(w.fields) - len(w.values))
        beginnings = [wording.message.removesuffix(_REASON) for wording in self._with_reason]
        texts = [*self._by_message, *beginnings]
        self._anywhere = any_of(texts) if texts else None

    def read(self, message: str, pairs: Pairs) -> tuple[str, dict[str, Any]] | None:
        """The event and the fields of the wording with most keys that fits."""
        wordings = self._by_message.get(message, ())
        pairs = with_nested(pairs) if wordings else pairs
        for wording in wordings:
            fields = wording.read(pairs)
            if fields is not None:
                return wording.event, fields
        for wording in self._with_reason:
            beginning = wording.message.removesuffix(_REASON)
            fields = wording.read(with_nested(pairs)) if message.startswith(beginning) else None
            if fields is not None:
                return wording.event, {"reason": message[len(beginning) :], **fields}
        return None

    def find(self, line: str) -> tuple[str, dict[str, Any], int, int] | None:
        """Event, fields, and the positions at which the message begins and ends in a line."""
        for start, end in self._places(line):
            reading = self.read(line[start:end], pairs_around(line, end))
            if reading is not None:
                return *reading, start, end
        return None

    def _places(self, line: str) -> Iterator[tuple[int, int]]:
        if self._anywhere is None:
            return
        places = 0
        for start, end in spans_in(self._anywhere, line):
            if line[start:end] not in self._by_message:  # The reason ends where the pairs begin.
                end = line.find(' {"', end) if ' {"' in line[end:] else len(line)
            if _BEFORE.search(line[max(0, start - 1) : start]) and _BEHIND.match(line, end):
                yield start, end
                places += 1
                if places == _MOST_PLACES:
                    return


def pairs_around(line: str, end: int) -> dict[str, Any]:
    """The pairs of a line whose message ends at ``end``."""
    behind = line[end:]
    if behind.startswith("; "):
        return listed_pairs(behind[2:].rstrip())
    opening = behind.find("{")
    if opening >= 0 and (pairs := json_pairs(behind[opening:].rstrip())):
        return pairs
    return text_pairs(line)


def listed_pairs(text: str) -> dict[str, str]:
    """The pairs of `key: value, key: value`; a value may contain commas."""
    keys = list(_LISTED.finditer(text))[:_MOST_PAIRS]
    ends = [*(key.start() for key in keys[1:]), len(text)][: len(keys)]
    return {key[1]: text[key.end() : end] for key, end in zip(keys, ends, strict=True)}


def text_pairs(text: str) -> dict[str, str]:
    """The pairs of logfmt: `key=value key="value"`."""
    return {name: _unquoted(value) for name, value in _PAIR.findall(text)[:_MOST_PAIRS]}


def with_nested(pairs: Pairs) -> Pairs:
    """All pairs, including the pairs of nested objects, because a logger may nest the application's
    pairs.
    """
    nested = {
        key: value
        for each in pairs.values()
        if isinstance(each, Mapping)
        for key, value in each.items()
    }
    return {**nested, **pairs} if nested else pairs


def json_pairs(text: str) -> dict[str, Any]:
    """The pairs of the JSON object at the beginning of a text; empty without an object."""
    try:
        pairs, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return pairs if isinstance(pairs, dict) else {}


def pair_in(line: str, key: str) -> str | None:
    """The value of a key in a line of any of these layouts."""
    plain = line.replace('\\"', '"')
    at = plain.find(f'"{key}":')
    if at >= 0:
        try:
            return shown(json.JSONDecoder().raw_decode(plain[at + len(key) + 3 :].lstrip())[0])
        except (ValueError, RecursionError):
            return None
    _, listed, value = line.partition(f"{key}: ")
    return value if listed else text_pairs(line).get(key)


def shown(value: Any) -> str:
    """A value as text; partitions are an object of topics in JSON, and `topic[0 1]` in text."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{topic}[{' '.join(map(str, numbers))}]"
            for topic, numbers in value.items()
            if isinstance(numbers, list)
        )
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _unquoted(value: str) -> str:
    """Go escapes some characters that JSON does not escape; such a text stays unchanged."""
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]
