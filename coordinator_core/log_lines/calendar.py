"""Printed dates <-> milliseconds in the same, unnamed time zone; uses no clock and no zone.

This module does not use datetime, which lacks year 0 and years after 9999: a line of such a year
is quarantined with its own date.
"""

from __future__ import annotations

from functools import lru_cache

DAY_MS = 86_400_000
# days from 0000-03-01, in the proleptic Gregorian calendar, to 1970-01-01
_DAYS_BEFORE_1970 = 719_468


@lru_cache(maxsize=64)
def day_ms(year: int, month: int, day: int) -> int:
    """Midnight of a date in ms since 1970-01-01.  Raises ValueError for an invalid date."""
    if not (1 <= month <= 12 and 1 <= day <= _month_length(year, month)):
        raise ValueError(f"no such date: {year:04}-{month:02}-{day:02}")
    # Count years from March, so that the leap day is the last day of a year.
    year_of_march = year - (month <= 2)
    era, year_of_era = divmod(year_of_march, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return (era * 146_097 + day_of_era - _DAYS_BEFORE_1970) * DAY_MS


def _month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def date_of(local_ms: int) -> tuple[int, int, int]:
    """Year, month and day of a number of ms since 1970-01-01."""
    era, day_of_era = divmod(local_ms // DAY_MS + _DAYS_BEFORE_1970, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    month = march_month + 3 if march_month < 10 else march_month - 9
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    return era * 400 + year_of_era + (month <= 2), month, day


def printed(local_ms: int) -> str:
    """``2024-05-01 10:00:00,123``, the default format of log4j."""
    year, month, day = date_of(local_ms)
    seconds, ms = divmod(local_ms % DAY_MS, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02},{ms:03}"
