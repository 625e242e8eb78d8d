# ruff: noqa: E501 - log lines stay on one line
"""Lines of consumers: captured ones, and the constants of kafka-clients of several versions.

Rule: each wording is printed by some version, and stands for one event.
"""

import re
from pathlib import Path

import pytest

import schemas.log_lines as data
from coordinator_core.log_lines.client_lines import ClientEvent, parse_client_line
from coordinator_core.log_lines.templates import Template

CONSTANTS = Path(__file__).parents[2] / "data" / "log_lines" / "client_constants.tsv"
ROWS = [line.split("\t") for line in CONSTANTS.read_text().splitlines()[1:]]
CONTEXT = "[Consumer clientId=billing-1, groupId=billing]"
CLASS = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"


def filled(text):
    """A constant with values: partitions, and numbers."""
    words = r"(partition(?:s|\(s\))?:? ?|received an assignment )\{\}"
    return re.sub(words, r"\1t-1", text).replace("{}", "1")


def event(message):
    line = parse_client_line(f"[2026-11-21 00:46:34,342] INFO {CONTEXT} {message} {CLASS}")
    assert (line.library, line.client_id, line.group_id) == ("java", "billing-1", "billing")
    assert (line.level, line.logger) == ("INFO", CLASS[1:-1])
    return line.event


@pytest.mark.parametrize(("versions", "expected", "text"), ROWS, ids=[row[2][:60] for row in ROWS])
def test_constants_of_kafka_clients(versions, expected, text):
    assert event(filled(text)).event == expected


def test_each_wording_of_java_clients_is_a_constant_of_some_version():
    texts = [filled(row[2]) for row in ROWS]
    texts += [row[2].replace("{}", "").rstrip() for row in ROWS]  # an empty list
    # Templates whose constants contain a Generation, an Assignment or the broker's answer.
    composed = ("Generation{", "Assignment", "ms: {error}")
    wordings = [
        each
        for each in data.client_library("java")["wordings"]
        if not any(words in each["text"] for words in composed)
    ]

    unknown = [
        each["text"]
        for each in wordings
        if not any(Template(each["text"]).read(text) is not None for text in texts)
    ]

    assert unknown == []


# message                                                            expected fields
CAPTURED = [
    ("(Re-)joining group", {"event": "JOINING"}),
    (
        "Request joining group due to: group is already rebalancing",
        {"event": "REJOIN_REQUESTED", "reason": "group is already rebalancing"},
    ),
    (
        "Successfully joined group with generation Generation{generationId=7, "
        "memberId='billing-1-0e3d3ebe-f593-4ca0-83ab-d9e56b4d3c7b', protocol='cooperative-sticky'}",
        {
            "event": "JOINED",
            "generation": 7,
            "member_id": "billing-1-0e3d3ebe-f593-4ca0-83ab-d9e56b4d3c7b",
            "assignor": "cooperative-sticky",
        },
    ),
    (
        "Successfully joined group with generation 7",
        {"event": "JOINED", "generation": 7},
    ),
    (
        "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent "
        "generation was Generation{generationId=8, memberId='m', protocol='range'}",
        {
            "event": "SYNC_FAILED",
            "reason": "The group began another rebalance. Need to re-join the group.",
            "generation": 8,
            "member_id": "m",
            "assignor": "range",
        },
    ),
    (
        "Adding newly assigned partitions: [orders-0, orders-1]",
        {"event": "PARTITIONS_ADDED", "partitions": ("orders-0", "orders-1")},
    ),
    (
        "Adding newly assigned partitions: orders-0, orders-1",
        {"event": "PARTITIONS_ADDED", "partitions": ("orders-0", "orders-1")},
    ),
    ("Adding newly assigned partitions: ", {"event": "PARTITIONS_ADDED", "partitions": ()}),
    (
        "Lost previously assigned partitions orders-0",
        {"event": "PARTITIONS_LOST", "partitions": ("orders-0",)},
    ),
    (
        "Member Uz_3zeooSga6JKw6S8UmRA with epoch 2 transitioned from JOINING to RECONCILING.",
        {
            "event": "STATE",
            "member_id": "Uz_3zeooSga6JKw6S8UmRA",
            "epoch": 2,
            "previous_state": "JOINING",
            "state": "RECONCILING",
        },
    ),
    (
        "Member m sending LeaveGroup request to coordinator 127.0.0.1:9092 (id: 1 rack: null) due "
        "to the consumer is being closed",
        {"event": "LEAVING", "member_id": "m", "reason": "the consumer is being closed"},
    ),
]


