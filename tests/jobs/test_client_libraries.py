"""Captured logs of client libraries: memberships and assignments as the broker's log has them.

A membership is a generation (or epoch), the end of the member id and the partitions of `orders`.
"""

import io
import re
from collections import Counter
from pathlib import Path

import pytest

from jobs.client_evidence import memberships_by_client
from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import client_rows, rows_of_stream

ZOO = Path(__file__).parents[1] / "data" / "client_logs" / "zoo"
NOV_26 = 1_795_651_200_000  # The date of lines in the layout that prints no date, in ms.


def events_of(path):
    with path.open("rb") as stream:
        batches = rows_of_stream(stream, str(path), "UTC", DateRange(), None, NOV_26)
        rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows[-1]["quarantined"] == 0
    return [row for row in rows if row["kind"] == "event"]


def events_in(text):
    batches = rows_of_stream(io.BytesIO(text.encode()), "app.log", "UTC", DateRange())
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [row for row in rows if row["kind"] == "event"]


def memberships(events, group):
    rows = [row for row in events if row["group_id"] == group]
    return [
        (each.generation, (each.member_id or "")[-4:], numbers(each.assigned or each.added))
        for own in memberships_by_client(rows).values()
        for each in own
    ]


def numbers(partitions):
    return " ".join(sorted(each.rpartition("-")[2] for each in partitions or ()))


LIBRARIES = {
    "confluent-python-debug": {"librdkafka"},
    "connect": {"java"},
    "franz-go-kzap": {"franz-go"},
    "java-2.3": {"java"},
    "kafka-python-1.4.7": {"kafka-python"},
    "spring-classic": {"java", "spring-kafka"},
    "spring-consumer": {"java", "spring-kafka"},
    "streams": {"java", "streams"},
}
MEMBERSHIPS = [
    (
        "aiokafka",
        [(1, "33bb", "0 3"), (3, "5935", "1 4"), (4, "5935", "1 3 5"), (5, "5935", "1 4")],
    ),
    ("confluent-python-debug", [(1, "1d89", "2 3")]),
    ("connect", [(1, "73d4", ""), (2, "73d4", ""), (3, "73d4", "")]),
    (
        "franz-go-kzap",
        [(1, "83b8", "1 5"), (3, "4721", ""), (4, "4721", "4 5"), (5, "4721", "4 5")],
    ),
    # Only a member that leaves names its id.
    ("java-2.3", [(1, "14bf", "4 5"), (3, "", "2 3"), (4, "", "3 4 5"), (5, "", "2 3")]),
    (
        "kafka-go",
        [(1, "080f", "4 5"), (3, "5c7c", "2 3"), (4, "5c7c", "2 3"), (5, "5c7c", "3 4 5")],
    ),
    ("kafka-python-1.4.7", [(1, "", "4 5"), (3, "", "4 5"), (4, "", "3 4 5"), (5, "", "4 5")]),
    ("kafka-python", [(1, "a8f0", "2 3"), (3, "bc47", "2 3"), (4, "bc47", "0 1 2")]),
    # sarama logs the member id at the end of a session.
    ("sarama", [(1, "b5da", "0 1"), (3, "8bd3", "4 5"), (4, "8bd3", "3 4 5"), (5, "8bd3", "4 5")]),
    ("spring-classic", [(1, "00a5", "4 5"), (3, "dd42", "2 3"), (4, "dd42", "3 4 5")]),
    ("spring-consumer", [(2, "hVSg", "0 1 2 3 4 5"), (6, "Gfbg", "3 5"), (7, "Gfbg", "3 4 5")]),
    ("streams", []),
]


@pytest.mark.parametrize(("library", "first"), MEMBERSHIPS, ids=[row[0] for row in MEMBERSHIPS])
def test_memberships(library, first):
    events = events_of(ZOO / f"{library}.log.gz")
    own = memberships(events, f"zoo-{library}")

    assert own[: len(first)] == first
    assert {row["library"] for row in events} == LIBRARIES.get(library, {library})


# Libraries whose logs name no generation.
EVENTS = [
    (
        "kafkajs",
        "zoo-kafkajs",
        {"JOINING": 2, "JOINED": 13, "LEAVING": 2, "REJOIN_REQUESTED": 10, "MEMBER_RESET": 1},
    ),
    ("confluent-python", None, {"SESSION_EXPIRED": 1, "POLL_TIMEOUT": 1}),
    ("rust-rdkafka", None, {"SESSION_EXPIRED": 1, "POLL_TIMEOUT": 1}),
]


