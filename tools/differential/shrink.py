"""Makes a scenario with a difference as small as possible while it keeps a difference."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Scenario = dict[str, Any]
Differs = Callable[[Scenario], bool]

PLAIN_FIELDS: dict[str, Any] = {
    "instance_id": None,
    "reason": None,
    "supports_skipping_assignment": False,
    "requires_known_member_id": False,
    "session_timeout_ms": 10000,
    "rebalance_timeout_ms": 10000,
    "client_id": "c",
    "protocol_name": None,
    "protocol_type": "consumer",
    "protocols": [["range", ""]],
    "rack_id": None,
    "regex": None,
    "assignor": None,
    "endpoint": None,
    "client_tags": None,
    "owned": [],
}
PLAIN_CONFIG = {
    "group_initial_rebalance_delay_ms": 0,
    "group_min_session_timeout_ms": 6000,
    "group_max_session_timeout_ms": 1800000,
    "group_max_size": 2147483647,
}
ROWS = ("protocols", "assignments", "members", "offsets", "topics", "deleted", "owned")


def shrink(scenario: Scenario, differs: Differs) -> Scenario:
    """The scenario without steps, rows, fields and time that the difference does not need.

    `differs`: whether a candidate still has a difference; `scenario` itself must have one.
    """
    smallest = scenario
    while True:
        before = smallest
        smallest = _without_steps(smallest, differs)
        for simpler in SIMPLER:
            smallest = _greedy(smallest, simpler, differs)
        if smallest == before:
            return smallest


def _without_steps(scenario: Scenario, differs: Differs) -> Scenario:
    """Delta debugging: remove chunks of steps, halves first, single steps last."""
    steps = scenario["steps"]
    size = len(steps)
    while size >= 1:
        at = len(steps)
        while at > 0:
            fewer = steps[: max(0, at - size)] + steps[at:]
            at -= size
            if fewer and differs({**scenario, "steps": fewer}):
                steps = fewer
        size = size // 2 if size > 1 else 0
    return {**scenario, "steps": steps}


def _greedy(
    scenario: Scenario, candidates: Callable[[Scenario], Iterator[Scenario]], differs: Differs
) -> Scenario:
    """Take the first candidate that still differs, until none does."""
    while True:
        taken = next((c for c in candidates(scenario) if c != scenario and differs(c)), None)
        if taken is None:
            return scenario
        scenario = taken


def _plainer_config(scenario: Scenario) -> Iterator[Scenario]:
    config = scenario.get("config", {})
    for key in config:
        if key not in PLAIN_CONFIG:
            yield {**scenario, "config": {k: v for k, v in config.items() if k != key}}
        elif config[key] != PLAIN_CONFIG[key]:
            yield {**scenario, "config": {**config, key: PLAIN_CONFIG[key]}}
    kafka = config.get("kafka", {})
    for key in kafka:
        fewer = {name: value for name, value in kafka.items() if name != key}
        yield {**scenario, "config": {**config, "kafka": fewer}}
    if "member_ids" in scenario:
        yield {key: value for key, value in scenario.items() if key != "member_ids"}


def _plainer_fields(scenario: Scenario) -> Iterator[Scenario]:
    for index, step in enumerate(scenario["steps"]):
        for field, plain in PLAIN_FIELDS.items():
            if field in step and step[field] != plain:
                yield _with_step(scenario, index, {**step, field: plain})


def _fewer_rows(scenario: Scenario) -> Iterator[Scenario]:
    for index, step in enumerate(scenario["steps"]):
        for field in ROWS:
            rows = step.get(field) or []
            for row in range(len(rows) if isinstance(rows, list) else 0):
                yield _with_step(scenario, index, {**step, field: rows[:row] + rows[row + 1 :]})


def _plainer_offsets(scenario: Scenario) -> Iterator[Scenario]:
    for index, step in enumerate(scenario["steps"]):
        rows = step.get("offsets", []) if step["op"] == "commit" else []
        for at, (topic, partition, offset, metadata) in enumerate(rows):
            for row in ([topic, partition, 0, metadata], [topic, partition, offset, ""]):
                plainer = [*rows[:at], row, *rows[at + 1 :]]
                yield _with_step(scenario, index, {**step, "offsets": plainer})


def _plainer_topics(scenario: Scenario) -> Iterator[Scenario]:
    """Topics without racks."""
    for index, step in enumerate(scenario["steps"]):
        rows = step.get("topics") or [] if step["op"] == "metadata" else []
        if any("racks" in row for row in rows):
            plain = [{k: v for k, v in row.items() if k != "racks"} for row in rows]
            yield _with_step(scenario, index, {**step, "topics": plain})


def _shorter_waits(scenario: Scenario) -> Iterator[Scenario]:
    """Move a step and all later ones towards the previous step: all the way, half, a quarter..."""
    steps = scenario["steps"]
    for index, step in enumerate(steps):
        shift = step["at_ms"] - (steps[index - 1]["at_ms"] if index else 0)
        while shift > 0:
            yield _shifted(scenario, index, shift)
            shift //= 2


def _earlier(scenario: Scenario) -> Iterator[Scenario]:
    """Round a step's time down to a full second; later steps keep their times."""
    steps = scenario["steps"]
    for index, step in enumerate(steps):
        rounded = step["at_ms"] - step["at_ms"] % 1000
        if rounded < step["at_ms"] and (index == 0 or steps[index - 1]["at_ms"] <= rounded):
            yield _with_step(scenario, index, {**step, "at_ms": rounded})


def _shifted(scenario: Scenario, index: int, shift: int) -> Scenario:
    steps = copy.copy(scenario["steps"])
    steps[index:] = [{**step, "at_ms": step["at_ms"] - shift} for step in steps[index:]]
    return {**scenario, "steps": steps}


def _with_step(scenario: Scenario, index: int, step: dict[str, Any]) -> Scenario:
    steps = copy.copy(scenario["steps"])
    steps[index] = step
    return {**scenario, "steps": steps}


SIMPLER = (
    _plainer_config,
    _plainer_fields,
    _fewer_rows,
    _plainer_offsets,
    _plainer_topics,
    _shorter_waits,
    _earlier,
)
