"""A sighting of a log end offset, and the values that it is read from."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from coordinator_core.log_lines.dates import stamps_in
from jobs.sources.logs.clock import WallClock
from jobs.sources.logs.dates import FileDates, LineDates

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MOST_PARTITION, _MOST_OFFSET = 2**31 - 1, 2**63 - 1
_EXACT = 2**53  # a larger offset may not be exact as a float
_DIGITS = re.compile(r"-?\d{1,30}")
# Limits in seconds: the years 2015 to 2100, as for dates in logs.  The unit of a number follows
# from its size.
_FIRST_S, _LAST_S = 1_420_070_400, 4_133_980_800
_UNITS_PER_S = (1, 1000, 1_000_000, 1_000_000_000)
NO_TIME = "no time: give output with a time, or print `date -u` before each output"
_SHOWN = 60


class NoSighting(Exception):
    """The reason why a value or a line that should be a sighting is unreadable."""


class Sighting(NamedTuple):
    """``time_ms`` counts from 1970, UTC. ``cluster`` is the cluster's name, if the
    monitor has one.
    """

    topic: str
    partition: int
    offset: int
    time_ms: int
    cluster: str | None = None


Reading = Sighting | NoSighting | None
"""A sighting, or the reason why a value is unreadable; None for a value of another kind, such
as a group's lag."""


def topic_of(value: Any) -> str:
    if isinstance(value, str) and _TOPIC.fullmatch(value):
        return value
    raise NoSighting(f"{_shown(value)} is not a topic name")


def partition_of(value: Any) -> int:
    number = _integer(value)
    if number is None or not 0 <= number <= _MOST_PARTITION:
        raise NoSighting(f"{_shown(value)} is not a partition")
    return number


def offset_of(value: Any) -> int:
    """An integer, or text of a number as Prometheus prints it: 2.04952001e+08."""
    number = _integer(value)
    if number is None or not 0 <= number <= _MOST_OFFSET:
        raise NoSighting(f"{_shown(value)} is not a log end offset")
    return number


class Times:
    """Times of a file, in ms since 1970."""

    def __init__(self, timezone: str) -> None:
        """``timezone``: IANA name of the zone of dates that name none."""
        self._clock = WallClock(timezone)
        self._dates = LineDates(FileDates(), self._clock)

    def of_value(self, value: Any) -> int:
        """The time in a number (s, ms, us or ns since 1970), or in text with a number or a date."""
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if isinstance(value, str):
            try:
                number = float(value) if "." in value else int(value)
            except ValueError:
                time_ms = self.in_text(value)
                if time_ms is None:
                    raise NoSighting(f"{_shown(value)} is not a complete date and time") from None
                return time_ms
        if number is not None:
            for per_s in _UNITS_PER_S:
                if _FIRST_S * per_s <= number < _LAST_S * per_s:
                    return round(number * 1000 / per_s)
        raise NoSighting(f"{_shown(value)} is not a time between 2015 and 2100")

    def in_text(self, text: str, *, at_end: bool = False) -> int | None:
        """The time of the last complete date in a text, or None without one.  ``at_end`` accepts
        only a date that ends the text.
        """
        for stamp in reversed(stamps_in(text)):
            if at_end and stamp.end != len(text):
                return None
            local = self._dates.of(stamp, None) if stamp.lacks == "" else None
            if local is not None and local.local_ms is not None:
                if local.utc_offset_minutes is None:
                    return self._clock.likely_utc_ms(local.local_ms)
                return local.local_ms - local.utc_offset_minutes * 60_000
        return None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    is_exact = number.is_integer() and abs(number) <= _EXACT
    return int(number) if is_exact else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
