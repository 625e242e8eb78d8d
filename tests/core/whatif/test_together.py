"""Predictions for processes that freeze, end and return together, compared with real runs.

The truth was counted from real librdkafka clients on Kafka 4.1.2: static members have the name of
their process as instance id.
"""

from functools import cache

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.whatif import SettingsChange, baseline_of, predict
from tests.core.incident.incident_rows import (
    FREEZES,
    RETURNS,
    last_commits,
    of_twins,
    truth_of_twins,
)

pytestmark = pytest.mark.slow
VERSION = "4.1.2"


@cache
def baseline(script):
    (rows,) = of_twins(VERSION, script)
    evidence = incarnations("g-base", rows.events["g-base"], rows.records["g-base"])
    counted = truth_of_twins(VERSION, script)["g-base"]
    return baseline_of(
        evidence,
        last_commit_ms=last_commits(rows, "g-base", explain(evidence)),
        to_ms=counted["t0_wall_ms"] + counted["window_ms"],
    )


@pytest.mark.parametrize(
    ("variant", "change"),
    [
        ("base", ""),
        ("static", "group.instance.id=process"),
        ("cooperative", "partition.assignment.strategy=cooperative-sticky"),
    ],
)
@pytest.mark.parametrize("script", [FREEZES, RETURNS])
def test_processes_that_freeze_end_and_return_together(script, variant, change):
    """Two freeze at once, all stop and start again at once; three freeze, two and then all are
    killed and return at once, three are added at once and two removed.
    """
    prediction = predict(baseline(script), SettingsChange.of(change.split()))

    result = prediction.median
    true = truth_of_twins(VERSION, script)[f"g-{variant}"]["window"]
    assert result.rebalances == true["rebalances"]
    assert result.moved_partitions == true["partitions_moved"]
    assert result.not_stable_ms == pytest.approx(true["not_stable_ms"], rel=0.25)
    assert result.unavailable_partition_ms == pytest.approx(true["unowned_partition_ms"], rel=0.25)
