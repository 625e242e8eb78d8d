"""The part of a group's history that nightly simulates in the time that it has."""

import pytest

from jobs.nightly_run.advice_step import Rebalance, affordable_span
from jobs.what_if_sweep import Span

MINUTE_MS = 60_000
# Two rebalances of ten members, and half an hour later three rebalances.
EARLIER = [Rebalance(0, 3000, 10), Rebalance(10_000, 12_000, 10)]
LATER = [
    Rebalance(1_800_000, 1_803_000, 10),
    Rebalance(1_810_000, 1_813_000, 10),
    Rebalance(1_820_000, 1_823_000, 10),
]
ALL = (-MINUTE_MS, 1_823_000 + MINUTE_MS)
LONGEST_SERIES = (1_800_000 - MINUTE_MS, 1_823_000 + MINUTE_MS)


@pytest.mark.parametrize(
    ("left_s", "expected"),
    [
        (30, Span(*ALL, seeds=3)),
        (5, Span(*LONGEST_SERIES, seeds=3)),
        (1, None),
        (-1, None),
    ],
)
def test_less_time_means_a_shorter_span(left_s, expected):
    assert affordable_span([*EARLIER, *LATER], left_s) == expected


def test_a_group_without_a_rebalance_of_known_duration_is_left_out():
    assert affordable_span([], 60) is None
