"""Line -> envelope and event: date, level, prefix and logger round a coordinator's message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from coordinator_core.log_lines.calendar import day_ms
from coordinator_core.log_lines.messages import PREFIX, ParsedEvent, parse_message

_DATE = r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
_ZONE = r"(Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_DATED = re.compile(rf"(?<![\d-]){_DATE} ?{_ZONE}\]?[ :|-]+\[?{_LEVEL}\b\]?:?\s+")
_UNDATED = re.compile(rf"(?:^|[\s|])\[?{_LEVEL}\]?:?\s+(?=\S)")
_LOGGER_LAST = re.compile(r"\s\(([\w.$]+)(?::\d+)?\)\s*$")
_LOGGER_CUT = re.compile(r"\s\((?:kafka|org\.apache\.kafka)\.[\w.$]*$")
# Layouts that print the thread and the class before the message.
_LOGGER_FIRST = re.compile(r"(?:\[[\w.-]+\]\s+)?([a-zA-Z]\w*(?:\.[\w$]+)+)(?::\d+)?\s*[:-]\s+")
_COORDINATOR_LOGGER = re.compile(
    r"(?:.*\.)?coordinator\.(?:group\.[\w.$]+|common\.runtime\.[\w.$]+"
    r"|(?:Group|Member|Delayed|Offset)\w*\$?)"
)
_OTHER_COORDINATOR = ("[ShareCoordinator", "[share-coordinator")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a coordinator's logger.

    ``local_ms``: the printed date in ms since 1970-01-01T00:00 of the same, unnamed zone; None
    where the line has no date.  ``utc_offset_minutes``: the zone, where the date has one (container
    wrappers print ``Z``).  ``event`` is None where no wording knows the message: quarantine it.
    """

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    logger: str | None
    broker_id: int | None
    topic_partition: str | None  # from the prefix, else from the message
    message: str  # without prefix and logger
    event: ParsedEvent | None


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the message, and where the message begins."""

    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    end: int


def parse_head(line: str) -> Head | None:
    """Date and level of a line, leading text passed over; None where there is neither."""
    found = _DATED.search(line)
    if found:
        *date, zone, level = found.groups()
        return Head(_local_ms(date), _offset_minutes(zone), level, found.end())
    found = _UNDATED.search(line)
    if found:
        return Head(None, None, found[1], found.end())
    return None


def is_coordinator_logger(logger: str) -> bool:
    """Whether a logger's full name is one of the group coordinator's."""
    return _COORDINATOR_LOGGER.fullmatch(logger) is not None


def parse_line(line: str) -> LogLine | None:
    """A line without its end; None when it is not a coordinator's (other logger, continuation)."""
    head = parse_head(line) or _bare_head(line)
    if head is None:
        return None
    logger, message = _split_logger(line[head.end :])
    if (logger is not None and not is_coordinator_logger(logger)) or message.startswith(
        _OTHER_COORDINATOR
    ):
        return None
    prefix = PREFIX.match(message)
    event = parse_message(message)
    if logger is None and prefix is None and (event is None or event.event == "OTHER"):
        return None
    broker_id, partition = _prefix_parts(prefix)
    return LogLine(
        head.local_ms,
        head.utc_offset_minutes,
        head.level,
        logger,
        broker_id,
        partition or (event.topic_partition if event else None),
        message[prefix.end() :] if prefix else message,
        event,
    )


def _bare_head(line: str) -> Head | None:
    """A line with neither date nor level begins with the coordinator's prefix."""
    prefix = PREFIX.search(line)
    return Head(None, None, None, prefix.start()) if prefix else None


def _split_logger(rest: str) -> tuple[str | None, str]:
    last = _LOGGER_LAST.search(rest)
    if last and "." in last[1]:
        return last[1], rest[: last.start()].rstrip()
    first = _LOGGER_FIRST.match(rest)
    if first:
        return first[1], rest[first.end() :].rstrip()
    cut = _LOGGER_CUT.search(rest)
    return None, (rest[: cut.start()] if cut else rest).rstrip()


def _prefix_parts(prefix: re.Match[str] | None) -> tuple[int | None, str | None]:
    if prefix is None:
        return None, None
    broker_id = next((int(digits) for digits in prefix.group(1, 2, 5, 6) if digits), None)
    return broker_id, f"{prefix[3]}-{prefix[4]}" if prefix[3] else None


def _local_ms(date: list[str | None]) -> int | None:
    year, month, day, hour, minute, second = (int(part or 0) for part in date[:6])
    fraction = (date[6] or "").ljust(3, "0")[:3]
    try:
        midnight = day_ms(year, month, day)
    except ValueError:
        return None
    return midnight + ((hour * 60 + minute) * 60 + second) * 1000 + int(fraction)


def _offset_minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return -minutes if zone[0] == "-" else minutes
