# ruff: noqa: E501 - log lines stay on one line
"""Date, level, prefix and logger around the message, in many log layouts."""

from datetime import UTC, datetime, timedelta

import pytest

from coordinator_core.log_lines import parse_line
from coordinator_core.log_lines.calendar import date_of, day_ms, printed

MESSAGE = "Stabilized group g generation 7 (__consumer_offsets-3) with 2 members"
BARE = f"[GroupCoordinator 1]: {MESSAGE}"
LOGGER = "kafka.coordinator.group.GroupCoordinator"
LOCAL_MS = 1_704_164_645_678  # 2024-01-02 03:04:05,678 in the broker's time zone, in ms

# Each row: line, local_ms, UTC offset, level, logger.
SHAPES = [
    (f"[2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER})", LOCAL_MS, None, "INFO", LOGGER),
    (f"[2024-01-02 03:04:05.678] INFO {BARE} ({LOGGER}:66)", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO {BARE} ({LOGGER})", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO  {BARE} ({LOGGER}) [executor-6]", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO {LOGGER}: {BARE}", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 [executor-6] INFO {LOGGER} - {BARE}", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO [executor-6] GroupCoordinator:66 - {BARE}", LOCAL_MS, None, "INFO", None),
    (f"2024-01-02 03:04:05,678 {BARE}", LOCAL_MS, None, None, None),
    (f"[2024-01-02 03:04:05,678] INFO {BARE}", LOCAL_MS, None, "INFO", None),
    (f"[2024-01-02 03:04:05,678] INFO {BARE} (kafka.coordinator.gr", LOCAL_MS, None, "INFO", None),
    (f"INFO {BARE} ({LOGGER})", None, None, "INFO", LOGGER),
    (BARE, None, None, None, None),
    (f"kafka_1  | [2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER})", LOCAL_MS, None, "INFO", LOGGER),
    (f"Jan  2 03:04:06 host kafka[12]: [2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER})", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02T01:04:05.9Z stdout F [2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER})", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02T03:04:05.678901234Z stdout F INFO {BARE} ({LOGGER})", LOCAL_MS, 0, "INFO", LOGGER),
    (f"2024-01-02T03:04:05.678+02:00 INFO {BARE} ({LOGGER})", LOCAL_MS, 120, "INFO", LOGGER),
    (f"2024-01-02T03:04:05.678-0330 INFO {BARE} ({LOGGER})", LOCAL_MS, -210, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 | INFO  | [handler-3] | {BARE} | {LOGGER} (Logging.scala:68)", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 | INFO  | handler 3 | {LOGGER} | 12 - kafka | {BARE}", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO {BARE} ({LOGGER}) (Logging.scala:68)", LOCAL_MS, None, "INFO", LOGGER),
    (f"2024-01-02 03:04:05,678 INFO {BARE} (Logging.scala:68)", LOCAL_MS, None, "INFO", None),
    (f"2024-01-02 03:04:05,678 INFO {BARE} (k.c.g.GroupCoordinator)", LOCAL_MS, None, "INFO", "k.c.g.GroupCoordinator"),
    (f"[2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER}) │", LOCAL_MS, None, "INFO", LOGGER),
    (f"│ [2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER})   │", LOCAL_MS, None, "INFO", LOGGER),
    (f"| [2024-01-02 03:04:05,678] INFO {BARE} ({LOGGER}) |", LOCAL_MS, None, "INFO", LOGGER),
    (f"[2024-13-02 03:04:05,678] INFO {BARE} ({LOGGER})", None, None, "INFO", LOGGER),
]  # fmt: skip


@pytest.mark.parametrize(("text", "local_ms", "offset", "level", "logger"), SHAPES)
def test_shape(text, local_ms, offset, level, logger):
    line = parse_line(text)

    assert (line.local_ms, line.utc_offset_minutes) == (local_ms, offset)
    assert (line.level, line.logger) == (level, logger)
    assert (line.broker_id, line.topic_partition) == (1, "__consumer_offsets-3")
    assert line.message.endswith(MESSAGE)
    assert (line.event.event, line.event.group_id) == ("JOIN_COMPLETE", "g")


# Texts to the left of a message, with date, offset, level and logger.
HEADS = [
    ("2024-01-02T03:04:05.678+02:00  INFO 1 --- [app] [executor-6] k.coordinator.group.GroupCoordinator   : ", LOCAL_MS, 120, "INFO", "k.coordinator.group.GroupCoordinator"),
    ("[2024-01-02T03:04:05,678][WARN ][k.c.g.GroupCoordinator] [node-1] ", LOCAL_MS, None, "WARN", "k.c.g.GroupCoordinator"),
    ("INFO  2024/01/02 03:04:05.678 [main] ", LOCAL_MS, None, "INFO", None),
    (f"Jan 2, 2024 3:04:05 AM {LOGGER} info INFO: ", LOCAL_MS - 678, None, "INFO", LOGGER),
    (f'time="2024-01-02T03:04:05.678Z" level=error logger={LOGGER} msg="', LOCAL_MS, 0, "ERROR", LOGGER),
    (f'{{"level":"info","ts":1704164645.678,"logger":"{LOGGER}","msg":"', LOCAL_MS, 0, "INFO", LOGGER),
    ("2024-01-02 05:00:00.000,b1,\"[2024-01-02 03:04:05,678] INFO ", LOCAL_MS, None, "INFO", None),
    ("docs/ticket-7.md:12:> - `[2024-01-02 03:04:05,678] INFO ", LOCAL_MS, None, "INFO", None),
    ("// [2024-01-02 03:04:05,678 CET] INFO ", LOCAL_MS, 60, "INFO", None),
    ("I, [2024-01-02T03:04:05.678901 #7]  INFO -- broker: ", LOCAL_MS, None, "INFO", None),
    ("[2024-01-02 03:04:05.678] [broker] [info] ", LOCAL_MS, None, "INFO", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "local_ms", "offset", "level", "logger"), HEADS)
def test_what_stands_to_the_left_of_a_message(before, local_ms, offset, level, logger):
    closing = '"' if before.count('"') % 2 else ""
    line = parse_line(f"{before}{BARE}{closing}")

    assert (line.local_ms, line.utc_offset_minutes) == (local_ms, offset)
    assert (line.level, line.logger, line.broker_id) == (level, logger, 1)
    assert (line.event.event, line.event.member_count) == ("JOIN_COMPLETE", 2)


EXPIRY = (
    "Preparing to rebalance group g in state PreparingRebalance with old generation 1 "
    "(__consumer_offsets-8) (reason: removing member m on heartbeat expiration)"
)
# Texts that were added to the right of a line.
TAILS = [
    *('"', "'", "`", "\t2024-01-02", ";", " ; seen twice", "|", " | host-1", "<br>", "<br/>", "\\n"),
    *(" host=broker-1 pod=kafka-0", ' {"pod": "kafka-0"}', " (x1)", " (x12)", ">", '",2024-01-02 03:04:05.000'),
    *("  # here it expires", " // here", " <-- here", " [executor-6]", " -- see above", '"},'),
]  # fmt: skip


@pytest.mark.parametrize("logger", [f" ({LOGGER})", ""], ids=["logger", "no logger"])
@pytest.mark.parametrize("tail", TAILS)
def test_what_was_added_to_the_right_of_a_line(tail, logger):
    failed = "[GroupCoordinator 1]: Member m in group g has failed, removing it from the group"
    lines = [
        parse_line(f"[2024-01-02 03:04:05,678] INFO {message}{logger}{tail}")
        for message in (f"[GroupCoordinator 1]: {EXPIRY}", failed)
    ]

    assert [(line.event.event, line.event.member_id) for line in lines] == [
        ("REBALANCE_START", "m"), ("HEARTBEAT_EXPIRED", "m"),
    ]  # fmt: skip
    assert lines[0].event.cause == "SESSION_EXPIRY"
    assert [line.local_ms for line in lines] == [LOCAL_MS] * 2


@pytest.mark.parametrize(
    "cut", [" (k", " (kafka", " (kafka.coo", f" ({LOGGER[:-3]}", " (org.apa..."]
)
def test_a_line_that_is_cut_within_its_logger_is_whole(cut):
    line = parse_line(f"[2024-01-02 03:04:05,678] INFO [GroupCoordinator 1]: {EXPIRY}{cut}")

    assert (line.event.event, line.event.cause) == ("REBALANCE_START", "SESSION_EXPIRY")


def test_quotes_around_a_message_are_undone():
    message = f"[GroupCoordinator 1]: {MESSAGE}".replace("group g", 'group ""g""')
    line = parse_line(f'2024-01-02 03:04:05.000,"INFO {message} ({LOGGER})",b1')

    assert line.event.group_id == '"g"'


# Lines without the coordinator's prefix, but with its logger: event, or None if no wording fits.
BESIDE_A_LOGGER = [
    ("10:00:00.123 [t] INFO k.c.group.GroupMetadataManager - Loading group metadata for g with generation 7", "LOADED"),
    ("[INFO ][kafka.coordinator.group.GroupMetadataManager] [n1] Loading group metadata for g with generation 7", "LOADED"),
    ("10:00:00.123 [t] ERROR k.c.group.GroupMetadata - It rains", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "event"), BESIDE_A_LOGGER)
def test_a_message_beside_a_logger_that_is_shortened(text, event):
    line = parse_line(text)

    assert (line.event.event if line.event else None) == event


# message between bars -> event, group, generation
COLUMNS = [
    ("[GroupCoordinator 2]: Preparing to restabilize group g with old generation 118", "REBALANCE_START", "g", 118),
    ("[GroupCoordinator 2]: Stabilized group a | b generation 7", "JOIN_COMPLETE", "a | b", 7),
    ("Loading group metadata for g with generation 7", "LOADED", "g", 7),
]  # fmt: skip


@pytest.mark.parametrize(("message", "event", "group_id", "generation"), COLUMNS)
def test_columns_between_bars(message, event, group_id, generation):
    line = parse_line(
        f"2018-05-12 10:58:42,561 | INFO | [kafka-request-handler-3] | {message} "
        "| kafka.coordinator.GroupCoordinator (Logging.scala:68)"
    )

    assert line.message == message.removeprefix("[GroupCoordinator 2]: ")
    assert (line.event.event, line.event.group_id, line.event.generation) == (
        event,
        group_id,
        generation,
    )


def test_a_coordinators_line_of_unknown_wording_between_bars_is_kept():
    line = parse_line(
        "2018-05-12 10:58:42,561 | WARN | [handler-3] | [GroupCoordinator 2]: It rains "
        "| kafka.coordinator.GroupCoordinator (Logging.scala:68)"
    )

    assert (line.broker_id, line.message, line.event) == (2, "It rains", None)


# prefix, logger -> broker, partition
PREFIXES = [
    ("[GroupCoordinator 12]: ", LOGGER, 12, None),
    ("[Group Metadata Manager on Broker 0]: ", "kafka.coordinator.GroupMetadataManager", 0, None),
    ("[GroupMetadataManager brokerId=1001] ", "kafka.coordinator.group.GroupMetadataManager", 1001, None),
    ("[GroupCoordinator id=1] ", "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime", 1, None),
    (
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=4] ",
        "org.apache.kafka.coordinator.group.classic.ClassicGroup",
        1,
        "__consumer_offsets-4",
    ),
    ("", "kafka.coordinator.group.GroupMetadata$", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "logger", "broker_id", "partition"), PREFIXES)
