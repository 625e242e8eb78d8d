"""Consumers' logs as a source: captured logs of three Java clients and of librdkafka.

The clients' group was captured with its broker's log: what the clients say is held against it.
"""

import gzip
import io
from collections import Counter
from pathlib import Path

import pytest

from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import client_file_id, client_rows
from jobs.sources.logs.entries import LogEntry
from jobs.sources.logs.files import read_log
from tests.jobs.log_shapes import DOCUMENTS, PER_LINE, Entry

DATA = Path(__file__).parents[1] / "data" / "client_logs"
SERVER_LOG = Path(__file__).parents[2] / "examples" / "mixed-clients-4.1.2" / "server.log"
GROUP = "reports-java"
REPORTS = [f"reports-{number}.log.gz" for number in (1, 2, 3)]


def rows_of(path, timezone="UTC"):
    rows = [r for b in client_rows(str(path), timezone, DateRange()) for r in b.to_pylist()]
    counts = rows.pop()
    kept = sum(dict(counts["kept_by_date"]).values())
    assert counts["inputs"] == kept + counts["quarantined"] + counts["skipped"]
    assert counts["quarantined"] == sum(row["kind"] == "quarantined" for row in rows)
    return [row for row in rows if row["kind"] == "event"], counts


def broker_times(event, group=GROUP, log=None):
    """By generation, when the coordinator logged the event for the clients' group."""
    text = SERVER_LOG.read_bytes() if log is None else log
    items = read_log(io.BytesIO(text), file="f", timezone="UTC")
    lines = [item for item in items if isinstance(item, LogEntry)]
    return {
        line.line.event.generation: line.time_ms
        for line in lines
        if line.line.event.group_id == group and line.line.event.event == event
    }


def ms(row):
    return round(row["event_time"].timestamp() * 1000)


def test_events_of_a_java_client():
    events, counts = rows_of(DATA / REPORTS[0])

    assert Counter(row["event"] for row in events) == {
        "JOINING": 6,
        "REJOIN_REQUESTED": 5,
        "JOINED": 4,
        "SYNCED": 4,
        "ASSIGNED": 4,
        "PARTITIONS_ADDED": 4,
        "PARTITIONS_REVOKED": 3,
        "LEADER_ASSIGNED": 2,
        "SUBSCRIBED": 2,
        "COORDINATOR_FOUND": 2,
        "MEMBER_RESET": 1,
        "LEAVING": 1,
    }
    assert {(row["client_id"], row["group_id"], row["library"]) for row in events} == {
        ("reports-1", GROUP, "java")
    }
    assert counts["inputs"] == 368


def test_clients_join_and_sync_the_brokers_generations():
    """Both clocks are one machine's: a client is told within a second."""
    joined, synced = broker_times("JOIN_COMPLETE"), broker_times("ASSIGNMENT_RECEIVED")
    events = [row for name in REPORTS for row in rows_of(DATA / name)[0]]
    of_broker = {"JOINED": joined, "SYNCED": synced}
    delays = {
        (row["event"], row["generation"]): ms(row) - of_broker[row["event"]][row["generation"]]
        for row in events
        if row["event"] in of_broker
    }

    assert {generation for _, generation in delays} == set(synced)
    assert [delay for delay in delays.values() if not 0 <= delay < 1000] == []


def test_a_line_of_librdkafka_has_its_time_in_utc():
    (event,), counts = rows_of(DATA / "orders-5.err", timezone="Asia/Tokyo")

    assert (event["event"], event["client_id"], ms(event)) == (
        "POLL_TIMEOUT",
        "orders-5",
        1795224471848,
    )
    assert counts["inputs"] == 1


OTHERS = [
    ("kafka-python", "kpy", ["kpy-1.log.gz", "kpy-2.log.gz", "kpy-3.log.gz"]),
    ("librdkafka", "rdk", ["rdk-1.log.gz", "rdk-2.log.gz", "rdk-3.log.gz"]),
    ("franz-go", "franz", ["franz-1.log.gz", "franz-2.log.gz", "franz-3.log.gz"]),
    ("franz-go", "franz-range", [f"franz-range-{n}.log.gz" for n in (1, 2, 3)]),
]


@pytest.mark.parametrize(("library", "group", "names"), OTHERS, ids=[row[1] for row in OTHERS])
def test_other_libraries_join_the_brokers_generations(library, group, names):
    with gzip.open(DATA / "server.log.gz") as log:
        joined = broker_times("JOIN_COMPLETE", group, log.read())
    events = [row for name in names for row in rows_of(DATA / name)[0]]
    joins = [row for row in events if row["event"] == "JOINED" and row["generation"] > 0]
    delays = [ms(row) - joined[row["generation"]] for row in joins]

    assert {row["library"] for row in events} == {library}
    # kafka-python logs its topics before its first line with the group.
    assert {row["group_id"] for row in events if row["event"] != "SUBSCRIBED"} == {group}
    # A client of librdkafka received an answer for generation 7 while it closed.
    assert {row["generation"] for row in joins} == {1, 2, 3, 4, 5} == {*joined} - {7}
    assert [delay for delay in delays if not 0 <= delay < 1000] == []


def test_sarama_names_a_generation_at_its_end():
    events, counts = rows_of(DATA / "sarama-1.log.gz")
    ends = [row for row in events if row["event"] == "SESSION_ENDED"]

    assert [row["generation"] for row in ends] == [1, 2, 3]
    assert {row["group_id"] for row in ends} == {"sarama"}
    assert counts["inputs"] == 67


@pytest.mark.parametrize("shape", ["docker json-file", "stern", "journalctl -o json", "CRI"])
def test_wrapped_lines(tmp_path, shape):
    lines = gzip.decompress((DATA / REPORTS[0]).read_bytes()).decode().splitlines()
    wrapped = [PER_LINE[shape](Entry(1795222000000, "app-1", [line]), line) for line in lines]
    path = tmp_path / "app.log"
    path.write_text("\n".join(wrapped))

    events, _ = rows_of(path)
    plain, _ = rows_of(DATA / REPORTS[0])

    assert [(row["event"], ms(row)) for row in events] == [(r["event"], ms(r)) for r in plain]


def test_a_response_of_loki_with_the_newest_line_first(tmp_path):
    lines = gzip.decompress((DATA / REPORTS[0]).read_bytes()).decode().splitlines()
    own = [line for line in lines if "[Consumer" in line]
    entries = [Entry(1795222000000 + n, "app-1", [line]) for n, line in enumerate(own)]
    path = tmp_path / "export.json"
    path.write_text(DOCUMENTS["a response of Loki"](entries[::-1]))

    events, _ = rows_of(path)

    assert [row["event"] for row in events] == [r["event"] for r in rows_of(DATA / REPORTS[0])[0]]
    assert {row["source"] for row in events} == {"prod-app-1"}


def test_clients_whose_logs_begin_alike_are_different_logs():
    start = b"[2026-11-21 00:46:32,533] INFO Starting (app.Main)\n"
    line = b"[2026-11-21 00:46:33,290] INFO [Consumer clientId=%d, groupId=g] (Re-)joining group\n"

    hashes = [client_file_id(io.BytesIO(start + line % client)) for client in (1, 2)]

    assert hashes[0] != hashes[1]
    assert client_file_id(io.BytesIO(gzip.compress(start + line % 1))) == hashes[0]


def test_a_line_without_any_date_is_unreadable(tmp_path):
    path = tmp_path / "app.log"
    path.write_text("INFO [Consumer clientId=c, groupId=g] (Re-)joining group (a.B)\n")

    events, counts = rows_of(path)

    assert (events, counts["quarantined"]) == ([], 1)
