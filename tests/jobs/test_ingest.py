"""ingest: every input once, also from several files; unreadable inputs with the reason."""

import gzip
import struct
import zlib
from datetime import date, datetime
from pathlib import Path

import pytest

from coordinator_core.records import encode_key, encode_value
from jobs.checks.check import broken_laws
from jobs.ingest import Inputs, run
from jobs.lake.dates import DateRange
from jobs.lake.opening import open_lake

DAY_BEFORE, DAY = date(2026, 11, 20), date(2026, 11, 21)
DAY_BEFORE_MS, DAY_MS = (
    1_795_175_000_000,
    1_795_219_200_000,
)  # 2026-11-20 11:43:20 and 2026-11-21 00:00
NO_TIME = date(1970, 1, 1)

KEY_OF_GROUP = encode_key(2, {"group": "g"})
COMMIT = encode_key(1, {"group": "g", "topic": "t", "partition": 0})
COMMITTED = encode_value(
    1, 3, {"offset": 4, "leader_epoch": -1, "metadata": "", "commit_timestamp": 5}
)
UNKNOWN_KEY = b"\x00\x63\x00\x01g"  # key type 99


def message(offset, key, value, time_ms=None):
    """A message of format 1, or of format 0 if it has no time."""
    magic = b"\x00\x00" if time_ms is None else struct.pack(">bbq", 1, 0, time_ms)
    body = magic + b"".join(
        struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
        for data in (key, value)
    )
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


UNKNOWN = message(2, UNKNOWN_KEY, b"x", DAY_MS)
SEGMENT = (
    message(0, KEY_OF_GROUP, None, DAY_BEFORE_MS) + message(1, COMMIT, COMMITTED, DAY_MS) + UNKNOWN
)
TAIL = b"\xff" * 20
WITHOUT_TIME = message(0, COMMIT, COMMITTED)


def line(time, message):
    logger = "(kafka.coordinator.group.GroupCoordinator)"
    return f"[2026-11-{time}] INFO [GroupCoordinator 7]: {message} {logger}\n"


# In Berlin a day begins an hour earlier than in UTC.
LINES = [
    line("21 00:30:00,000", "Group g with generation 1 is now empty (__consumer_offsets-3)"),
    line("21 01:00:00,000", "Stabilized group g generation 2 (__consumer_offsets-3)"),
    line("21 01:00:00,001", "Something never worded before"),
    "[2026-11-21 01:00:00,002] INFO Log loaded (kafka.log.UnifiedLog)\n",
]
GROWN = line("21 01:00:00,003", "Stabilized group g generation 3 (__consumer_offsets-3)")


