"""Findings about coordinators."""

import pytest


def expired(at_ms, group, member, broker=1):
    event = {"event": "HEARTBEAT_EXPIRED", "event_time": at_ms, "broker_id": broker}
    return event | {"group_id": group, "member_id": member, "event_seq": at_ms}


def loaded(at_ms, step="finished", partition=7, **more):
    line = {"event": "PARTITION_LOAD", "step": step, "event_time": at_ms, "position": at_ms}
    return line | {"topic_partition": f"__consumer_offsets-{partition}"} | more


def on_host(group, member, host):
    place = {"group_id": group, "generation": 1, "member_id": member, "process": member}
    return place | {"client_host": host}


STALL = [
    expired(5000, "billing", "b-1"),
    expired(5003, "billing", "b-2"),
    expired(5009, "orders", "o-1"),
    expired(5011, "audit", "a-1"),
]


def test_sessions_of_several_groups_that_expire_at_once_are_a_stall(findings):
    rows = findings("coordinator_stall", {"group_events": STALL}, "from_time", "to_time", "summary")

    assert rows == [
        (
            5000,
            5011,
            "broker 1 stalled as coordinator: sessions of 4 members of groups"
            " audit, billing, orders expired within 11 ms",
        )
    ]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(STALL[:2], id="one group"),
        pytest.param([STALL[0], STALL[2]], id="two members: chance"),
        pytest.param([*STALL[:2], expired(5009, "orders", "o-1", broker=2)], id="two brokers"),
        pytest.param([STALL[0], STALL[1], expired(6600, "orders", "o-1")], id="a second later"),
    ],
)
def test_other_expiries_are_no_stall(findings, events):
    assert findings("coordinator_stall", {"group_events": events}, "finding") == []


def test_members_of_one_lost_host_are_no_stall(findings):
    hosts = [on_host(each["group_id"], each["member_id"], "10.0.0.1") for each in STALL]
    tables = {"group_events": STALL, "generation_members": hosts}

    assert findings("coordinator_stall", tables, "finding") == []


def test_members_that_did_not_come_to_a_new_coordinator_are_no_stall(findings):
    """Their sessions begin when the partition was loaded, and so end together."""
    tables = {"group_events": STALL, "broker_log_events": [loaded(4000)]}

    assert findings("coordinator_stall", tables, "finding") == []
    tables = {"group_events": STALL, "broker_log_events": [loaded(4000, broker_id=2)]}
    assert findings("coordinator_stall", tables, "broker_id") == [(1,)]


FAILED = loaded(
    9000,
    step="failed",
    level="ERROR",
    line="[2026-11-21 00:00:09,000] ERROR [GroupCoordinator id=1] Failed to load metadata from"
    " __consumer_offsets-7 with epoch 3 due to java.lang.IllegalStateException: not a consumer"
    " group. (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
)


def test_a_failed_load_names_the_groups_of_the_partition(findings):
    """By Java's hash, billing is in partition 9 of 50, orders in 31, and audit in 5."""
    tables = {"broker_log_events": [FAILED | {"topic_partition": "__consumer_offsets-31"}]}

    rows = findings(
        "coordinator_load_failed", tables, "broker_id", "topic_partition", "summary",
        groups=["billing", "orders", "audit"],
    )  # fmt: skip

    assert rows == [
        (
            1,
            "__consumer_offsets-31",
            "broker 1 could not load __consumer_offsets-31 (once, exception"
            " java.lang.IllegalStateException); its groups have no coordinator: orders",
        )
    ]


def test_a_load_that_ends_is_no_failed_load(findings):
    tables = {"broker_log_events": [loaded(9000), loaded(9500, step="skipped")]}

    assert findings("coordinator_load_failed", tables, "finding") == []


def test_a_broker_that_shuts_down_stops_its_loads(findings):
    closed = FAILED["line"].replace("java.lang.IllegalStateException: not a consumer group",
                                    "Coordinator loader is closed.")  # fmt: skip
    tables = {"broker_log_events": [FAILED | {"line": closed}]}

    assert findings("coordinator_load_failed", tables, "finding") == []


