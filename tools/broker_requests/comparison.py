"""Compares the answers of a broker to a scenario with the engine's."""

from __future__ import annotations

import gzip
import json
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.coordinator.eras import era_of_version
from coordinator_core.records import decode
from coordinator_core.scenarios.group_types import play_scenario
from coordinator_core.scenarios.scenario import given_ids

Json = Any
ANSWERS = Path(__file__).resolve().parents[2] / "tests" / "data" / "broker-answers"
VERSIONS = ("4.4.0", "4.1.2")
# These fields are the same on the wire for an empty name and for no name.
_NEVER_EMPTY = frozenset({"member", "protocol_name"})
# Topics to create are the coordinator's message to the broker, and not part of the answer.
_NOT_COMPARED = frozenset({"at_ms", "sent_at_ms", "creatable_topics"})
_CLOCK = frozenset(
    {
        "assignment_timestamp",
        "commit_timestamp",
        "current_state_timestamp",
        "expire_timestamp",
        "timestamp",
        "version",
    }
)


class Difference(NamedTuple):
    """``where``: a step or the key of records.

    ``broker``, ``engine``: the answer to the step, or the values written to the key, or None
    without one.
    """

    where: str
    broker: Json
    engine: Json


@cache
def answers_of(version: str) -> dict[str, dict[str, Json]]:
    """What a broker answered, by scenario; see ``tools.broker_requests.__main__``."""
    with gzip.open(ANSWERS / f"{version}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {played["name"]: played for played in map(json.loads, lines)}


def differences(scenario: Mapping[str, Json], played: Mapping[str, Json]) -> Iterator[Difference]:
    """Play the scenario with the broker's ids of topics and members; compare answers, records.

    Answers are compared by step, records by key: the values of each key in their order.  The order
    of the keys within a write comes from Java's hash tables and the time of a write from the clock.
    """
    era = era_of_version(played["kafka"])
    trace = play_scenario(
        _with_topic_ids(scenario, played["topic_ids"]), era, given_ids(played["member_ids"]), ""
    )
    written = [(line["key"], line["value"]) for line in trace if line["event"] == "record"]
    ours_by_key, theirs_by_key = _by_key(written), _by_key(played["records"])
    for key in sorted(ours_by_key.keys() | theirs_by_key.keys()):
        if ours_by_key.get(key) != theirs_by_key.get(key):
            yield Difference(key, theirs_by_key.get(key), ours_by_key.get(key))
    engine = _answers(trace)
    broker = _answers(played["answers"])
    for step in scenario["steps"]:
        ours, theirs = engine.get(step["id"]), broker.get(step["id"])
        if ours != theirs:
            yield Difference(step["id"], theirs, ours)


def _by_key(records: Iterable[tuple[str, str | None]]) -> dict[str, list[Json]]:
    """Values by key, without times and without the version of the cluster's metadata."""
    values: dict[str, list[Json]] = {}
    for key, value in records:
        record = decode(a2b_base64(key), None if value is None else a2b_base64(value))
        fields = None
        if record.value is not None:
            fields = {name: each for name, each in record.value.items() if name not in _CLOCK}
        values.setdefault(f"{record.name} {record.key}", []).append(fields)
    return values


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
