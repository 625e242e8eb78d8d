"""The wall clock of a log -> UTC.

A line without a zone has the broker's local time.  At the end of summer time an hour occurs twice,
and only the order of the file's lines shows from which of the two hours a line is.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from coordinator_core.log_lines.calendar import DAY_MS, printed
from jobs.lake.dates import LAST_TIME_MS

_STEP_BACK_MS = 30 * 60 * 1000
# Local times that a lake can store in any time zone.  For other local times the clock uses the
# offset of the nearest of these times.
_FIRST_LOCAL_MS, _LAST_LOCAL_MS = DAY_MS, LAST_TIME_MS - DAY_MS
_DATES = "1970-01-02 and 2261-12-30"


class WallClock:
    """A broker's local times -> UTC, in the order of one file."""

    def __init__(self, timezone: str) -> None:
        self._zone = ZoneInfo(timezone)
        self._offsets: dict[tuple[int, int], int] = {}
        self._latest_ms = -(1 << 62)
        self._second_pass = 0

    def utc_ms(self, local_ms: int) -> int:
        """UTC of a local time; see files.read_log for times that occur twice."""
        if local_ms < self._latest_ms - _STEP_BACK_MS:
            self._second_pass = 1
            self._latest_ms = local_ms
        self._latest_ms = max(self._latest_ms, local_ms)
        return local_ms - self._offset_ms(local_ms, self._second_pass)

    def likely_utc_ms(self, local_ms: int) -> int:
        """UTC of a local time, without regard to the lines before it."""
        return local_ms - self._offset_ms(local_ms, 0)

    def local_ms(self, utc_ms: int) -> int:
        """The local time of the clock at a time in UTC."""
        within = min(max(utc_ms, _FIRST_LOCAL_MS), _LAST_LOCAL_MS)
        offset = datetime.fromtimestamp(within // 1000, self._zone).utcoffset()
        assert offset is not None  # Every ZoneInfo has an offset.
        return utc_ms + int(offset.total_seconds() * 1000)

    def is_named(self, zone: str, local_ms: int | None) -> bool:
        """Returns whether the clock's zone has this abbreviation, at a local time if that is
        given.
        """
        if local_ms is not None and beyond_dates(local_ms) is not None:
            return False
        hours = (local_ms,) if local_ms is not None else (15 * DAY_MS, 196 * DAY_MS)
        moments = (
            datetime(1970, 1, 1, tzinfo=self._zone) + timedelta(milliseconds=ms) for ms in hours
        )
        return zone in {moment.replace(fold=fold).tzname() for moment in moments for fold in (0, 1)}

    def depends_on_order(self, local_ms: int) -> bool:
        """Returns whether the time occurs twice or not at all, so that earlier dates decide."""
        return self._offset_ms(local_ms, 0) != self._offset_ms(local_ms, 1)

    def _offset_ms(self, local_ms: int, fold: int) -> int:
        # Offsets of time zones are multiples of a quarter of an hour.
        quarter = local_ms // 900_000
        if (quarter, fold) not in self._offsets:
            self._offsets[quarter, fold] = self._look_up(quarter * 900_000, fold)
        return self._offsets[quarter, fold]

    def _look_up(self, local_ms: int, fold: int) -> int:
        within = min(max(local_ms, _FIRST_LOCAL_MS), _LAST_LOCAL_MS)
        local = datetime(1970, 1, 1, tzinfo=self._zone, fold=fold) + timedelta(milliseconds=within)
        offset = local.replace(fold=fold).utcoffset()
        assert offset is not None  # Every ZoneInfo has an offset.
        return int(offset.total_seconds() * 1000)


def beyond_dates(local_ms: int) -> str | None:
    """The reason why a line with this date is unreadable, or None if it is readable."""
    if _FIRST_LOCAL_MS <= local_ms <= _LAST_LOCAL_MS:
        return None
    return f"date {printed(local_ms)} is not between {_DATES}"
