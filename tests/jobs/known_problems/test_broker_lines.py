"""Defects of brokers that a line of the broker or of a client names."""

import pytest

PARTITION = "__consumer_offsets-7"


def line(at_ms, text, **more):
    row = {"broker_id": 2, "event_time": at_ms, "line": text, "file_id": "f", "position": at_ms}
    return row | {"file": "server.log"} | more


def failed_load(at_ms, error, event="PARTITION_LOAD"):
    verb = {"PARTITION_LOAD": "load metadata from", "PARTITION_UNLOAD": "unload metadata for"}[
        event
    ]
    return line(
        at_ms, f"Failed to {verb} {PARTITION} with epoch 4 due to {error}.",
        event=event, step="failed", topic_partition=PARTITION,
    )  # fmt: skip


def skipped_unload(at_ms, epoch, current):
    return line(
        at_ms,
        f"Ignored unloading metadata for {PARTITION} in epoch {epoch}"
        f" since current epoch is {current}.",
        event="PARTITION_UNLOAD", step="skipped", topic_partition=PARTITION,
    )  # fmt: skip


def failed_request(at_ms, group, exception, api="JOIN_GROUP"):
    return line(
        at_ms,
        f"Error when handling request: clientId=c, correlationId=3, api={api},"
        f" body=JoinGroupRequestData(groupId='{group}', sessionTimeoutMs=10000)",
        event="OTHER", step="request_failed", continuation=exception,
    )  # fmt: skip


STATE = "java.lang.IllegalStateException: "
OWNED = STATE + "Cannot remove the epoch 5 from Zk3-0 because the partition is still owned"
NOT_STREAMS = STATE + "Group billing is not a streams group"
NOT_CONSUMER = STATE + "Group billing is not a consumer group"
NOT_LEADER = "org.apache.kafka.common.errors.NotLeaderOrFollowerException: for the leader only"
TIMED_OUT = "org.apache.kafka.common.errors.TimeoutException"
NO_TIMESTAMP = """java.util.NoSuchElementException: None.get
\tat scala.None$.get(Option.scala:366)
\tat kafka.coordinator.group.GroupMetadata.generateMemberId(GroupMetadata.scala:368)"""
NO_MEMBER = """java.util.NoSuchElementException: key not found: c-1
\tat kafka.coordinator.group.GroupMetadata.get(GroupMetadata.scala:210)
\tat kafka.coordinator.group.GroupCoordinator.tryCompleteHeartbeat(GroupCoordinator.scala:927)"""
NO_INSTANCE = (
    "org.apache.kafka.common.errors.UnsupportedVersionException:"
    " Attempted to write a non-default groupInstanceId at version 2"
)


@pytest.mark.parametrize(
    ("name", "version", "lines", "expected"),
    [
        (
            "KAFKA-19862", "4.1.1", [failed_load(1, OWNED), failed_load(9, OWNED)],
            (2, PARTITION, None, 1, 9),
        ),
        ("KAFKA-20254", "4.2.0", [failed_load(1, NOT_STREAMS)], (2, PARTITION, None, 1, 1)),
        ("KAFKA-21102", "4.1.1", [failed_load(1, NOT_CONSUMER)], (2, PARTITION, None, 1, 1)),
        (
            "KAFKA-20115", "4.1.1", [failed_load(1, NOT_LEADER, "PARTITION_UNLOAD")],
            (2, PARTITION, None, 1, 1),
        ),
        (
            "KAFKA-19274", "4.0.0", [skipped_unload(1, "OptionalInt[3]", 3)],
            (2, None, None, 1, 1),
        ),
        ("KAFKA-8715", "2.3.0", [failed_request(1, "g", NO_TIMESTAMP)], (2, None, "g", 1, 1)),
        ("KAFKA-8896", "2.2.1", [failed_request(1, "g", NO_MEMBER)], (2, None, "g", 1, 1)),
        ("KAFKA-14422", "2.8", [failed_request(1, "g", NO_INSTANCE)], (2, None, "g", 1, 1)),
    ],
)  # fmt: skip
def test_an_exception_is_a_defect(findings, name, version, lines, expected):
    columns = "broker_id", "topic_partition", "group_id", "from_time", "to_time"

    rows = findings(name, {"broker_log_events": lines}, *columns, versions={"broker": version})

    assert rows == [expected]


