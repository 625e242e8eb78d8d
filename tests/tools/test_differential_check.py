"""Two test players replace Kafka and the engine: which differences are findings."""

from __future__ import annotations

import json

from tools.differential.check import findings, shrunk

HEARTBEATS = [{"at_ms": at, "id": f"h{at}", "op": "heartbeat"} for at in (0, 10, 20, 30)]
SCENARIO = {"name": "beats", "config": {}, "steps": HEARTBEATS}
FAILURE = [{"event": "failure", "error": "thrown"}]


def answers(scenario, error_at=None):
    """A trace that answers each step at once, one of them with an error."""
    return [
        {
            "at_ms": step["at_ms"],
            "event": "response",
            "to": step["id"],
            "op": step["op"],
            "error": "X" if step["at_ms"] == error_at else "NONE",
        }
        for step in scenario["steps"]
    ]


class Kafka:
    def __init__(self, trace):
        self.play = trace

    def play_all(self, scenarios):
        return ((scenario, self.play(scenario)) for scenario in scenarios)


class Player:
    def __init__(self, trace):
        self._trace = trace

    def play(self, scenario, member_ids):
        return self._trace(scenario)


def finding_of(kafka, player):
    (finding,) = findings([SCENARIO], Kafka(kafka), Player(player))
    return finding


def test_equal_traces_are_not_a_finding():
    assert finding_of(answers, answers) is None


def test_a_scenario_that_makes_kafka_fail_is_not_a_finding():
    assert finding_of(lambda scenario: FAILURE, answers) is None


def test_an_engine_failure_is_a_finding():
    finding = finding_of(answers, lambda scenario: FAILURE)

    assert finding is not None
    assert finding.difference.actual == FAILURE


def test_a_finding_shrinks_to_the_step_that_differs_and_is_written_with_both_traces(tmp_path):
    kafka = Kafka(answers)
    player = Player(lambda scenario: answers(scenario, error_at=20))
    (finding,) = findings([SCENARIO], kafka, player)

    smallest = shrunk(finding, kafka, player)
    smallest.write(tmp_path / "one")

    step = {"at_ms": 20, "id": "h20", "op": "heartbeat"}
    answer = {"at_ms": 20, "event": "response", "to": "h20", "op": "heartbeat", "error": "NONE"}
    assert smallest.scenario["steps"] == [step]
    assert json.loads((tmp_path / "one/scenario.json").read_text())["steps"] == [step]
    assert json.loads((tmp_path / "one/expected.jsonl").read_text()) == answer
    assert json.loads((tmp_path / "one/actual.jsonl").read_text()) == {**answer, "error": "X"}
    assert "first difference at 20 ms" in (tmp_path / "one/note.md").read_text()


def test_shrinking_keeps_the_kind_of_difference():
    """A scenario of one step differs, too, but in another way: it has no answer."""

    def ours(scenario):
        return [] if len(scenario["steps"]) == 1 else answers(scenario, error_at=20)

    kafka, player = Kafka(answers), Player(ours)
    (finding,) = findings([SCENARIO], kafka, player)

    smallest = shrunk(finding, kafka, player)

    assert len(smallest.scenario["steps"]) == 2
    assert smallest.difference.kind() == finding.difference.kind()
