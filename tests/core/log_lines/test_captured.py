"""Lines of real brokers 0.9 to 4.1, one of each shape, parsed and printed."""

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

from coordinator_core.log_lines import parse_line, render_line

LINES = Path(__file__).parents[2] / "data" / "log_lines" / "captured.tsv.gz"


def captured():
    with gzip.open(LINES, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows]


CAPTURED = captured()
PRINTED = [row for row in CAPTURED if row["prints"] == "yes"]


def ids(row):
    return f"{row['version']}-{row['event']}-{row['group']}"


@pytest.mark.parametrize("row", CAPTURED, ids=ids)
def test_a_brokers_line_is_parsed(row):
    event = parse_line(row["line"]).event

    read = {
        "event": event.event,
        "group": event.group_id,
        "generation": event.generation,
        "member": event.member_id,
        "instance": event.instance_id,
        "cause": event.cause,
        "client_cause": event.client_cause,
        "members": ",".join(event.members),
    }
    expected = {name: row[name] for name in read}
    assert {name: str("" if value is None else value) for name, value in read.items()} == expected


@pytest.mark.parametrize("row", PRINTED, ids=ids)
def test_the_version_prints_the_brokers_line(row):
    line = parse_line(row["line"])
    fields = {name: value for name, value in line.event._asdict().items() if value is not None}
    fields |= {"broker_id": line.broker_id, "topic_partition": line.topic_partition}

    printed = render_line(fields.pop("event"), row["version"], local_ms=line.local_ms, **fields)

    assert printed == row["line"]


def test_enough_lines_of_every_version_are_printed():
    assert Counter(row["version"] for row in PRINTED) == COUNTS


# All other lines have values that no event has: byte counts, hash codes, threads.
COUNTS = {
    "0.9.0.1": 12,
    "0.10.2.2": 13,
    "2.0.1": 21,
    "2.5.1": 89,
    "3.9.1": 130,
    "4.1.2": 131,
}
