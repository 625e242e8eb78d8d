"""Predictions across the group protocols for surge deployments, autoscaling, a lost host, freezes.

The truth was counted from real librdkafka clients on Kafka 4.4.0 and 4.1.2, each script played
twice (tools/twins).  Bounds as in test_across_protocols, with the other play of the same script.
"""

from functools import cache

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.whatif import Figures, SettingsChange, baseline_of, predict
from tests.core.incident.incident_rows import last_commits, of_twins, truth_of_twins
from tests.core.whatif.test_across_protocols import SHORT, bound

pytestmark = pytest.mark.slow

SURGE, HOST_LOSS = "next-surge-and-autoscale", "next-host-loss-and-freezes"
RUNS = {SURGE: ("4.4.0", "4.4.0-again"), HOST_LOSS: ("4.1.2", "4.1.2-again")}
VARIANTS = {
    "base": "",
    "cooperative": "protocol=cooperative",
    "consumer": f"group.protocol=consumer {SHORT}",
    "consumer-static": f"group.protocol=consumer membership=static {SHORT}",
    "consumer-default": "group.protocol=consumer",
}
# In four starts and four stops within seconds, the phases of heartbeats decide which of them share
# a rebalance: the prediction is 15 rebalances instead of 16 and 17.
TOO_FAR = {(SURGE, "4.4.0-again", "cooperative"): {"rebalances"}}
CASES = [(script, run) for script, runs in RUNS.items() for run in runs]


@cache
def baseline(script, run):
    (rows,) = of_twins(run, script)
    group = "orders-base"
    evidence = incarnations(group, rows.events[group], rows.records[group])
    counted = truth_of_twins(run, script)[group]
    return baseline_of(
        evidence,
        last_commit_ms=last_commits(rows, group, explain(evidence)),
        to_ms=counted["t0_wall_ms"] + counted["window_ms"],
    )


def truth(script, run, variant):
    counted = truth_of_twins(run, script)[f"orders-{variant}"]["window"]
    return Figures(
        counted["rebalances"],
        counted["not_stable_ms"],
        counted["partitions_moved"],
        counted["unowned_partition_ms"],
        counted["static_joins_refused"],
    )._asdict()


def names_too_far(result, true, other):
    """The names of counted figures that are out of bounds."""
    counted = [name for name, value in true.items() if value is not None]
    return {n for n in counted if abs(result[n] - true[n]) > bound(n, true[n], other[n])}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("script", "run"), CASES)
def test_predictions_are_near_the_truth(script, run, variant):
    era = f"era={run[:3]}" if "consumer" in variant else ""
    change = SettingsChange.of(f"{VARIANTS[variant]} {era}".split())

    result = predict(baseline(script, run), change, seeds=3).median._asdict()

    (other_run,) = {*RUNS[script]} - {run}
    true, other = truth(script, run, variant), truth(script, other_run, variant)
    too_far = names_too_far(result, true, other)
    assert too_far <= TOO_FAR.get((script, run, variant), set()), (result, true)
