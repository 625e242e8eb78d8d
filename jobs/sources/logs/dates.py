"""The dates of a file's lines; other lines of the file complete an incomplete date.

`FileDates` is determined before a file is read: the order of day and month that most dates fit, and
whether a date depends on the previous lines (a time of day alone, no year).  `LineDates` follows
the lines of one source, over midnight and New Year's Eve.  A line never gets another line's time: a
line that cannot be dated has a reason instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from coordinator_core.log_lines.calendar import DAY_MS, date_of
from coordinator_core.log_lines.dates import Orders, Stamp, orders_of, stamps_in
from jobs.console.errors import UsageError
from jobs.sources.logs.clock import WallClock
from jobs.sources.logs.layouts import PLAIN_HEAD

NO_DATE = "the line has no date"
_HEAD_LENGTH = 200
_SAMPLED_LINES = 400
_MAY_BE_STAMP = re.compile(
    rb"\d:\d\d(?::\d\d|[ \xe2\x80\xaf]{0,3}[AaPp]\.?[Mm])|\d[-/.]\d\d[ T]\d\d?:\d\d"
)
_SLASHED = re.compile(rb"(?<![\d/])(\d\d?)/(\d\d?)/(\d{4})[ T,]")
_AKKA = re.compile(rb"\[[A-Z]{4,5} ?\] \[\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\.\d{3}\] \[")
_MONTH_FIRST = "mdy"
# Kafka's Java clients print this time when they start.
_STARTED_AT = b"Kafka startTimeMs: "
_STARTED = re.compile(_STARTED_AT + rb"(\d{13})")
# The beginning of a line up to the hour: lines with the same beginning are from the same day.
_HOURS = re.compile(
    rb"^([^\n]{0,80}?(?<!\d)\d\d?):\d\d(?::\d\d|[ \xe2\x80\xaf]{0,3}[AaPp]\.?[Mm]"
    rb"|(?<=\d[-/.]\d\d[ T]\d\d:\d\d))",
    re.MULTILINE,
)
# Limit for times out of order: threads overlap, and an hour is repeated at the end of summer time.
_OVERLAP_MS = 61 * 60_000
_FARTHEST_OUTER_MS = 15 * 60_000
# largest difference between the local times of two clocks at the same moment
_FARTHEST_ZONE_MS = 15 * 3600_000


@dataclass(slots=True)
class FileDates:
    """What a file shows about incomplete dates.

    ``first_ms`` is a local time at or before the first line.  ``needs_context`` means that a
    line's date depends on the previous lines, so one task reads the whole file and every line.
    ``is_late`` means that a line does although the beginning of the file has none.
    """

    orders: Orders = field(default_factory=lambda: Orders({}))
    first_ms: int | None = None
    needs_context: bool = False
    is_late: bool = False

    def require_context(self) -> None:
        """Prepare to read the file again because of a late line."""
        self.needs_context, self.is_late = True, False


def dates_of(
    beginning: bytes, blocks: Callable[[], Iterable[bytes]], since_ms: int | None = None
) -> FileDates:
    """What the beginning of a file shows; if the beginning leaves an order open, all blocks are
    read.

    ``since_ms`` is a local time that no line precedes, for files that do not show the date.
    """
    lines, stamps = _sampled(beginning)
    orders = orders_of(stamps)
    open_shapes = {s.shape for s in stamps if s.lacks == "order"} - set(orders.by_shape)
    if open_shapes and any(map(_AKKA.search, lines)):
        orders = Orders(orders.by_shape | dict.fromkeys(open_shapes, _MONTH_FIRST))
    elif "4/" in open_shapes:
        orders = Orders(orders.by_shape | orders_of(_slashed(blocks())).by_shape)
    depends = _need_context(stamps)
    first_ms = _first_ms(stamps, orders) if depends else None
    return FileDates(orders, since_ms if first_ms is None else first_ms, depends)


def needs_context(beginning: bytes) -> bool:
    """Returns whether dates of a file depend on the lines before them."""
    return _need_context(_sampled(beginning)[1])


def _need_context(stamps: list[Stamp]) -> bool:
    return any(stamp.lacks in ("date", "year") for stamp in stamps)


def _sampled(beginning: bytes) -> tuple[list[bytes], list[Stamp]]:
    """The first lines, and the dates at their beginnings."""
    lines = list(islice(_lines(beginning), _SAMPLED_LINES))
    others = [line for line in lines if not PLAIN_HEAD.match(line)]
    # Dates in Kafka's own layout matter only if other dates are incomplete.
    for sample in (others, lines):
        stamps = [stamp for line in sample if (stamp := head_stamp(line)) is not None]
        if all(stamp.lacks == "" for stamp in stamps):
            break
    return lines, stamps


def head_stamp(line: bytes) -> Stamp | None:
    """The first date or time of a line's beginning."""
    if not _MAY_BE_STAMP.search(line, 0, _HEAD_LENGTH):
        return None
    stamps = stamps_in(line[:_HEAD_LENGTH].decode("utf-8", "replace"))
    return next((stamp for stamp in stamps if not stamp.is_number), None)