@pytest.mark.parametrize(("message", "fields"), CAPTURED, ids=[row[0][:40] for row in CAPTURED])
def test_captured_lines_of_java_clients(message, fields):
    assert event(message) == ClientEvent(**fields)


def test_a_static_member_names_its_instance():
    line = parse_client_line(
        "[2026-11-21 00:46:34,342] INFO [Consumer instanceId=i-1, clientId=c, groupId=g] "
        f"(Re-)joining group {CLASS}"
    )

    assert (line.instance_id, line.client_id, line.group_id) == ("i-1", "c", "g")


# librdkafka prints the time in UTC.
HANDLE = "%4|1795224471.848|MAXPOLL|orders-5#consumer-1| [thrd:main]: "
LIBRDKAFKA = [
    (
        "Application maximum poll interval (30000ms) exceeded by 25ms (adjust max.poll.interval.ms "
        "for long-running message processing): leaving group",
        {"event": "POLL_TIMEOUT", "duration_ms": 25},
    ),
    (
        "Consumer group session timed out (in join-state steady) after 6200 ms without a "
        "successful response from the group coordinator (broker 1, last error was Success): "
        "revoking assignment and rejoining group",
        {
            "event": "SESSION_EXPIRED",
            "duration_ms": 6200,
            "reason": "revoking assignment and rejoining group",
        },
    ),
    (
        'Group "g": current assignment of 4 partition(s) lost: max.poll.interval.ms exceeded',
        {
            "event": "PARTITIONS_LOST",
            "group_id": "g",
            "count": 4,
            "reason": "max.poll.interval.ms exceeded",
        },
    ),
    (
        'Group "g" changed join state wait-join -> wait-sync (state up)',
        {"event": "STATE", "group_id": "g", "previous_state": "wait-join", "state": "wait-sync"},
    ),
]


@pytest.mark.parametrize(("message", "fields"), LIBRDKAFKA, ids=[row[0][:40] for row in LIBRDKAFKA])
def test_lines_of_librdkafka(message, fields):
    line = parse_client_line(f"worker 3: {HANDLE}{message}")

    assert (line.library, line.client_id, line.time_ms) == ("librdkafka", "orders-5", 1795224471848)
    assert (line.level, line.logger) == ("WARN", "MAXPOLL")
    assert line.event == ClientEvent(**fields)


def test_a_list_of_librdkafka_has_a_line_per_partition():
    head = "%7|1795647052.665|ASSIGNMENT|rdk-1#consumer-1| [thrd:main]: "
    lines = ["List with 2 partition(s):", " orders [0] offset INVALID", " a b [12] offset 7"]

    events = [parse_client_line(head + line).event for line in lines]
    others = [parse_client_line(head.replace("ASSIGN", "GRPASSIGN") + line).event for line in lines]

    assert events == [
        ClientEvent(event="ASSIGNMENT_LIST", count=2),
        ClientEvent(event="ASSIGNED_PARTITION", partitions=("orders-0",)),
        ClientEvent(event="ASSIGNED_PARTITION", partitions=("a b-12",)),
    ]
    assert [event.event for event in others] == ["OTHER", "OTHER", "OTHER"]


MEMBER = "kpy-1-66bd5ceb-bfef-443f-ad35-344cf4f0b402"
ASSIGNED = ClientEvent(event="ASSIGNED", group_id="kpy", partitions=("orders-0", "orders-1"))
JOINED = ClientEvent(
    event="JOINED", group_id="kpy", member_id=MEMBER, generation=2, assignor="range"
)
SET = "{TopicPartition(topic='orders', partition=1), TopicPartition(topic='orders', partition=0)}"
# Python's logger prints its name at the position that the application's format defines.
PYTHON = [
    (
        "2026-11-25 22:50:58,628 INFO kafka.coordinator: Successfully joined group kpy "
        f"<Generation 2 (member_id: {MEMBER}, protocol: range)>",
        JOINED,
    ),
    (
        "2026-11-25 22:50:58,628 - kafka.coordinator - INFO - Successfully joined group kpy "
        f"<Generation 2 (member_id: {MEMBER}, protocol: range)>",
        JOINED,
    ),
    (
        "2026-11-25 22:50:58,669 INFO kafka.coordinator.consumer: Setting newly assigned "
        f"partitions {SET} for group kpy",
        ASSIGNED,
    ),
    (
        "2026-11-25 22:50:58,676 [MainThread] INFO kafka.coordinator.consumer: Cooperative "
        f"rebalance complete for group kpy: owned=set(), assigned={SET}, revoked=set(), "
        "added=set()",
        ASSIGNED,
    ),
    (
        "2026-11-25 22:50:54,197 INFO kafka.coordinator.consumer: Revoking previously assigned"
        " partitions set() for group kpy",
        ClientEvent(event="PARTITIONS_REVOKED", group_id="kpy", partitions=()),
    ),
]


