"""Faults: undamaged input is read, damaged input is quarantined, and damage of a lake is found.
`make -C tools faults` tries many more."""

import gzip
import random
from dataclasses import replace

import pytest

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of, open_lake_of
from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults import inputs as faults
from tools.faults import lakes as damage

pytestmark = pytest.mark.seldom

INCIDENT = INCIDENTS["kafka-4.1"]
SEGMENT = INCIDENT / "segments" / "__consumer_offsets-2" / "00000000000000000000.log"
SEED = 7
UNDAMAGED = 0
PARTITIONS = dict(enumerate(faults.SEGMENTS, start=UNDAMAGED + 1))
TOPIC = "__consumer_offsets"
WITHOUT_BATCH = ["a flipped bit", "a batch of 2 GiB"]
ADDED = ["an array of 2**31 - 1", "a key of 2 GiB"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One partition or log per fault, undamaged ones, and files that are not read."""
    root = tmp_path_factory.mktemp("inputs")
    data = SEGMENT.read_bytes()
    for partition, name in PARTITIONS.items():
        put(root / f"{TOPIC}-{partition}" / "0.log", faults.SEGMENTS[name](data, chance()))
    put(root / f"{TOPIC}-{UNDAMAGED}" / "0.log", data)
    put(root / "backup" / f"{TOPIC}-{UNDAMAGED}" / "1.log", data)
    put(root / "orders-0" / "0.log", data)
    for name in ("undamaged", *faults.LOGS):
        # Logs are identified by their first line.
        log = f"[2026-11-21 00:40:00,000] INFO {name} (kafka.Kafka$)\n".encode() + log_bytes()
        damaged = faults.LOGS[name](log, chance()) if name in faults.LOGS else log
        put(root / "logs" / f"{name}.log", damaged)
    put(
        root / "logs" / "rolled" / "undamaged.log.gz",
        gzip.compress((root / "logs" / "undamaged.log").read_bytes()),
    )
    return root


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def log_bytes():
    return (INCIDENT / "server.log").read_bytes()


def chance():
    return random.Random(SEED)


@pytest.fixture(scope="module")
def ingested(folder, config, tmp_path_factory):
    """The lake with all inputs, and its tables before they were read again in reverse order."""
    root = str(tmp_path_factory.mktemp("lake"))
    options = NightlyOptions(
        lake=root, cluster_id="c", segments=str(folder), broker_log=str(folder / "logs")
    )
    inputs = inputs_of(options, config)
    lake = open_lake_of(options, inputs, config)
    ingest.run(lake, inputs)
    before = damage.tables_of(root)
    reverse = replace(inputs, segments=inputs.segments[::-1], broker_logs=inputs.broker_logs[::-1])
    ingest.run(lake, reverse)
    return root, before


def records(ingested, partition):
    return query(
        ingested[0],
        "SELECT log_offset, append_time, key, value FROM offsets_records"
        f" WHERE topic_partition = '{TOPIC}-{partition}' ORDER BY log_offset",
    )[1]


def quarantined(ingested, partition):
    return query(
        ingested[0],
        "SELECT position, log_offset, length, bytes, reason FROM quarantine"
        f" WHERE topic_partition = '{TOPIC}-{partition}' ORDER BY position",
    )[1]


def partition_of(fault):
    return next(partition for partition, name in PARTITIONS.items() if name == fault)


def lines(ingested, log):
    return query(
        ingested[0],
        "SELECT event_time, line FROM broker_log_events e JOIN ingested_files f"
        f" ON f.file = e.file_id WHERE f.path LIKE '%/{log}.log%' ORDER BY ALL",
    )[1]


def test_reading_again_in_another_order_changes_nothing(ingested):
    root, before = ingested
    after = damage.tables_of(root)

    assert len(before["offsets_records"]) > 1000
    assert len(before["broker_log_events"]) > 500
    for table in ("offsets_records", "broker_log_events", "quarantine"):
        assert after[table] == before[table]


def test_damaged_inputs_violate_no_law(ingested):
    assert broken_laws(ingested[0])[1] == []


def test_other_topics_are_not_read(ingested):
    files = query(ingested[0], "SELECT path FROM ingested_files")[1]

    assert len(files) > len(PARTITIONS)
    assert not any("orders-0" in path for (path,) in files)


@pytest.mark.parametrize("fault", WITHOUT_BATCH)
def test_only_the_damaged_batch_is_lost(ingested, folder, fault):
    first, end = faults.some_batch(SEGMENT.read_bytes(), chance())
    damaged = (folder / f"{TOPIC}-{partition_of(fault)}" / "0.log").read_bytes()

    ((position, offset, length, data, reason),) = quarantined(ingested, partition_of(fault))
    kept = records(ingested, partition_of(fault))
    lost = set(records(ingested, UNDAMAGED)) - set(kept)

    assert (position, offset, length) == (first, -1, end - first)
    assert data == damaged[first:end]
    assert reason
    assert set(kept) < set(records(ingested, UNDAMAGED))
    assert max(lost)[0] - min(lost)[0] == len(lost) - 1


def test_a_truncated_segment_is_read_up_to_the_cut(ingested, folder):
    partition = partition_of("truncated in a batch")
    damaged = (folder / f"{TOPIC}-{partition}" / "0.log").read_bytes()
    first, _ = faults.some_batch(SEGMENT.read_bytes(), chance())

    kept, undamaged = records(ingested, partition), records(ingested, UNDAMAGED)
    ((position, _, length, data, _),) = quarantined(ingested, partition)

    assert 0 < len(kept) < len(undamaged)
    assert kept == undamaged[: len(kept)]
    assert (position, length, data) == (first, len(damaged) - first, damaged[first:])


@pytest.mark.parametrize("fault", ADDED)
def test_batches_with_impossible_lengths_are_quarantined(ingested, fault):
    end = SEGMENT.stat().st_size

    assert records(ingested, partition_of(fault)) == records(ingested, UNDAMAGED)
    assert [row[0] for row in quarantined(ingested, partition_of(fault))] == [end]


def test_an_empty_segment_has_no_records(ingested):
    partition = partition_of("zero bytes")

    assert records(ingested, partition) == quarantined(ingested, partition) == []


def test_a_log_in_utf_16_has_the_same_lines(ingested):
    assert len(lines(ingested, "undamaged")) > 100
    assert lines(ingested, "UTF-16") == lines(ingested, "undamaged")


def test_a_truncated_log_is_read_up_to_the_cut(ingested):
    undamaged, kept = lines(ingested, "undamaged"), lines(ingested, "cut off in a line")

    lost = set(undamaged) - set(kept)

    assert len(kept) > 100
    assert set(kept) < set(undamaged)
    assert min(time for time, _ in lost) >= max(time for time, _ in kept)


def test_a_clock_set_back_loses_no_line(ingested):
    def messages(log):
        return sorted(line[25:] for _, line in lines(ingested, log))

    assert messages("clock set back") == messages("undamaged")
    assert lines(ingested, "clock set back") != lines(ingested, "undamaged")


def test_an_encrypted_log_is_quarantined(ingested):
    assert lines(ingested, "encrypted") == []
    assert query(
        ingested[0], "SELECT source, position, reason FROM quarantine WHERE reason LIKE 'not text%'"
    )[1] == [("broker_log", 0, "not text: encrypted, or an unknown compression")]


# Damaged lakes --------------------------------------------------------------------------------

CLUSTER = "kafka-4.1"


@pytest.fixture
def copy(demo, tmp_path):
    return demo.copy(tmp_path).root


@pytest.mark.parametrize(
    ("damage_kind", "table"),
    [
        ("a data file deleted", "assignments"),
        ("bytes of a data file flipped", "churn"),
        ("an entry of the Delta log deleted", "timeline"),
        ("the table dropped", "generations"),
        ("a row deleted", "group_metadata"),
        ("a row doubled", "group_events"),
        ("a column dropped", "generation_members"),
    ],
)
def test_a_damaged_table_is_found(copy, damage_kind, table):
    damage.DAMAGES[damage_kind](str(copy), table)

    violations = broken_laws(str(copy))[1]

    assert any(table in f"{law} {where}" for law, _, where, *_ in violations)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("broker_log_events", "member_id"),
        ("offsets_records", "value"),
        ("group_metadata", "leader"),
        ("generations", "member_count"),
        ("generation_members", "client_host"),
        ("assignments", "process"),
        ("rebalance_latency", "join_ms"),
    ],
)
def test_a_changed_value_is_found(copy, table, column):
    damage.value_changed(str(copy), table, column)

    assert broken_laws(str(copy))[1] != []


# Killed runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")
def test_a_killed_run_that_is_started_again_gives_the_same_tables(demo, tmp_path):
    """On Spark, test_both_engines compares the tables after a killed run."""
    lake = IncidentLake(str(tmp_path), "embedded")
    lake.kill_run(CLUSTER, INCIDENT)
    readable = query(lake.root, "SELECT COUNT(*) FROM offsets_records")[1]
    lake.run_incident(CLUSTER, INCIDENT)

    assert readable[0][0] > 0
    assert broken_laws(str(tmp_path))[1] == []
    undisturbed = damage.tables_of(demo.root)
    for table, rows in damage.tables_of(str(tmp_path)).items():
        assert rows == [row for row in undisturbed[table] if f"('{CLUSTER}'," in row], table