def _lines(text: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield text[at : min(end, at + 2 * _HEAD_LENGTH)]
        at = end + 1


def _slashed(blocks: Iterable[bytes]) -> Iterator[Stamp]:
    """The different dates of a file with slashes, in their order."""
    seen: set[tuple[bytes, ...]] = set()
    for block in blocks:
        for match in _SLASHED.finditer(block):
            if match.groups() not in seen:
                seen.add(match.groups())
                parts = tuple(map(int, match.groups()))
                yield Stamp(
                    start=0, end=0, local_ms=None, lacks="order", day_ms=0, parts=parts, shape="4/"
                )


def _first_ms(stamps: list[Stamp], orders: Orders) -> int | None:
    """The local time of the first line, back from the first line with a complete date."""
    before: list[int] = []
    for stamp in stamps:
        local_ms = orders.local_ms(stamp) if stamp.lacks == "order" else stamp.local_ms
        if local_ms is not None:
            for day_ms in reversed(before):
                local_ms = _nearest_day(day_ms, local_ms, latest=True)
            return local_ms
        if stamp.lacks == "date":
            before.append(stamp.day_ms)
    return None


def _nearest_day(day_ms: int, near_ms: int, *, latest: bool = False) -> int:
    """A time of day shortly after a time, or (``latest``) shortly before it."""
    local_ms = near_ms // DAY_MS * DAY_MS + day_ms
    if latest:
        return local_ms - (DAY_MS if local_ms > near_ms + _OVERLAP_MS else 0)
    if local_ms < near_ms - _OVERLAP_MS:
        return local_ms + DAY_MS
    return local_ms - (DAY_MS if local_ms > near_ms + DAY_MS - _OVERLAP_MS else 0)


class LocalTime(NamedTuple):
    """A line's date: complete, or why not."""

    local_ms: int | None = None
    utc_offset_minutes: int | None = None
    reason: str | None = None


class LineDates:
    """The dates of one source's lines, in their order."""

    def __init__(self, file: FileDates, clock: WallClock) -> None:
        self._file = file
        self._clock = clock
        self._last_ms = file.first_ms  # local
        self._is_first = True
        self._hour = b""

    def observe_lines(self, text: bytes) -> None:
        """Observe lines that are not read, because their dates may be the dates of later lines."""
        at = 0
        for match in _HOURS.finditer(text):
            started = text.find(_STARTED_AT, at, match.start())
            if started >= 0:
                start = text.rfind(b"\n", 0, started) + 1
                self._observe(text[start : match.start()])
            at = match.start()
            if match[1] != self._hour:
                self._hour = match[1]
                self._observe(text[at : at + 2 * _HEAD_LENGTH])
        started = text.find(_STARTED_AT, at)
        if started >= 0:
            self._observe(text[text.rfind(b"\n", 0, started) + 1 :])

    def _observe(self, line: bytes) -> None:
        line = line[: line.find(b"\n")] if b"\n" in line else line
        stamp = head_stamp(line)
        started = _STARTED.search(line) if stamp is not None and stamp.lacks == "date" else None
        if stamp is not None and started is not None:
            self._last_ms = self._near_utc(stamp.day_ms, int(started[1]))
        elif stamp is not None:
            self.of(stamp, None)

    def of(self, stamp: Stamp | None, outer: Stamp | None) -> LocalTime:
        """The date of a line with this date; ``outer`` is another one, beside an incomplete one."""
        if stamp is None:
            return LocalTime(reason=NO_DATE)
        if stamp.zone is not None and not self._clock.is_named(stamp.zone, stamp.local_ms):
            return LocalTime(reason=f"time zone {stamp.zone} is not the time zone of the logs")
        local_ms, reason = self._complete(stamp)
        if local_ms is None and stamp.lacks == "order" and outer is not None:
            return self._in_order_of(stamp, outer)
        if stamp.lacks == "date":
            if outer is not None and (of_outer := self.of(outer, None)).local_ms is not None:
                return self._beside(stamp, of_outer)
            local_ms, reason = self._on_a_day(stamp)
        if local_ms is None:
            return LocalTime(reason=reason)
        self._is_first = False
        offset_minutes = stamp.utc_offset_minutes
        if offset_minutes is None:
            self._last_ms = local_ms
        elif self._file.needs_context:
            self._last_ms = self._clock.local_ms(local_ms - offset_minutes * 60_000)
        return LocalTime(local_ms, offset_minutes)

    def _complete(self, stamp: Stamp) -> tuple[int | None, str | None]:
        match stamp.lacks:
            case "":
                return stamp.local_ms, None
            case "order":
                return self._in_order(stamp)
            case "year":
                return self._in_a_year(stamp)
            case _:
                return None, "the date does not exist or has no year"

    def _in_order(self, stamp: Stamp) -> tuple[int | None, str | None]:
        local_ms = self._file.orders.local_ms(stamp)
        if local_ms is None and self._file.first_ms is not None:
            readings = filter(None, map(stamp.read_as, stamp.orders))
            local_ms = self._nearest(readings)
        if local_ms is not None:
            return local_ms, None
        return None, _ambiguous(stamp)

    def _in_order_of(self, stamp: Stamp, outer: Stamp) -> LocalTime:
        """A date in the order in which it is near another date of the line."""
        other = self.of(outer, None)
        if other.local_ms is None:
            return other
        readings = filter(None, map(stamp.read_as, stamp.orders))
        near = [ms for ms in readings if abs(ms - other.local_ms) <= _FARTHEST_ZONE_MS]
        return LocalTime(near[0], stamp.utc_offset_minutes) if len(near) == 1 else other

    def _in_a_year(self, stamp: Stamp) -> tuple[int | None, str | None]:
        if self._last_ms is None:
            return None, "no year in the date: give --log-date"
        order = self._file.orders.order_of(stamp)
        if order is None:
            return None, _ambiguous(stamp)
        year, _, _ = date_of(self._last_ms)
        readings = (stamp.read_as(order, each) for each in range(year - 1, year + 5))
        return self._nearest(filter(None, readings)), None

    def _nearest(self, readings: Iterable[int]) -> int | None:
        """The reading nearest to the previous line; the first line is not before ``first_ms``."""
        near = self._last_ms if self._last_ms is not None else self._file.first_ms
        assert near is not None
        possible = (ms for ms in readings if not self._is_first or ms > near - DAY_MS)
        return min(possible, key=lambda ms: abs(ms - near), default=None)

    def _on_a_day(self, stamp: Stamp) -> tuple[int | None, str | None]:
        self._file.is_late = self._file.is_late or not self._file.needs_context
        if self._last_ms is None or not self._file.needs_context:
            return (
                None,
                "neither the line nor a previous line has a date, only a time: give --log-date",
            )
        if self._is_first and self._file.first_ms is not None:
            first = self._file.first_ms // DAY_MS * DAY_MS + stamp.day_ms
            return first + (DAY_MS if first < self._file.first_ms else 0), None
        return _nearest_day(stamp.day_ms, self._last_ms), None

    def _beside(self, stamp: Stamp, outer: LocalTime) -> LocalTime:
        """A time of day near a container's time, or that time if they are far apart."""
        local_ms, offset_minutes, _ = outer
        assert local_ms is not None
        if offset_minutes is None:
            own_ms = _near(stamp.day_ms, local_ms)
            away_ms = own_ms - local_ms
        else:
            utc_ms = local_ms - offset_minutes * 60_000
            own_ms = self._near_utc(stamp.day_ms, utc_ms)
            away_ms = self._clock.likely_utc_ms(own_ms) - utc_ms
        return outer if abs(away_ms) > _FARTHEST_OUTER_MS else LocalTime(own_ms)

    def _near_utc(self, day_ms: int, utc_ms: int) -> int:
        """A time of day in the logs' zone near a time in UTC."""
        return _near(day_ms, self._clock.local_ms(utc_ms))


def _ambiguous(stamp: Stamp) -> str:
    numbers = stamp.shape[-1].join(f"{part:02}" for part in stamp.parts)
    return f"day and month of {numbers} are ambiguous: give --log-date"


def _near(day_ms: int, near_ms: int) -> int:
    """A time of day less than half a day before or after a time."""
    days = (near_ms // DAY_MS + number for number in (-1, 0, 1))
    return min((day * DAY_MS + day_ms for day in days), key=lambda ms: abs(ms - near_ms))


def since_ms_of_option(text: str | None) -> int | None:
    """Local ms of `--log-date`: a date, or a date and a time. Raises UsageError."""
    if text is None:
        return None
    times = ("", ":00", " 00:00:00")  # The seconds, the minutes or the time of day may be missing.
    stamp = next((stamp for time in times for stamp in stamps_in(text + time)), None)
    if stamp is None or stamp.local_ms is None:
        example = "2024-05-01 or 2024-05-01T10:00"
        raise UsageError(f"--log-date {text}: expected a date, e.g. {example}")
    return stamp.local_ms