def test_a_refused_migration_has_its_reason(findings):
    line = (
        "[2026-11-26 21:59:52,454] WARN [GroupCoordinator id=1 topic=__consumer_offsets"
        " partition=4] Cannot upgrade classic group orders to consumer group: userData from a"
        " custom assignor would be lost. (org.apache.kafka.coordinator.group.GroupMetadataManager)"
    )
    refused = {"event": "OTHER", "event_time": 4000, "group_id": "orders", "line": line}
    tables = {"broker_log_events": [refused, refused | {"position": 9, "event_time": 7000}]}

    assert findings("migration_refused", tables, "from_time", "to_time", "summary") == [
        (
            4000,
            7000,
            "broker 1 refused 2 times to convert orders to the consumer protocol: userData from a"
            " custom assignor would be lost; its new members got GROUP_ID_NOT_FOUND, which is"
            " fatal",
        )
    ]


def test_a_finding_per_logger_has_its_errors(findings):
    error = {"event": "OTHER", "level": "ERROR", "event_time": 4000, "position": 0}
    error |= {"logger": "o.a.k.CoordinatorRuntime", "line": "Execution of X failed due to Y."}
    tables = {"broker_log_events": [error, error | {"position": 9, "event_time": 7000}]}

    rows = findings("coordinator_error", tables, "from_time", "to_time", "evidence", "summary")

    assert rows == [
        (
            4000,
            7000,
            "Execution of X failed due to Y.",
            "broker 1 logged errors as coordinator (2 at ERROR, logger o.a.k.CoordinatorRuntime)",
        )
    ]


def test_an_assignment_of_an_older_broker_is_no_error(findings):
    """Epochs for some of the partitions, but not for all, are an error."""
    text = "[GroupId g] Size of assignment epochs {} is not equal to partitions 2 for topic t."
    error = {"event": "OTHER", "level": "ERROR", "event_time": 4000, "position": 0}
    error |= {"logger": "o.a.k.GroupMetadataManager"}
    loaded = error | {"line": text.format(0)}
    broken = error | {"line": text.format(1), "position": 9, "event_time": 7000}

    assert findings("coordinator_error", {"broker_log_events": [loaded]}, "finding") == []
    rows = findings("coordinator_error", {"broker_log_events": [loaded, broken]}, "evidence")
    assert rows == [(text.format(1),)]


def test_a_broker_without_an_id_is_the_broker(findings):
    error = {"event": "OTHER", "level": "ERROR", "event_time": 4000, "position": 0}
    error |= {"logger": "o.a.k.CoordinatorRuntime", "line": "failed", "broker_id": -1}

    rows = findings("coordinator_error", {"broker_log_events": [error]}, "summary", "remedy")

    assert rows == [
        (
            "the broker logged errors as coordinator (1 at ERROR, logger o.a.k.CoordinatorRuntime)",
            "Read the lines and their stack traces:\nSELECT event_time, line, continuation FROM"
            " broker_log_events WHERE level = 'ERROR' AND broker_id = -1",
        )
    ]


def test_a_groups_event_that_kafka_logs_as_an_error_is_none(findings):
    """Kafka logs at ERROR that no member rejoined, and that a static member is fenced."""
    line = {"level": "ERROR", "event_time": 4000, "position": 0}
    tables = {"broker_log_events": [line | {"event": "NOBODY_REJOINED"}, FAILED]}

    assert findings("coordinator_error", tables, "finding") == []


def test_a_request_that_another_finding_explains_is_none(findings):
    failed = {"event": "OTHER", "step": "request_failed", "level": "ERROR", "event_time": 4000}
    failed |= {"position": 0, "line": "Error when handling request: clientId=c, group_id=g"}
    frame = "at kafka.coordinator.group.GroupMetadata.generateMemberId(GroupMetadata.scala)"
    explained = failed | {"continuation": f"java.util.NoSuchElementException: None.get\n{frame}"}
    other = failed | {"continuation": "java.lang.NullPointerException", "line": "another"}
    tables = {"broker_log_events": [explained, other | {"position": 9, "event_time": 7000}]}

    rows = findings("coordinator_error", tables, "from_time", "to_time", "evidence")

    assert rows == [(7000, 7000, "another")]
