"""The differential check without its Java half: equality of traces, shrinking, scenarios."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tools.differential.__main__ import GROUP_TYPES
from tools.differential.check import scenario_text
from tools.differential.consumer_groups import consumer_scenario
from tools.differential.kafka import KafkaRunner, NotBuilt
from tools.differential.scenarios import ORDERED_IDS, scenario
from tools.differential.shrink import shrink
from tools.differential.traces import (
    first_difference,
    first_difference_by_key,
    member_ids,
    same_order,
)

START = {"event": "start", "runner": "a", "member_ids": ["m1", "m2"]}
OTHER_START = {"event": "start", "runner": "b", "member_ids": []}
BEAT = {"at_ms": 5, "event": "response", "to": "h", "op": "heartbeat", "error": "NONE"}
SYNC = {"at_ms": 5, "event": "response", "to": "s", "op": "sync", "error": "NONE"}
RECORD = {"at_ms": 5, "event": "record", "key": "AAI=", "value": None}
SET = {"at_ms": 5, "event": "record", "key": "AAI=", "value": "AAE="}
OTHER = {"at_ms": 5, "event": "record", "key": "AAE=", "value": None}
STATE = {"at_ms": 5, "event": "state", "group": "g", "state": "Stable", "generation": 1}
LATER = {"at_ms": 6, "event": "response", "to": "l", "op": "heartbeat", "error": "NONE"}


def commit(*partitions: list[object]) -> dict[str, object]:
    return {"at_ms": 5, "event": "response", "to": "c", "op": "commit", "partitions": [*partitions]}


EQUALITY = [
    # rule                                expected            actual                     equal
    ("the same events",                   [BEAT, RECORD],     [BEAT, RECORD],            True),
    ("order of answers at one time",      [BEAT, SYNC],       [SYNC, BEAT],              True),
    ("an answer around its record",       [SYNC, RECORD],     [RECORD, SYNC],            True),
    ("order of partitions in an answer",  [commit([0], [1])], [commit([1], [0])],        True),
    ("another start line",                [START, BEAT],      [OTHER_START, BEAT],       True),
    ("order of records",                  [RECORD, OTHER],    [OTHER, RECORD],           False),
    ("a state before its record",         [RECORD, STATE],    [STATE, RECORD],           False),
    ("an answer at another time",         [BEAT],             [{**BEAT, "at_ms": 6}],    False),
    ("another error",                     [BEAT],             [{**BEAT, "error": "X"}],  False),
    ("an additional field",               [BEAT],             [{**BEAT, "extra": 1}],    False),
    ("a missing event",                   [BEAT, LATER],      [BEAT],                    False),
    ("an additional event",               [BEAT],             [BEAT, LATER],             False),
    ("an answer twice",                   [BEAT],             [BEAT, BEAT],              False),
    ("time running backwards",            [BEAT, LATER],      [LATER, BEAT],             False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "equal"), [row[1:] for row in EQUALITY], ids=[row[0] for row in EQUALITY]
)
def test_equal_traces_may_differ_only_in_free_order(expected, actual, equal):
    assert (first_difference(expected, actual) is None) is equal


def test_the_first_difference_has_all_events_of_its_time():
    difference = first_difference([BEAT, SYNC, LATER], [BEAT, {**SYNC, "error": "X"}])

    assert difference is not None
    assert difference.at_ms == 5
    assert difference.only_expected() == [SYNC]
    assert difference.only_actual() == [{**SYNC, "error": "X"}]
    assert difference.kind() == {
        ("response", "sync", "NONE", None, None),
        ("response", "sync", "X", None, None),
    }


def test_records_of_several_types_are_several_kinds_of_difference():
    type_3 = {**RECORD, "key": "AAMAAWc="}
    type_8 = {**RECORD, "key": "AAgAAWc="}

    kinds = [first_difference([record], []).kind() for record in (type_3, type_8)]

    assert kinds == [{("record", None, None, None, "AAM")}, {("record", None, None, None, "AAg")}]


BY_KEY = [
    # rule                                expected            actual                     equal
    ("order of records of two keys",      [RECORD, OTHER],    [OTHER, RECORD],           True),
    ("a state before a record",           [RECORD, STATE],    [STATE, RECORD],           True),
    ("order of records of one key",       [RECORD, SET],      [SET, RECORD],             False),
    ("order of answers at one time",      [BEAT, SYNC],       [SYNC, BEAT],              False),
    ("an additional record",              [RECORD],           [RECORD, OTHER],           False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "equal"), [row[1:] for row in BY_KEY], ids=[row[0] for row in BY_KEY]
)
def test_records_of_one_time_are_compared_by_key_in_traces_of_all_types(expected, actual, equal):
    assert (first_difference_by_key(expected, actual) is None) is equal


def test_the_same_seed_gives_the_same_scenario_of_each_group_type():
    for make in GROUP_TYPES.values():
        first, again, other = (make(random.Random(seed), "n") for seed in (1, 1, 2))
        assert first == again != other


def test_random_consumer_groups_reach_every_kind_of_step():
    """Of 60 scenarios."""
    scenarios = [consumer_scenario(random.Random(f"kinds {n}"), f"n{n}") for n in range(60)]

    ops = {step["op"] for each in scenarios for step in each["steps"]}

    assert ops == {
        "consumer_heartbeat", "consumer_describe", "join", "sync", "heartbeat", "leave", "commit",
        "fetch", "metadata", "group_config", "reload", "fault", "delete", "describe", "list",
        "wait",
    }  # fmt: skip
    assert max(len(consumers_of(each)) for each in scenarios) > 20


def consumers_of(scenario):
    steps = [step for step in scenario["steps"] if step["op"] == "consumer_heartbeat"]
    return {step["member"] for step in steps}


def test_equal_traces_may_have_answers_in_another_order():
    assert same_order([BEAT, SYNC], [BEAT, SYNC])
    assert not same_order([BEAT, SYNC], [SYNC, BEAT])


def test_member_ids_come_from_the_start_line():
    assert member_ids([START, BEAT]) == ["m1", "m2"]


def test_shrinking_keeps_only_what_the_difference_needs():
    """The difference: a commit of partition 7 at least 500 ms after a join as static member i1."""

    def differs(candidate):
        joins = [s for s in candidate["steps"] if s["op"] == "join" and s["instance_id"] == "i1"]
        commits = [
            s
            for s in candidate["steps"]
            if s["op"] == "commit" and 7 in [row[1] for row in s["offsets"]]
        ]
        return any(c["at_ms"] >= j["at_ms"] + 500 for j in joins for c in commits)

    join = {"op": "join", "instance_id": "i1", "session_timeout_ms": 30000, "reason": "why"}
    commit = {
        "op": "commit",
        "instance_id": "i1",
        "offsets": [["t", 6, 1, ""], ["t", 7, 1, "long"]],
    }
    noise = [{"at_ms": at, "id": f"n{at}", "op": "heartbeat"} for at in range(0, 4000, 100)]
    steps = [*noise, {"at_ms": 4100, "id": "j", **join}, {"at_ms": 9000, "id": "c", **commit}]

    smallest = shrink({"name": "n", "config": {"group_max_size": 3}, "steps": steps}, differs)

    assert smallest == {
        "name": "n",
        "config": {"group_max_size": 2147483647},
        "steps": [
            {"at_ms": 0, "id": "j", "op": "join", "instance_id": "i1",
             "session_timeout_ms": 10000, "reason": None},
            {"at_ms": 500, "id": "c", "op": "commit", "instance_id": None,
             "offsets": [["t", 7, 0, ""]]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("index", range(40))
def test_a_scenario_can_be_played(index):
    """Ids are unique, time never runs backwards, and references are to earlier steps."""
    made = scenario(3, index)

    steps = made["steps"]
    times = [step["at_ms"] for step in steps]
    ids = [step["id"] for step in steps]
    assert times == sorted(times)
    assert len(set(ids)) == len(ids)
    for at, step in enumerate(steps):
        texts = [step.get("member"), step.get("generation")]
        texts += [row[0] for field in ("members", "assignments") for row in step.get(field, [])]
        named = {text[1:] for text in texts if isinstance(text, str) and text.startswith("@")}
        assert named <= set(ids[:at])


def test_the_same_seed_gives_the_same_scenario_and_another_seed_another():
    assert scenario(3, 5) == scenario(3, 5)
    assert scenario(3, 5)["steps"] != scenario(4, 5)["steps"]


def test_scenarios_reach_all_requests_and_settings():
    many = [scenario(3, index) for index in range(200)]

    steps = [step for made in many for step in made["steps"]]
    assert {step["op"] for step in steps} == {
        "join", "sync", "heartbeat", "leave", "commit",
        "fetch", "describe", "delete", "fault", "wait",
    }  # fmt: skip
    assert any(len(step["members"]) > 1 for step in steps if step["op"] == "leave")
    assert any(step.get("supports_skipping_assignment") for step in steps)
    assert any(step.get("instance_id") for step in steps)
    assert any("offsets_retention_minutes" in made["config"] for made in many)
    assert any(made["config"]["group_max_size"] < ORDERED_IDS for made in many)
    assert any(len({s["group"] for s in made["steps"]}) > 2 for made in many)
    assert {made.get("member_ids") for made in many} == {None, "scattered"}


def test_a_scenario_is_written_as_json_with_one_step_per_line():
    made = scenario(3, 0)

    text = scenario_text(made)

    assert json.loads(text) == made
    assert len(text.splitlines()) == len(made["steps"]) + 2


def test_without_the_runner_the_message_says_how_to_build_it(tmp_path: Path):
    with pytest.raises(NotBuilt, match="make -C tools oracle"):
        KafkaRunner("4.1", build=tmp_path)
