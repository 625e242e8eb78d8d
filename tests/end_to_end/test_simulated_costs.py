"""Records handled again in the tables, against what simulated applications handled."""

import pytest

from tools.simulated_costs import compare, costs_in, play, spec_values, truth_of

pytestmark = [pytest.mark.slow, pytest.mark.seldom]


def test_the_truth_is_within_the_bounds(tmp_path):
    play(spec_values(groups=4, hours=1, seed=8), 8, tmp_path)

    truth, costs = truth_of(tmp_path / "played" / "truth.jsonl"), costs_in(str(tmp_path / "lake"))
    cells = [each for each in compare(truth, costs) if each.truth or each.high >= 1]
    # group-0 is only deployed, and its members commit before they give up partitions.
    assert [each.group for each in cells] == ["group-1", "group-2", "group-3"]
    assert [each for each in cells if not each.is_inside] == []
    assert sum(row["records"] for row in costs) == pytest.approx(sum(truth.values()), rel=0.2)
