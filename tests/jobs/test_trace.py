"""Source trace: every line of a trace is a row or quarantined with its position."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.records import encode_key
from jobs.checks.check import broken_laws
from jobs.ingest import Inputs, run
from jobs.simulate.scenario import run as play
from jobs.sources.trace import line_row, trace_rows

KEY_OF_GROUP = encode_key(2, {"group": "g"})
SCENARIO = {
    "name": "a-member-comes",
    "about": "One member joins and stores an assignment.",
    "config": {"group_initial_rebalance_delay_ms": 0},
    "steps": [
        {"at_ms": 0, "id": "a", "op": "join", "group": "g", "client_id": "c",
         "client_host": "/127.0.0.1", "member": "", "instance_id": None,
         "session_timeout_ms": 10000, "rebalance_timeout_ms": 60000, "protocol_type": "consumer",
         "protocols": [["range", ""]], "requires_known_member_id": False, "reason": None},
        {"at_ms": 5, "id": "s", "op": "sync", "group": "g", "member": "@a", "instance_id": None,
         "generation": "@a", "protocol_type": "consumer", "protocol_name": "range",
         "assignments": [["@a", "AAE="]]},
    ],
}  # fmt: skip


def event(**fields):
    return json.dumps(fields).encode() + b"\n"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (event(event="start", runner="Kafka", member_ids=["m1", "m2"]),
         {"event": "start", "runner": "Kafka", "members": ["m1", "m2"]}),
        (event(at_ms=3, event="response", to="a", op="join", error="NONE", generation=1,
               protocol_type="consumer", protocol_name="range", leader="m", member="m",
               members=[["m", None, "AAE="]]),
         {"at_ms": 3, "event": "response", "step": "a", "op": "join", "error": "NONE",
          "generation": 1, "protocol_type": "consumer", "protocol_name": "range", "leader": "m",
          "member_id": "m", "members": ["m"]}),
        (event(at_ms=3, event="response", to="s", op="sync", error="NONE", assignment="AAE="),
         {"at_ms": 3, "event": "response", "step": "s", "op": "sync", "error": "NONE",
          "assignment": b"\x00\x01"}),
        (event(at_ms=4, event="state", group="g", state="Empty", generation=2, leader=None,
               members=[]),
         {"at_ms": 4, "event": "state", "group_id": "g", "state": "Empty", "generation": 2,
          "members": []}),
        (event(at_ms=4, event="record", key=base64.b64encode(KEY_OF_GROUP).decode(), value=None),
         {"at_ms": 4, "event": "record", "group_id": "g", "key": KEY_OF_GROUP}),
    ],
    ids=["start", "join", "sync", "state", "tombstone"],
)  # fmt: skip
def test_fields_of_a_line(line, fields):
    row = line_row(line)

    assert (row.pop("kind"), row.pop("line")) == ("event", line.decode()[:-1])
    assert {name: value for name, value in row.items() if value is not None} == fields


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not a trace event: Expecting property name"),
        (b"[]", "not a trace event: expected an object with an event of start, response"),
        (b'{"event": "surprise"}',
         "not a trace event: expected an object with an event of start, response"),
        (b'{"event": "state", "at_ms": "0"}', "not a trace event: at_ms '0'"),
        (b'{"event": "state", "at_ms": 0, "generation": 3000000000}', "not a trace event: "),
        (b'{"event": "state", "at_ms": 0, "members": [1]}', "not a trace event: "),
        (b'{"event": "record", "at_ms": 0, "key": "?"}', "not a trace event: "),
        (b'{"event": "record", "at_ms": 0, "key": "AGM="}',
         "not a trace event: Key: type at byte 0: no record type 99 is known"),
        (b"\xff", "not a trace event: "),
    ],
)  # fmt: skip
def test_a_line_without_an_event_is_quarantined_with_the_reason(line, reason):
    row = line_row(line + b"\r\n")

    assert row["kind"] == "quarantined"
    assert row["reason"].startswith(reason)
    assert row["raw"] == line


def test_every_line_of_kafkas_own_traces_is_an_event(tmp_path):
    recorded = Path(__file__).parents[1] / "data" / "coordinator" / "traces-4.1.jsonl.gz"
    lines = [
        json.dumps(line)
        for trace in gzip.decompress(recorded.read_bytes()).splitlines()
        for line in json.loads(trace)["trace"]
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))

    rows = [row for batch in trace_rows(str(tmp_path / "all.jsonl")) for row in batch.to_pylist()]

    assert len(lines) > 100
    assert [row["kind"] for row in rows] == ["event"] * len(lines) + ["file"]


def test_a_trace_in_several_folders_is_read_once_and_counts_add_up(lake, tmp_path):
    (tmp_path / "scenario.json").write_text(json.dumps(SCENARIO))
    assert play("4.1", None, str(tmp_path / "out"), [str(tmp_path / "scenario.json")]) == 0
    [trace] = (tmp_path / "out").rglob("*.jsonl")
    whole = trace.read_bytes()
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(whole + b"\nhalf a li")
    again, twin = tmp_path / trace.name, tmp_path / "twin.jsonl"
    again.write_bytes(whole)
    twin.write_bytes(whole)
    for files in ([str(trace), str(damaged)], [str(again), str(twin)]):
        run(lake, Inputs(traces=files))

    lines = whole.count(b"\n")
    events = lake.read("trace_events").orderBy("position").collect()
    of_file = [row for row in events if row["file"] == str(trace)]
    assert len(events) == 3 * len(of_file) == 3 * lines
    assert [(r["event"], r["at_ms"], r["group_id"], r["state"]) for r in of_file if r["state"]] == [
        ("state", 0, "g", "PreparingRebalance"),
        ("state", 0, "g", "CompletingRebalance"),
        ("state", 5, "g", "Stable"),
    ]
    counts = ("path", "inputs", "quarantined", "skipped")
    assert sorted(
        tuple(row[c] for c in counts) for row in lake.read("ingested_files").collect()
    ) == [
        (str(again), lines, 0, 0),
        (str(damaged), lines + 2, 1, 1),
        (str(twin), lines, 0, 0),
    ]
    [bad] = lake.read("quarantine").collect()
    assert (bad["source"], bad["position"], bytes(bad["bytes"])) == (
        "trace", len(whole) + 1, b"half a li"
    )  # fmt: skip
    assert broken_laws(lake.root)[1] == []
