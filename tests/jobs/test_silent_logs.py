# ruff: noqa: E501 - lines of logs stay on one line
"""A run reports each log whose lines it does not understand, and what the log seems to be."""

import json
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from jobs.console.errors import RunFailed
from jobs.doctor.broker_logs import check_broker_logs
from jobs.doctor.client_logs import check_client_logs
from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.client_logs.client_log import client_rows
from jobs.sources.logs.kinds import (
    kind_of_broker_log,
    kind_of_client_log,
    kind_of_undated_log,
)
from tests.end_to_end.incident_lake import IncidentLake

ROOT = Path(__file__).parents[2]
BROKER = (
    "[2026-11-21 10:00:00,000] INFO [Partition t-0 broker=1] Log loaded (kafka.cluster.Partition)\n"
)
STARTING = "[2026-11-21 09:59:00,000] INFO [BrokerLifecycleManager id=1] Incarnation ehAw_egITGK_QYY33DyKRQ of broker 1 in cluster {} is now STARTING. (org.apache.kafka.server.BrokerLifecycleManager)\n"
COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
EMPTY = f"[2026-11-21 10:00:0{{0}},000] INFO [GroupCoordinator 1]: Group g with generation {{0}} is now empty (__consumer_offsets-1) {COORDINATOR}\n"
DANCED = f"[2026-11-21 10:00:05,000] INFO [GroupCoordinator 1]: Danced with g {COORDINATOR}\n"
JOINED = "[2026-11-21 10:00:0{0},000] INFO [Consumer clientId=c, groupId=g] Successfully joined group with generation {0} (a.B)\n"
SUNG = "[2026-11-21 10:00:05,000] INFO [Consumer clientId=c, groupId=g] Sung with others (a.B)\n"
SEGMENT = b"\0" * 8 + (100).to_bytes(4, "big") + b"\0\0\0\0\2" + b"\xff\xfe" * 50
DESCRIBED = "\nGROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID\ng      t      0          7               9               2    c-1\n"
AT_WARN = "2026-11-21 10:00:00.000  WARN 1 --- [main] o.a.k.clients.NetworkClient : [Consumer clientId=c, groupId=g] Connection lost\n"


def counts_of(path, rows):
    return [row for batch in rows(str(path), "UTC", DateRange()) for row in batch.to_pylist()][-1]


def numbers(counts):
    return [counts[name] for name in ("inputs", "not_understood", "undated", "steps_back")]


def test_a_brokers_log_is_accounted_for(tmp_path):
    path = tmp_path / "server.log"
    undated = EMPTY.format(4).partition("] ")[2]
    path.write_text("".join([BROKER, EMPTY.format(7), EMPTY.format(1), DANCED * 4, undated]))

    counts = counts_of(path, log_rows)

    assert numbers(counts) == [8, 4, 1, 1]
    assert counts["examples"] == "\n".join([DANCED.strip()] * 3)


def test_a_clients_log_is_accounted_for(tmp_path):
    path = tmp_path / "app.log"
    undated = JOINED.format(4).partition("] ")[2]
    path.write_text("".join(["Started\n", JOINED.format(7), JOINED.format(1), SUNG * 4, undated]))

    counts = counts_of(path, client_rows)

    assert numbers(counts) == [8, 4, 1, 1]
    assert counts["examples"] == "\n".join([SUNG.strip()] * 3)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("INFO:aiokafka.consumer.group_coordinator:(Re-)joining group g", 'configure logging with format="%(asctime)s '),
        ("INFO:kafka.coordinator:(Re-)joining group g", 'configure logging with format="%(asctime)s '),
        ("[INFO] joining group; group: g", "give kgo.BasicLogger a prefix function "),
        ("[sarama] consumergroup/session/a-1/1 released", "create sarama.Logger with log.LstdFlags, "),
        ("INFO [Consumer clientId=c, groupId=g] (Re-)joining group", "begin the pattern of the log4j "),
        ("10:00:01.123 [main] INFO  [Consumer clientId=c, groupId=g] (Re-)joining group", "print dates in the log's layout, or give --log-date"),
        ("Group g: joining", "print date and time in the layout of the log, or export the log with the container's times (kubectl logs --timestamps)"),
    ],
)  # fmt: skip
def test_a_log_without_dates_says_how_its_library_prints_them(line, remedy):
    kind = kind_of_undated_log(f"{line}\n".encode())

    assert kind.what == "no line has a complete date"
    assert kind.remedy.startswith(remedy)


