"""Inputs in disorder: tables are those of the complete input, or rows say what is missing.

`disordered` reads the incident on Kafka 4.1 in two nights, each partition with disorder of its own.
"""

import base64
import json
import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from jobs.checks.check import broken_laws
from jobs.nightly_run.demo import INCIDENTS
from jobs.segments.frames import Frame, frames
from jobs.segments.writer import record_batch
from tests.end_to_end.incident_lake import IncidentLake

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
CLUSTER = "kafka-4.1"
INCIDENT = INCIDENTS[CLUSTER]
TOPIC = "__consumer_offsets"
SEGMENT = "00000000000000000000.log"
ANALYTICS, AUDIT, INVENTORY = "analytics-cooperative", "audit-python", "inventory-static"
BILLING = "billing-eager"
DISORDER = {
    "the later segment first, then both twice": ANALYTICS,  # partition 1
    "truncated, and whole later; two brokers' logs": AUDIT,  # partition 2
    "a segment that overlaps a dump": BILLING,  # partition 3
    "another partition from the middle on: the topic has another partition count": INVENTORY,
}
ANSWERS = [
    "generations", "generation_members", "assignments", "rebalance_latency", "rebalance_causes",
    "churn", "ownership_gaps", "handovers", "episodes",
]  # fmt: skip
# Columns that say where evidence was read, which differs between lakes.  The order within a
# millisecond may also differ.
PLACES = "topic_partition|first_offset|last_offset|log_offset|file_id|position|broker_id|event_seq"


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def segment(partition):
    return (INCIDENT / "segments" / f"{TOPIC}-{partition}" / SEGMENT).read_bytes()


def lines():
    return (INCIDENT / "server.log").read_bytes().splitlines(keepends=True)


