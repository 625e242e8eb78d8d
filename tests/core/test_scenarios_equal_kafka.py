"""The engine's traces equal those of Kafka's own coordinator classes, line by line.

tests/data/coordinator has all named scenarios, some random ones, and the traces of Kafka 4.1.1,
3.9.1 and 2.5.1; of Kafka 2.8.2 and 2.6.3, some traces that differ from those of 2.5.1.
"""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.scenario import given_ids, play
from tools.mutate_grid import comparable

DATA = Path(__file__).parents[1] / "data" / "coordinator"


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


SCENARIOS = {scenario["name"]: scenario for scenario in rows("scenarios.jsonl.gz")}


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.8", "2.6", "2.5"])
def test_every_scenario_gives_the_trace_of_the_era(era):
    differing = []
    for row in rows(f"traces-{era}.jsonl.gz"):
        kafka = row["trace"]
        ids = kafka[0]["member_ids"]

        played = play(SCENARIOS[row["name"]], ERAS[era], given_ids(ids), "")

        if comparable(played) != comparable(kafka) or played[0]["member_ids"] != ids:
            differing.append(row["name"])
    assert differing == []


def test_no_scenario_or_trace_is_missing():
    assert len(SCENARIOS) == 208
    assert [len(rows(f"traces-{era}.jsonl.gz")) for era in ("4.1", "3.9", "2.5")] == [208] * 3
