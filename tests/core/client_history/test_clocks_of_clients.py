"""Differences of clocks that are those of time zones."""

import pytest

from coordinator_core.client_history import zone_ms


@pytest.mark.parametrize(
    ("ahead_ms", "expected"),
    [(7_200_004, 7_200_000), (-19_800_000, -19_800_000), (601_000, None), (40, None)],
)
def test_time_zones(ahead_ms, expected):
    assert zone_ms(ahead_ms) == expected
