"""Traces of groups of all types equal those of Kafka's own coordinator classes.

tests/data/coordinator-group-types has all named scenarios, some random ones, and the traces of
Kafka 4.4.0 and 4.1.1; of other versions, traces that differ from those of the nearest era.
Records of one moment are compared by key.  A row has its scenario if the file of scenarios lacks
it.
"""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids
from tools.differential.traces import by_key

DATA = Path(__file__).parents[2] / "data" / "coordinator-group-types"


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def type_of(scenario):
    ops = {step["op"].split("_")[0] for step in scenario["steps"]}
    return "streams" if "streams" in ops else "share" if "share" in ops else "consumer"


ERAS_OF_TRACES = [
    path.name[len("traces-") : -len(".jsonl.gz")] for path in sorted(DATA.glob("traces-*"))
]
SCENARIOS = {scenario["name"]: scenario for scenario in rows("scenarios.jsonl.gz")}


@pytest.mark.parametrize("era", ERAS_OF_TRACES)
@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
def test_every_scenario_gives_the_trace_of_the_era(group_type, era):
    differing = []
    for row in rows(f"traces-{era}.jsonl.gz"):
        scenario, kafka = SCENARIOS.get(row["name"]) or row["scenario"], row["trace"]
        if type_of(scenario) == group_type:
            ids = kafka[0]["member_ids"]

            played = AllTypesPlayer(scenario, ERAS[era], given_ids(ids)).play("")

            if by_key(played) != by_key(kafka) or played[0]["member_ids"] != ids:
                differing.append(row["name"])
    assert differing == []


def test_no_scenario_or_trace_is_missing():
    types = [type_of(scenario) for scenario in SCENARIOS.values()]
    assert [types.count(each) for each in ("consumer", "share", "streams")] == [118, 13, 15]
    assert [len(rows(f"traces-{era}.jsonl.gz")) for era in ("4.4", "4.1")] == [146, 146]


def test_every_era_with_these_groups_has_traces():
    assert {*ERAS_OF_TRACES} == {name for name, era in ERAS.items() if era.modern is not None}