@pytest.fixture(scope="module")
def folder(engine, tmp_path_factory):
    """The inputs of one engine's runs; a log grows between the runs."""
    root = tmp_path_factory.mktemp("inputs")
    files = {
        "data/__consumer_offsets-3/0.log": SEGMENT + TAIL,
        "backup/__consumer_offsets-3/0.log": SEGMENT,
        "data/__consumer_offsets-4/0.log": WITHOUT_TIME,
        "server.log": "".join(LINES).encode(),
        "server.log.1.gz": gzip.compress("".join(LINES).encode()),
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.fixture(scope="module")
def runs(spark, folder, tmp_path_factory):
    """The tables after three runs: for one date; for all dates, with a longer log; in another
    time zone of the brokers."""
    lake = open_lake(spark, str(tmp_path_factory.mktemp("lake")), "c")
    segments = sorted(str(path) for path in folder.rglob("0.log"))
    logs = [str(folder / "server.log"), str(folder / "server.log.1.gz")]
    states = []
    berlin = "Europe/Berlin"
    for dates, zone in ((DateRange(DAY, DAY), berlin), (DateRange(), berlin), (DateRange(), "UTC")):
        run(lake, Inputs(segments=segments, broker_logs=logs, log_timezone=zone, dates=dates))
        states.append({table: lake.read(table).collect() for table in TABLES} | {"lake": lake})
        with open(folder / "server.log", "a") as log:
            log.write(GROWN)
    return states


TABLES = ("offsets_records", "broker_log_events", "quarantine", "ingested_files")


def rows(state, table, *columns):
    return sorted(tuple(row[name] for name in columns) for row in state[table])


RECORD = ("topic_partition", "log_offset", "event_date", "key_type")
EVENT = ("event", "generation", "event_date", "broker_id")


def test_a_run_for_a_date_reads_this_date_and_records_without_a_time(runs):
    assert rows(runs[0], "offsets_records", *RECORD) == [
        ("__consumer_offsets-3", 1, DAY, 1),
        ("__consumer_offsets-4", 0, NO_TIME, 1),
    ]
    assert rows(runs[0], "broker_log_events", *EVENT) == [("JOIN_COMPLETE", 2, DAY, 7)]


def test_a_record_in_several_files_is_stored_once(runs):
    assert rows(runs[1], "offsets_records", *RECORD) == [
        ("__consumer_offsets-3", 0, DAY_BEFORE, 2),
        ("__consumer_offsets-3", 1, DAY, 1),
        ("__consumer_offsets-4", 0, NO_TIME, 1),
    ]


def test_a_record_is_stored_with_its_bytes_and_position(runs):
    stored = rows(runs[1], "offsets_records", "log_offset", "key", "value", "magic", "position")

    assert stored == [
        (0, COMMIT, COMMITTED, 0, 0),
        (0, KEY_OF_GROUP, None, 1, 0),
        (1, COMMIT, COMMITTED, 1, len(message(0, KEY_OF_GROUP, None, 0))),
    ]


def test_a_rolled_log_is_read_once(runs):
    assert rows(runs[1], "broker_log_events", *EVENT) == [
        ("GROUP_EMPTY", 1, DAY_BEFORE, 7),
        ("JOIN_COMPLETE", 2, DAY, 7),
        ("JOIN_COMPLETE", 3, DAY, 7),
    ]


def test_reading_a_log_again_in_another_time_zone_changes_the_times_of_its_lines(runs):
    columns = ("generation", "event_date", "event_time")
    assert rows(runs[2], "broker_log_events", *columns) == [
        (1, DAY, datetime(2026, 11, 21, 0, 30)),
        (2, DAY, datetime(2026, 11, 21, 1, 0)),
        (3, DAY, datetime(2026, 11, 21, 1, 0, 0, 3000)),
        (3, DAY, datetime(2026, 11, 21, 1, 0, 0, 3000)),
    ]


def test_reading_the_same_log_again_writes_nothing(runs, folder):
    lake = runs[-1]["lake"]
    logs = [str(folder / "server.log.1.gz")]
    written = ("broker_log_events", "ingested_files")
    before = [lake.version(table) for table in written]

    run(lake, Inputs(segments=[], broker_logs=logs, log_timezone="UTC", dates=DateRange()))

    assert [lake.version(table) for table in written] == before


def test_unreadable_inputs_are_quarantined_once_per_file(runs):
    columns = ("source", "position", "log_offset", "bytes", "value", "reason")
    at = len(SEGMENT) - len(UNKNOWN)
    no_type = "Key: type at byte 0: no record type 99 is known"

    assert rows(runs[1], "quarantine", *columns) == [
        ("broker_log", len(LINES[0] + LINES[1]), -1, LINES[2][:-1].encode(), None,
         "unknown wording of kafka.coordinator.group.GroupCoordinator"),
        ("segments", at, 2, UNKNOWN_KEY, b"x", no_type),
        ("segments", at, 2, UNKNOWN_KEY, b"x", no_type),
        ("segments", len(SEGMENT), -1, TAIL, None, "unknown magic -1"),
    ]  # fmt: skip


def test_counts_of_every_file_add_up(runs, folder):
    columns = ("path", "inputs", "kept_by_date", "quarantined", "skipped", "unreadable_bytes")
    counts = {Path(row[0]).relative_to(folder).as_posix(): row[1:]
              for row in rows(runs[1], "ingested_files", *columns)}  # fmt: skip

    assert counts == {
        "data/__consumer_offsets-3/0.log": (3, {DAY_BEFORE: 1, DAY: 1}, 1, 0, len(TAIL)),
        "backup/__consumer_offsets-3/0.log": (3, {DAY_BEFORE: 1, DAY: 1}, 1, 0, 0),
        "data/__consumer_offsets-4/0.log": (1, {NO_TIME: 1}, 0, 0, 0),
        "server.log": (5, {DAY_BEFORE: 1, DAY: 2}, 1, 1, 0),
    }


def test_the_lake_violates_no_law(runs):
    assert broken_laws(runs[2]["lake"].root)[1] == []
