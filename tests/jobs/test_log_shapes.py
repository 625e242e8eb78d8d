"""A broker's log in each shape that containers, agents and log stores give it.

Rule: the 503 events of a real server.log are 503 events with their times, loggers and stack traces
in each shape, oldest or newest first, and of their own broker where two brokers share a file.
"""

import io
import json
import tarfile
from functools import cache
from pathlib import Path

import pytest
import zstandard

from coordinator_core.log_lines import parse_line
from coordinator_core.log_lines.lines import parse_head
from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import first_line_hash, log_rows, ranges_of_files
from jobs.sources.logs.entries import LogCounts, Unreadable
from jobs.sources.logs.files import read_log
from tests.jobs.log_shapes import (
    DATED_LINES,
    DOCUMENTS,
    PACKED,
    PER_ENTRY,
    PER_LINE,
    Entry,
    per_entry,
    per_line,
)

pytestmark = pytest.mark.slow

EVENTS = 503
LOG = Path(__file__).parents[1] / "data" / "twins" / "rolling-deploy-and-crash-4.1.2.tar.gz"
TRACE = [
    "org.apache.kafka.common.errors.CoordinatorLoadInProgressException: loading",
    "\tat org.apache.kafka.coordinator.Loader.load(Loader.java:81)",
    "\t... 5 more",
    "Caused by: java.io.IOException",
    "\tat java.base/java.io.Reader.read(Reader.java:1)",
]
MOST_OTHERS = 100
ENTRIES_OF_EACH = 200  # 100 of these entries are the coordinator's if two brokers share a file.


@cache
def entries_of(host="kafka-1"):
    """The coordinator's lines, some with a stack trace, and a hundred lines of other loggers."""
    with tarfile.open(LOG) as tar:
        text = tar.extractfile("./server.log").read().decode()
    entries, others, events = [], 0, 0
    for line in text.splitlines():
        parsed, head = parse_line(line), parse_head(line)
        if parsed is None and (not line.startswith("[") or others == MOST_OTHERS):
            continue
        events, others = events + (parsed is not None), others + (parsed is None)
        lines = [line, *TRACE] if parsed and events % 50 == 0 else [line]
        message, _, logger = line[head.end : -1].rpartition(" (")
        entries.append(Entry(head.local_ms, host, lines, head.level, logger, message))
    return entries


def as_broker_2(text):
    return text.replace("GroupCoordinator id=1", "GroupCoordinator id=2")


@cache
def of_two_brokers():
    other = [
        entry._replace(
            host="kafka-2",
            lines=[as_broker_2(line) for line in entry.lines],
            message=as_broker_2(entry.message),
        )
        for entry in entries_of()[:ENTRIES_OF_EACH]
    ]
    return sorted([*entries_of()[:ENTRIES_OF_EACH], *other], key=lambda entry: entry.ms)


def read(data):
    if isinstance(data, str):
        data = data.encode()
    *items, counts = read_log(io.BytesIO(data), file="f", timezone="UTC")
    assert isinstance(counts, LogCounts)
    assert counts.lines == (
        counts.events + counts.unreadable + counts.skipped + counts.continuations
    )
    unreadable = [item for item in items if isinstance(item, Unreadable)]
    assert unreadable == []
    return sorted(items, key=lambda item: item.position)


def facts(entries):
    return [
        (e.time_ms, e.line.event, e.line.level, e.line.logger, e.line.broker_id, e.stack_trace)
        for e in entries
    ]


@cache
def expected():
    """Of the plain log."""
    text = "\n".join(entry.text for entry in entries_of())
    entries = read(text)
    assert len(entries) == EVENTS
    assert sum(entry.stack_trace == "\n".join(TRACE) for entry in entries) == 10
    return facts(entries)


def check(data):
    entries = read(data)

    assert len(entries) == EVENTS
    assert facts(entries) == expected()
    assert len({entry.position for entry in entries}) == EVENTS


@pytest.mark.parametrize("shape", PER_LINE)
def test_shapes_with_a_record_for_each_line(shape):
    check(per_line(shape, entries_of()))


@pytest.mark.parametrize("shape", sorted(DATED_LINES))
def test_lines_with_the_stores_time_newest_first(shape):
    check(per_line(shape, entries_of(), newest_first=True))


@pytest.mark.parametrize("shape", PER_ENTRY)
@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
def test_shapes_with_a_record_for_each_entry(shape, newest_first):
    check(per_entry(shape, entries_of(), newest_first=newest_first))


@pytest.mark.parametrize("shape", DOCUMENTS)
@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
def test_documents(shape, newest_first):
    entries = entries_of()
    # This shape has each line by itself.
    if newest_first and shape == "aws logs filter-log-events":
        entries = [e._replace(lines=e.lines[::-1]) for e in entries]

    check(DOCUMENTS[shape](entries[::-1] if newest_first else entries))


@pytest.mark.parametrize("packing", PACKED)
def test_compressed_exports(packing):
    check(PACKED[packing](per_entry("Splunk's JSON export", entries_of()).encode()))


# Several brokers ----------------------------------------------------------------------------------

