"""Texts with placeholders: compiled into a pattern that reads fields, and printed from fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import re2  # type: ignore[import-untyped]

from coordinator_core.log_lines import partition_lists

Fields = dict[str, object]

# Longer numbers do not fit into 64 bits.
DIGITS = r"\d{1,19}"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MAP_VALUE = re.compile(r"=\[B@[0-9a-f]+(?:, )?")


@dataclass(frozen=True, slots=True)
class PlaceholderKind:
    """How a placeholder is matched, read into a field, and printed from the field."""

    pattern: str
    read: Callable[[str], object]
    show: Callable[[object], str]
    field: str = ""  # the field's name, if it differs from the name of the placeholder


def _show_plain(value: object) -> str:
    return str(value)


def _show_none_as(none: str) -> Callable[[object], str]:
    return lambda value: none if value is None else str(value)


def _read_none_as(none: str) -> Callable[[str], str | None]:
    return lambda text: None if text == none else text


def _read_option(text: str) -> str | None:
    inner = text.removeprefix("Some(").removesuffix(")")
    return None if text == "None" or inner == "null" else inner


def _show_option(value: object) -> str:
    return "None" if value is None else f"Some({value})"


def _read_number(text: str) -> int | None:
    """An epoch as a number, an Option or an OptionalInt."""
    digits = re.search(r"-?\d+", text)
    return int(digits[0]) if digits else None


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def _read_bracketed(text: str) -> tuple[str, ...]:
    """`Set(a, b)`, `List(a, b)`, `[a, b]`, or the keys of `{a=[B@1f, b=[B@2c}`."""
    opening = min(text.index(bracket) for bracket in "([{" if bracket in text)
    inner = text[opening + 1 : -1]
    if text[opening] == "{":
        return tuple(filter(None, _MAP_VALUE.split(inner)))
    return _read_list(inner)


def _joined(value: object) -> str:
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a list here, not {value!r}")
    return ", ".join(map(str, value))


def _read_topic_partition(text: str) -> str:
    """`topic-3`; brokers before 0.10.2 print `[topic,3]`."""
    return text[1:-1].replace(",", "-") if text.startswith("[") else text


def _show_topic_and_partition(value: object) -> str:
    topic, _, partition = str(value).rpartition("-")
    return f"[{topic},{partition}]"


def _text(pattern: str) -> PlaceholderKind:
    return PlaceholderKind(pattern, str, _show_plain)


def _number() -> PlaceholderKind:
    return PlaceholderKind(rf"-?{DIGITS}", int, _show_plain)


# A member id of the classic protocol ends in a UUID; the client id before it is free text.
_MEMBER = _text(rf".*?{UUID}|(?:(?!{UUID}|…|\.\.\.).)*?")
# Patterns without a look-ahead, which suffice for a long, complete message.
_LINEAR = {_MEMBER.pattern: rf".*?{UUID}|.*?"}
_LONG = 4096
_BRACKETED = r"\w*\(.*\)|\[.*\]|\{.*\}"
_REST = _text(".*")

KINDS: Mapping[str, PlaceholderKind] = {
    # A group id may contain the fixed words of the wording, so the rightmost match counts.
    "group_id": _text(".*"),
    # In a client's template the leftmost match counts, because the client prints a reason after the
    # group.
    "group_id_first": PlaceholderKind(".*?", str, _show_plain, "group_id"),
    "reason": _REST,
    "client_reason": PlaceholderKind(
        ".*", _read_none_as("not provided"), _show_none_as("not provided")
    ),
    "error": _REST,
    "_": _REST,
    "member_id": _MEMBER,
    # Member id of a client library that lets the coordinator generate all member ids.
    "made_member_id": PlaceholderKind(rf".*?{UUID}", str, _show_plain, "member_id"),
    "old_member_id": _MEMBER,
    "new_leader_id": _MEMBER,
    "state": _text(r"\w+"),
    "protocol": _text(r"\w+"),
    "instance_option": PlaceholderKind(
        r"None|Some\(.*?\)", _read_option, _show_option, "instance_id"
    ),
    "instance_or_null": PlaceholderKind(
        ".*?", _read_none_as("null"), _show_none_as("null"), "instance_id"
    ),
    "instance_or_none": PlaceholderKind(
        ".*?", _read_none_as("None"), _show_none_as("None"), "instance_id"
    ),
    "new_leader_instance_option": PlaceholderKind(
        r"None|Some\(.*?\)", _read_option, _show_option, "new_leader_instance_id"
    ),
    "new_leader_instance_or_empty": PlaceholderKind(
        ".*?", _read_none_as(""), _show_none_as(""), "new_leader_instance_id"
    ),
    "new_leader_protocols": PlaceholderKind(_BRACKETED, _read_bracketed, _joined),
    "generation": _number(),
    "current_generation": _number(),
    "member_count": _number(),
    "static_member_count": _number(),
    "session_timeout_ms": _number(),
    "rebalance_timeout_ms": _number(),
    "duration_ms": _number(),
    "scheduler_ms": _number(),
    "count": _number(),
    "epoch": PlaceholderKind(
        rf"-?{DIGITS}|Some\({DIGITS}\)|OptionalInt\[{DIGITS}\]", _read_number, _show_plain
    ),
    "members": PlaceholderKind(_BRACKETED, _read_bracketed, _joined),
    "member_map": PlaceholderKind(_BRACKETED, _read_bracketed, _joined, "members"),
    "member_list": PlaceholderKind(".*", _read_list, _joined, "members"),
    "protocols": PlaceholderKind(_BRACKETED, _read_bracketed, _joined),
    "groups": PlaceholderKind(".*", _read_list, _joined),
    "partitions": _text(partition_lists.LIST),
    "positions": _REST,
    "offset": _number(),
    "topic_partition": PlaceholderKind(r"\S+?-\d+", _read_topic_partition, _show_plain),
    "topic_and_partition": PlaceholderKind(
        r"\[\S+?,\d+\]",
        _read_topic_partition,
        _show_topic_and_partition,
        "topic_partition",
    ),
    "offsets_partition": PlaceholderKind(
        r"\d+",
        lambda text: f"__consumer_offsets-{text}",
        lambda value: str(value).rpartition("-")[2],
        "topic_partition",
    ),
    "epoch_option": PlaceholderKind(
        rf"-?{DIGITS}|None|Some\({DIGITS}\)|OptionalInt(?:\[{DIGITS}\]|\.empty)",
        _read_number,
        _show_plain,
        "epoch",
    ),
}
PLAIN = _text(".*?")

# How Scala and Java print collections.
_BRACKETS = {
    "scala": {
        "members": "Set({})",
        "protocols": "List({})",
        "new_leader_protocols": "List({})",
    },
    "java": {"members": "[{}]", "protocols": "[{}]", "new_leader_protocols": "[{}]"},
}


@dataclass(frozen=True)
class Template:
    """A text such as ``Stabilized group {group_id} generation {generation}``."""

    text: str

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """Fixed words and placeholder names alternately; first and last are fixed words."""
        return tuple(_PLACEHOLDER.split(self.text))

    @cached_property
    def fixed_length(self) -> int:
        return sum(map(len, self.pieces[::2]))

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        seen: set[str] = set()
        parts = [re.escape(self.pieces[0])]
        for name, words in zip(self.pieces[1::2], self.pieces[2::2], strict=True):
            parts.append(group(name, seen))
            parts.append(re.escape(words))
        return re.compile("".join(parts))

    @cached_property
    def group_fields(self) -> tuple[str, ...]:
        """The fields that `read` returns, in its order."""
        names = dict.fromkeys(name for name in self.pieces[1::2] if name != "_")
        return tuple(KINDS.get(name, PLAIN).field or name for name in names)

    @cached_property
    def _readers(self) -> tuple[tuple[int, Callable[[str], object]], ...]:
        """The places in `group_fields` of what is not read as it is printed."""
        names = dict.fromkeys(name for name in self.pieces[1::2] if name != "_")
        readers = enumerate(KINDS.get(name, PLAIN).read for name in names)
        return tuple((place, read) for place, read in readers if read is not str)

    def read(self, message: str) -> list[Any] | None:
        """The values of `group_fields`, or None if the whole message does not match."""
        if len(message) > _LONG:
            values = self._read_long(message)
        else:
            match = self._regex.fullmatch(message)
            values = None if match is None else list(match.groups())
        if values is None:
            return None
        for place, read in self._readers:
            values[place] = read(values[place])
        return values

    def _read_long(self, message: str) -> list[Any] | None:
        """Match in linear time; one pattern with several free texts would take polynomial time."""
        match = self._linear.fullmatch(message)
        if match is None:
            return None
        texts: dict[str, str] = {}
        for name, text in zip(self.pieces[1::2], match.groups(), strict=True):
            if name != "_" and texts.setdefault(name, text) != text:
                return None
        return list(texts.values())

    @cached_property
    def _linear(self) -> Any:
        parts = [re2.escape(self.pieces[0])]
        for name, words in zip(self.pieces[1::2], self.pieces[2::2], strict=True):
            kind = KINDS.get(name, PLAIN)
            parts += [f"({_LINEAR.get(kind.pattern, kind.pattern)})", re2.escape(words)]
        return re2.compile("".join(parts))

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that the text requires."""
        return frozenset(KINDS.get(name, PLAIN).field or name for name in self.pieces[1::2])

    def form(self, fields: Mapping[str, object], coordinator: str) -> str:
        """The text with these fields.  Raises ValueError if a field is missing.

        ``_`` is a tuple, whose values fill the unnamed places in turn.
        """
        out = [self.pieces[0]]
        unnamed = iter(fields.get("_", ()))  # type: ignore[call-overload]  # a tuple
        for name, words in zip(self.pieces[1::2], self.pieces[2::2], strict=True):
            out.append(str(next(unnamed)) if name == "_" else _shown(name, fields, coordinator))
            out.append(words)
        return "".join(out)


def group(name: str, seen: set[str]) -> str:
    """The pattern of a placeholder; a name that was ``seen`` must match the same text again."""
    pattern = KINDS.get(name, PLAIN).pattern
    if name == "_":
        return f"(?:{pattern})"
    if name in seen:
        return f"(?P={name})"
    seen.add(name)
    return f"(?P<{name}>{pattern})"


def _shown(name: str, fields: Mapping[str, object], coordinator: str) -> str:
    kind = KINDS.get(name, PLAIN)
    field = kind.field or name
    if field not in fields:
        raise ValueError(f"missing field: this wording requires {field}")
    value = fields[field]
    if name == "member_map":  # The JVM prints an array as its hash code, which is always 0 here.
        return "{" + ", ".join(f"{member}=[B@0" for member in _joined(value).split(", ")) + "}"
    if name == "epoch_option":
        return "OptionalInt.empty" if value is None else f"OptionalInt[{value}]"
    text = kind.show(value)
    return _BRACKETS[coordinator].get(name, "{}").format(text)
