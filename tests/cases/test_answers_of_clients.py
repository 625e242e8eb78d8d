# ruff: noqa: E501 - a row of the tables below stays on one line
"""What clients' logs answer about the files of tests/cases/inputs: causes and episodes."""

from collections.abc import Iterator

import pytest

from coordinator_core.client_history import (
    causes_of_clients,
    episodes_of_clients,
    generations_of,
    history_of_clients,
)
from coordinator_core.episodes.sentences import summary
from jobs.client_evidence import WITH_LINE, lines_of_rows
from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import client_rows
from jobs.sources.logs.dates import since_ms_of_option
from tests.cases.test_reading import INPUTS, shown
from tests.end_to_end.incident_lake import IncidentLake

pytestmark = pytest.mark.seldom

UNKNOWN_DOWNTIME = "partition downtime unknown without records"


def events(files, timezone, log_date) -> Iterator[dict]:
    for file in files.split():
        path = str(INPUTS / file)
        for batch in client_rows(
            path, timezone, DateRange(), since_ms=since_ms_of_option(log_date)
        ):
            for row in batch.to_pylist():
                if row["kind"] == "event":
                    line = row["line"] if row["event"] in WITH_LINE else None
                    time_ms = round(row["event_time"].timestamp() * 1000)
                    yield row | {"file": path, "line": line, "time_ms": time_ms}


# Each case: files, zone, date; generations, each with the missing numbers before it; causes;
# episodes without cost.
CASES = [
    (
        *("client-01/app.log", "Europe/Berlin", None),
        "41 43(1)",
        "43 trigger LEAVE_POLL_TIMEOUT slow_poll consumer-batch-1-~0001 consumer poll timeout has expired; polled again 180.1 s later",
        "consumer-batch-1 exceeded max.poll.interval.ms, polled again 180.1 s later",
    ),
    (
        *("client-02/connect-worker.log", "UTC", None),
        "305655831 305655832(0) 305655833(0) 305655834(0) 305655842(7)",
        "305655832 trigger ASSIGNMENT_FAILED - - do not have latest config",
        "leader connect-1 could not assign (the worker does not have the latest config that other members know: it uses another config topic, or two Connect clusters share a group.id)",
    ),
    (
        *("client-06/consumer.log", "UTC", None),
        "1 3(1)",
        "3 trigger SESSION_EXPIRY frozen - unknown member, session expired",
        "consumer.log frozen or cut off, session expired",
    ),
    (
        *("client-08/service.log", "UTC", None),
        "12 13(0)",
        "13 trigger LEAVE_POLL_TIMEOUT slow_poll rdkafka-~0081 consumer poll timeout has expired",
        "rdkafka exceeded max.poll.interval.ms",
    ),
    (
        *("client-10/sinker.log", "UTC", None),
        "17 18(0)",
        "18 contributing NOT_REJOINED slow_rejoin kgo-~00a1 unknown member, did not rejoin in time; the rebalance waited 60.1 s for this member",
        "kgo did not rejoin within max.poll.interval.ms, the rebalance waited 60.1 s for this member",
    ),
    (
        *("client-11/pod-a.log", "UTC", "2024-02-26"),
        "91",
        "91 contributing NOT_REJOINED slow_rejoin pod-a-~00b1 unknown member, did not rejoin in time; the rebalance waited 300.2 s for this member",
        "pod-a did not rejoin within max.poll.interval.ms, the rebalance waited 300.2 s for this member",
    ),
    (
        *("client-12/dispatcher.log", "UTC", None),
        "55 56(0)",
        "56 contributing LEAVE_POLL_TIMEOUT slow_poll consumer-trigger-bbt-19-~00c1 consumer poll timeout has expired; the rebalance waited 300.4 s for this member",
        "consumer-trigger-bbt-19 exceeded max.poll.interval.ms, the rebalance waited 300.4 s for this member",
    ),
    (
        *("client-15/app.log", "UTC", None),
        "1 2(0)",
        "2 trigger COORDINATOR_MOVED - consumer-ord-1-~00f1 rebalance failed due to 'This is not the correct coordinator.' (NotCoordinatorException)",
        "coordinator failover: a rebalance not finished when the log ends",
    ),
    (
        *(
            "client-21/consumer-a.log client-21/consumer-b.log client-21/consumer-c.log",
            "UTC",
            None,
        ),
        "28 29(0)",
        "29 trigger LEAVE_POLL_TIMEOUT slow_poll consumer-g2-1-~0213 consumer poll timeout has expired",
        "consumer-g2-1@consumer-c.log exceeded max.poll.interval.ms",
    ),
]


