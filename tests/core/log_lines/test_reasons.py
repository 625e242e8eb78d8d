"""Reasons of a rebalance: wordings of all broker versions, and clients' reasons (KIP-800)."""

import pytest

from coordinator_core.log_lines import client_cause_of, parse_message, parse_reason

UUID = "90a3d664-7451-4c0d-ad14-53df23eb1069"

# reason | cause | member | instance | client cause
REASONS = """
Adding new member m-1                                                                                     | MEMBER_NEW         | m-1 |     |
Adding new member m-1 with group instanceid None                                                          | MEMBER_NEW         | m-1 |     |
Adding new member m-1 with group instanceid Some(i-1)                                                     | MEMBER_NEW         | m-1 | i-1 |
Adding new member m-1 with group instance id Some(i-1)                                                    | MEMBER_NEW         | m-1 | i-1 |
Adding new member m-1 with group instance id None; client reason: not provided                            | MEMBER_NEW         | m-1 |     |
Adding new member m-1 with group instance id null; client reason: group is already rebalancing            | MEMBER_NEW         | m-1 |     | ALREADY_REBALANCING
Adding new member m-1 with group instance id i-1; client reason: not provided                             | MEMBER_NEW         | m-1 | i-1 |
Adding new member m-1 with group instance id None; client reason: need to re-join with the given member-id: m-1 | MEMBER_NEW   | m-1 |     | MEMBER_ID_REQUIRED
Adding new member m-1 with group instance id None; client reason: rebalance failed due to 'x' (MemberIdRequiredException) | MEMBER_NEW | m-1 | | MEMBER_ID_REQUIRED
removing member m-1 on heartbeat expiration                                                               | SESSION_EXPIRY     | m-1 |     |
removing member m-1 on heartbeat expiration.                                                              | SESSION_EXPIRY     | m-1 |     |
removing member m-1 on LeaveGroup                                                                         | LEAVE              | m-1 |     |
removing member  on LeaveGroup                                                                            | LEAVE              |     |     |
Removing member m-1 on LeaveGroup                                                                         | LEAVE              | m-1 |     |
Removing member m-1 on LeaveGroup; client reason: the consumer is being closed                            | LEAVE              | m-1 |     | CLOSING
Removing member m-1 on LeaveGroup; client reason: consumer poll timeout has expired.                      | LEAVE              | m-1 |     | POLL_TIMEOUT
explicit `LeaveGroup` request for (m-1, m-2) members.                                                     | LEAVE              |     |     |
leader m-1 re-joining group during Stable                                                                 | LEADER_REJOIN      | m-1 |     |
Leader m-1 re-joining group during Stable                                                                 | LEADER_REJOIN      | m-1 |     |
Leader m-1 re-joining group during Stable; client reason: cached metadata has changed from (version1: {}) | LEADER_REJOIN      | m-1 |     | TOPICS_CHANGED
Updating metadata for member m-1                                                                          | METADATA_CHANGE    | m-1 |     |
Updating metadata for member m-1 during Stable                                                            | METADATA_CHANGE    | m-1 |     |
Updating metadata for member m-1 during Stable; client reason: need to revoke partitions and re-join      | METADATA_CHANGE    | m-1 |     | COOPERATIVE_FOLLOW_UP
Updating metadata for static member m-1 with instance id Some(i-1)                                        | STATIC_UPDATE      | m-1 | i-1 |
Updating metadata for static member m-1 with instance id i-1                                              | STATIC_UPDATE      | m-1 | i-1 |
Updating metadata for static member m-1 with instance id i-1; client reason: not provided                 | STATIC_UPDATE      | m-1 | i-1 |
Group's selectedProtocol will change because static member m-1 with instance id i-1 joined with change of protocol | STATIC_UPDATE | m-1 | i-1 |
Group's selectedProtocol will change because static member m-1 with instance id i-1 joined with change of protocol; client reason: not provided | STATIC_UPDATE | m-1 | i-1 |
Removing Set(m-1) on pending sync request expiration                                                      | SYNC_TIMEOUT       |     |     |
Removing [m-1, m-2] on pending sync request expiration                                                    | SYNC_TIMEOUT       |     |     |
error when storing group assignment during SyncGroup (member: m-1)                                        | STORE_ERROR        | m-1 |     |
Error when storing group assignment during SyncGroup (member: m-1)                                        | STORE_ERROR        | m-1 |     |
Error NOT_COORDINATOR when storing group assignment during SyncGroup (member: m-1)                        | STORE_ERROR        | m-1 |     |
Error UNKNOWN_SERVER_ERROR when storing group assignmentduring SyncGroup (member: m-1).                   | STORE_ERROR        | m-1 |     |
Member m-1 joining group during PreparingRebalance                                                        | JOINING_IN_PREPARE | m-1 |     |
Member m-1 joining group during PreparingRebalance; client reason: not provided                           | JOINING_IN_PREPARE | m-1 |     |
Member m-1 is joining group during PreparingRebalance; client reason: not provided                        | JOINING_IN_PREPARE | m-1 |     |
Freshly-loaded group is over capacity (3). Rebalacing in order to give a chance for consumers to commit offsets | OVER_CAPACITY |    |     |
Freshly-loaded group g (size 4) is over capacity 3. Rebalancing in order to give a chance for consumers to commit offsets | OVER_CAPACITY | |  |
Downgrade group g from consumer to classic.                                                               | CONVERT            |     |     |
the member session expired                                                                                | SESSION_EXPIRY     |     |     |
because it rained                                                                                         | unknown            |     |     |
"""  # noqa: E501


