"""Line -> `LogLine`: date, level, prefix and logger around a coordinator's message."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from coordinator_core.log_lines.calendar import day_ms
from coordinator_core.log_lines.messages import (
    PREFIX,
    ParsedEvent,
    parse_bare_message,
    parse_prefix,
    prefix_of,
)

_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d"
_ZONE = r"(Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_PLAIN = re.compile(rf"\[({_DAY} {_TIME}),(\d{{3}})\] {_LEVEL} ")
_DATE = re.compile(rf"(?<![\d-])({_DAY})[ T]({_TIME})(?:[.,](\d{{1,9}}))? ?{_ZONE}")
_DATED = re.compile(
    rf"{_DATE.pattern}\]?(?:[ :|-]|std(?:out|err) [FP] |\[(?!\d{{4}}-)[^\]]*\] )+"
    rf"\[?{_LEVEL}\b\]?:?\s+"
)
_UNDATED = re.compile(rf"(?:^|[\s|])\[?{_LEVEL}\]?:?\s+(?=\S)")
# Some layouts append the line number, or the thread.
_LOGGER_LAST = re.compile(r"\s\(([\w.$]+)(?::\d+)?\)(?:\s*\[[^\]]*\])?\s*$")
_LOGGER_TRUNCATED = re.compile(r"\s\((?:kafka|org\.apache\.kafka)\.[\w.$]*$")
# Layouts that print the thread and the class before the message.
_LOGGER_FIRST = re.compile(r"(?:\[[\w.-]+\]\s+)?([a-zA-Z]\w*(?:\.[\w$]+)+)(?::\d+)?\s*[:-]\s+")
_COORDINATOR_LOGGER = re.compile(
    r"(?:.*\.)?coordinator\.(?:group\.[\w.$]+|common\.runtime\.[\w.$]+"
    r"|(?:Group|Member|Delayed|Offset)\w*\$?)"
)
# Columns between bars: `date | INFO | [thread] | message | logger (Logging.scala:68)`.
_BAR = " | "
_SOURCE_LINE = re.compile(r"\s*\([\w$]+\.(?:scala|java|kt):\d+\)$")
_LEADING_COLUMN = re.compile(r"\s*(?:\[[^\]]*\]|[\w.$#-]+)\s*")  # a thread or a class
_FRAME = re.compile(r"^\s*[│┃║]\s*|\s*[│┃║]\s*$|^\|\s+(?=.*\s\|$)|(?<=.)\s+\|$")
_FRAME_ENDS = ("│", "┃", "║", "|")
_FARTHEST_PREFIX = 200
_OTHER_COORDINATOR = ("[ShareCoordinator", "[share-coordinator")


class LogLine(NamedTuple):
    """One line of a coordinator's logger.

    ``local_ms``: the printed date in ms since 1970-01-01T00:00 of the same, unnamed zone; None
    without a date.  ``utc_offset_minutes``: the printed zone, if any (container wrappers print
    ``Z``).  ``event`` is None if no wording fits the message: quarantine it.
    """

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    logger: str | None
    broker_id: int | None
    topic_partition: str | None  # from the prefix, else from the message
    message: str  # without prefix and logger
    event: ParsedEvent | None


class LineHead(NamedTuple):
    """Date, zone and level of a line; ``end``: where the message begins."""

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    end: int


def parse_head(line: str) -> LineHead | None:
    """Date and level of a line, skipping text before them; None if the line has neither."""
    match = _PLAIN.match(line)
    if match:
        date, fraction, level = match.groups()
        seconds_ms = _seconds_ms(date)
        local_ms = None if seconds_ms is None else seconds_ms + int(fraction)
        return LineHead(local_ms, None, level, match.end())
    match = _DATED.search(line)
    if match:
        day, time, fraction, zone, level = match.groups()
        local_ms = _local_ms(f"{day} {time}", fraction)
        return LineHead(local_ms, _offset_minutes(zone), level, match.end())
    match = _UNDATED.search(line)
    if match:
        return LineHead(None, None, match[1], match.end())
    return None


@lru_cache(maxsize=1024)
def is_coordinator_logger(logger: str) -> bool:
    """Whether this is the full name of a logger of the group coordinator."""
    return _COORDINATOR_LOGGER.fullmatch(logger) is not None


def unframed(line: str) -> str:
    """A line without the frame of a terminal or table around it."""
    return _FRAME.sub("", line) if line.rstrip().endswith(_FRAME_ENDS) else line


def parse_line(line: str) -> LogLine | None:
    """Parse a line without its line end; None if it is not a coordinator's (another logger, or the
    continuation of a line).
    """
    line = unframed(line)
    head = parse_head(line) or _bare_head(line)
    if head is None:
        return None
    logger, message = split_logger(line[head.end :])
    prefix = parse_prefix(message)
    if prefix is None and logger is not None and not is_coordinator_logger(logger):
        return None
    bare = message[prefix.end :] if prefix else message
    may_be_truncated = logger is None and prefix is not None
    event = parse_bare_message(bare, may_be_truncated=may_be_truncated)
    if event is None and prefix is None:
        prefix = prefix_of(PREFIX.search(message[:_FARTHEST_PREFIX]))  # after a thread or a class
        if prefix is not None:
            bare = message[prefix.end :]
            event = parse_bare_message(bare, may_be_truncated=True)
    if _is_another_coordinators(message) or (
        logger is None and prefix is None and _is_vague(event)
    ):
        return None
    return LogLine(
        head.local_ms,
        head.utc_offset_minutes,
        head.level,
        logger,
        prefix.broker_id if prefix else None,
        (prefix and prefix.topic_partition) or (event.topic_partition if event else None),
        bare,
        event,
    )


def _is_another_coordinators(message: str) -> bool:
    """The share coordinator logs with the runtime classes of the group coordinator."""
    return message.startswith(_OTHER_COORDINATOR)


def _is_vague(event: ParsedEvent | None) -> bool:
    """Without prefix and logger, `Starting up.` may be of any class."""
    return event is None or event.event == "OTHER"


def _bare_head(line: str) -> LineHead | None:
    """A line without a level must have the coordinator's prefix; a date may precede the prefix."""
    prefix = PREFIX.search(line)
    if prefix is None:
        return None
    dated = _DATE.search(line[: prefix.start()])
    if dated is None:
        return LineHead(None, None, None, prefix.start())
    day, time, fraction, zone = dated.groups()
    local_ms = _local_ms(f"{day} {time}", fraction)
    return LineHead(local_ms, _offset_minutes(zone), None, prefix.start())