def test_prefix(prefix, logger, broker_id, partition):
    line = parse_line(
        f"[2024-01-02 03:04:05,678] INFO {prefix}Loading group metadata for g with generation 7 ({logger})"
    )

    assert (line.broker_id, line.topic_partition) == (broker_id, partition)
    assert line.message == "Loading group metadata for g with generation 7"
    assert line.event.event == "LOADED"


OTHERS = [
    "[2024-01-02 03:04:05,678] INFO Starting up. (kafka.coordinator.transaction.TransactionCoordinator)",
    "[2024-01-02 03:04:05,678] INFO [ShareCoordinator id=1] Starting up. (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
    "[2024-01-02 03:04:05,678] INFO Starting up.",
    "2024-01-02 03:04:05,678 | INFO | [handler-3] | Starting up. | kafka.coordinator.transaction.TransactionCoordinator (Logging.scala:68)",
    "2024-01-02 03:04:05,678 | INFO | [handler-3] | Log loaded | kafka.cluster.Partition (Logging.scala:68)",
    "[2024-01-02 03:04:05,678] INFO [Consumer clientId=c, groupId=g] Request joining group due to: x (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
    "[2024-01-02 03:04:05,678] INFO [Partition __consumer_offsets-28 broker=0] Log loaded (kafka.cluster.Partition)",
    "[2024-01-02 03:04:05,678] INFO [DynamicConfigPublisher broker id=1] Updating topic Metadata with new configuration : retention.ms -> 9 (kafka.server.metadata.DynamicConfigPublisher)",
    "[2024-01-02 03:04:05,678] INFO [DynamicConfigPublisher controller id=1] Updating cluster configuration : min.insync.replicas -> 1 (kafka.server.metadata.DynamicConfigPublisher)",
    "[2026-11-27 03:34:16,090] ERROR [KafkaApi-0] Error when handling request: clientId=c, correlationId=4, api=FETCH, body={replica_id=-1} (kafka.server.KafkaApis)",
    "\tat kafka.coordinator.group.GroupCoordinator.doJoin(GroupCoordinator.scala:66)",
    "",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_a_line_of_another_logger_is_ignored(text):
    assert parse_line(text) is None


def test_a_changed_group_configuration_is_read():
    """As Kafka 4.4.0 logs it."""
    line = parse_line(
        "[2026-11-23 02:38:57,135] INFO [DynamicConfigPublisher broker id=1] Updating group billing"
        " with new configuration : consumer.session.timeout.ms -> 12000"
        " (kafka.server.metadata.DynamicConfigPublisher)"
    )

    assert (line.broker_id, line.event.event, line.event.group_id, line.event.reason) == (
        1, "GROUP_CONFIG", "billing", "consumer.session.timeout.ms -> 12000",
    )  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        # Kafka 2.3.0 logs the request in this form.
        "Error when handling request: clientId=c, correlationId=4, api=JOIN_GROUP,"
        " body={group_id=billing,member_id=,group_instance_id=b,protocol_type=consumer}",
        "Unexpected error handling request RequestHeader(apiKey=JOIN_GROUP, apiVersion=2,"
        " clientId=c, correlationId=4) -- JoinGroupRequestData(groupId='billing') with context x",
    ],
)
def test_an_exception_of_a_groups_request_is_read(message):
    line = parse_line(
        f"[2026-11-27 03:34:16,090] ERROR [KafkaApi-3] {message} (kafka.server.KafkaApis)"
    )

    assert (line.broker_id, line.event.event, line.event.step) == (3, "OTHER", "request_failed")
    assert line.message == message


def test_a_coordinators_line_without_a_wording_keeps_its_other_parts():
    line = parse_line(f"[2024-01-02 03:04:05,678] WARN [GroupCoordinator 1]: It rains ({LOGGER})")

    assert line.event is None
    assert (line.broker_id, line.level, line.message) == (1, "WARN", "It rains")


def test_every_date_until_2100():
    day = datetime(1970, 1, 1, tzinfo=UTC)
    while day.year < 2101:
        ms = int(day.timestamp() * 1000)
        assert day_ms(day.year, day.month, day.day) == ms
        assert date_of(ms + 86_399_999) == (day.year, day.month, day.day)
        day += timedelta(days=1)


@pytest.mark.parametrize(
    "date", [(2023, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (1900, 2, 29)]
)
def test_an_invalid_date(date):
    with pytest.raises(ValueError, match="no such date"):
        day_ms(*date)


def test_a_date_as_log4j_prints_it():
    assert printed(LOCAL_MS) == "2024-01-02 03:04:05,678"