@pytest.mark.parametrize(
    ("name", "fixed", "lines"),
    [
        ("KAFKA-20115", "4.2.0", [failed_load(1, NOT_LEADER, "PARTITION_UNLOAD")]),
        ("KAFKA-19274", "4.0.1", [skipped_unload(1, "OptionalInt[3]", 3)]),
    ],
)
def test_the_first_release_with_the_fix_does_not_have_the_defect(findings, name, fixed, lines):
    tables = {"broker_log_events": lines}

    assert findings(name, tables, "finding", versions={"broker": fixed}) == []


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("KAFKA-19862", [failed_load(1, TIMED_OUT)], id="another exception"),
        pytest.param("KAFKA-20254", [failed_load(1, NOT_CONSUMER)], id="another group type"),
        pytest.param("KAFKA-21102", [failed_load(1, NOT_STREAMS)], id="another type"),
        pytest.param("KAFKA-20115", [failed_load(1, NOT_LEADER)], id="a load, not an unload"),
        pytest.param("KAFKA-19274", [skipped_unload(1, "OptionalInt[3]", 4)], id="an older epoch"),
        pytest.param("KAFKA-8715", [failed_request(1, "g", NO_MEMBER)], id="another cause"),
        pytest.param("KAFKA-8896", [failed_request(1, "g", NO_TIMESTAMP)], id="another frame"),
        pytest.param("KAFKA-14422", [failed_request(1, "g", TIMED_OUT)], id="a timeout"),
    ],
)
def test_another_exception_is_not_the_defect(findings, name, lines):
    assert findings(name, {"broker_log_events": lines}, "finding") == []


def test_the_group_of_a_failed_load_is_named(findings):
    [(summary,)] = findings(
        "KAFKA-21102", {"broker_log_events": [failed_load(1, NOT_CONSUMER)]}, "summary",
        versions={"broker": "4.1"}, groups=["ads", "billing"],
    )  # fmt: skip

    assert summary == (
        f"broker 2 could not load {PARTITION}: billing was a consumer group and became a classic"
        " one again; groups without a coordinator: none known"
    )


def client_line(at_ms, text, **more):
    row = {"file_id": "f", "position": at_ms, "file": "app.log", "library": "java", "line": text}
    return row | {"group_id": "g", "client_id": "c-1", "event_time": at_ms} | more


class TestKafka8386:
    LOST = client_line(
        5200, "Attempt to heartbeat failed for since member id c-1-4f is not valid.",
        event="HEARTBEAT_FAILED",
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("unloaded_ms", "version", "count"),
        [
            pytest.param(5000, "2.1", 1, id="at the unload"),
            pytest.param(5000, "2.3", 0, id="brokers with the fix"),
            pytest.param(5000, "2.1-2.8", 0, id="an unknown version: a session that expired"),
            pytest.param(60_000, "2.1", 0, id="long before the unload"),
        ],
    )
    def test_members_lose_their_ids_at_an_unload(self, findings, unloaded_ms, version, count):
        unloaded = {"group_id": "g", "event": "UNLOADED", "event_seq": 1, "broker_id": 2}
        unloaded |= {"event_time": unloaded_ms}
        tables = {"client_events": [self.LOST], "group_events": [unloaded]}
        versions = {"broker": version}

        rows = findings("KAFKA-8386", tables, "group_id", "broker_id", versions=versions)

        assert rows == [("g", 2)] * count


class TestKafka21370:
    REFUSED = client_line(
        1000,
        "StreamsGroupHeartbeatRequest failed due to INVALID_REQUEST: Topology updates are not"
        " supported yet.",
        event="HEARTBEAT_FAILED",
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("line", "count"),
        [
            pytest.param(REFUSED, 1, id="another topology"),
            pytest.param(
                REFUSED | {"line": "StreamsGroupHeartbeatRequest failed due to INVALID_REQUEST: x"},
                0,
                id="another invalid request",
            ),
        ],
    )
    def test_a_process_with_another_topology_is_refused(self, findings, line, count):
        tables = {"client_events": [line]}

        rows = findings("KAFKA-21370", tables, "group_id", versions={"broker": "4.3"})

        assert rows == [("g",)] * count
