"""Requests to brokers as bodies of Kafka's protocol, and bodies of answers as values."""

import pytest

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    CommitResponse,
    ConsumerGroupHeartbeat,
    DescribeResponse,
    FetchResponse,
    JoinResponse,
    LeaveGroup,
    Leaver,
    LeaveResponse,
    MemberHeartbeatResponse,
    OffsetCommit,
    OffsetFetch,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
    Subtopology,
    Topology,
)
from tools.broker_requests.messages import call, older, response

TOPIC = "AAAAAAAAAAAAAAAAAAAACg"
HEARTBEAT = {
    "groupId": "g",
    "memberId": "a",
    "memberEpoch": 3,
    "instanceId": None,
    "rackId": None,
    "rebalanceTimeoutMs": -1,
    "subscribedTopicNames": None,
    "subscribedTopicRegex": None,
    "serverAssignor": None,
    "topicPartitions": None,
}


def test_a_heartbeat_leaves_out_what_did_not_change():
    sent = call(
        ConsumerGroupHeartbeat(request_id="a1", group_id="g", member_id="a", member_epoch=3)
    )

    assert sent == ("ConsumerGroupHeartbeat", 1, HEARTBEAT)


def test_a_heartbeat_lists_owned_partitions_by_topic_id():
    sent = call(
        ConsumerGroupHeartbeat(
            request_id="a1", group_id="g", member_id="a", member_epoch=3, owned=((TOPIC, (0, 1)),)
        )
    )

    rows = [{"topicId": TOPIC, "partitions": [0, 1]}]
    assert sent.body == HEARTBEAT | {"topicPartitions": rows}


def test_version_0_has_no_regular_expression():
    sent = call(
        ConsumerGroupHeartbeat(
            request_id="a1", group_id="g", member_id="a", member_epoch=3, version=0
        )
    )

    assert sent.version == 0
    assert "subscribedTopicRegex" not in sent.body


def test_a_share_member_names_its_topics():
    sent = call(
        ShareGroupHeartbeat(
            request_id="a1", group_id="g", member_id="a", member_epoch=0, topics=("orders",)
        )
    )

    assert sent.body["subscribedTopicNames"] == ["orders"]


def test_a_streams_member_sends_its_topology_and_tasks_by_role():
    topology = Topology(1, (Subtopology("0", ("clicks",), changelog_topics=(("log", 0),)),))
    owned = (("active", "0", (0, 1)), ("standby", "0", (2,)))

    body = call(
        StreamsGroupHeartbeat(
            request_id="a1",
            group_id="g",
            member_id="a",
            member_epoch=0,
            topology=topology,
            owned=owned,
        )
    ).body

    (subtopology,) = body["topology"]["subtopologies"]
    assert subtopology["sourceTopics"] == ["clicks"]
    assert [each["name"] for each in subtopology["stateChangelogTopics"]] == ["log"]
    assert body["activeTasks"] == [{"subtopologyId": "0", "partitions": [0, 1]}]
    assert body["standbyTasks"] == [{"subtopologyId": "0", "partitions": [2]}]
    assert body["warmupTasks"] == []


def test_offsets_are_grouped_by_topic():
    offsets = (("orders", 0, 5, ""), ("payments", 1, 6, ""), ("orders", 2, 7, ""))

    topics = call(
        OffsetCommit(request_id="a1", group_id="g", member_id="a", generation=3, offsets=offsets)
    ).body["topics"]

    assert [
        (topic["name"], [row["partitionIndex"] for row in topic["partitions"]]) for topic in topics
    ] == [("orders", [0, 2]), ("payments", [1])]


@pytest.mark.parametrize(
    ("partitions", "topics"),
    [(None, None), ((("orders", 1),), [{"name": "orders", "partitionIndexes": [1]}])],
)
def test_a_fetch_names_partitions_or_asks_for_all(partitions, topics):
    (group,) = call(OffsetFetch("f", "g", partitions)).body["groups"]

    assert group["topics"] == topics


ANSWER = {"errorCode": 0, "memberId": "a", "memberEpoch": 3, "heartbeatIntervalMs": 5000}


