"""`regroup scenario diagram`: draws a scenario or a trace, or says what to change."""

import json

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.scenario import derived_ids, play
from jobs.console.errors import UsageError
from jobs.simulate.scenario import diagram
from tools.situations import SITUATIONS

FILE = SITUATIONS / "01-first-member.json"


@pytest.fixture
def trace(tmp_path):
    lines = play(json.loads(FILE.read_bytes()), ERAS["2.0"], derived_ids(), "r")
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_scenario_is_played_in_the_era():
    text = diagram(str(FILE), "0.10", None, "text")

    assert text.startswith("01-first-member, era 0.10 (session timeout 20 s, rebalance")
    assert "creates the delayed join and completes it at once" in text


def test_a_scenario_as_mermaid():
    assert diagram(str(FILE), "2.0", None, "mermaid").startswith("sequenceDiagram\n")


def test_a_trace_of_a_scenario_needs_no_era(trace):
    text = diagram(str(FILE), None, str(trace), "text")

    assert "JoinGroup, no member id, range for orders" in text
    assert "3 s" in text


def test_a_trace_by_itself(trace):
    assert "JoinGroup: generation 1, leader of a" in diagram(str(trace), None, None, "text")


@pytest.mark.parametrize(
    ("era", "trace_file", "kind", "says"),
    [
        (None, None, "text", "set --era to run the scenario, or --trace"),
        ("1.2", None, "text", "--era 1.2: not one of"),
        ("2.0", None, "svg", "--as svg: not one of text, mermaid"),
        (None, "/nowhere", "text", "/nowhere: no such trace"),
        (None, str(FILE), "text", "cannot be drawn"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_to_change(era, trace_file, kind, says):
    with pytest.raises(UsageError, match=says):
        diagram(str(FILE), era, trace_file, kind)


def test_an_invalid_scenario_is_refused(tmp_path):
    other = tmp_path / "x.json"
    other.write_text('{"name": "x", "steps": [{"op": "sing"}]}')

    with pytest.raises(UsageError, match=r"x\.json: cannot be drawn"):
        diagram(str(other), "2.0", None, "text")
