"""Messages that break off: copied out of a terminal, a ticket or a viewer that shortens lines.

Only what is whole is read: a field counts when the words after it have begun, a member id also
when its UUID is complete; a reason is classed by what is left of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from coordinator_core.log_lines.templates import KINDS, PLAIN, UUID, Fields, Template, group
from coordinator_core.log_lines.wordings import Wording

_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…)[)\].]*$")
_WHOLE_MEMBER = re.compile(rf".*?{UUID}")
_LONGEST = 1000  # trying all breaks of a hostile line would take time that grows with its square
_FEWEST_CHARACTERS = 2  # of the following words that must be there
_FRAGMENT = "fragment"


def find_truncated(wordings: Iterable[Wording], message: str) -> tuple[Wording, Fields] | None:
    """The wording a broken-off message follows furthest; None where two events may be meant."""
    if len(message) > _LONGEST:
        return None
    message = _ELLIPSIS.sub("", message)
    found = [(_read_cut(wording.template, message), wording) for wording in wordings]
    # A line must carry something; a reason is something by itself.
    readable = [(read, wording) for read, wording in found if read and (read[1] or wording.cause)]
    if not readable:
        return None
    furthest = max(met for (met, _), _ in readable)
    best = [(wording, fields) for (met, fields), wording in readable if met == furthest]
    meanings = {(wording.event, wording.cause) for wording, _ in best}
    return best[0] if len(meanings) == 1 else None


def _read_cut(template: Template, message: str) -> tuple[int, Fields] | None:
    """How many fixed characters are met, and the whole fields."""
    if not message.startswith(template.pieces[0]):
        return None
    for pattern, broken_field in _breaks(template):
        found = pattern.fullmatch(message)
        if found:
            texts = found.groupdict()
            met = len(message) - sum(map(len, texts.values()))
            fields = _whole_fields(texts, broken_field)
            named = "group_id" in fields or "group_id" not in template.pieces
            return (met, fields) if named else None
    return None


def _whole_fields(texts: dict[str, str], broken_field: str) -> Fields:
    fragment = texts.pop(_FRAGMENT, "")
    if broken_field == "reason":
        texts["reason"] = f"{fragment}…"  # so that nobody takes it for whole
    elif broken_field == "member_id" and _WHOLE_MEMBER.fullmatch(fragment):
        texts["member_id"] = fragment
    kinds = {name: KINDS.get(name, PLAIN) for name in texts}
    return {kinds[name].field or name: kinds[name].read(text) for name, text in texts.items()}


@lru_cache(maxsize=1024)
def _breaks(template: Template) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Places to break off and the field that is broken there, from the furthest to the nearest."""
    return tuple(
        (re.compile(pattern, re.DOTALL), field) for pattern, field in _break_patterns(template)
    )


def _break_patterns(template: Template) -> Iterator[tuple[str, str]]:
    pieces, seen = template.pieces, set[str]()
    patterns = [
        group(piece, seen) if place % 2 else re.escape(piece) for place, piece in enumerate(pieces)
    ]
    for words in range(len(pieces) - 1, 0, -2):
        if len(pieces[words]) >= _FEWEST_CHARACTERS:
            yield "".join(patterns[:words]) + _beginning(pieces[words]), ""
        yield "".join(patterns[: words - 1]) + f"(?P<{_FRAGMENT}>.*)", pieces[words - 1]


def _beginning(words: str) -> str:
    """Any beginning of fixed words, of a few characters at least."""
    pattern = ""
    for character in reversed(words[_FEWEST_CHARACTERS:]):
        pattern = f"(?:{re.escape(character)}{pattern})?"
    return re.escape(words[:_FEWEST_CHARACTERS]) + pattern