@pytest.mark.parametrize(
    ("files", "zone", "log_date", "numbers", "cause", "episode"), CASES, ids=[c[0] for c in CASES]
)
def test_clients_alone(files, zone, log_date, numbers, cause, episode):
    history = history_of_clients(lines_of_rows(list(events(files, zone, log_date))))
    generations = generations_of(history)
    causes = causes_of_clients(history)

    assert " ".join(map(numbered, generations)) == numbers
    assert cause in [
        f"{each.generation} {each.role} {each.cause} {shown(each.story)} {shown(each.member_id)}"
        f" {each.client_reason}"
        for each in causes
    ]
    sentences = [summary(each, None) for each in episodes_of_clients(generations, causes)]
    assert [text for text in sentences if text.startswith((f"{episode}: ", f"{episode}, "))]
    assert all(UNKNOWN_DOWNTIME in text for text in sentences)


def numbered(generation):
    gap = generation.gap_before
    return f"{generation.generation}" + ("" if gap is None else f"({gap})")


def test_a_consumer_with_assign_has_no_causes():
    own = list(events("client-19/taskmanager.log", "UTC", None))
    history = history_of_clients(lines_of_rows(own))

    assert (len(own), causes_of_clients(history), generations_of(history)) == (4, [], [])


CAUSES = "SELECT generation, role, cause, story, client_reason, evidence FROM rebalance_causes ORDER BY generation, event_time"
EPISODES = "SELECT kind, summary FROM episodes ORDER BY from_time DESC, kind LIMIT 1"


@pytest.mark.parametrize(
    ("clients", "broker", "causes", "episode"),
    [
        (
            *("client-17/app.log", "client-17/server.log"),
            [
                (13, "trigger", "MEMBER_NEW", None, None, "log"),
                (14, "trigger", "SESSION_EXPIRY", "frozen", "unknown member, session expired", "clients+log"),
                (14, "contributing", "MEMBER_NEW", "return", None, "clients+log"),
            ],
            ("process_frozen", "source frozen or cut off, session expired, in the group again 9.8 s later: 1 rebalance, 9.8 s not stable"),
        ),
        (
            *("client-04/pod-*.log", "client-04/server.log"),
            [(8, "trigger", "SESSION_EXPIRY", "session_expired", "no line shows the end of its session; the member had no partitions", "clients+log")],
            ("process_lost", "session of svc expired, had no partitions: 1 rebalance, 1.1 s not stable"),
        ),
        (
            *("client-09/consumer.err", "client-09/server-2.5.log"),
            [
                (3, "trigger", "MEMBER_NEW", "start", None, "log"),
                (3, "absorbed", "STATIC_REPLACED", "restart", None, "log"),
                (4, "contributing", "STATIC_FENCED", "fenced", "group.instance.id fenced", "clients+log"),
                (4, "trigger", "SESSION_EXPIRY", "client_fenced", None, "log"),
            ],
            ("coordinator_failover", "coordinator failover, 1 fenced: 1 ms not stable"),
        ),
    ],
    ids=["frozen", "without partitions", "fenced after a failover"],
)  # fmt: skip
@pytest.mark.embedded_suffices
def test_clients_beside_a_broker(tmp_path, clients, broker, causes, episode):
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run("c", None, INPUTS / broker, client_log=str(INPUTS / clients), advice=False)

    assert lake.rows(CAUSES) == causes
    assert lake.rows("SELECT finding FROM findings WHERE finding = 'static_id_used_twice'") == []
    ((kind, text),) = lake.rows(EPISODES)
    assert kind == episode[0]
    assert text.startswith(episode[1])


@pytest.mark.embedded_suffices
@pytest.mark.every_time
def test_all_consumers_of_a_process_at_once_were_frozen(tmp_path):
    lines = (INPUTS / "client-16" / "platform.log").read_text().splitlines(keepends=True)
    third = [line.replace("1602", "1603") for line in lines if "1602" in line]
    (tmp_path / "platform.log").write_text("".join([*lines, *third]))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run("c", None, client_log=str(tmp_path / "platform.log"), advice=False)

    assert lake.rows(
        "SELECT DISTINCT client_reason, evidence FROM rebalance_causes WHERE story = 'frozen'"
    ) == [
        ("unknown member, session expired; 3 consumers of the member's process at once", "clients")
    ]
    assert lake.rows(
        "SELECT COUNT(*), MIN(confidence), COUNT(unowned_partition_ms) FROM episodes"
        " WHERE kind = 'process_frozen'"
    ) == [(3, 0.9, 0)]