def test_the_head_of_a_line_is_no_line_of_its_own(tmp_path):
    """java.util.logging prints the date on the previous line."""
    path = tmp_path / "app.log"
    date = "Nov 21, 2026 1:50:20 PM org.apache.kafka.clients.consumer.internals.AbstractCoordinator joined"
    path.write_text(f"{date}\nINFO: {JOINED.format(7).partition('INFO ')[2]}")

    assert numbers(counts_of(path, client_rows)) == [2, 0, 0, 0]


# content -> description of it as a broker's log and as a client's log
KINDS = [
    (SEGMENT, "a binary segment of a topic", "a binary segment of a topic"),
    (DESCRIBED, "output of kafka-consumer-groups --describe", "output of kafka-consumer-groups --describe"),
    ("\nGROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS\ng  c-1  /h  c  1\n", "read it with regroup snapshot --describe", "output of kafka-consumer-groups --describe"),
    ("GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS\ng  b:9092 (1)  range  Stable  1\n", "output of kafka-consumer-groups", "regroup snapshot --describe"),
    ("g::GroupMetadata(groupId=g, generation=2, protocolType=Some(consumer), currentState=Empty, members=Map())\n", "output of GroupMetadataMessageFormatter before Kafka 3.8", "give its output as --dump"),
    ('{"key":{"type":2,"data":{"group":"g"}},"value":null}\n', "a formatter or kcat printed: give it as --dump", "give it as --dump"),
    ('{"topic":"__consumer_offsets","partition":3,"offset":0,"tstype":"create"}\n', "a formatter or kcat printed: give it as --dump", "give it as --dump"),
    ("Dumping 00000000000000000000.log\nLog starting offset: 0\n", "text of kafka-dump-log", "text of kafka-dump-log"),
    (BROKER, "of a broker that coordinates no group", "a broker's log"),
    (BROKER.replace("INFO", "WARN"), "of a broker whose log level is WARN", "a broker's log"),
    (EMPTY.format(1), "names the coordinator", "a broker's log"),
    (JOINED.format(1), "an application's log", None),
    (AT_WARN, "an application's log", "of an application whose log level is WARN with Kafka's Java client"),
    ("10:00:00 INFO AppInfoParser - Kafka version: 3.9.0\n", "does not seem to be a broker's log", "of an application with Kafka's Java client"),
    ("level=info lib=sarama started\n", "does not seem to be a broker's log", "of an application with sarama"),
    ("", "is empty", "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "of_broker", "of_client"), KINDS)
def test_what_a_file_seems_to_be(content, of_broker, of_client):
    beginning = content if isinstance(content, bytes) else content.encode()

    assert of_broker in kind_of_broker_log(beginning).sentence
    assert of_client is None or of_client in kind_of_client_log(beginning).sentence


def test_a_run_with_a_log_that_gives_nothing_fails(tmp_path, capsys):
    log, other = tmp_path / "server.log", tmp_path / "segment.log"
    log.write_text(EMPTY.format(1) + DANCED)
    other.write_bytes(SEGMENT)
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    with pytest.raises(RunFailed, match=r"no line is readable in .*segment\.log"):
        lake.run("c", None, f"{tmp_path}/*.log")

    printed = capsys.readouterr().err
    assert (
        f"{log}: 2 lines, 1 understood, 1 of a coordinator or consumer not understood\n  {DANCED.strip()[:160]}"
        in printed
    )
    assert (
        f"{other}: 2 lines, 0 understood; it seems to be a binary segment of a topic: give it as --segments"
        in printed
    )
    assert lake.rows("SELECT COUNT(*) FROM broker_log_events") == [(1,)]
    assert lake.rows(
        "SELECT not_understood, undated, steps_back FROM ingested_files WHERE path LIKE '%server.log'"
    ) == [(1, 0, 0)]


def test_a_run_over_logs_of_two_clusters_fails_also_if_the_second_comes_a_night_later(tmp_path):
    first, second = "Rmw2g4EjSpazmynMHoWsnQ", "Rzvsd2LrTQCyqmmJfouaHg"
    for cluster in (first, second):
        (tmp_path / f"{cluster}.log").write_text(STARTING.format(cluster) + EMPTY.format(1))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run("a", None, f"{tmp_path}/{first}.log")
    lake.run("b", None, f"{tmp_path}/{second}.log")
    # A broker that was formatted again has another cluster id, and here has other groups.
    again = tmp_path / "again.log"
    again.write_text(STARTING.format("x" * 22) + EMPTY.format(2).replace("Group g", "Group h"))
    lake.run("a", None, str(again))
    with pytest.raises(RunFailed, match=f"logs of a: {first} in .*, {second} in .*; group g of"):
        lake.run("a", None, f"{tmp_path}/{second}.log")


def test_a_run_over_a_dump_of_another_topic_fails(tmp_path):
    """A checkpoint of MirrorMaker 2: the offsets of a group, translated."""
    key, value = (
        b64encode(bytes.fromhex(each)).decode()
        for each in (
            "000762696c6c696e67000d736f757263652e6f726465727300000003",
            "000000000000000003e800000000000003840000",
        )
    )
    record = {"topic": "source.checkpoints.internal", "partition": 0, "offset": 0}
    record |= {"timestamp": 1_795_796_676_402, "key": key, "value": value}
    (tmp_path / "dump.json").write_text(json.dumps(record))
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    with pytest.raises(
        RunFailed, match=r"the dump has no record .* only of source\.checkpoints\.int"
    ):
        lake.run("c", dump=f"{tmp_path}/dump.json")


def test_a_quiet_brokers_log_beside_others_is_usual(tmp_path):
    (tmp_path / "server-1.log").write_text(EMPTY.format(1))
    (tmp_path / "server-2.log").write_text(BROKER)
    (tmp_path / "server-3.log").write_text("")
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run("c", None, f"{tmp_path}/*.log")

    (tmp_path / "server-1.log").unlink()
    with pytest.raises(RunFailed, match=r"server-2\.log"):
        lake.run("c", None, f"{tmp_path}/*.log")


def test_doctor_says_the_same_before_the_run(tmp_path):
    path = tmp_path / "app.log"
    path.write_text(DANCED)

    [*_, of_broker] = check_broker_logs(str(path), "UTC")
    path.write_text(AT_WARN)
    [of_client] = check_client_logs(str(path), "UTC")

    assert (of_broker.severity, of_client.severity) == ("failure", "failure")
    assert "it names the coordinator, but no line is understood" in of_broker.text
    assert "of an application whose log level is WARN with Kafka's Java client" in of_client.text
    assert of_client.remedy == "set the logger org.apache.kafka.clients.consumer to INFO"


@pytest.mark.parametrize(
    ("lines", "exit_code", "message"),
    [
        (
            [EMPTY.format(1), DANCED],
            0,
            "server.log: 2 lines, 1 understood, 1 of a coordinator or consumer not understood\n"
            f"  {DANCED[:160].strip()}\n",
        ),
        ([DESCRIBED], 1, "regroup: no line is readable in "),
        ([EMPTY.format(1).partition("] ")[2]], 1, "1 without a complete date"),
    ],
    ids=["one", "none", "undated"],
)
def test_ingest_accounts_for_logs(lines, exit_code, message, tmp_path):
    path = tmp_path / "server.log"
    path.write_text("".join(lines))
    lake = ["--lake", str(tmp_path / "lake"), "--cluster-id", "c", "--engine", "embedded"]

    command = [sys.executable, "-m", "jobs.command_line.cli", "ingest", *lake]
    run = subprocess.run(
        [*command, "--broker-log", str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (run.returncode, message in run.stderr) == (exit_code, True), run.stderr
