"""The part of a group's history that nightly simulates in the time that it has."""

import pytest

from jobs.nightly_run.advice_step import RebalanceTimes, affordable

# Two rebalances of ten members, and half an hour later three rebalances.
EARLIER = [RebalanceTimes(0, 3000, 10), RebalanceTimes(10_000, 12_000, 10)]
LATER = [
    RebalanceTimes(1_800_000, 1_803_000, 10),
    RebalanceTimes(1_810_000, 1_813_000, 10),
    RebalanceTimes(1_820_000, 1_823_000, 10),
]


@pytest.mark.parametrize(
    ("left_s", "expected"), [(40, [*EARLIER, *LATER]), (5, LATER), (1, []), (-1, [])]
)
def test_less_time_means_the_longest_series_of_rebalances_or_nothing(left_s, expected):
    assert affordable([*EARLIER, *LATER], left_s) == expected


def test_a_group_without_a_rebalance_of_known_duration_is_left_out():
    assert affordable([], 60) == []