def split_logger(rest: str) -> tuple[str | None, str]:
    """The logger, if the line names it, and the message."""
    if rest.startswith("| "):
        return _split_columns(rest[2:])
    rest = _SOURCE_LINE.sub("", rest) if rest.endswith(")") else rest
    if rest.endswith(")"):  # Kafka's default layout
        message, _, logger = rest[:-1].rpartition(" (")
        if _is_class(logger):
            return logger, message.rstrip()
    last = _LOGGER_LAST.search(rest)
    if last and "." in last[1]:
        return last[1], rest[: last.start()].rstrip()
    first = _LOGGER_FIRST.match(rest)
    if first:
        return first[1], rest[first.end() :].rstrip()
    truncated = _LOGGER_TRUNCATED.search(rest)
    return None, (rest[: truncated.start()] if truncated else rest).rstrip()


def _split_columns(rest: str) -> tuple[str | None, str]:
    """Of columns between bars; a group id in the message may have bars of its own."""
    columns = rest.strip().split(_BAR)
    start = _message_column(columns)
    end = len(columns)
    while end > start + 1 and _is_class(_without_source_line(columns[end - 1])):
        end -= 1
    around = map(_without_source_line, columns[:start] + columns[end:])
    logger = next((column for column in around if _is_class(column)), None)
    return logger, _BAR.join(columns[start:end]).strip()


def _message_column(columns: list[str]) -> int:
    """The first column with the coordinator's prefix, else the first behind thread and class."""
    for place, column in enumerate(columns):
        if PREFIX.match(column):
            return place
    last = len(columns) - 1
    behind = (n for n, column in enumerate(columns) if not _LEADING_COLUMN.fullmatch(column))
    return min(next(behind, last), last)


def _without_source_line(column: str) -> str:
    return _SOURCE_LINE.sub("", column.strip())


@lru_cache(maxsize=1024)
def _is_class(text: str) -> bool:
    return "." in text and re.fullmatch(r"[\w.$]+", text) is not None


def _local_ms(date: str, fraction: str | None) -> int | None:
    seconds_ms = _seconds_ms(date)
    return None if seconds_ms is None else seconds_ms + int((fraction or "0").ljust(3, "0")[:3])


@lru_cache(maxsize=256)
def _seconds_ms(date: str) -> int | None:
    """Of ``2024-05-01 10:00:00``, or None (month 13); cached, as neighboring lines share it."""
    year, month, day_of_month = map(int, date[:10].split("-"))
    hour, minute, second = map(int, date[11:].split(":"))
    if hour > 23 or minute > 59 or second > 60:  # 60: a leap second
        return None
    try:
        midnight = day_ms(year, month, day_of_month)
    except ValueError:
        return None
    return midnight + ((hour * 60 + minute) * 60 + second) * 1000


def _offset_minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return -minutes if zone[0] == "-" else minutes
