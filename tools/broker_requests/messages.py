"""Requests as bodies of Kafka's protocol, and bodies of responses as the engine's values."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol import messages as m
from coordinator_core.protocol.errors import Errors

Json = Any
Body = dict[str, Json]
ROLES = {"active": "activeTasks", "standby": "standbyTasks", "warmup": "warmupTasks"}


class Call(NamedTuple):
    """``api``: Kafka's name of the request, without "Request"."""

    api: str
    version: int
    body: Body


def call(request: m.Request) -> Call:
    """The request as it is sent.

    Versions are the newest that 4.1 and 4.4 brokers share and that need no topic ids.
    """
    return _CALLS[type(request)](request)


def older(sent: Call, newest: int) -> Call:
    """The same request of a classic group, in version ``newest`` if its own version is newer."""
    version, body = min(sent.version, newest), sent.body
    if sent.api == "LeaveGroup" and version < 3:
        body = {"groupId": body["groupId"], "memberId": body["members"][0]["memberId"]}
    elif sent.api == "OffsetFetch" and version < 8:
        body = body["groups"][0] | {"requireStable": body["requireStable"]}
    elif sent.api == "OffsetCommit":
        body = body | {"retentionTimeMs": -1}  # Versions 2 to 4 have this field.
    return Call(sent.api, version, body)


def response(api: str, body: Body) -> m.Response:
    """The response, whose body may have any version; fields that this version lacks are empty."""
    return _RESPONSES[api](body)


# -- requests


def _consumer_heartbeat(request: m.ConsumerGroupHeartbeat) -> Call:
    body = _member_fields(request) | {
        "instanceId": request.instance_id,
        "rebalanceTimeoutMs": request.rebalance_timeout_ms,
        "subscribedTopicNames": _listed(request.topics),
        "subscribedTopicRegex": request.regex,
        "serverAssignor": request.assignor,
        "topicPartitions": _topic_rows(request.owned),
    }
    if request.version == 0:
        del body["subscribedTopicRegex"]
    return Call("ConsumerGroupHeartbeat", request.version, body)


def _share_heartbeat(request: m.ShareGroupHeartbeat) -> Call:
    body = _member_fields(request) | {"subscribedTopicNames": _listed(request.topics)}
    return Call("ShareGroupHeartbeat", 1, body)


def _streams_heartbeat(request: m.StreamsGroupHeartbeat) -> Call:
    tags, endpoint = request.client_tags, request.endpoint
    body = _member_fields(request) | {
        "endpointInformationEpoch": request.endpoint_epoch,
        "instanceId": request.instance_id,
        "rebalanceTimeoutMs": request.rebalance_timeout_ms,
        "topology": None if request.topology is None else _topology(request.topology),
        "processId": request.process_id,
        "userEndpoint": None if endpoint is None else {"host": endpoint[0], "port": endpoint[1]},
        "clientTags": None if tags is None else [{"key": key, "value": v} for key, v in tags],
        "taskOffsets": None,
        "taskEndOffsets": None,
        "shutdownApplication": request.shutdown,
    }
    for role, field in ROLES.items():
        body[field] = None if request.owned is None else _tasks(request.owned, role)
    return Call("StreamsGroupHeartbeat", 0, body)


def _member_fields(request: Json) -> Body:
    return {
        "groupId": request.group_id,
        "memberId": request.member_id,
        "memberEpoch": request.member_epoch,
        "rackId": request.rack_id,
    }


def _tasks(rows: m.TaskRows, role: str) -> list[Body]:
    return [
        {"subtopologyId": subtopology, "partitions": list(partitions)}
        for each, subtopology, partitions in rows
        if each == role
    ]


def _topology(topology: m.Topology) -> Body:
    subtopologies = [_subtopology(each) for each in topology.subtopologies]
    return {"epoch": topology.epoch, "subtopologies": subtopologies}


