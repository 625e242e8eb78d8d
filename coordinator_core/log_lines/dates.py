"""Dates and times in the text around a message, in any shape, read as far as they are unambiguous.

A printed date may lack the year (syslog), the date (a time of day alone), or the order of day and
month (05/01/2024); only other lines of the file can complete it.  `stamps_in` finds all dates of a
text.  `Orders` has the order that a file's dates show.  The caller supplies year and day.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.log_lines.calendar import DAY_MS, day_ms

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Most lines have one date, in this format.
_COMMON = re.compile(
    r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{3})\d{0,6})?"
    r"(Z\b|[+-]\d\d:?\d\d(?!\d))?"
)
_ANY = re.compile(r"\d:\d\d:\d\d|\d{10}|T\d{6}")
_MORE = re.compile(
    r"[\d:,.]| ?(?:[+-]\d|Z\b|UTC|GMT|[A-Z]{2,3}[SD]?T\b|MSK|[AaPp]\.?[Mm]\b)| 20\d\d\b"
)
# Offsets in minutes of abbreviations with a single offset.  CST, IST and BST stand for several
# offsets.
_ZONES = {
    **{"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "CET": 60, "CEST": 120, "EET": 120},
    **{"EEST": 180, "MSK": 180, "EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360},
    **{"PST": -480, "PDT": -420, "JST": 540, "KST": 540, "AEST": 600, "AEDT": 660, "NZST": 720},
}
_NAMED_MONTH = "(?:" + "|".join(month.capitalize() for month in _MONTHS) + r")[a-z]{0,6}\.?"
_HALF = r"(?=[ \u202f]?[AaPp]\.?[Mm]\b)"  # The seconds may be missing before AM and PM.
_STAMP = re.compile(
    rf"""
    (?: (?<!\d)
        (?: (?P<year>\d{{4}})(?P<dash>[-/.])(?P<month>\d\d?)(?P=dash)(?P<day>\d\d?)
          | (?<!\d[-/.])(?P<first>\d\d?)(?P<mark>[-/.])(?P<second_part>\d\d?)(?P=mark)
            (?P<last>\d{{4}}|\d\d)
          | (?P<packed>20\d{{6}})
          | (?<!\d[-/.])(?P<no_year>\d\d[-/.]\d\d)
          | (?P<number>\d\d?)[ /-](?P<name>{_NAMED_MONTH})[ /-](?P<number_year>\d{{4}})
        )
      | (?<![a-zA-Z])(?P<named>{_NAMED_MONTH})\ {{1,2}}(?P<named_day>\d\d?)
        (?:,?\ (?P<named_year>\d{{4}}))?
      | (?<!\w)[IWEF](?P<glog>\d{{4}})
    )
    (?: T | \ ?[ ,:@_|\t]{{1,2}}\ ? )
    (?P<time>\d\d?(?P<colon>:|(?<=T\d\d))\d\d(?:(?P=colon)\d\d|{_HALF}|(?![\d:])))
    (?: [.,](?P<fraction>\d{{1,9}})\d* | :(?P<milli>\d{{3}})(?!\d) )?
    (?: [ \u202f]?(?P<half>[AaPp])\.?[Mm]\b )?
    (?: \ ?(?P<offset>[+-]\d\d:?\d\d)(?!\d) | (?P<hours>[+-]\d\d)(?![\d:])
      | \ ?(?P<zone>(?:Z|UTC|GMT|[A-Z]{{2,3}}[SD]?T|MSK)\b)(?P<beyond>[+-]\d\d?(?::?\d\d)?)?
    )?
    (?: \ (?P<year_last>20\d\d)(?!\d) )?
  | (?<![\w.-])(?P<epoch>(?:1[4-9]|[23]\d)\d{{8}}(?:\d{{9}}|\d{{6}}|\d{{3}})?)
    (?:\.(?P<epoch_fraction>\d{{1,9}})\d*)?(?![\w-])(?!\.\d)
  | (?<!\d)(?P<clock>\d\d?:\d\d(?::\d\d|{_HALF}))
    (?: [.,](?P<clock_fraction>\d{{1,9}})\d* | :(?P<clock_milli>\d{{3}}) )?(?![:\d])
    (?: [ \u202f]?(?P<clock_half>[AaPp])\.?[Mm]\b )?
    (?P<clock_offset>Z\b|[+-]\d\d:?\d\d(?!\d))?
    """,
    re.VERBOSE,
)
# Orders in which two-digit day, month and year are tried; the usual order is first.
_WITH_YEAR = ("dmy", "mdy")
_WITH_SHORT_YEAR = ("ymd", "dmy", "mdy")
_WITHOUT_YEAR, _WITHOUT_YEAR_POINT = ("md", "dm"), ("dm", "md")
_LEAP_YEAR = 2024  # a leap year, because a date without a year may be 29 February
# Range of years: Kafka 0.9, the first version with this coordinator, was released in 2015.
_FIRST_YEAR, _LAST_YEAR = 2015, 2100
_MOST_DIFFERENT = 10_000  # number of different dates that are counted per file


class Stamp(NamedTuple):
    """A date or a time in a text, between ``start`` and ``end``.

    ``local_ms`` is ms since 1970-01-01T00:00 of the same, unnamed zone, or None if the date is not
    complete.  ``lacks`` say what is missing: "order", "year", "date", or "sense" (month 13).
    ``day_ms`` is ms since midnight.  ``parts`` are the printed numbers of the date, in the printed
    order if the order is unknown.  ``shape`` is equal for dates that are read in the same order.
    ``utc_offset_minutes`` have the offset of the printed zone.  ``zone`` is an ambiguous
    abbreviation.
    """

    start: int
    end: int
    local_ms: int | None
    lacks: str = ""
    day_ms: int = 0
    parts: tuple[int, ...] = ()
    shape: str = ""
    utc_offset_minutes: int | None = None
    zone: str | None = None
    is_number: bool = False

    def read_as(self, order: str, year: int = _LEAP_YEAR) -> int | None:
        """``local_ms`` with day, month and year in an order such as "dmy", or None if impossible.

        ``year`` is the year for a date without a year.
        """
        named = dict(zip(order, self.parts, strict=True))
        year = named.get("y", year)
        year += 2000 if year < 100 else 0
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            return None
        return _local_ms(year, named["m"], named["d"], self.day_ms)

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders in which an incomplete date may be read, the usual one first."""
        if len(self.parts) == 2:
            return _WITHOUT_YEAR_POINT if self.shape.endswith(".") else _WITHOUT_YEAR
        return _WITH_YEAR if self.parts[-1] > 99 else _WITH_SHORT_YEAR


