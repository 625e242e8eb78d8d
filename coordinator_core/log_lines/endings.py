"""The end of a message: before a logger in brackets, a closing quote, or text that was added.

A layout, an export or a person may add anything to the right of a message.  `endings` lists the
places where the message may end, the most likely first; the caller takes the first place that
fits a wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# The bracket comes first in the pattern, because the search is then fast.
_IN_BRACKETS = re.compile(
    r"\((?<=\s\()(?![\w$]+\.(?:scala|java|kt)[:)])([\w$]+(?:\.[\w$]+)+)(?::\d+)?\)"
)
_OF_KAFKA = ("kafka.", "org.apache.kafka.", "k.", "o.a.k.")
_SOURCE_LINE = re.compile(r"\([\w$]+\.(?:scala|java|kt):\d+\)")
_SOURCES = (".scala:", ".java:", ".kt:")
_KAFKAS = ("kafka.coordinator.", "org.apache.kafka.")
# No message contains these texts.
_NEVER_WITHIN = re.compile(
    r"\t|<br\b|\\[nt](?![\w\\])|[│┃║]|\|\s*$|\s\(x\d{1,9}\)\s*$"
    r"|\s\|\s+[\w$]{1,80}(?:\.[\w$]{1,80}){1,20}(?:\s\([\w.]+:\d+\))?\s*$"
    r"|(?<! ) {3,}(?=\S)|\s\[(?:aiokafka|kafka|org\.apache\.kafka)\.[\w.$]+\]|\]\]>"
)
_BEGIN_NEVER_WITHIN = (  # ASCII characters with which a match can begin
    *("|", "\t", "\\", "<br", "(x", "   ", "[aiokafka.", "[kafka.", "[org.apache.", "]]>"),
)
_MAY_FOLLOW = re.compile(
    r"""["'`;>]|,(?=\s?["\d{]|$)|\s\|\s|\s[\w.@-]+=|\s\{|\s?\(x\d+\)|\s\[|\s(?:--|//|<-|<=|\#)|\]\]\s*$"""
)
_MOST_PLACES = 24


class Ending(NamedTuple):
    """A message, its logger if it follows the message, and the text behind them."""

    message: str
    logger: str | None
    behind: str


def endings(rest: str, *, is_quoted: bool = False) -> Iterator[Ending]:
    """The text from a message's first character on, cut where the message may end.

    ``is_quoted`` means that the message is within double quotes that opened before it.
    """
    if is_quoted:
        inner, behind = _up_to_quote(rest)
        for ending in _unquoted_endings(inner):
            yield ending._replace(behind=ending.behind + behind)
    yield from _unquoted_endings(rest)


def _unquoted_endings(rest: str) -> Iterator[Ending]:
    rest = rest.rstrip()
    at_end = _ending_of_kafka(rest)
    if at_end is not None:
        yield at_end
    places = list(_IN_BRACKETS.finditer(rest))[-3:][::-1]
    if at_end is not None:
        del places[0]
    for match in sorted(places, key=lambda match: not match[1].startswith(_OF_KAFKA)):
        yield Ending(rest[: match.start()].rstrip(), match[1], rest[match.end() :])
    source_line = _SOURCE_LINE.search(rest) if _has_any(rest, _SOURCES) else None
    if source_line is not None:
        yield Ending(rest[: source_line.start()].rstrip(), None, rest[source_line.end() :])
    may_be_cut = not rest.isascii() or _has_any(rest, _BEGIN_NEVER_WITHIN)
    cut = _NEVER_WITHIN.search(rest) if may_be_cut else None
    if cut is not None:
        yield Ending(rest[: cut.start()].rstrip(), None, rest[cut.start() :])
        rest = rest[: cut.start()].rstrip()
    yield Ending(rest, None, "")
    for match in list(_MAY_FOLLOW.finditer(rest))[-_MOST_PLACES:][::-1]:
        yield Ending(rest[: match.start()].rstrip(), None, rest[match.start() :])


def _has_any(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


def _ending_of_kafka(rest: str) -> Ending | None:
    """The ending before a logger of Kafka at the end of a text: that of most lines."""
    opening = rest.rfind(" (")
    if opening < 0 or not rest.endswith(")"):
        return None
    logger = _logger_of_kafka(rest[opening + 2 : -1])
    return None if logger is None else Ending(rest[:opening].rstrip(), logger, "")


@lru_cache(maxsize=1024)
def _logger_of_kafka(name: str) -> str | None:
    match = _IN_BRACKETS.fullmatch(f" ({name})", 1)
    return match[1] if match is not None and match[1].startswith(_OF_KAFKA) else None


def without_broken_logger(rest: str) -> str | None:
    """A message before the beginning of a logger's name, or None if the line ends otherwise."""
    opening = rest.rfind(" (")
    broken = rest[opening + 2 :].rstrip(".…")
    if opening < 0 or not any(
        name.startswith(broken) or broken.startswith(name) for name in _KAFKAS
    ):
        return None
    return rest[:opening].rstrip() if re.fullmatch(r"[\w.$]*", broken) else None


def opens_quote(before: str) -> bool:
    """Returns whether a text ends within double quotes, escaped by backslashes or doubled."""
    if '"' not in before:
        return False
    return before.replace('\\"', "").replace('""', "").count('"') % 2 == 1


def _up_to_quote(rest: str) -> tuple[str, str]:
    """The text up to the closing quote, without escapes, and the text behind the quote."""
    at = 0
    while (at := rest.find('"', at)) >= 0:
        if rest[at - 1 : at] == "\\":
            at += 1
        elif rest[at + 1 : at + 2] == '"':
            at += 2
        else:
            return _unescaped(rest[:at]), rest[at + 1 :]
    return _unescaped(rest), ""


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace('""', '"')


@lru_cache(maxsize=1024)
def is_class(text: str) -> bool:
    """Returns whether this may be the full name of a class."""
    return "." in text and re.fullmatch(r"[\w.$]+", text) is not None
