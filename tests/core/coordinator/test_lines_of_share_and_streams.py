"""The lines that a broker logs of share and streams groups equal those of Kafka's own classes."""

import gzip
import json
import re
from itertools import groupby
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.log_lines import parse_message
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

DATA = Path(__file__).parents[2] / "data"
LINE = re.compile(r"\[.*?\] (\w+) \[GroupCoordinator .*?\] (.*) \([\w.]*\.(\w+)\)")


def kafka_lines():
    rows = (DATA / "log_lines" / "group_types.txt").read_text("utf-8").splitlines()
    cells = [row.split(" | ", 4) for row in rows if not row.startswith("#")]
    for (era, name), lines in groupby(cells, key=lambda row: row[:2]):
        yield pytest.param(era, name, [tuple(row[2:]) for row in lines], id=f"{era} {name}")


def scenarios():
    with gzip.open(
        DATA / "coordinator-group-types" / "scenarios.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        return {scenario["name"]: scenario for scenario in map(json.loads, lines)}


SCENARIOS = scenarios()


def written(scenario, era):
    lines = []

    def log(at_ms, event):
        line = line_of(event, ERAS[era], local_ms=at_ms)
        if line is not None:
            level, message, logger = LINE.fullmatch(line).groups()
            lines.append((level, logger, message))

    AllTypesPlayer(scenario, ERAS[era], given_ids([]), log).play("")
    return lines


@pytest.mark.parametrize(("era", "name", "expected"), list(kafka_lines()))
def test_the_lines_equal_those_of_kafka(era, name, expected):
    assert written(SCENARIOS[name], era) == expected


@pytest.mark.parametrize(("era", "name", "expected"), list(kafka_lines()))
def test_every_line_has_a_wording(era, name, expected):
    for _, _, message in expected:
        assert parse_message(message) is not None, message


def test_a_member_that_does_not_give_up_its_tasks_in_time():
    topology = {"epoch": 0, "subtopologies": [{"id": "0", "source_topics": ["a"]}]}
    topic = {"name": "a", "id": "00000000-0000-0000-0000-00000000000a", "partitions": 2}
    join = {"op": "streams_heartbeat", "group": "g", "member_epoch": 0, "owned": []}
    join |= {"rebalance_timeout_ms": 5000, "topology": topology}
    again = {"op": "streams_heartbeat", "group": "g", "member_epoch": "last", "brief": True}
    at_once = {"group.streams.initial.rebalance.delay.ms": 0}
    at_once |= {"group.streams.assignment.interval.ms": 0}
    steps = [
        {"at_ms": 1000, "id": "s1", "op": "metadata", "topics": [topic]},
        {"at_ms": 1000, "id": "s2", "member": "m1", "process_id": "p1", **join},
        {"at_ms": 2000, "id": "s3", "member": "m2", "process_id": "p2", **join},
        {"at_ms": 3000, "id": "s4", "member": "m1", **again},
        {"at_ms": 9000, "id": "s5", "op": "wait"},
    ]

    lines = written({"config": {"kafka": at_once}, "steps": steps}, "4.3")

    why = "it failed to transition from epoch 2 within 5000ms."
    message = f"[GroupId g] Member m1 fenced from the group because {why}"
    assert ("INFO", "GroupMetadataManager", message) in lines
