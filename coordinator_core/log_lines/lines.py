"""Line -> `LogLine`: a coordinator's message wherever it stands, and the text around it.

The message is found first: by the coordinator's prefix, or by the first words of a wording beside
the name of a coordinator's logger.  Date, level and logger are read from the text to its left and
right (module heads), so a layout needs no pattern of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from coordinator_core.log_lines.calendar import day_ms
from coordinator_core.log_lines.dates import Stamp, stamps_in
from coordinator_core.log_lines.endings import (
    Ending,
    endings,
    is_class,
    opens_quote,
    without_broken_logger,
)
from coordinator_core.log_lines.heads import Head, level_in, read_head
from coordinator_core.log_lines.literals import any_of, spans_in
from coordinator_core.log_lines.messages import (
    PREFIX,
    ParsedEvent,
    Prefix,
    parse_bare_message,
    parse_prefix,
    prefix_of,
)
from coordinator_core.log_lines.reasons import UNKNOWN_CAUSE
from coordinator_core.log_lines.wordings import line_wordings

_PLAIN = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
)
_COORDINATOR_LOGGER = re.compile(
    r"(?:.{0,300}\.)?coordinator\.(?:group\.[\w.$]+|common\.runtime\.[\w.$]+"
    r"|(?:Group|Member|Delayed|Offset)\w*\$?)"
)
# Layouts shorten the packages of a name, or leave them out.
_SHORT_LOGGER = re.compile(
    r"(?<![\w.$/])(?:[a-z]\w{0,20}\.){0,8}"
    r"(?:GroupCoordinator|GroupMetadataManager|GroupMetadata|ClassicGroup|GenericGroup)\$?"
    r"(?![\w/]|\.\w)"
)
_LOGGER_FIRST = re.compile(r"(?:\[[^\]\s]{0,80}\]\s*){0,3}\[?([\w.$]+)\]?(?::\d+)?\s*[\]:|-]?\s")
_AFTER_HEAD = re.compile(r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\]?:?[\s|]+(?=\S)")
_FRAMES, _BAR = "│┃║", "|"
_OTHER_COORDINATOR = ("[ShareCoordinator", "[share-coordinator")
_MOST_STARTS = 5
_FARTHEST_START = 2000
_SHORTEST_START = 6
_HEAD_LENGTH = 200


class LogLine(NamedTuple):
    """One line of a coordinator's logger.

    ``local_ms`` is the printed date in ms since 1970-01-01T00:00 of the same, unnamed zone, or None
    without a complete date.  ``utc_offset_minutes`` is the offset of the printed time zone, if any
    (container wrappers print ``Z``).  ``event`` is None if no wording fits the message: quarantine
    it.  ``stamp`` is the date or time as printed, or None in Kafka's own layout, whose dates are
    complete.  ``outer`` is another date in the line, if ``stamp`` is not complete.
    """

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    logger: str | None
    broker_id: int | None
    topic_partition: str | None  # partition in the prefix or in the message
    message: str  # message of a line without prefix and logger
    event: ParsedEvent | None
    stamp: Stamp | None = None
    outer: Stamp | None = None


class LineHead(NamedTuple):
    """Date, zone and level of a line; ``end`` is the position at which the text after them
    begins.
    """

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    end: int


def parse_head(line: str) -> LineHead | None:
    """The first date of a line's beginning and its level, or None if the line has neither."""
    match = _PLAIN.match(line)
    if match:
        return LineHead(_plain_ms(match), None, match[3], match.end())
    beginning = line[:_HEAD_LENGTH]
    stamp = next((each for each in stamps_in(beginning) if each.lacks != "date"), None)
    level = level_in(beginning)
    if stamp is None:
        return None if level is None else LineHead(None, None, level, 0)
    return LineHead(stamp.local_ms, stamp.utc_offset_minutes, level, stamp.end)


@lru_cache(maxsize=1024)
def is_coordinator_logger(logger: str) -> bool:
    """Returns whether this is the full name of a logger of the group coordinator."""
    return _COORDINATOR_LOGGER.fullmatch(logger) is not None


def unframed(line: str) -> str:
    """A line without the frame of a terminal or table around it."""
    text = line.rstrip()
    if text.endswith(tuple(_FRAMES)):
        text = text[:-1].rstrip()
        inner = text.lstrip()
        return inner[1:].lstrip() if inner.startswith(tuple(_FRAMES)) else text
    if text.endswith(f" {_BAR}"):
        text = text[:-1].rstrip()
        return text[1:].lstrip() if text.startswith(f"{_BAR} ") else text
    return line


def parse_line(line: str) -> LogLine | None:
    """Parse a line without its line end; returns None if it is not a coordinator's (another logger,
    or the continuation of a line).
    """
    plain = _PLAIN.match(line)
    if plain is not None and line.endswith(")"):
        parsed, is_certain = _in_kafkas_layout(line, plain)
        if is_certain:
            return parsed
    line = unframed(line)
    match = PREFIX.search(line)
    if match is not None:
        return _with_prefix(line, match)
    return None if any(name in line for name in _OTHER_COORDINATOR) else _without_prefix(line)