def in_halves(data):
    batches = [each for each in frames(memoryview(data)) if isinstance(each, Frame)]
    middle = batches[len(batches) // 2].position
    return data[:middle], data[middle:]


def numbered_from_zero(data):
    """The same batches in a partition that begins with them."""
    batches, moved = [*frames(memoryview(data))], bytearray(data)
    for batch in batches:
        offset = batch.first_offset - batches[0].first_offset
        moved[batch.position : batch.position + 8] = offset.to_bytes(8, "big")
    return bytes(moved)


@pytest.fixture(scope="module")
def complete(demo_by):
    return demo_by("embedded")


@pytest.fixture(scope="module")
def records(complete):
    """Partition, offset, time in ms, key, value of all records, in order."""
    return complete.rows(
        "SELECT CAST(SPLIT_PART(topic_partition, '-', 2) AS INT), log_offset,"
        " EPOCH_MS(append_time), key, value FROM offsets_records"
        f" WHERE cluster_id = '{CLUSTER}' ORDER BY 1, 2"
    )


def dumped(records):
    names = ("partition", "offset", "timestamp", "key", "value")
    for *place, key, value in records:
        texts = [data and base64.b64encode(data).decode() for data in (key, value)]
        yield json.dumps(dict(zip(names, [*place, *texts], strict=True))).encode() + b"\n"


def disorder_of_logs(night_1, night_2):
    """copytruncate: a copy of the log so far, then the log begins again after zeros up to its old
    position.  The second half of a group's lines is of another broker, its new coordinator."""
    own, moved = [], []
    of_group = [line for line in lines() if f"group {AUDIT}".encode() in line.lower()]
    moving = set(of_group[len(of_group) // 2 :])
    for line in lines():
        (moved if line in moving else own).append(line)
    early, copied = b"".join(own[: len(own) * 4 // 5]), b"".join(own[: len(own) * 9 // 10])
    put(night_1 / "logs/1/server.log", early)
    put(night_2 / "logs/1/server.log.1", copied)
    rest = b"".join(own)[len(copied) :]
    put(night_2 / "logs/1/server.log", bytes(len(copied)) + rest)
    moved_lines = b"".join(moved).replace(b"[GroupCoordinator id=1", b"[GroupCoordinator id=2")
    assert moved_lines
    put(night_2 / "logs/2/server.log", moved_lines)


@pytest.fixture(scope="module")
def disordered(made_once, records):
    def write(root):
        night_1, night_2 = root / "1", root / "2"
        disorder_of_logs(night_1, night_2)
        first, second = in_halves(segment(1))
        put(night_1 / f"segments/{TOPIC}-1/2.log", second)
        for copy in ("segments", "segments/copy"):
            put(night_2 / f"{copy}/{TOPIC}-1/2.log", second)
            put(night_2 / f"{copy}/{TOPIC}-1/1.log", first)
        put(night_1 / f"segments/{TOPIC}-2/{SEGMENT}", in_halves(segment(2))[0][:-10])
        put(night_2 / f"segments/{TOPIC}-2/{SEGMENT}", segment(2))
        of_billing = [record for record in records if record[0] == 3]
        put(night_1 / "dump.jsonl", b"".join(dumped(of_billing[: len(of_billing) * 2 // 3])))
        put(night_2 / f"segments/{TOPIC}-3/{SEGMENT}", in_halves(segment(3))[1])
        first, second = in_halves(segment(4))
        put(night_1 / f"segments/{TOPIC}-4/{SEGMENT}", first)
        put(night_2 / f"segments/{TOPIC}-9/{SEGMENT}", numbered_from_zero(second))
        lake = IncidentLake(str(root / "lake"), "embedded")
        lake.run(CLUSTER, night_1 / "segments", night_1 / "logs", dump=str(night_1 / "dump.jsonl"))
        lake.run(CLUSTER, night_2 / "segments", night_2 / "logs")

    return IncidentLake(str(made_once("disordered", write) / "lake"), "embedded")


def answers(lake, table, group):
    return sorted(
        map(
            repr,
            lake.rows(
                f"SELECT COLUMNS(lambda name: NOT REGEXP_FULL_MATCH(name, '{PLACES}')) FROM {table}"
                f" WHERE cluster_id = '{CLUSTER}' AND group_id = '{group}'"
            ),
        )
    )


@pytest.mark.parametrize("group", DISORDER.values(), ids=DISORDER)
def test_disorder_changes_no_answer(complete, disordered, group):
    for table in ANSWERS:
        expected = answers(complete, table, group)
        assert answers(disordered, table, group) == expected, table
    assert expected


def test_disordered_inputs_violate_no_law(disordered):
    assert broken_laws(disordered.root)[1] == []


# Summer time ends -----------------------------------------------------------------------------

# The incident, moved so that clocks in Berlin go back from 03:00 to 02:00 in the middle of it.
ZONE = ZoneInfo("Europe/Berlin")
LATER = datetime(2026, 10, 25, 1, 0) - datetime(2026, 11, 21, 0, 48, 50)
_LINE_TIME = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),", re.MULTILINE)


def on_the_clock(match):
    moved = datetime.fromisoformat(f"{match[1]}+00:00") + LATER
    return f"[{moved.astimezone(ZONE):%Y-%m-%d %H:%M:%S},"


def test_local_times_of_a_log_at_the_end_of_summer_time(complete, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(_LINE_TIME.sub(on_the_clock, b"".join(lines()).decode()))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")
    events = (
        "SELECT group_id, event, generation, member_id, event_time FROM group_events"
        f" WHERE source = 'broker_log' AND cluster_id = '{CLUSTER}' ORDER BY ALL"
    )

    lake.run(CLUSTER, broker_log=log, log_timezone=ZONE.key)

    expected = [(*event, time + LATER) for *event, time in complete.rows(events)]
    assert {time.hour for *_, time in expected} == {0, 1}
    assert lake.rows(events) == sorted(expected, key=lambda row: [(v is None, v) for v in row])


# Missing parts --------------------------------------------------------------------------------

MISSING = ("2026-11-21 00:48:20", "2026-11-21 00:49:20")
WITHOUT_LINES = [
    *[(ANALYTICS, generation) for generation in (5, 6, 7)],
    *[(BILLING, generation) for generation in (13, 14)],
    *[(INVENTORY, generation) for generation in (2, 3)],
    *[("reports-java", generation) for generation in (3, 4, 5)],
]
OF_LINES = "preparing_time, reason, client_reason"
OF_RECORDS = "protocol, leader, member_count, outcome, first_offset, last_offset"
OF_BOTH = "preparing_time, joined_time, stable_time, cause, reason, culprit_member_id, gap_before"


def test_generations_whose_lines_are_missing_have_the_evidence_of_records(complete, tmp_path):
    """A minute of the log is missing: columns of rows are those of the whole log, or null."""
    first, last = (f"[{time}".encode() for time in MISSING)
    log = tmp_path / "server.log"
    log.write_bytes(b"".join(line for line in lines() if not first <= line < last))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run(CLUSTER, INCIDENT / "segments", log)

    def of_each_generation(of, columns):
        rows = of.rows(
            f"SELECT group_id, generation, {columns} FROM generations"
            f" WHERE cluster_id = '{CLUSTER}' AND outcome != 'superseded' ORDER BY 1, 2"
        )
        return {row[:2]: row[2:] for row in rows}

    evidence = of_each_generation(lake, "evidence")
    of_lines = of_each_generation(lake, OF_LINES)
    with_lines = [key for key in evidence if key not in WITHOUT_LINES]
    values, expected = (of_each_generation(each, OF_BOTH) for each in (lake, complete))
    assert [key for key, value in evidence.items() if value == ("records",)] == WITHOUT_LINES
    assert {of_lines[key] for key in WITHOUT_LINES} == {(None, None, None)}
    assert {evidence[key] for key in with_lines} == {("both",)}
    assert [values[key] for key in with_lines] == [expected[key] for key in with_lines]
    assert of_each_generation(lake, OF_RECORDS) == of_each_generation(complete, OF_RECORDS)


def without_superseded(records):
    """What the cleaner leaves: the last record of each partition and key, at its offset."""
    last = {(partition, key): offset for partition, offset, _, key, _ in records}
    return [each for each in records if last[each[0], each[3]] == each[1]]


def test_generations_that_the_cleaner_removed_are_a_gap(complete, records, tmp_path):
    of_billing = [record for record in records if record[0] == 3]
    third = len(of_billing) // 3
    early, middle, late = of_billing[:third], of_billing[third:-third], of_billing[-third:]
    left = [*early, *without_superseded(middle), *late]
    batches = [record_batch(offset, 0, time, [pair]) for _, offset, time, *pair in left]
    put(tmp_path / f"segments/{TOPIC}-3/{SEGMENT}", b"".join(batches))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run(CLUSTER, tmp_path / "segments")

    gaps = "SELECT group_id, generation, gap_before FROM generations WHERE gap_before > 0"
    assert lake.rows(f"{gaps} ORDER BY 1, 2") == [
        (BILLING, 14, 1),
        (BILLING, 17, 1),
        ("reports-java", 4, 1),
    ]
    assert lake.rows("SELECT DISTINCT evidence FROM generations") == [("records",)]
    members = (
        "SELECT group_id, generation, member_id FROM generation_members"
        f" WHERE cluster_id = '{CLUSTER}' ORDER BY ALL"
    )
    removed = {(BILLING, 13), (BILLING, 16), ("reports-java", 3)}
    assert lake.rows(members) == [
        row
        for row in complete.rows(members)
        if row[0] in (BILLING, "reports-java") and row[:2] not in removed
    ]