def stamps_in(text: str) -> list[Stamp]:
    """All dates and times in a text, from left to right."""
    common = _COMMON.search(text)
    if common is not None and _is_only(text[: common.start()], text[common.end() :]):
        date, time, milli, zone = common.groups()
        seconds_ms = _seconds_ms(date, time)
        if seconds_ms is not None:
            offset = _offset_minutes(zone)
            local_ms = seconds_ms + int(milli or 0)
            return [Stamp(*common.span(), local_ms, utc_offset_minutes=offset)]
    return [stamp for match in _STAMP.finditer(text) if (stamp := _stamp(match)) is not None]


@lru_cache(maxsize=4096)
def _is_only(before: str, behind: str) -> bool:
    """Returns whether the date between two texts is complete and no other is in them; cached, as
    most lines of a logger differ in their date only.
    """
    return not (_MORE.match(behind) or _ANY.search(behind) or _ANY.search(before))


class Orders(NamedTuple):
    """The order in which a file's dates are read, by shape."""

    by_shape: dict[str, str]

    def local_ms(self, stamp: Stamp) -> int | None:
        """``local_ms`` of a date that lacks the order, or None if the file does not show it."""
        order = self.order_of(stamp)
        return None if order is None else stamp.read_as(order)

    def order_of(self, stamp: Stamp) -> str | None:
        """The order of a date's numbers, or None if the file does not show it."""
        return self.by_shape.get(stamp.shape) if stamp.shape else _WITHOUT_YEAR[0]


def orders_of(stamps: Iterable[Stamp]) -> Orders:
    """The order per shape in which most dates exist, decrease least often and span least time.

    ``stamps`` are dates in the order of the file.  A shape that fits two orders equally well is
    left out, unless one order is usual for it: day first with points and dashes, month first with
    dashes and without a year, and year first if day, month and year have two digits each (Spark).
    """
    by_shape: defaultdict[str, dict[tuple[int, ...], Stamp]] = defaultdict(dict)
    for stamp in stamps:
        seen = by_shape[stamp.shape]
        if stamp.lacks in ("order", "year") and stamp.shape and len(seen) < _MOST_DIFFERENT:
            seen.setdefault(stamp.parts, stamp)
    chosen = ((shape, _order_of(list(seen.values()))) for shape, seen in by_shape.items() if seen)
    return Orders({shape: order for shape, order in chosen if order is not None})


def _order_of(stamps: list[Stamp]) -> str | None:
    orders = stamps[0].orders
    ranked = sorted(orders, key=lambda order: _misfit(stamps, order))
    is_decided = _misfit(stamps, ranked[0]) < _misfit(stamps, ranked[1])
    is_same = all(stamp.parts[0] == stamp.parts[1] for stamp in stamps)
    if is_decided or is_same or stamps[0].shape[-1] in "-.":
        return ranked[0]
    return ranked[0] if ranked[0] == _WITH_SHORT_YEAR[0] else None


