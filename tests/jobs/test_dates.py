"""The dates of a run, from dates and times."""

from datetime import date

import pytest

from jobs.console.errors import UsageError
from jobs.lake.dates import DateRange, date_range


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-11-21", "2026-11-22", (21, 22)),
        ("2026-11-21T00:47", "2026-11-21 23:59:59.5", (21, 21)),
        ("2026-11-21T23:30-02:00", "2026-11-22T00:30Z", (22, 22)),
    ],
)
def test_a_time_stands_for_its_date_in_utc(first, last, expected):
    begin, end = expected

    assert date_range(None, first, last) == DateRange(date(2026, 11, begin), date(2026, 11, end))


@pytest.mark.parametrize("text", ["00:47", "yesterday", "2026-13-01", "9999-12-31T23:00-02:00"])
def test_no_date(text):
    with pytest.raises(UsageError, match=r"^--date .*: (not a date; give|give a date between)"):
        date_range(text, None, None)