def _subtopology(each: m.Subtopology) -> Body:
    return {
        "subtopologyId": each.subtopology_id,
        "sourceTopics": list(each.source_topics),
        "sourceTopicRegex": [],
        "stateChangelogTopics": [_internal_topic(*row) for row in each.changelog_topics],
        "repartitionSinkTopics": list(each.repartition_sink_topics),
        "repartitionSourceTopics": [
            _internal_topic(*row) for row in each.repartition_source_topics
        ],
        "copartitionGroups": [
            {
                "sourceTopics": list(group.source_topics),
                "sourceTopicRegex": [],
                "repartitionSourceTopics": list(group.repartition_source_topics),
            }
            for group in each.copartition_groups
        ],
    }


def _internal_topic(name: str, partitions: int) -> Body:
    return {"name": name, "partitions": partitions, "replicationFactor": 1, "topicConfigs": []}


def _describe(api: str, version: int) -> Callable[[Json], Call]:
    def make(request: Json) -> Call:
        body = {"groupIds": [request.group_id], "includeAuthorizedOperations": False}
        return Call(api, version, body)

    return make


def _list(request: m.ListGroups) -> Call:
    return Call("ListGroups", 5, {"statesFilter": list(request.states), "typesFilter": []})


def _join(request: m.JoinGroup) -> Call:
    body = {
        "groupId": request.group_id,
        "sessionTimeoutMs": request.session_timeout_ms,
        "rebalanceTimeoutMs": request.rebalance_timeout_ms,
        "memberId": request.member_id,
        "groupInstanceId": request.instance_id,
        "protocolType": request.protocol_type,
        "protocols": [
            {"name": name, "metadata": _text(metadata)} for name, metadata in request.protocols
        ],
        "reason": request.reason,
    }
    return Call("JoinGroup", 9, body)


def _sync(request: m.SyncGroup) -> Call:
    assignments = [
        {"memberId": who, "assignment": _text(data)} for who, data in request.assignments.items()
    ]
    names = {"protocolType": request.protocol_type, "protocolName": request.protocol_name}
    return Call("SyncGroup", 5, _classic(request) | names | {"assignments": assignments})


def _heartbeat(request: m.Heartbeat) -> Call:
    return Call("Heartbeat", 4, _classic(request))


def _classic(request: Json) -> Body:
    return {
        "groupId": request.group_id,
        "generationId": request.generation,
        "memberId": request.member_id,
        "groupInstanceId": request.instance_id,
    }


def _leave(request: m.LeaveGroup) -> Call:
    members = [
        {"memberId": who, "groupInstanceId": instance_id, "reason": reason}
        for who, instance_id, reason in request.members
    ]
    return Call("LeaveGroup", 5, {"groupId": request.group_id, "members": members})


def _commit(request: m.OffsetCommit) -> Call:
    topics: dict[str, list[Body]] = {}
    for topic, partition, offset, metadata in request.offsets:
        row = {"partitionIndex": partition, "committedOffset": offset, "committedLeaderEpoch": -1}
        topics.setdefault(topic, []).append(row | {"committedMetadata": metadata})
    body = {
        "groupId": request.group_id,
        "generationIdOrMemberEpoch": request.generation,
        "memberId": request.member_id,
        "groupInstanceId": request.instance_id,
        "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
    }
    return Call("OffsetCommit", min(request.version, 9), body)


def _fetch(request: m.OffsetFetch) -> Call:
    topics: dict[str, list[int]] = {}
    for topic, partition in request.partitions or ():
        topics.setdefault(topic, []).append(partition)
    group = {
        "groupId": request.group_id,
        "memberId": request.member_id,
        "memberEpoch": request.member_epoch,
        "topics": [{"name": name, "partitionIndexes": rows} for name, rows in topics.items()],
    }
    if request.partitions is None:
        group["topics"] = None
    return Call("OffsetFetch", 9, {"groups": [group], "requireStable": False})


def _classic_describe(request: m.DescribeGroup) -> Call:
    body = {"groups": [request.group_id], "includeAuthorizedOperations": False}
    return Call("DescribeGroups", 6, body)


