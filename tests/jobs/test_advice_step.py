"""Which groups nightly simulates, and in which period of their evidence."""

from datetime import date

import pytest

from jobs.what_if.periods import EvaluatedPeriod, period_of, timed_rebalances
from jobs.what_if.screen import gain_bounds, plan_of

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def rebalances(*times_s, day="1970-01-01", members=10, lasts_s=3):
    """Rebalances of three seconds, beginning at these times."""
    return timed_rebalances(
        {
            "day": day,
            "begin_ms": 1000 * at,
            "end_ms": 1000 * (at + lasts_s),
            "spent_ms": 1000 * lasts_s,
            "members": members,
        }
        for at in times_s
    )


NEXT_DAY = rebalances(86_400 + 60, 86_400 + 70, day="1970-01-02")


@pytest.mark.parametrize(
    ("times", "from_s", "to_s"),
    [
        (rebalances(100, 110), 40, 173),
        # An hour of ten members is too much, so the longest series of rebalances is simulated.
        (rebalances(100, 110, 3600, 3610, 3620), 3540, 3683),
        # Of several dates, the date with the longest time in rebalances is simulated.
        ([*rebalances(100, 110, 120), *NEXT_DAY], 40, 183),
        ([*rebalances(100), *NEXT_DAY], 86_400, 86_533),
    ],
)
def test_the_period_is_all_or_the_worst_date_or_its_longest_series(times, from_s, to_s):
    period = period_of(times)

    assert (period.from_ms, period.to_ms) == (1000 * from_s, 1000 * to_s)


def test_dates_that_are_too_old_do_not_count():
    old = rebalances(100, 110, 120)
    new = rebalances(31 * 86_400, day="1970-02-01")

    assert period_of([*old, *new]).from_ms == 31 * DAY_MS - 60_000


def test_without_a_rebalance_there_is_no_period():
    assert period_of([]) is None


def test_the_evidence_of_a_period_is_on_the_dates_around_it():
    period = EvaluatedPeriod(2 * DAY_MS + HOUR_MS, 2 * DAY_MS + 2 * HOUR_MS)

    assert period.dates == (date(1970, 1, 2), date(1970, 1, 4))


# -- choice of the groups that are simulated -------------------------------------------------------


def bound_row(name, downtime_s, not_stable_s, members):
    return {
        "group_id": name,
        "downtime_ms": 1000 * downtime_s,
        "not_stable_ms": 1000 * not_stable_s,
        "group_type": "classic",
        "protocol": "range",
        "members": members,
        "partitions": 12,
    }


def bounds(**groups):
    """By group: downtime and time in rebalances in s, and the number of members."""
    rows = [bound_row(name, *figures) for name, figures in groups.items()]
    kinds = [{"group_id": name, "kind": "process_lost", "episodes": 3} for name in groups]
    return gain_bounds(rows, kinds)


def plan(budget_s, of_groups, cost_s=4.0):
    periods = {each.group_id: EvaluatedPeriod(0, 1, cost_s=cost_s) for each in of_groups}
    made = plan_of(of_groups, periods, budget_s)
    names = [[each.group_id for each in of] for of in (made.simulated, made.little, made.left_out)]
    return (*names, made.like, str(made))


GROUPS = bounds(calm=(2, 1, 3), worst=(90, 20, 3), alike=(80, 20, 3), large=(40, 30, 9))


def test_groups_with_something_to_gain_are_simulated_and_the_others_have_a_bound():
    assert plan(12, GROUPS) == (
        ["worst", "large", "alike"],
        ["calm"],
        [],
        {},
        "advice: 4 groups: 3 simulated, 1 has at most 2 s of partition downtime to gain"
        " (budget 12 s of simulation)",
    )


def test_beyond_the_budget_a_group_shares_the_advice_of_one_that_is_alike():
    assert plan(8, GROUPS) == (
        ["worst", "large"],
        ["calm"],
        [],
        {"alike": "worst"},
        "advice: 4 groups: 2 simulated, 1 has at most 2 s of partition downtime to gain, 1 "
        "shares the advice of a similar group (budget 8 s of simulation)",
    )


def test_of_groups_that_are_alike_the_middle_one_is_simulated_first():
    of_groups = bounds(worst=(90, 20, 3), typical=(50, 20, 3), least=(20, 20, 3))

    assert plan(4, of_groups)[:4] == (["typical"], [], [], {"worst": "typical", "least": "typical"})
    assert plan(8, of_groups)[0] == ["typical", "worst"]


def test_the_group_with_the_most_downtime_is_simulated_before_groups_of_other_kinds():
    alike = {"typical": (50, 20, 3), "least": (20, 20, 3)}
    of_groups = bounds(worst=(90, 20, 3), other=(60, 20, 9), **alike)

    assert plan(8, of_groups)[0] == ["typical", "worst"]
    assert plan(12, of_groups)[0] == ["typical", "worst", "other"]


def test_a_group_that_no_simulated_group_is_like_is_left_out():
    assert plan(4, GROUPS)[:4] == (["worst"], ["calm"], ["large"], {"alike": "worst"})
    assert plan(3, GROUPS)[:4] == ([], ["calm"], ["worst", "alike", "large"], {})


def test_groups_without_a_model_cost_nothing():
    rows = [bound_row("jobs", 0, 20, 3) | {"group_type": "share"}, bound_row("orders", 80, 20, 3)]

    assert plan(4, gain_bounds(rows, [])) == (
        ["orders", "jobs"],
        [],
        [],
        {},
        "advice: 2 groups: 1 simulated, 1 cannot be predicted (budget 4 s of simulation)",
    )


@pytest.mark.parametrize(
    "columns",
    [{"group_type": "connect"}, {"protocol": "stream"}, {"protocol": "OwnAssigner"}],
)
def test_a_group_without_a_model_has_no_bound(columns):
    """Otherwise nightly says that it has nothing to gain, and what-if that nothing predicts it."""
    rows = [bound_row("others", 0, 2, 3) | columns]

    assert plan(4, gain_bounds(rows, []))[:2] == (["others"], [])


def test_a_downtime_of_unknown_members_is_not_little():
    """A log without records has no members, a compacted group only an empty record."""
    assert plan(0, bounds(compacted=(0, 0, 0)))[:2] == (["compacted"], [])


def test_time_in_rebalances_alone_may_be_worth_a_simulation():
    assert plan(4, bounds(waiting=(1, 6, 3)))[0] == ["waiting"]
