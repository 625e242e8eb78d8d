"""The dates of a run: the dates of --date, or of --from and --to, or all dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from jobs.console.errors import UsageError

# End of what has not ended, in ms since the epoch.
NEVER_MS = 1 << 62
_EPOCH = date(1970, 1, 1)
# Arrow counts nanoseconds in 64 bits, which ends in April 2262; later values in evidence are not
# times.
LAST_DATE = date(2261, 12, 31)
LAST_TIME_MS = 9_214_646_400_000 - 1


def known_ms(time_ms: int | None) -> int | None:
    """A time in ms since the epoch; None if it is before 1970 or after 2261."""
    return None if time_ms is None or not 0 <= time_ms <= LAST_TIME_MS else time_ms


@dataclass(frozen=True)
class DateRange:
    """UTC dates, both ends included, or None for an open end."""

    first: date | None = None
    last: date | None = None

    def has(self, day: int) -> bool:
        """Returns whether a day (since the epoch) is included; day 0, for unknown times, always
        is.
        """
        after_first = self.first is None or day >= (self.first - _EPOCH).days
        before_last = self.last is None or day <= (self.last - _EPOCH).days
        return day == 0 or (after_first and before_last)


def date_range(day: str | None, first: str | None, last: str | None) -> DateRange:
    """The dates of --date, or of --from and --to, or no limits; raises UsageError for anything
    else.

    A time stands for its date in UTC, because dates are computed as a whole.
    """
    if day and (first or last):
        raise UsageError("--date and --from/--to: give one date or a range, not both")
    if bool(first) != bool(last):
        raise UsageError("--from and --to: give both ends of the range")
    begin = _date(day or first, "--date" if day else "--from")
    end = _date(day or last, "--date" if day else "--to")
    if begin and end and begin > end:
        raise UsageError(f"--from {begin} is after --to {end}: swap them")
    return DateRange(begin, end)


def _date(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    try:
        day = _utc_date(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {text}: not a date; give YYYY-MM-DD, such as 2026-11-21"
        ) from None
    if not _EPOCH <= day <= LAST_DATE:
        raise UsageError(f"{option} {text}: give a date between {_EPOCH} and {LAST_DATE}")
    return day


def _utc_date(text: str) -> date:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo is None else time.astimezone(UTC)).date()


def moment_ms(option: str, text: str | None, *, is_end: bool) -> int:
    """A time or date as ms since the epoch.  A date means its first ms, or its last if ``is_end``;
    ``text`` None means 0, or NEVER_MS if ``is_end``.  ``option`` is named in the UsageError.
    """
    if text is None:
        return NEVER_MS if is_end else 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-21T00:46:00, 2026-11-21 or 00:46 (on the last date)"
        raise UsageError(f"{option} {text}: expected a UTC time, e.g. {example}") from None
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    if is_end and len(text) == len("2026-11-21"):
        moment += timedelta(days=1, milliseconds=-1)
    return int(moment.timestamp() * 1000)
