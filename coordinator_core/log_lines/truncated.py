"""Truncated messages: copied from a terminal, a ticket or a viewer that shortens lines.

Only complete fields are read: a field is complete if the fixed words after it have begun, and a
member id also if its UUID is complete.  A reason is classified by the part that is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from coordinator_core.log_lines.templates import KINDS, PLAIN, UUID, Fields, Template, group
from coordinator_core.log_lines.wordings import Wording

_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…)[)\].]*$")
_WHOLE_MEMBER = re.compile(rf".*?{UUID}")
# Trying all cut positions of a line takes quadratic time, so longer lines are not tried.
_MAX_LENGTH = 1000
_MIN_CHARACTERS = 2  # minimum number of fixed characters after a field for the field to be complete
_FRAGMENT = "fragment"


def find_truncated(wordings: Iterable[Wording], message: str) -> tuple[Wording, Fields] | None:
    """The wording that matches most of a truncated message, or None if several events are
    possible.
    """
    if len(message) > _MAX_LENGTH:
        return None
    message = _ELLIPSIS.sub("", message)
    candidates = [(_read_truncated(wording.template, message), wording) for wording in wordings]
    # A line must have a field, unless its wording has a cause: a reason is informative without a
    # field.
    readable = [
        (read, wording) for read, wording in candidates if read and (read[1] or wording.cause)
    ]
    if not readable:
        return None
    longest = max(matched for (matched, _), _ in readable)
    best = [(wording, fields) for (matched, fields), wording in readable if matched == longest]
    meanings = {(wording.event, wording.cause) for wording, _ in best}
    return best[0] if len(meanings) == 1 else None


def _read_truncated(template: Template, message: str) -> tuple[int, Fields] | None:
    """The number of fixed characters that match, and the complete fields."""
    if not message.startswith(template.pieces[0]):
        return None
    for pattern, broken_field in _breaks(template):
        match = pattern.fullmatch(message)
        if match:
            texts = match.groupdict()
            matched = len(message) - sum(map(len, texts.values()))
            fields = _complete_fields(texts, broken_field)
            named = "group_id" in fields or "group_id" not in template.pieces
            return (matched, fields) if named else None
    return None


def _complete_fields(texts: dict[str, str], broken_field: str) -> Fields:
    fragment = texts.pop(_FRAGMENT, "")
    if broken_field == "reason":
        texts["reason"] = f"{fragment}…"  # An ellipsis marks the reason as incomplete.
    elif broken_field == "member_id" and _WHOLE_MEMBER.fullmatch(fragment):
        texts["member_id"] = fragment
    kinds = {name: KINDS.get(name, PLAIN) for name in texts}
    return {kinds[name].field or name: kinds[name].read(text) for name, text in texts.items()}


@lru_cache(maxsize=1024)
def _breaks(template: Template) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of all truncations and the field truncated there, the longest first."""
    return tuple(
        (re.compile(pattern, re.DOTALL), field) for pattern, field in _break_patterns(template)
    )


def _break_patterns(template: Template) -> Iterator[tuple[str, str]]:
    pieces, seen = template.pieces, set[str]()
    patterns = [
        group(piece, seen) if place % 2 else re.escape(piece) for place, piece in enumerate(pieces)
    ]
    for words in range(len(pieces) - 1, 0, -2):
        if len(pieces[words]) >= _MIN_CHARACTERS:
            yield "".join(patterns[:words]) + _beginning(pieces[words]), ""
        yield "".join(patterns[: words - 1]) + f"(?P<{_FRAGMENT}>.*)", pieces[words - 1]


def _beginning(words: str) -> str:
    """Any beginning of fixed words that has at least _MIN_CHARACTERS."""
    pattern = ""
    for character in reversed(words[_MIN_CHARACTERS:]):
        pattern = f"(?:{re.escape(character)}{pattern})?"
    return re.escape(words[:_MIN_CHARACTERS]) + pattern
