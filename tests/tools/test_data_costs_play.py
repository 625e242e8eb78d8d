"""The plays in tests/data: the segments and the truth are of the same run."""

import json
import tarfile
from pathlib import Path

import pytest

from tools.twins.truth import records_of

PLAYS = Path(__file__).parents[1] / "data" / "data_costs"
HANDLED = {
    "B": {
        "parcels-range-auto": 11211,
        "parcels-coop-batch": 11211,
        "parcels-consumer-auto": 11211,
        "trips-kafka-python": 5540,
        "trips-aiokafka": 5539,
        "trips-pill": 5540,
    },
    "C": {
        "meters-java-coop": 11175,
        "meters-franz": 11175,
        "meters-consumer-15s": 11177,
        "views-kafkajs": 9811,
        "views-static-pill": 9813,
        "views-periodic": 9815,
    },
    "D": {
        "rides-java-range": 13289,
        "rides-java-static": 13289,
        "rides-franz": 13289,
        "bills-python-batch": 13353,
        "bills-pill": 13353,
        "bills-coop-periodic": 13353,
    },
}


@pytest.mark.parametrize("play", ["B", "C", "D"])
def test_commits_end_at_the_records_that_were_handled(play, tmp_path):
    """All processes stop by themselves at the end, and commit what they handled."""
    with tarfile.open(PLAYS / f"{play}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    committed = {}
    for line in records_of(tmp_path / "segments"):
        if line["type"] == "OffsetCommit":
            key, value = line["decoded"]["key"], line["decoded"]["value"]
            committed[key["group"], key["partition"]] = value["offset"]
    totals = dict.fromkeys(HANDLED[play], 0)
    for (group, _), offset in committed.items():
        totals[group] += offset

    truth = json.loads((tmp_path / "truth.json").read_text())["groups"]
    assert totals == HANDLED[play]
    assert {name: group["total"]["distinct"] for name, group in truth.items()} == HANDLED[play]
    assert all(group["lost"] == [] for group in truth.values())