NO_SOURCE = {
    *("plain", "docker json-file", "docker logs --timestamps", "CRI", "journalctl -o cat"),
    *("CloudWatch's export to S3", "Splunk's raw export", "docker json-file around ECS"),
}


def rows_of(tmp_path, data):
    path = tmp_path / "export.log"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    rows = [r for b in log_rows(str(path), "UTC", DateRange()) for r in b.to_pylist()]
    assert [row for row in rows if row["kind"] == "quarantined"] == []
    return [row for row in rows if row["kind"] == "event"]


def check_brokers(rows):
    assert len({row["position"] for row in rows}) == len(rows) == 200
    for broker_id in (1, 2):
        of_broker = sorted(
            (row for row in rows if row["broker_id"] == broker_id), key=lambda row: row["position"]
        )
        assert [
            (round(row["event_time"].timestamp() * 1000), row["event"], row["continuation"])
            for row in of_broker
        ] == [(fact[0], fact[1].event, fact[5]) for fact in expected()[:100]]


@pytest.mark.parametrize("shape", [shape for shape in PER_LINE if shape not in NO_SOURCE])
def test_lines_of_two_brokers(tmp_path, shape):
    check_brokers(rows_of(tmp_path, per_line(shape, of_two_brokers())))


@pytest.mark.parametrize("shape", [shape for shape in PER_ENTRY if shape not in NO_SOURCE])
def test_entries_of_two_brokers(tmp_path, shape):
    if shape != "CRI around logstash":  # This shape has one file per broker.
        check_brokers(rows_of(tmp_path, per_entry(shape, of_two_brokers())))


@pytest.mark.parametrize("shape", DOCUMENTS)
def test_documents_of_two_brokers(tmp_path, shape):
    check_brokers(rows_of(tmp_path, DOCUMENTS[shape](of_two_brokers())))


def test_a_source_that_names_no_broker_has_none(tmp_path):
    first, second = entries_of()[-1], entries_of()[-1]._replace(host="kafka-2")
    first = first._replace(
        lines=[line.replace("[GroupCoordinator id=1] ", "") for line in first.lines]
    )

    rows = rows_of(tmp_path, per_line("docker compose logs", [first, second]))

    assert {row["line"][:7]: row["broker_id"] for row in rows} == {"kafka-1": -1, "kafka-2": 1}


# Lines that are not understood ------------------------------------------------------------------


def test_json_without_a_known_message_is_unreadable_if_it_names_the_coordinator():
    record = {"when": 1, "cls": "kafka.coordinator.group.GroupCoordinator", "txt": ["Stabilized"]}
    other = {"when": 1, "cls": "kafka.log.Log", "txt": ["Loaded"]}
    text = "\n".join(map(json.dumps, [record, other])).encode()

    *items, counts = read_log(io.BytesIO(text), file="f", timezone="UTC")

    assert [(item.position, item.reason) for item in items] == [
        (0, "JSON without a known message field; its fields: when, cls, txt")
    ]
    assert (counts.lines, counts.unreadable, counts.skipped) == (2, 1, 1)


def test_lines_out_of_order_beyond_the_limit_are_unreadable(monkeypatch):
    monkeypatch.setattr("jobs.sources.logs.chunks.ORDERED_BYTES", 1 << 16)
    text = per_entry("Splunk's JSON export", entries_of(), newest_first=True).encode()

    *items, counts = read_log(io.BytesIO(text), file="f", timezone="UTC")

    assert [item.reason for item in items] == [
        "a log of more than 0 MiB that is not sorted by time: sort it, oldest line first"
    ]
    assert counts.lines == 1


@pytest.mark.parametrize("kept", [0.2, 0.9])
def test_a_truncated_zstd_file_is_read_up_to_its_end(kept):
    packed = zstandard.compress(per_line("plain", entries_of()).encode())

    *items, counts = read_log(
        io.BytesIO(packed[: int(len(packed) * kept)]), file="f", timezone="UTC"
    )

    assert items[-1].reason.startswith("zstd stream")
    assert counts.lines == counts.events + counts.unreadable + counts.skipped + counts.continuations


# Identity and tasks -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["a response of Elasticsearch", "gcloud logging read"])
def test_exports_with_the_same_first_line_are_different_logs(shape):
    first, second = DOCUMENTS[shape](entries_of()[:9]), DOCUMENTS[shape](entries_of()[9:20])
    assert first.splitlines()[0] == second.splitlines()[0]

    hashes = {first_line_hash(io.BytesIO(text.encode())) for text in (first, second)}

    assert len(hashes) == 2


def test_a_compressed_export_is_the_same_log():
    text = DOCUMENTS["gcloud logging read"](entries_of()).encode()

    hashes = {first_line_hash(io.BytesIO(pack(text))) for pack in (bytes, *PACKED.values())}

    assert len(hashes) == 1


@pytest.mark.parametrize("shape", ["stern", "CRI", "Fluent Bit"])
def test_lines_that_name_their_source_or_come_in_parts_are_one_task(tmp_path, shape):
    path = tmp_path / "export.log"
    path.write_text(per_line(shape, entries_of()))

    assert len(ranges_of_files([str(path)], 1 << 16)) == 1
