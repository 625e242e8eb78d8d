"""Every assignment equals that of Kafka's own classes, list order included."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from coordinator_core.assignors import ASSIGNORS
from jobs.assignors.command import answer

DATA = Path(__file__).parents[1] / "data" / "assignors"


def rows_by_assignor(name):
    rows = defaultdict(list)
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            rows[row["given"]["assignor"]].append(row)
    return rows


SMALL, LARGE = rows_by_assignor("small"), rows_by_assignor("large")


def written(row):
    return json.loads(json.dumps(row))


def differing(rows):
    return [
        row["given"]["case"]
        for row in rows
        if written(answer(row["given"])) != {"case": row["given"]["case"], **row["want"]}
    ]


@pytest.mark.parametrize(
    ("assignor", "cases"),
    [
        ("range", 290),
        ("roundrobin", 287),
        ("sticky", 647),
        ("cooperative-sticky", 546),
        ("uniform", 400),
        ("server-range", 178),
    ],
)
def test_small_groups(assignor, cases):
    assert len(SMALL[assignor]) == cases
    assert differing(SMALL[assignor]) == []


@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_large_groups(assignor):
    assert LARGE[assignor]
    assert differing(LARGE[assignor]) == []