@pytest.mark.parametrize(("line", "expected"), PYTHON)
def test_lines_of_kafka_python(line, expected):
    parsed = parse_client_line(line)

    assert (parsed.library, parsed.level, parsed.client_id) == ("kafka-python", "INFO", None)
    assert parsed.local_ms // 10_000 == 179564705
    assert parsed.event == expected


SYNCED = ClientEvent(event="SYNCED", group_id="g", partitions=("orders-3", "orders-4", "pay-1"))
FRANZ_JOINED = ClientEvent(
    event="JOINED", group_id="g", member_id=MEMBER, generation=2, instance_id="i-1"
)
# Layouts of kgo.BasicLogger, and of slog and zap behind kslog and kzap.
FRANZ = [
    ("2026-11-25 22:50:51.549 [INFO] synced; group: g, assigned: orders[3 4], pay[1]", SYNCED),
    (
        "time=2026-11-25T22:50:51.549Z level=INFO msg=synced group=g "
        'assigned="orders[3 4], pay[1]"',
        SYNCED,
    ),
    (
        '{"time":"2026-11-25T22:50:51.549972681Z","level":"INFO","msg":"synced","group":"g",'
        '"assigned":{"orders":[3,4],"pay":[1]}}',
        SYNCED,
    ),
    (
        '{"level":"info","ts":"2026-11-25T22:50:51.549Z","msg":"joined","group":"g",'
        f'"member_id":"{MEMBER}","instance_id":"i-1","generation":2,"leader":false}}',
        FRANZ_JOINED,
    ),
    (
        f"2026-11-25 22:50:51.549 [INFO] joined; group: g, member_id: {MEMBER}, instance_id: <nil>,"
        " generation: 2, leader: false",
        FRANZ_JOINED._replace(instance_id=None),
    ),
]


@pytest.mark.parametrize(("line", "expected"), FRANZ)
def test_lines_of_franz_go(line, expected):
    parsed = parse_client_line(line)

    assert (parsed.library, parsed.level, parsed.local_ms) == ("franz-go", "INFO", 1795647051549)
    assert parsed.event == expected


# Layouts of applications around a message, with level, logger and time in ms since 2024-05-01.
DAY_MS = 1_714_521_600_000
JAVA_LOGGER = "o.a.k.c.c.internals.ConsumerCoordinator"
LAYOUTS = [
    (f"2024-05-01T10:00:00.123Z  INFO 1 --- [app] [C-1] {JAVA_LOGGER}  : ", "", "INFO", JAVA_LOGGER, 36_000_123),
    (f"2024-05-01 10:00:00,123 WARN  {JAVA_LOGGER}:41 [C-1] ", "", "WARN", JAVA_LOGGER, 36_000_123),
    (f"[2024-05-01T10:00:00,123][INFO ][{JAVA_LOGGER}][main] ", "", "INFO", JAVA_LOGGER, 36_000_123),
    ("2024-05-01 10:00:00.123 | INFO  | C-1 | ", f" | {JAVA_LOGGER}", "INFO", JAVA_LOGGER, 36_000_123),
    ("> 2024-05-01 10:00:00.123 INFO ", " (x3)", "INFO", None, 36_000_123),
    (f'ts=2024-05-01T10:00:00.123Z level=warn logger={JAVA_LOGGER} msg="', '"', "WARN", JAVA_LOGGER, 36_000_123),
]  # fmt: skip


@pytest.mark.parametrize(("before", "behind", "level", "logger", "day_ms"), LAYOUTS)
def test_layouts_around_a_line_of_java(before, behind, level, logger, day_ms):
    line = parse_client_line(
        f"{before}{CONTEXT} Lost previously assigned partitions orders-0{behind}"
    )

    assert line.event == ClientEvent(event="PARTITIONS_LOST", partitions=("orders-0",))
    assert (line.client_id, line.group_id, line.level, line.logger) == (
        "billing-1", "billing", level, logger,
    )  # fmt: skip
    assert line.local_ms == DAY_MS + day_ms


