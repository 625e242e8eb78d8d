"""The versions of brokers and clients that rows show."""

from coordinator_core.log_lines.version_ranges import text_of
from jobs.known_problems.versions import VersionEvidence
from tests.jobs.known_problems.conftest import as_rows

STABILIZED = (
    "[2020-05-01 10:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 4"
    " (__consumer_offsets-7) (kafka.coordinator.group.GroupCoordinator)"
)
PREPARING = (
    "[2020-05-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state"
    " Stable with old generation 4 (__consumer_offsets-7) (reason: Adding new member m with group"
    " instanceid None) (kafka.coordinator.group.GroupCoordinator)"
)
LATER = (
    "[2020-05-01 10:00:00,000] INFO [GroupCoordinator 2]: Stabilized group g generation 4"
    " (__consumer_offsets-7) with 3 members (kafka.coordinator.group.GroupCoordinator)"
)


def line(text, event="JOIN_COMPLETE", **more):
    return {"event": event, "event_time": 0, "position": len(text), "line": text} | more


def versions_of(evidence_of, tables, component, **row):
    versions = VersionEvidence(evidence_of(as_rows(tables))).of(component, row).versions
    return None if versions is None else text_of(versions)


def test_a_brokers_lines_narrow_its_versions(evidence_of):
    reason = "Adding new member m with group instanceid None"
    lines = [line(STABILIZED), line(PREPARING, "REBALANCE_START", reason=reason)]

    assert versions_of(evidence_of, {"broker_log_events": lines[:1]}, "broker") == "0.11-2.7"
    assert versions_of(evidence_of, {"broker_log_events": lines}, "broker") == "2.3-2.4"
    newer = {"broker_log_events": lines[:1], "group_metadata": [record(value_version=3)]}
    assert versions_of(evidence_of, newer, "broker") == "2.3-2.7"


def test_a_log_names_the_version_at_its_start(evidence_of):
    tables = {
        "broker_log_events": [line(STABILIZED), line(LATER, broker_id=2, file_id="f-2")],
        "ingested_files": [{"file": "f", "software": "java 2.6.0", **READ}],
    }

    assert versions_of(evidence_of, tables, "broker", broker_id=1) == "2.6.0"
    assert versions_of(evidence_of, tables, "broker", broker_id=2) == "2.8-4.0"
    joined = client_line("billing-7", "librdkafka", "f-3")
    named = [{"file": "f-3", "software": "java 3.9.1\nlibrdkafka 2.3.0", **READ}]
    tables = {"client_events": [joined], "ingested_files": named}
    assert versions_of(evidence_of, tables, "librdkafka", group_id="g") == "2.3.0"


READ = {"path": "server.log", "inputs": 9, "kept_by_date": {}}


def client_line(client, library, file):
    row = {"group_id": "g", "client_id": client, "library": library, "event": "JOINED"}
    return row | {"file_id": file, "position": 0, "file": "a.log", "event_time": 0, "line": ""}


def test_each_broker_has_its_own_version_and_a_group_all_of_them(evidence_of):
    tables = {"broker_log_events": [line(STABILIZED), line(LATER, broker_id=2)]}

    assert versions_of(evidence_of, tables, "broker", broker_id=2) == "2.8-4.0"
    assert versions_of(evidence_of, tables, "broker", group_id="g") == "0.11-2.7, 2.8-4.0"


def record(member=None, **more):
    members = [] if member is None else [member]
    return {"group_id": "g", "log_offset": 1, "append_time": 0, "members": members} | more


def subscription(client, version):
    member = {"member_id": f"{client}-m", "client_id": client, "subscribed_topics": ["t"]}
    return member | {"subscription": bytes([0, version])}


def member(client):
    row = {"group_id": "g", "generation": 1, "member_id": f"{client}-m", "process": client}
    return row | {"client_id": client}


def test_records_alone_show_the_lowest_version(evidence_of):
    targets = {"group_id": "g", "log_offset": 2, "append_time": 0, "epoch": 3}
    targets |= {"record": "ConsumerGroupTargetAssignmentMetadata"}
    commit = {"group_id": "g", "partition": 0, "log_offset": 3, "append_time": 0}

    assert versions_of(evidence_of, {}, "broker") is None
    assert versions_of(evidence_of, {"group_records": [targets]}, "broker") == "3.7-4.2"
    commits = {"committed_offsets": [commit | {"value_version": 4}]}
    assert versions_of(evidence_of, commits, "broker") == "4.0-"


def test_a_client_id_names_library_and_version(evidence_of):
    members = {"generation_members": [member("kafka-python-2.0.2"), member("rdkafka")]}

    assert versions_of(evidence_of, members, "kafka-python", group_id="g") == "2.0.2"
    assert versions_of(evidence_of, members, "librdkafka", group_id="g") is None
    versions = VersionEvidence(evidence_of(as_rows(members)))
    assert versions.of("java", {"group_id": "g"}).is_absent
    assert not versions.of("librdkafka", {"group_id": "g"}).is_absent
    assert versions.of(
        "librdkafka", {"group_id": "g", "member_id": "kafka-python-2.0.2-m"}
    ).is_absent
    unknown = {"generation_members": [member("kafka-python-2.0.2"), member("billing-7")]}
    assert (
        not VersionEvidence(evidence_of(as_rows(unknown))).of("java", {"group_id": "g"}).is_absent
    )


def test_subscriptions_show_the_version_of_java_clients(evidence_of):
    client = "consumer-g-1"
    tables = {
        "generation_members": [member(client)],
        "group_metadata": [record(subscription(client, 1))],
    }

    assert versions_of(evidence_of, tables, "java", group_id="g") == "2.4-3.3"
    assert versions_of(evidence_of, tables, "streams", group_id="g") == "2.4-3.3"


def test_a_clients_own_lines_show_library_and_version(evidence_of):
    joined = (
        "[2020-05-01 10:00:00,000] INFO [Consumer clientId=billing-7, groupId=g] Successfully"
        " joined group with generation 4"
        " (org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
    )
    row = {"group_id": "g", "client_id": "billing-7", "library": "java", "event": "JOINED"}
    row |= {"file_id": "f", "position": 0, "file": "app.log", "event_time": 0, "line": joined}
    tables = {"client_events": [row], "generation_members": [member("billing-7")]}

    assert (
        versions_of(evidence_of, tables, "java", member_id="billing-7-m", group_id="g") == "1.0-2.5"
    )


def test_subscriptions_show_the_version_of_other_libraries(evidence_of):
    for client, library, version, expected in (
        ("rdkafka", "librdkafka", 1, "1.6-2.1"),
        ("kgo", "franz-go", 3, "1.14.1-"),
        ("sarama", "sarama", 0, None),
    ):
        tables = {
            "generation_members": [member(client)],
            "group_metadata": [record(subscription(client, version))],
        }
        assert versions_of(evidence_of, tables, library, group_id="g") == expected


def test_lines_without_a_client_id_are_those_of_the_groups_members(evidence_of):
    row = {"group_id": "g", "library": "kafka-python", "event": "JOINING", "line": "(Re-)joining"}
    row |= {"file_id": "f", "position": 0, "file": "app.log", "event_time": 0}
    tables = {"client_events": [row], "generation_members": [member("kafka-python-3.0.8")]}

    assert versions_of(evidence_of, tables, "kafka-python", group_id="g") == "3.0.8"
