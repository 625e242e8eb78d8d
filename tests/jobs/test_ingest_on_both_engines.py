"""ingest: both engines store the same rows of the same inputs, and each continues the other's
lake."""

import base64
import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.bronze import storing
from jobs.checks.check import broken_laws
from jobs.engine.embedded import SPARK_CONNECT_MODE
from jobs.ingest import Inputs, run
from jobs.lake.opening import open_lake
from jobs.nightly_run.demo import INCIDENTS
from jobs.segments import read_segment
from jobs.sources.dumps.dump import Dump
from tools.faults import inputs as faults
from tools.faults.lakes import tables_of

pytestmark = pytest.mark.seldom

TOPIC = "__consumer_offsets"
INCIDENT = INCIDENTS["kafka-4.1"]
SEGMENT = INCIDENT / "segments" / f"{TOPIC}-2" / f"{0:020}.log"
TABLES = [
    *("broker_log_events", "client_events", "configurations", "end_offsets", "ingested_files"),
    *("offsets_records", "quarantine", "trace_events"),
]
CLIENT_LOGS = Path(__file__).parents[1] / "data" / "client_logs"
SEED = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A segment and a log per fault, each with another partition or first line, and a trace."""
    root = tmp_path_factory.mktemp("inputs")
    segment, log = SEGMENT.read_bytes(), (INCIDENT / "server.log").read_bytes()
    for partition, fault in enumerate(faults.SEGMENTS.values(), start=100):
        place = root / f"{TOPIC}-{partition}"
        place.mkdir()
        (place / "0.log").write_bytes(fault(segment, random.Random(SEED)))
    for name, fault in faults.LOGS.items():
        own = f"[2026-11-21 00:40:00,000] INFO {name} (kafka.Kafka$)\n".encode() + log
        (root / f"{name.replace(' ', '-')}.log").write_bytes(fault(own, random.Random(SEED)))
    events = [
        {"event": "start", "runner": "model", "member_ids": ["m1"]},
        {"event": "state", "at_ms": 5, "group": "g", "state": "Stable", "generation": 1},
        {"event": "state"},
    ]
    times = [(minute, partition) for minute in range(9) for partition in (0, 1)]
    ends = [f"2026-11-21T00:4{minute}:00Z orders:{n}:{minute // 4}" for minute, n in times]
    (root / "ends.txt").write_text("\n".join([*ends, "orders:0", "{"]))
    (root / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return root


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """The records of a segment as Parquet with bytes, as Parquet with text, and as JSON Lines."""
    root = tmp_path_factory.mktemp("dumps")
    records = [
        {"partition": partition, "offset": offset, "timestamp": time, "key": key, "value": value}
        for partition in (0, 1, 2)
        for batch in read_segment(SEGMENT.read_bytes(), partition=2, file="0.log")
        for offset, time, key, value in zip(
            batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True
        )
    ]
    of_bytes, *of_text = (
        [r for r in records if r["partition"] == partition] for partition in (0, 1, 2)
    )
    texts = [[as_text(record) for record in part] for part in of_text]
    pq.write_table(pa.Table.from_pylist(of_bytes), root / "0.parquet")
    pq.write_table(pa.Table.from_pylist(texts[0] + BAD_TEXTS), root / "1.parquet")
    lines = "".join(json.dumps(record) + "\n" for record in texts[1])
    (root / "2.jsonl").write_text(lines + "no json\n")
    return root


def as_text(record):
    encoded = {name: base64.b64encode(record[name] or b"").decode() for name in ("key", "value")}
    return {name: str(value) for name, value in record.items()} | encoded


# None of these texts is a record.  Conversions of text are most likely to differ between engines.
BAD_TEXTS = [
    {"partition": partition, "offset": offset, "timestamp": time, "key": key, "value": None}
    for partition, offset, time, key in [
        ("1.5", "1", "0", "AAAA"),
        ("1e3", "1", "0", "AAAA"),
        ("7", "0x1", "0", "AAAA"),
        ("7", " 9 ", "2026-11-21 00:00", "!!!!"),
        ("7", "9223372036854775808", "0", "AAAA"),
        ("", "1", "0", "AAAA"),
        ("7", "2", "noon", "AAAA"),
    ]
]


@pytest.fixture
def lake_of(sessions, monkeypatch):
    """``lake_of(engine, root)``: PySpark's functions build columns of this engine from here on."""

    def open_(engine, root):
        if engine == "embedded":
            monkeypatch.setenv(SPARK_CONNECT_MODE, "1")
        else:
            monkeypatch.delenv(SPARK_CONNECT_MODE, raising=False)
        return open_lake(sessions(engine), str(root), "c")

    return open_


def inputs_of(folder, dumps=None):
    return Inputs(
        segments=sorted(map(str, folder.glob(f"{TOPIC}-*/*.log"))),
        broker_logs=sorted(map(str, folder.glob("*.log"))),
        dump=Dump(str(dumps)) if dumps else None,
        traces=[str(folder / "trace.jsonl")],
        end_offsets=[str(folder / "ends.txt")],
        client_logs=[str(path) for path in sorted(CLIENT_LOGS.iterdir()) if path.is_file()],
    )


@pytest.mark.spark
@pytest.mark.every_time
def test_both_engines_store_the_same_rows(lake_of, folder, dumps, tmp_path, monkeypatch):
    monkeypatch.setattr(storing, "CHUNK_BYTES", 1 << 16)
    tables = {}
    for engine in ("spark", "embedded"):
        lake = lake_of(engine, tmp_path / engine)
        run(lake, inputs_of(folder, dumps))
        tables[engine] = tables_of(lake.root)
        assert broken_laws(lake.root)[1] == []

    assert sorted(tables["spark"]) == TABLES
    for table in TABLES:
        assert tables["embedded"][table] == tables["spark"][table]
    assert len(tables["spark"]["offsets_records"]) > 1000
    assert len(tables["spark"]["quarantine"]) > len(faults.SEGMENTS)


@pytest.mark.spark
@pytest.mark.parametrize(("first", "second"), [("spark", "embedded"), ("embedded", "spark")])
def test_an_engine_adds_nothing_to_what_the_other_stored(lake_of, folder, tmp_path, first, second):
    lake = lake_of(first, tmp_path)
    run(lake, inputs_of(folder))
    before = {table: lake.version(table) for table in ("offsets_records", "quarantine")}
    rows = tables_of(lake.root)

    again = lake_of(second, tmp_path)
    run(again, inputs_of(folder))

    assert tables_of(again.root) == rows
    assert {table: again.version(table) for table in before} == before


@pytest.mark.parametrize("chunk_bytes", [1 << 12, 1 << 30], ids=["two chunks", "one chunk"])
def test_the_same_record_in_two_files_is_stored_once(lake_of, tmp_path, monkeypatch, chunk_bytes):
    monkeypatch.setattr(storing, "CHUNK_BYTES", chunk_bytes)
    for name in ("a", "b"):
        place = tmp_path / name / f"{TOPIC}-2"
        place.mkdir(parents=True)
        shutil.copy(SEGMENT, place)
    lake = lake_of("embedded", tmp_path / "lake")

    run(lake, Inputs(segments=sorted(map(str, tmp_path.glob(f"*/{TOPIC}-2/*.log")))))

    inputs = [
        offset
        for batch in read_segment(SEGMENT.read_bytes(), partition=2, file="0.log")
        for offset in batch.offsets
    ]
    stored = lake.read("offsets_records").select("log_offset").collect()
    assert sorted(row.log_offset for row in stored) == inputs
    assert lake.version("offsets_records") == 1, "created, and one commit with rows"
