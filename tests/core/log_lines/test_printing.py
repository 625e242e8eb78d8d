# ruff: noqa: E501 - log lines stay on one line
"""Lines and messages printed as a broker of a version does, and parsed again."""

import pytest

from coordinator_core.log_lines import parse_line, render_line, render_message, render_reason

LOCAL_MS = 1_714_564_800_005  # 2024-05-01 12:00:00,005
OFFSETS_3 = "__consumer_offsets-3"
GIVEN = {"broker_id": 1, "topic_partition": OFFSETS_3, "group_id": "g", "generation": 7}
SCALA_09 = "(kafka.coordinator.GroupCoordinator)"
SCALA = "(kafka.coordinator.group.GroupCoordinator)"
JAVA = "[GroupCoordinator id=1 topic=__consumer_offsets partition=3]"
JAVA_LOGGER = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
PREPARING = "Preparing to rebalance group g in state PreparingRebalance with old generation 7"

STARTS = [
    ("0.9", f"[GroupCoordinator 1]: Preparing to restabilize group g with old generation 7 {SCALA_09}"),
    ("0.10.2", f"[GroupCoordinator 1]: Preparing to restabilize group g with old generation 7 {SCALA_09}"),
    ("2.0", f"[GroupCoordinator 1]: Preparing to rebalance group g with old generation 7 ({OFFSETS_3}) {SCALA}"),
    ("2.5", f"[GroupCoordinator 1]: {PREPARING} ({OFFSETS_3}) (reason: Adding new member m with group instance id None) {SCALA}"),
    ("3.9", f"[GroupCoordinator 1]: {PREPARING} ({OFFSETS_3}) (reason: Adding new member m with group instance id None; client reason: not provided) {SCALA}"),
    ("4.1", f"{JAVA} {PREPARING} (reason: Adding new member m with group instance id null; client reason: not provided). {JAVA_LOGGER}"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "message"), STARTS, ids=[version for version, _ in STARTS])
def test_the_start_of_a_rebalance_in_each_version(version, message):
    fields = GIVEN | {"state": "PreparingRebalance", "cause": "MEMBER_NEW", "member_id": "m"}

    assert render_message("REBALANCE_START", version, **fields) == message
    line = render_line("REBALANCE_START", version, local_ms=LOCAL_MS, **fields)
    assert line == f"[2024-05-01 12:00:00,005] INFO {message}"
    back = parse_line(line)
    assert (back.local_ms, back.broker_id) == (LOCAL_MS, 1)
    assert (back.event.group_id, back.event.generation) == ("g", 7)
    assert back.event.cause == ("unknown" if version in ("0.9", "0.10.2", "2.0") else "MEMBER_NEW")


# version, cause, fields -> reason
REASONS = [
    ("2.5", "SESSION_EXPIRY", {"member_id": "m"}, "removing member m on heartbeat expiration"),
    ("4.1", "SESSION_EXPIRY", {"member_id": "m"}, "removing member m on heartbeat expiration."),
    ("2.5", "LEAVE", {"member_id": "m"}, "removing member m on LeaveGroup"),
    ("3.9", "LEAVE", {"member_id": "m", "client_reason": "bye"}, "Removing member m on LeaveGroup; client reason: bye"),
    ("4.1", "LEAVE", {"members": ("a", "b")}, "explicit `LeaveGroup` request for (a, b) members."),
    ("2.5", "METADATA_CHANGE", {"member_id": "m"}, "Updating metadata for member m"),
    ("3.9", "LEADER_REJOIN", {"member_id": "m", "state": "Stable"}, "Leader m re-joining group during Stable; client reason: not provided"),
    ("3.9", "SYNC_TIMEOUT", {"members": ("a", "b")}, "Removing Set(a, b) on pending sync request expiration"),
    ("4.1", "SYNC_TIMEOUT", {"members": ("a", "b")}, "Removing [a, b] on pending sync request expiration"),
    ("2.5", "STORE_ERROR", {"member_id": "m"}, "error when storing group assignment during SyncGroup (member: m)"),
    ("4.1", "STORE_ERROR", {"member_id": "m", "error": "E"}, "Error E when storing group assignmentduring SyncGroup (member: m)."),
    ("2.5", "STATIC_UPDATE", {"member_id": "m", "instance_id": "i"}, "Updating metadata for static member m with instance id Some(i)"),
    ("3.9", "MEMBER_NEW", {"member_id": "m", "instance_id": "i"}, "Adding new member m with group instance id Some(i); client reason: not provided"),
    ("4.1", "MEMBER_NEW", {"member_id": "m", "instance_id": "i"}, "Adding new member m with group instance id i; client reason: not provided"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "cause", "fields", "reason"), REASONS)
def test_reason_of_a_version(version, cause, fields, reason):
    assert render_reason(cause, version, **fields) == reason


MEMBER = {
    "member_id": "m", "instance_id": "i", "client_id": "c", "client_host": "/10.0.0.1",
    "session_timeout_ms": 45000, "rebalance_timeout_ms": 300000, "protocols": ("range",),
}  # fmt: skip
LEFTS = [
    ("2.0", None),
    ("2.5", "Member[group.instance.id Some(i), member.id m] in group g has left, removing it from the group"),
    ("3.9", "Member MemberMetadata(memberId=m, groupInstanceId=Some(i), clientId=c, clientHost=/10.0.0.1, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group g through explicit `LeaveGroup`; client reason: bye"),
    ("4.1", "[Group g] Member m has left group through explicit `LeaveGroup` request; client reason: bye"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "message"), LEFTS, ids=[version for version, _ in LEFTS])
def test_a_member_leaves(version, message):
    line = render_line("LEFT", version, local_ms=LOCAL_MS, client_reason="bye", **GIVEN, **MEMBER)

    assert (line is None) if message is None else (f" {message} (" in line)


@pytest.mark.parametrize(
    ("event", "version"),
    [("HEARTBEAT_EXPIRED", "0.10.2"), ("GROUP_DEAD", "4.1"), ("STATIC_NEW", "2.0")],
)
def test_no_line_for_events_that_a_version_does_not_log_at_info(event, version):
    assert render_line(event, version, local_ms=LOCAL_MS, member_id="m", **GIVEN) is None


def test_step_selects_among_the_lines_of_an_event():
    fields = GIVEN | {"member_id": "m", "state": "Empty"}

    direct = render_message("MEMBER_JOIN", "3.9", step="direct", **fields)
    required = render_message("MEMBER_JOIN", "3.9", step="id_required", **fields)
    assert "for this member and add to the group" in direct
    assert "request the member to rejoin with this id" in required


def test_errors_of_printing():
    with pytest.raises(ValueError, match="unknown event 'DANCING'"):
        render_line("DANCING", "3.9", local_ms=0)
    with pytest.raises(ValueError, match=r"Kafka 0\.8 logs no line for GROUP_EMPTY"):
        render_message("GROUP_EMPTY", "0.8")
    with pytest.raises(ValueError, match="missing field: this wording requires generation"):
        render_message("GROUP_EMPTY", "3.9", broker_id=1, topic_partition=OFFSETS_3, group_id="g")
    with pytest.raises(ValueError, match=r"Kafka 2\.0 logs no reason for cause MEMBER_NEW"):
        render_reason("MEMBER_NEW", "2.0", member_id="m")
    with pytest.raises(ValueError, match="missing field: this wording requires reason, or cause"):
        render_message("REBALANCE_START", "3.9", state="PreparingRebalance", **GIVEN)
