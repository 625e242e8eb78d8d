"""The scenarios detect a changed cell of the grid.

`tools/mutate_grid.py` tries all cells; these tests try two rows.
"""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.eras import ERA_4_1
from tools.mutate_grid import KafkaTrace, is_detected, mutants, mutated, reached, report

DATA = Path(__file__).parents[1] / "data" / "coordinator"


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def played():
    scenarios = {scenario["name"]: scenario for scenario in rows("scenarios.jsonl.gz")}
    traces = [
        KafkaTrace(scenarios[row["name"]], row["trace"]) for row in rows("traces-4.1.jsonl.gz")
    ]
    return sorted(traces, key=lambda each: len(each.trace))


@pytest.mark.parametrize("input_", [Input.HEARTBEAT, Input.SYNC_LEADER])
def test_another_reaction_is_detected(input_, played):
    of_the_row = [mutant for mutant in mutants(ERA_4_1) if mutant.input_ is input_]

    survivors = [each for each in of_the_row if not is_detected(mutated(ERA_4_1, each), played)]

    assert of_the_row
    assert survivors == []


def test_the_report_names_cells_that_are_not_reached(played):
    few = [each for each in played if each.scenario["name"] == "commit-and-fetch"]

    assert (Input.COMMIT, GroupState.EMPTY) not in reached(ERA_4_1, [])
    assert (Input.COMMIT, GroupState.STABLE) in reached(ERA_4_1, few)
    lines = list(report(ERA_4_1, few))
    assert (
        "not reached: DELETE in EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE" in lines
    )
