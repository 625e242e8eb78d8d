"""The lines that a broker logs of consumer groups: in the wording of 4.1 and 4.4."""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

DATA = Path(__file__).parents[2] / "data" / "coordinator-group-types"
TEXTS = [
    "joins the consumer group using the consumer protocol.",
    "Static member 10fd9090-95d2-49a4-abc3-13940000389a with instance id i0 joins the consumer",
    "temporarily left the consumer group.",
    "Bumped group epoch to 2 with metadata hash ",
    "Computed a new target assignment for epoch 3 with 'uniform' assignor in 0ms.",
    "fenced from the group because the member session expired.",
    "fenced from the group because it failed to transition from epoch ",
    "cannot join the group because the instance id is owned by member ",
    "Converted the classic group to a consumer group.",
    "Converted the consumer group to a classic group.",
    "Converted the empty consumer group to a classic group.",
    "from consumer to classic for member leaving.",
    "Cannot upgrade classic group g to consumer group because online upgrade is disabled.",
    "Cannot downgrade consumer group g to classic group because the online downgrade is disabled.",
]


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def events_of(scenario, member_ids, era):
    events = []

    def keep(at_ms, event):
        events.append(event)

    AllTypesPlayer(scenario, ERAS[era], given_ids(member_ids), keep).play("")
    return events


@pytest.mark.parametrize("era", ["4.4", "4.1"])
def test_events_have_lines(era):
    scenarios = {scenario["name"]: scenario for scenario in rows("scenarios.jsonl.gz")}
    events, lines = [], []
    for row in rows(f"traces-{era}.jsonl.gz"):
        scenario = scenarios[row["name"]]
        if not any(step["op"].startswith(("share", "streams")) for step in scenario["steps"]):
            events += events_of(scenario, row["trace"][0]["member_ids"], era)

    for event in events:
        line = line_of(event, ERAS[era], local_ms=0)
        lines.append(line)
        if line is None and event.kind.startswith(("EPOCH", "TARGET", "FENCED", "LEFT", "CONVERT")):
            pytest.fail(f"no line for {event}")

    written = "\n".join(line for line in lines if line)
    assert [text for text in TEXTS if text not in written] == []