def _delete(request: m.DeleteGroup) -> Call:
    return Call("DeleteGroups", 2, {"groupsNames": [request.group_id]})


def _listed(values: Iterable[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _topic_rows(rows: m.TopicRows | None) -> list[Body] | None:
    if rows is None:
        return None
    return [{"topicId": topic_id, "partitions": list(numbers)} for topic_id, numbers in rows]


def _text(data: bytes) -> str:
    return b64encode(data).decode()


_CALLS: Mapping[type, Callable[[Json], Call]] = {
    m.ConsumerGroupHeartbeat: _consumer_heartbeat,
    m.ShareGroupHeartbeat: _share_heartbeat,
    m.StreamsGroupHeartbeat: _streams_heartbeat,
    m.ConsumerGroupDescribe: _describe("ConsumerGroupDescribe", 1),
    m.ShareGroupDescribe: _describe("ShareGroupDescribe", 1),
    m.StreamsGroupDescribe: _describe("StreamsGroupDescribe", 0),
    m.ListGroups: _list,
    m.JoinGroup: _join,
    m.SyncGroup: _sync,
    m.Heartbeat: _heartbeat,
    m.LeaveGroup: _leave,
    m.OffsetCommit: _commit,
    m.OffsetFetch: _fetch,
    m.DescribeGroup: _classic_describe,
    m.DeleteGroup: _delete,
}


# -- responses


def _heartbeat_response(body: Body) -> m.Response:
    error, assignment = _error(body), body["assignment"]
    if error is not Errors.NONE:
        return m.MemberHeartbeatResponse(error)
    rows = None if assignment is None else _rows(assignment["topicPartitions"], "topicId")
    return m.MemberHeartbeatResponse(error, *_answered_member(body), rows)


def _streams_response(body: Body) -> m.Response:
    error = _error(body)
    if error is not Errors.NONE:
        return m.StreamsHeartbeatResponse(error=error)
    rows = None
    if body["activeTasks"] is not None:
        rows = tuple(
            (role, task["subtopologyId"], tuple(task["partitions"]))
            for role, field in ROLES.items()
            for task in body[field] or ()
        )
    status = tuple(each["statusCode"] for each in body["status"] or ())
    return m.StreamsHeartbeatResponse(error, *_answered_member(body), rows, status)


def _answered_member(body: Body) -> tuple[str, int, int]:
    return body["memberId"], body["memberEpoch"], body["heartbeatIntervalMs"]


def _consumer_description(body: Body) -> m.Response:
    group = body["groups"][0]
    members = [
        m.ConsumerMemberDescription(
            each["memberId"],
            each["instanceId"],
            each["rackId"],
            *_described_client(each),
            tuple(each["subscribedTopicNames"]),
            each["subscribedTopicRegex"],
            each["memberType"],
            _rows(each["assignment"]["topicPartitions"], "topicName"),
            _rows(each["targetAssignment"]["topicPartitions"], "topicName"),
        )
        for each in group["members"]
    ]
    return m.ConsumerDescribeResponse(*_described_group(group, "assignorName"), tuple(members))


def _share_description(body: Body) -> m.Response:
    group = body["groups"][0]
    members = [
        m.ShareMemberDescription(
            each["memberId"],
            each["rackId"],
            *_described_client(each),
            tuple(each["subscribedTopicNames"]),
            _rows(each["assignment"]["topicPartitions"], "topicName"),
        )
        for each in group["members"]
    ]
    return m.ShareDescribeResponse(*_described_group(group, "assignorName"), tuple(members))


def _streams_description(body: Body) -> m.Response:
    group = body["groups"][0]
    members = [
        m.StreamsMemberDescription(
            each["memberId"],
            each["instanceId"],
            each["rackId"],
            *_described_client(each),
            each["topologyEpoch"],
            each["processId"],
            _described_tasks(each["assignment"]),
            _described_tasks(each["targetAssignment"]),
        )
        for each in group["members"]
    ]
    topology = group["topology"]
    fields = _described_group(group)
    return m.StreamsDescribeResponse(*fields, topology["epoch"] if topology else -1, tuple(members))


def _described_client(member: Body) -> tuple[int, str, str]:
    return member["memberEpoch"], member["clientId"], member["clientHost"]


def _described_group(group: Body, *more: str) -> tuple[Json, ...]:
    names = ("groupState", "groupEpoch", "assignmentEpoch", *more)
    return (_error(group), *(group[name] for name in names))


def _described_tasks(assignment: Body) -> m.TaskRows:
    return tuple(
        (role, task["subtopologyId"], tuple(task["partitions"]))
        for role, field in ROLES.items()
        for task in assignment[field]
    )


def _list_response(body: Body) -> m.Response:
    names = ("groupId", "protocolType", "groupState", "groupType")
    return m.ListResponse(tuple(tuple(each[name] for name in names) for each in body["groups"]))


def _join_response(body: Body) -> m.Response:
    members = [
        (each["memberId"], each.get("groupInstanceId"), b64decode(each["metadata"]))
        for each in body["members"]
    ]
    names = ("generationId", "protocolType", "protocolName", "leader", "memberId")
    values = [body.get(name) for name in names]
    skips = body.get("skipAssignment", False)
    return m.JoinResponse(_error(body), *values, tuple(members), skips)


def _sync_response(body: Body) -> m.Response:
    data = b64decode(body["assignment"])
    return m.SyncResponse(_error(body), body.get("protocolType"), body.get("protocolName"), data)


def _leave_response(body: Body) -> m.Response:
    members = [
        (each["memberId"], each["groupInstanceId"], _error(each))
        for each in body.get("members", ())
    ]
    return m.LeaveResponse(_error(body), tuple(members))


def _commit_response(body: Body) -> m.Response:
    return m.CommitResponse(
        tuple(
            (topic["name"], each["partitionIndex"], _error(each))
            for topic in body["topics"]
            for each in topic["partitions"]
        )
    )


def _fetch_response(body: Body) -> m.Response:
    group = body["groups"][0] if "groups" in body else body
    rows = tuple(
        (
            topic["name"],
            each["partitionIndex"],
            each["committedOffset"],
            each["metadata"],
            _error(each),
        )
        for topic in group["topics"]
        for each in topic["partitions"]
    )
    return m.FetchResponse(_error(group), rows)


def _classic_description(body: Body) -> m.Response:
    group = body["groups"][0]
    members = [
        (
            each["memberId"],
            each.get("groupInstanceId"),
            each["clientId"],
            each["clientHost"],
            b64decode(each["memberMetadata"]),
            b64decode(each["memberAssignment"]),
        )
        for each in group["members"]
    ]
    names = ("groupState", "protocolType", "protocolData")
    values = [group[name] for name in names]
    return m.DescribeResponse(_error(group), *values, tuple(members))


def _rows(rows: Iterable[Body], name: str) -> m.TopicRows:
    return tuple((each[name], tuple(each["partitions"])) for each in rows)


def _error(body: Body) -> Errors:
    return Errors(body["errorCode"])


_RESPONSES: Mapping[str, Callable[[Body], m.Response]] = {
    "ConsumerGroupHeartbeat": _heartbeat_response,
    "ShareGroupHeartbeat": _heartbeat_response,
    "StreamsGroupHeartbeat": _streams_response,
    "ConsumerGroupDescribe": _consumer_description,
    "ShareGroupDescribe": _share_description,
    "StreamsGroupDescribe": _streams_description,
    "ListGroups": _list_response,
    "JoinGroup": _join_response,
    "SyncGroup": _sync_response,
    "Heartbeat": lambda body: m.HeartbeatResponse(_error(body)),
    "LeaveGroup": _leave_response,
    "OffsetCommit": _commit_response,
    "OffsetFetch": _fetch_response,
    "DescribeGroups": _classic_description,
    "DeleteGroups": lambda body: m.DeleteResponse(_error(body["results"][0])),
}