def test_a_worker_of_connect_is_a_member():
    line = parse_client_line(
        "[2024-05-01 10:00:00,123] INFO [sink|worker] [Worker clientId=connect-1, groupId=lake] "
        "(Re-)joining group (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:605)"
    )

    assert (line.library, line.client_id, line.group_id) == ("java", "connect-1", "lake")
    assert line.event == ClientEvent(event="JOINING")


EXPIRED = "Consumer group session timed out (in join-state steady) after 45100 ms without a successful response from the group coordinator (broker 1, last error was Success): revoking assignment"
# Loggers of librdkafka's bindings, with client id, facility, level and ms since 2024-05-01.
BINDINGS = [
    ("2024-05-01 10:00:00,123 WARNING app SESSTMOUT [c-1#consumer-1] [thrd:main]: ", "c-1", "SESSTMOUT", "WARN", 36_000_123),
    ("[2024-05-01T10:00:00Z WARN  librdkafka] librdkafka: SESSTMOUT [thrd:main]: ", None, "SESSTMOUT", "WARN", 36_000_000),
    ("W, [2024-05-01T10:00:00.123083 #12]  WARN -- : rdkafka: [thrd:main]: ", None, None, "WARN", 36_000_123),
    ("2024-05-01 18:00:00|1714557600.123|SESSTMOUT|c-1#consumer-2| [thrd:main]: ", "c-1", "SESSTMOUT", None, 36_000_123),
]  # fmt: skip


@pytest.mark.parametrize(("before", "client_id", "facility", "level", "day_ms"), BINDINGS)
def test_loggers_of_librdkafkas_bindings(before, client_id, facility, level, day_ms):
    line = parse_client_line(before + EXPIRED)

    assert (line.event.event, line.event.duration_ms) == ("SESSION_EXPIRED", 45100)
    assert (line.client_id, line.logger, line.level) == (client_id, facility, level)
    assert (line.time_ms or line.local_ms) == DAY_MS + day_ms


def test_a_json_record_of_librdkafka():
    """As a logger of Node.js prints librdkafka's log events."""
    line = parse_client_line(
        '{"severity":4,"fac":"SESSTMOUT","message":"[thrd:main]: ' + EXPIRED + '",'
        '"name":"c-1#consumer-1","time":"2024-05-01T10:00:00.123Z"}'
    )

    assert (line.client_id, line.logger, line.local_ms) == ("c-1", "SESSTMOUT", DAY_MS + 36_000_123)
    assert line.event.event == "SESSION_EXPIRED"


# Pairs may be in any order, with other pairs between them.
ORDERS_OF_PAIRS = [
    f'{{"level":"info","ts":1795647051.549,"caller":"kzap.go:114","msg":"joined","member_id":"{MEMBER}","group":"g","instance_id":"i-1","leader":false,"generation":2}}',
    f'{{"@service":"x","generation":2,"group":"g","instance_id":"i-1","leader":false,"level":"info","member_id":"{MEMBER}","message":"joined","time":"2026-11-25T22:50:51.549Z"}}',
    f"2026-11-25T22:50:51.549Z\tINFO\tkzap.go:114\tjoined\t{{\"group\": \"g\", \"member_id\": \"{MEMBER}\", \"instance_id\": \"i-1\", \"generation\": 2, \"leader\": false}}",
    f'time="2026-11-25T22:50:51.549Z" level=info msg=joined generation=2 group=g instance_id=i-1 leader=false member_id={MEMBER}',
    f"2026-11-25T22:50:51.549Z INF joined generation=2 group=g instance_id=i-1 leader=false member_id={MEMBER}",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDERS_OF_PAIRS)
def test_pairs_in_any_order(text):
    line = parse_client_line(text)

    assert (line.library, line.level, line.local_ms) == ("franz-go", "INFO", 1795647051549)
    assert line.event == FRANZ_JOINED


@pytest.mark.parametrize(
    "line",
    [
        '{"level":"INFO","msg":"synced; group: ',
        '{"level":"INFO","msg":["synced"],"group":{"a":1}}',
        "[1, 2]",
        "[2026-11-21 00:46:34,342] INFO [Producer clientId=p] (Re-)joining group (a.B)",
        "[2026-11-21 00:46:34,342] INFO (Re-)joining group (a.B)",
        "%4|1795224471.848|MAXPOLL|orders-5#producer-1| [thrd:main]: x",
    ],
)
def test_lines_of_no_consumer(line):
    assert parse_client_line(line) is None