def _misfit(stamps: list[Stamp], order: str) -> tuple[int, int, int]:
    readings = [stamp.read_as(order) for stamp in stamps]
    existing = [day for day in readings if day is not None]
    falls = sum(after // DAY_MS < day // DAY_MS for day, after in pairwise(existing))
    span = (max(existing) - min(existing)) // DAY_MS if existing else 0
    return len(readings) - len(existing), min(falls, len(existing) - falls), span


def _stamp(match: re.Match[str]) -> Stamp | None:
    fields = match.groupdict()
    if fields["epoch"]:
        return _of_number(match, fields["epoch"], fields["epoch_fraction"])
    if fields["clock"]:
        since_midnight = _day_ms(
            fields["clock"], fields["clock_fraction"] or fields["clock_milli"], fields["clock_half"]
        )
        if since_midnight is None:
            return None
        offset = _offset_minutes(fields["clock_offset"])
        return Stamp(*match.span(), None, "date", since_midnight, utc_offset_minutes=offset)
    return _of_date(match, fields)


def _of_number(match: re.Match[str], digits: str, fraction: str | None) -> Stamp | None:
    """Seconds, ms, us or ns since 1970 in UTC, by the number of digits."""
    if len(digits) > 13 and fraction:
        return None
    unit = len(digits) - 10
    ms = int((digits + (fraction or "")).ljust(13, "0")[:13]) if unit < 3 else int(digits[:13])
    return Stamp(*match.span(), ms, utc_offset_minutes=0, is_number=True)


def _of_date(match: re.Match[str], fields: dict[str, str | None]) -> Stamp:
    since_midnight = _day_ms(
        fields["time"] or "", fields["fraction"] or fields["milli"], fields["half"]
    )
    offset, zone = _zone(fields)
    parts, shape = _date_parts(fields)
    stamp = Stamp(
        *match.span(),
        local_ms=None,
        lacks="sense",
        day_ms=since_midnight or 0,
        parts=parts,
        shape=shape,
        utc_offset_minutes=offset,
        zone=zone,
    )
    if since_midnight is None:
        return stamp
    if len(parts) == 2:
        exists = any(stamp.read_as(order) is not None for order in stamp.orders)
        return stamp._replace(lacks="year") if exists else stamp
    if shape:
        return stamp._replace(lacks="order")
    year, month, day = parts
    local_ms = _local_ms(year, month, day, since_midnight)
    return stamp if local_ms is None else stamp._replace(local_ms=local_ms, lacks="")


def _date_parts(fields: dict[str, str | None]) -> tuple[tuple[int, ...], str]:
    """Year, month and day; month and day; or numbers in an unknown order, with their shape."""
    if fields["no_year"]:
        first, mark, second = fields["no_year"][:2], fields["no_year"][2], fields["no_year"][3:]
        return _numbers(first, second), f"0{mark}"
    if fields["year"]:
        return _numbers(fields["year"], fields["month"], fields["day"]), ""
    if fields["first"]:
        parts = _numbers(fields["first"], fields["second_part"], fields["last"])
        return parts, f"{len(fields['last'] or '')}{fields['mark']}"
    if fields["packed"]:
        packed = fields["packed"]
        return _numbers(packed[:4], packed[4:6], packed[6:]), ""
    if fields["number"]:
        month = _MONTHS.index((fields["name"] or "")[:3].lower()) + 1
        return (*_numbers(fields["number_year"]), month, *_numbers(fields["number"])), ""
    year = fields["named_year"] or fields["year_last"]
    if fields["named"]:
        month = _MONTHS.index(fields["named"][:3].lower()) + 1
        day = _numbers(fields["named_day"])
        return (*(_numbers(year) if year else ()), month, *day), ""
    digits = fields["glog"] or ""
    return _numbers(digits[:2], digits[2:]), ""


def _numbers(*texts: str | None) -> tuple[int, ...]:
    return tuple(int(text or 0) for text in texts)


def _zone(fields: dict[str, str | None]) -> tuple[int | None, str | None]:
    printed = fields["offset"] or fields["hours"] or fields["beyond"]
    if printed:
        return _offset_minutes(printed), None
    zone = fields["zone"]
    if zone is None or zone in _ZONES:
        return (_ZONES[zone] if zone else None), None
    return None, zone


def _offset_minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    hours, _, minutes = zone[1:].partition(":")
    if not minutes and len(hours) == 4:
        hours, minutes = hours[:2], hours[2:]
    total = int(hours) * 60 + int(minutes or 0)
    return -total if zone[0] == "-" else total


def _day_ms(time: str, fraction: str | None, half: str | None) -> int | None:
    """Ms of ``10:00:00``, ``10:00`` or ``100000``, or None if it is not a time of day (hour 25)."""
    parts = time.split(":") if ":" in time else (time[:2], time[2:4], time[4:] or "0")
    hour, minute, second = map(int, (*parts, "0")[:3])
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    if hour > 23 or minute > 59 or second > 60:  # second 60 is a leap second
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + int((fraction or "0").ljust(3, "0")[:3])


@lru_cache(maxsize=256)
def _seconds_ms(date: str, time: str) -> int | None:
    """Cached, as neighboring lines share it."""
    since_midnight = _day_ms(time, None, None)
    if since_midnight is None:
        return None
    return _local_ms(int(date[:4]), int(date[5:7]), int(date[8:]), since_midnight)


def _local_ms(year: int, month: int, day: int, since_midnight: int) -> int | None:
    try:
        return day_ms(year, month, day) + since_midnight
    except ValueError:
        return None