def _in_kafkas_layout(line: str, plain: re.Match[str]) -> tuple[LogLine | None, bool]:
    """The parsed line of `[date] LEVEL message (logger)`, and whether it is certain.

    Most lines have this layout, so it has a faster path.
    """
    message, _, logger = line[plain.end() : -1].rpartition(" (")
    if not is_class(logger):
        return None, False
    prefix = parse_prefix(message)
    if prefix is None:
        if not is_coordinator_logger(logger) or message.startswith(_OTHER_COORDINATOR):
            return None, True
        bare = message.rstrip()
    else:
        bare = message[prefix.end :].rstrip()
    event = parse_bare_message(bare, may_be_truncated=False)
    if event is None:
        return None, False
    broker_id, topic_partition = (
        (prefix.broker_id, prefix.topic_partition) if prefix else (None, None)
    )
    return (
        LogLine(
            local_ms=_plain_ms(plain),
            utc_offset_minutes=None,
            level=plain[3],
            logger=logger,
            broker_id=broker_id,
            topic_partition=topic_partition or event.topic_partition,
            message=bare,
            event=event,
        ),
        True,
    )


class _Message(NamedTuple):
    """A message with its ending; the event is None if no wording fits."""

    ending: Ending
    event: ParsedEvent | None


def _with_prefix(line: str, match: re.Match[str]) -> LogLine:
    before = line[: match.start()]
    message = _read(line[match.end() :], is_quoted=opens_quote(before), may_be_truncated=True)
    return _line(message, read_head(before, message.ending.behind), prefix_of(match))


def _without_prefix(line: str) -> LogLine | None:
    """A line without prefix names a coordinator's logger, or its message follows its level."""
    unknown = None
    for start in _starts(line):
        before = line[:start]
        message = _read(line[start:], is_quoted=opens_quote(before), may_be_truncated=False)
        head = read_head(before, message.ending.behind)
        logger = message.ending.logger or head.logger
        is_coordinators = _is_coordinators(logger, before)
        if message.event is None:
            is_coordinators = is_coordinators or _begins_with_logger(line[start:])
            unknown = unknown or (_line(message, head, None) if is_coordinators else None)
        elif is_coordinators or (logger is None and not _is_vague(message.event)):
            return _line(message, head, None)
    return unknown


def _is_coordinators(logger: str | None, before: str) -> bool:
    if logger is None:
        return _SHORT_LOGGER.search(before[-_HEAD_LENGTH:]) is not None
    return is_coordinator_logger(logger) or _SHORT_LOGGER.fullmatch(logger) is not None


def _begins_with_logger(rest: str) -> bool:
    logger = _LOGGER_FIRST.match(rest)
    return logger is not None and _is_coordinators(logger[1], "")


def _starts(line: str) -> Iterator[int]:
    """The positions at which the message may begin: at the first words of a wording, or after the
    level.
    """
    after_head = _AFTER_HEAD.search(line, 0, _FARTHEST_START)
    starts = [after_head.end()] if after_head else []
    for start, _ in spans_in(_beginnings(), line[:_FARTHEST_START]):
        if start not in starts and not line[start - 1 : start].isalnum():
            starts.append(start)
        if len(starts) > _MOST_STARTS:
            break
    return iter(starts)


@cache
def _beginnings() -> Any:
    """Finds the first words of all wordings."""
    words = {wording.template.pieces[0] for wording in line_wordings()}
    return any_of(text for text in words if len(text) >= _SHORTEST_START)


def _read(rest: str, *, is_quoted: bool, may_be_truncated: bool) -> _Message:
    """The message at the beginning of a text, at the surest of its endings that a wording fits."""
    first: Ending | None = None
    vague: _Message | None = None
    for ending in endings(rest, is_quoted=is_quoted):
        first = first or ending
        event = parse_bare_message(ending.message, may_be_truncated=False)
        if event is not None and event.cause != UNKNOWN_CAUSE:
            return _Message(ending, event)
        # The next ending may cut off the text behind the reason.
        vague = vague or (_Message(ending, event) if event is not None else None)
    if vague is not None:
        return vague
    assert first is not None  # The whole text is an ending.
    if first.logger is not None:
        return _Message(first, None)
    message = without_broken_logger(first.message) or first.message
    event = parse_bare_message(message, may_be_truncated=may_be_truncated)
    if event is None:
        message, _, behind = message.partition(" | ")
        return _Message(Ending(message.rstrip(), None, behind), None)
    return _Message(Ending(message, None, ""), event)


def _line(message: _Message, head: Head, prefix: Prefix | None) -> LogLine:
    event = message.event
    of_event = event.topic_partition if event else None
    return LogLine(
        local_ms=head.stamp.local_ms if head.stamp else None,
        utc_offset_minutes=head.stamp.utc_offset_minutes if head.stamp else None,
        level=head.level,
        logger=message.ending.logger or head.logger,
        broker_id=prefix.broker_id if prefix else None,
        topic_partition=(prefix and prefix.topic_partition) or of_event,
        message=message.ending.message,
        event=event,
        stamp=head.stamp,
        outer=head.outer,
    )


def _is_vague(event: ParsedEvent) -> bool:
    """Without prefix and logger, `Starting up.` may be of any class."""
    return event.event == "OTHER"


def _plain_ms(plain: re.Match[str]) -> int | None:
    seconds_ms = _seconds_ms(plain[1])
    return None if seconds_ms is None else seconds_ms + int(plain[2])


@lru_cache(maxsize=256)
def _seconds_ms(date: str) -> int | None:
    """Seconds of ``2024-05-01 10:00:00`` in ms, or None (month 13).

    The result is cached, because neighboring lines share it.
    """
    year, month, day_of_month = map(int, date[:10].split("-"))
    hour, minute, second = map(int, date[11:].split(":"))
    if hour > 23 or minute > 59 or second > 60:  # second 60 is a leap second
        return None
    try:
        midnight = day_ms(year, month, day_of_month)
    except ValueError:
        return None
    return midnight + ((hour * 60 + minute) * 60 + second) * 1000