@pytest.mark.parametrize(
    ("assignment", "rows"),
    [
        (None, None),
        ({"topicPartitions": []}, ()),
        ({"topicPartitions": [{"topicId": TOPIC, "partitions": [0]}]}, ((TOPIC, (0,)),)),
    ],
)
def test_an_unchanged_assignment_is_not_an_empty_one(assignment, rows):
    values = response("ConsumerGroupHeartbeat", ANSWER | {"assignment": assignment})

    assert values == MemberHeartbeatResponse(Errors.NONE, "a", 3, 5000, rows)


def test_a_failed_heartbeat_has_only_an_error():
    body = ANSWER | {"errorCode": 110, "memberId": "", "assignment": None}

    assert response("ConsumerGroupHeartbeat", body) == MemberHeartbeatResponse(
        Errors.FENCED_MEMBER_EPOCH
    )


def test_the_tasks_of_a_streams_answer_have_roles():
    tasks = [{"subtopologyId": "0", "partitions": [1]}]
    body = ANSWER | {"activeTasks": tasks, "standbyTasks": [], "warmupTasks": tasks}
    body |= {"status": [{"statusCode": 5, "statusDetail": ""}]}

    values = response("StreamsGroupHeartbeat", body)

    rows = (("active", "0", (1,)), ("warmup", "0", (1,)))
    assert values == StreamsHeartbeatResponse(
        error=Errors.NONE,
        member_id="a",
        member_epoch=3,
        heartbeat_interval_ms=5000,
        assignment=rows,
        status=(5,),
    )


def test_a_commit_is_answered_by_partition():
    partitions = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 113}]
    body = {"topics": [{"name": "orders", "partitions": partitions}]}

    assert response("OffsetCommit", body) == CommitResponse(
        (("orders", 0, Errors.NONE), ("orders", 1, Errors.STALE_MEMBER_EPOCH))
    )


def test_an_older_leave_names_one_member():
    sent = call(LeaveGroup("a1", "g", (Leaver("a"),)))

    assert older(sent, 2) == ("LeaveGroup", 2, {"groupId": "g", "memberId": "a"})
    assert older(sent, 9) == sent


def test_an_older_fetch_asks_for_one_group():
    version, body = older(call(OffsetFetch("a1", "g", (("orders", 0),))), 7)[1:]

    assert version == 7
    assert (body["groupId"], body["requireStable"]) == ("g", False)
    assert body["topics"] == [{"name": "orders", "partitionIndexes": [0]}]


OLDER_RESPONSES = [
    (
        "JoinGroup",
        {
            "errorCode": 0,
            "generationId": 1,
            "protocolName": "range",
            "leader": "a",
            "memberId": "a",
            "members": [{"memberId": "a", "metadata": "AAE="}],
        },
        JoinResponse(Errors.NONE, 1, None, "range", "a", "a", (("a", None, b"\0\1"),), False),
    ),
    ("LeaveGroup", {"errorCode": 25}, LeaveResponse(Errors.UNKNOWN_MEMBER_ID)),
    ("OffsetFetch", {"errorCode": 0, "topics": []}, FetchResponse(Errors.NONE, ())),
    (
        "DescribeGroups",
        {
            "groups": [
                {
                    "errorCode": 0,
                    "groupState": "Stable",
                    "protocolType": "consumer",
                    "protocolData": "range",
                    "members": [
                        {
                            "memberId": "a",
                            "clientId": "c",
                            "clientHost": "/127.0.0.1",
                            "memberMetadata": "AAE=",
                            "memberAssignment": "AAI=",
                        }
                    ],
                }
            ]
        },
        DescribeResponse(
            Errors.NONE,
            "Stable",
            "consumer",
            "range",
            (("a", None, "c", "/127.0.0.1", b"\0\1", b"\0\2"),),
        ),
    ),
]


@pytest.mark.parametrize(("api", "body", "expected"), OLDER_RESPONSES)
def test_an_older_response_lacks_newer_fields(api, body, expected):
    assert response(api, body) == expected