@pytest.mark.parametrize(("library", "group", "counts"), EVENTS, ids=[row[0] for row in EVENTS])
def test_events_of_libraries_without_generations(library, group, counts):
    events = events_of(ZOO / f"{library}.log.gz")

    assert Counter(row["event"] for row in events) == counts
    assert {row["group_id"] for row in events} == {group}


def test_an_assignment_of_kafkajs():
    joined = [r for r in events_of(ZOO / "kafkajs.log.gz") if r["event"] == "JOINED"][1]

    assert joined["member_id"] == "orders-service-133b18a4-2d28-4060-9bc4-a7e13c7139c3"
    assert (joined["partitions"], joined["duration_ms"]) == (["orders-0", "orders-3"], 1637)
    assert joined["assignor"] == "RoundRobinAssigner"
    assert joined["event_time"].isoformat() == "2026-11-26T21:27:37.299000+00:00"


def test_a_stream_thread_is_of_its_consumers_group():
    events = events_of(ZOO / "streams.log.gz")
    of_threads = [row for row in events if row["library"] == "streams"]

    assert {row["group_id"] for row in of_threads if row["event"] == "RESTORED"} == {"zoo-streams"}
    assert all(re.search(r"-StreamThread-\d+-consumer$", row["client_id"]) for row in of_threads)


@pytest.mark.parametrize(
    "line",
    [
        # Logstash
        "[2026-01-02T03:04:05,678][INFO ][org.apache.kafka.clients.consumer.internals."
        "ConsumerCoordinator][main][1a2b] [Consumer clientId=logstash-0, groupId=logstash] "
        "(Re-)joining group",
        # Lines of Debezium and MirrorMaker 2 in Connect.
        "2026-01-02 03:04:05,678 INFO   ||  [Worker clientId=connect-1, groupId=logstash] "
        "(Re-)joining group   [org.apache.kafka.connect.runtime.distributed.WorkerCoordinator]",
        "[2026-01-02 03:04:05,678] INFO [MirrorSourceConnector|task-0] [Consumer clientId=c, "
        "groupId=logstash] (Re-)joining group (org.apache.kafka.clients.consumer.internals."
        "ConsumerCoordinator:604)",
        # Vector
        "2026-01-02T03:04:05.678000Z DEBUG librdkafka: librdkafka: JOIN [thrd:main]: Joining group "
        '"logstash" with 1 subscribed topic(s) and member id ""',
    ],
    ids=["Logstash", "Debezium", "MirrorMaker 2", "Vector"],
)
def test_programs_that_embed_a_library(line):
    (event,) = events_in(line + "\n")

    assert (event["event"], event["group_id"]) == ("JOINING", "logstash")
    assert event["event_time"].isoformat() == "2026-01-02T03:04:05.678000+00:00"


def test_telegraf_embeds_sarama():
    text = "2026-01-02T03:04:05Z D! [sarama] client/coordinator coordinator for g is #1 (k1:9092)\n"

    (event,) = events_in(text)

    assert (event["event"], event["group_id"]) == ("COORDINATOR_FOUND", "g")


@pytest.mark.parametrize(
    "line",
    [
        "Joining group chat of user 7",
        "Leaving group photo, member discount",
        "Successfully joined group of friends with generation gap",
        "kafka.coordinator.group.GroupCoordinator - Assignment received from leader for group g",
        "Starting new heartbeat thread for group g",
        "Successfully initialized new client session",
        "message=Starting groupId=7",
        '{"msg":"joined","group":"admins","user":7}',
        "GET /groups/group: a, b; balanced; diet",
        "consumergroup/session/x/y heartbeat loop stopped",
    ],
)
def test_lines_of_no_client(line):
    assert events_in(f"2026-01-02 03:04:05,678 INFO {line}\n") == []


def test_an_unnamed_member_of_java_0_10(tmp_path):
    path = tmp_path / "app.log"
    head = "2017-01-02 03:04:05,678 INFO o.a.k.c.c.i.%s - "
    path.write_text(
        head % "AbstractCoordinator"
        + "Successfully joined group billing with generation 4\n"
        + head % "ConsumerCoordinator"
        + "Setting newly assigned partitions [orders-0, orders-1] for group billing\n"
    )

    rows = [r for b in client_rows(str(path), "UTC", DateRange()) for r in b.to_pylist()]

    assert memberships([r for r in rows if r["kind"] == "event"], "billing") == [(4, "", "0 1")]