def rows(table):
    return [
        pytest.param(*(cell.strip() for cell in line.split(" |")), id=line.split(" |")[0].strip())
        for line in filter(None, table.splitlines())
    ]


@pytest.mark.parametrize(("text", "cause", "member", "instance", "client"), rows(REASONS))
def test_reason(text, cause, member, instance, client):
    reason = parse_reason(text)

    assert reason.cause == cause
    assert (reason.member_id or "") == member
    assert reason.instance_id == (instance or None)
    assert reason.client_cause == (client or None)


def test_members_and_error_of_a_reason():
    assert parse_reason("Removing Set(m-1, m-2) on pending sync request expiration").members == (
        "m-1",
        "m-2",
    )
    left = parse_reason("explicit `LeaveGroup` request for (, m-2) members.")
    assert left.members == ("", "m-2")  # The first leave sent only its instance id.
    assert parse_reason("explicit `LeaveGroup` request for () members.").members == ()
    error = parse_reason(
        "Error NOT_COORDINATOR when storing group assignment during SyncGroup (member: m)"
    )
    assert error.error == "NOT_COORDINATOR"


CLIENT_REASONS = """
consumer poll timeout has expired.                                                  | POLL_TIMEOUT
the consumer is being closed                                                        | CLOSING
the consumer unsubscribed from all topics                                           | UNSUBSCRIBED
consumer pro-actively leaving the group                                             | LEAVING
member was removed by an admin                                                      | ADMIN_REMOVED
member was removed by an admin: it was slow                                         | ADMIN_REMOVED
need to re-join with the given member-id: m-1                                       | MEMBER_ID_REQUIRED
rebalance failed due to MemberIdRequiredException                                   | MEMBER_ID_REQUIRED
group is already rebalancing                                                        | ALREADY_REBALANCING
rebalance failed due to RebalanceInProgressException                                | ALREADY_REBALANCING
cached metadata has changed                                                         | TOPICS_CHANGED
subscription has changed                                                            | SUBSCRIPTION_CHANGED
need to revoke partitions and re-join                                               | COOPERATIVE_FOLLOW_UP
need to revoke partitions [t-1] as indicated by the current assignment and re-join  | COOPERATIVE_FOLLOW_UP
received assignment does not match the current subscription                         | ASSIGNMENT_MISMATCH
encountered UNKNOWN_MEMBER_ID from HEARTBEAT response                               | ERROR_RESPONSE
rebalance failed due to DisconnectException                                         | ERROR_RESPONSE
offset commit failed since group is already rebalancing                             | COMMIT_DURING_REBALANCE
authentication error in heartbeat thread                                            | AUTHENTICATION_ERROR
rebalance enforced by user                                                          | ENFORCED
connect worker requested rejoin                                                     | CONNECT_REJOIN
triggered followup rebalance scheduled for 1700000000000                            | STREAMS_FOLLOW_UP
Active tasks corrupted                                                              | STREAMS_TASKS_CORRUPTED
Shutdown requested                                                                  | STREAMS_SHUTDOWN
I felt like it                                                                      | OTHER
not provided                                                                        |
"""  # noqa: E501


@pytest.mark.parametrize(("text", "cause"), rows(CLIENT_REASONS))
def test_client_reason(text, cause):
    assert client_cause_of(text) == (cause or None)


def test_a_client_reason_may_contain_brackets_and_periods():
    event = parse_message(
        "Preparing to rebalance group g in state PreparingRebalance with old generation 7 "
        "(__consumer_offsets-3) "
        "(reason: Removing member m-1 on LeaveGroup; client reason: bye (for now). (x))"
    )

    assert event.client_reason == "bye (for now). (x)"
    assert event.reason == "Removing member m-1 on LeaveGroup; client reason: bye (for now). (x)"


# truncated message | event, group, generation, member, cause
TRUNCATED = f"""
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: Adding new member m-{UUID} with gro | REBALANCE_START g_1 7 m-{UUID} MEMBER_NEW
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: Adding new member m-{UUID}         | REBALANCE_START g_1 7 m-{UUID} MEMBER_NEW
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: Adding new member m-90a3…         | REBALANCE_START g_1 7 None MEMBER_NEW
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: removing member m-{UUID} on heart... | REBALANCE_START g_1 7 m-{UUID} SESSION_EXPIRY
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: ... | REBALANCE_START g_1 7 None unknown
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7 (__consum | REBALANCE_START g_1 7 None unknown
Preparing to rebalance group g 1 in state PreparingRebalance with old generation 7           | REBALANCE_START g_1 None None unknown
Stabilized group g 1 generation 12 (__consumer_                                              | JOIN_COMPLETE g_1 12 None None
Member m-{UUID} in group g 1 has fai                                                         | HEARTBEAT_EXPIRED g_1 None m-{UUID} None
"""  # noqa: E501


@pytest.mark.parametrize(("message", "expected"), rows(TRUNCATED))
def test_complete_fields_of_a_truncated_message_are_read(message, expected):
    event = parse_message(message, may_be_truncated=True)

    values = (event.event, event.group_id, event.generation, event.member_id, event.cause)
    assert " ".join(str(value).replace(" ", "_") for value in values) == expected


@pytest.mark.parametrize("message", [f"Member m-{UUID} in group g 1", "Preparing to rebal", "Grou"])
def test_an_ambiguous_truncated_message_has_no_event(message):
    assert parse_message(message, may_be_truncated=True) is None
