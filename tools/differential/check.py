"""Plays scenarios with Kafka and with the engine, and finds differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tools.differential.kafka import KafkaRunner, Scenario
from tools.differential.shrink import shrink
from tools.differential.traces import JsonLine, TraceDifference, first_difference, member_ids

Compare = Callable[[list[JsonLine], list[JsonLine]], TraceDifference | None]


class Player(Protocol):
    def play(self, scenario: Scenario, member_ids: list[str]) -> list[JsonLine]: ...


@dataclass(frozen=True)
class Finding:
    """A scenario on which the two differ, with both traces."""

    scenario: Scenario
    expected: list[JsonLine]
    actual: list[JsonLine]
    difference: TraceDifference

    def __str__(self) -> str:
        steps = "\n".join(f"  {json.dumps(step)}" for step in self.scenario["steps"])
        head = {key: value for key, value in self.scenario.items() if key != "steps"}
        return f"{json.dumps(head)}\n{steps}\n{self.difference}"

    def write(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "scenario.json").write_text(scenario_text(self.scenario), "utf-8")
        for name, trace in (("expected", self.expected), ("actual", self.actual)):
            lines = [json.dumps(event) + "\n" for event in trace]
            (directory / f"{name}.jsonl").write_text("".join(lines), "utf-8")
        (directory / "note.md").write_text(f"```\n{self}\n```\n", "utf-8")


def scenario_text(scenario: Scenario) -> str:
    """The scenario as JSON, one line per step."""
    head = {key: value for key, value in scenario.items() if key != "steps"}
    steps = ",\n  ".join(json.dumps(step) for step in scenario["steps"])
    return f'{json.dumps(head)[:-1]}, "steps": [\n  {steps}\n]}}\n'


def findings(
    scenarios: Iterable[Scenario],
    kafka: KafkaRunner,
    player: Player,
    compare: Compare = first_difference,
) -> Iterator[Finding | None]:
    """One per scenario, or None if the two agree, or if a timer of Kafka's coordinator threw."""
    for scenario, expected in kafka.play_all(scenarios):
        yield None if failed(expected) else _compare(scenario, expected, player, compare)


def failed(trace: list[JsonLine]) -> bool:
    return any(event["event"] == "failure" for event in trace)


def shrunk(
    finding: Finding, kafka: KafkaRunner, player: Player, compare: Compare = first_difference
) -> Finding:
    """A minimal scenario with the same kind of difference."""
    kind = finding.difference.kind()

    def find(scenario: Scenario) -> Finding | None:
        expected = kafka.play(scenario)
        return None if failed(expected) else _compare(scenario, expected, player, compare)

    def differs(scenario: Scenario) -> bool:
        smaller = find(scenario)
        return smaller is not None and smaller.difference.kind() == kind

    return find(shrink(finding.scenario, differs)) or finding


def _compare(
    scenario: Scenario, expected: list[JsonLine], player: Player, compare: Compare
) -> Finding | None:
    actual = player.play(scenario, member_ids(expected))
    if failed(actual):
        last = max((event["at_ms"] for event in expected if "at_ms" in event), default=0)
        return Finding(scenario, expected, actual, TraceDifference(last, [], actual[-1:]))
    difference = compare(expected, actual)
    return Finding(scenario, expected, actual, difference) if difference else None
