"""Requests that real brokers got in real time: same answers, order, records and log lines."""

import gzip
import json
from pathlib import Path

import pytest

from tools.compare_broker_traces import differences

DATA = Path(__file__).parents[1] / "data" / "coordinator"
# Versions of brokers, with the number of traces that are kept.
BROKERS = {
    "0.9.0.1": 22,
    "0.10.0.1": 22,
    "0.10.2.2": 22,
    "0.11.0.3": 9,
    "1.0.2": 9,
    "1.1.1": 10,
    "2.0.0": 10,
    "2.0.1": 22,
    "2.1.1": 10,
    "2.2.2": 13,
    "2.3.1": 14,
    "2.4.1": 16,
    "2.5.1": 27,
    "2.6.3": 16,
    "2.8.2": 16,
    "3.0.2": 16,
    "3.3.2": 16,
    "3.5.2": 16,
    "3.7.2": 16,
    "3.9.1": 26,
    "4.1.2": 27,
}


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


SCENARIOS = {scenario["name"]: scenario for scenario in rows("broker-scenarios.jsonl.gz")}


@pytest.mark.parametrize(("version", "count"), BROKERS.items())
def test_the_engine_equals_the_broker_of_its_era(version, count):
    traces = rows(f"broker-{version}.jsonl.gz")

    listed = [each for row in traces for each in differences(SCENARIOS[row["name"]], row["trace"])]

    assert len(traces) == count
    assert listed == []


def test_a_wrong_answer_in_a_trace_is_a_difference():
    row = next(r for r in rows("broker-2.0.1.jsonl.gz") if r["name"] == "commits-by-members")
    answer = next(e for e in row["trace"] if e.get("to") == "a9")
    answer["partitions"][0][2] = "NONE"

    listed = list(differences(SCENARIOS[row["name"]], row["trace"]))

    assert [each.where for each in listed] == ["a9"]
