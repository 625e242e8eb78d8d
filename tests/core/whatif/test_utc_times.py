"""Times of settings, in UTC."""

import re

import pytest

from coordinator_core.whatif.utc_times import utc_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:01", 60_000),
        ("2026-11-21T00:46:30", 1_795_221_990_000),
        ("2026-11-21 00:46:30.5", 1_795_221_990_500),
        ("2026-11-21T00:46:30.110999", 1_795_221_990_110),
        ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
    ],
)
def test_a_date_or_a_time(text, expected):
    assert utc_ms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "noon",
        "",
        "2026-02-29",
        "2026-13-01",
        "2026-11-21T24:00",
        "2026-11-21T00:46+02:00",
        "0000-01-01",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=re.escape(text)):
        utc_ms(text)
