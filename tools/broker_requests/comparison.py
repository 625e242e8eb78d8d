"""Compares the answers of a broker to a scenario with the engine's."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.all_types import play_scenario
from coordinator_core.scenarios.scenario import given_ids

Json = Any
ANSWERS = Path(__file__).resolve().parents[2] / "tests" / "data" / "broker-answers"
VERSIONS = ("4.4.0", "4.1.2")
# One of the two comes over the wire for an empty name and for no name.
_NEVER_EMPTY = frozenset({"member", "protocol_name"})
# Topics to create are the coordinator's message to the broker, not part of the answer.
_NOT_COMPARED = frozenset({"at_ms", "sent_at_ms", "creatable_topics"})


class Difference(NamedTuple):
    """``broker``, ``engine``: the answers to the step; None without one."""

    step_id: str
    broker: Json
    engine: Json


@cache
def answers_of(version: str) -> dict[str, dict[str, Json]]:
    """What a broker answered, by scenario; see ``tools.broker_requests.__main__``."""
    with gzip.open(ANSWERS / f"{version}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {played["name"]: played for played in map(json.loads, lines)}


def differences(scenario: Mapping[str, Json], played: Mapping[str, Json]) -> Iterator[Difference]:
    """Play the scenario with the broker's ids of topics and members, and compare each answer."""
    era = ERAS[played["kafka"].rpartition(".")[0]]
    trace = play_scenario(
        _with_topic_ids(scenario, played["topic_ids"]), era, given_ids(played["member_ids"]), ""
    )
    engine = _answers(trace)
    broker = _answers(played["answers"])
    for step in scenario["steps"]:
        ours, theirs = engine.get(step["id"]), broker.get(step["id"])
        if ours != theirs:
            yield Difference(step["id"], theirs, ours)


def _answers(lines: list[dict[str, Json]]) -> dict[str, Json]:
    return {line["to"]: _comparable(line) for line in lines if line["event"] == "response"}


def _comparable(line: Mapping[str, Json]) -> Json:
    fields = {name: value for name, value in line.items() if name not in _NOT_COMPARED}
    for name in _NEVER_EMPTY & fields.keys():
        fields[name] = fields[name] or None
    return fields


def _with_topic_ids(
    scenario: Mapping[str, Json], topic_ids: Mapping[str, Mapping[str, str]]
) -> dict[str, Json]:
    steps = [_with_ids(step, topic_ids.get(step["id"], {})) for step in scenario["steps"]]
    return {**scenario, "steps": steps}


def _with_ids(step: Mapping[str, Json], ids: Mapping[str, str]) -> dict[str, Json]:
    if not step.get("topics") or step["op"] != "metadata":
        return dict(step)
    return {**step, "topics": [{**row, "id": ids[row["name"]]} for row in step["topics"]]}
