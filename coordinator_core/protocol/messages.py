"""Requests, responses and effects: plain values.

Perform effects in their order.  Report the outcome of an ``Append`` through
``Coordinator.appended``, and perform the effects that it returns before those that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.errors import Errors

Protocols = tuple[tuple[str, bytes], ...]  # pairs of name and metadata, most preferred first
TopicPartition = tuple[str, int]
Record = tuple[bytes, bytes | None]  # key, value; key and value; a value of None is a tombstone


class JoinGroup(NamedTuple):
    """``requires_known_member_id``: JoinGroup v4+; ``supports_skipping_assignment``: v9+."""

    request_id: str
    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_known_member_id: bool = False
    supports_skipping_assignment: bool = False
    reason: str | None = None


class SyncGroup(NamedTuple):
    request_id: str
    group_id: str
    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = {}


class Heartbeat(NamedTuple):
    request_id: str
    group_id: str
    member_id: str
    generation: int
    instance_id: str | None = None


class Leaver(NamedTuple):
    member_id: str
    instance_id: str | None = None
    reason: str | None = None


class LeaveGroup(NamedTuple):
    request_id: str
    group_id: str
    members: tuple[Leaver, ...]


class OffsetCommit(NamedTuple):
    """``offsets`` are tuples (topic, partition, offset, metadata).  A simple consumer has
    generation -1.

    ``retention_ms`` is OffsetCommit v2-v4's own retention, -1 for the broker's.
    """

    request_id: str
    group_id: str
    member_id: str
    generation: int
    offsets: tuple[tuple[str, int, int, str | None], ...]
    instance_id: str | None = None
    version: int = 8
    retention_ms: int = -1
    # topic ids by name, in the form used in records; the broker adds them
    topic_ids: Mapping[str, str] = {}


class OffsetFetch(NamedTuple):
    """``partitions`` is None for all partitions with an offset.

    ``member_id`` and ``member_epoch`` belong to a member of a consumer group (KIP-848), from
    version 9 on.
    """

    request_id: str
    group_id: str
    partitions: tuple[TopicPartition, ...] | None
    member_id: str | None = None
    member_epoch: int = -1


class DescribeGroup(NamedTuple):
    request_id: str
    group_id: str
    version: int = 5


class DeleteGroup(NamedTuple):
    request_id: str
    group_id: str


class ListGroups(NamedTuple):
    """``states`` are case-insensitive names; empty for all states."""

    request_id: str
    states: tuple[str, ...] = ()
    group_id: str = ""


TopicRows = tuple[tuple[str, tuple[int, ...]], ...]  # topic id or name, with its partitions
TaskRows = tuple[tuple[str, str, tuple[int, ...]], ...]  # role, subtopology and its partitions


class ConsumerGroupHeartbeat(NamedTuple):
    """KIP-848. With ``member_epoch`` 0 a member joins, with -1 it leaves, and with -2 it leaves
    temporarily (static).

    None, or -1 for ``rebalance_timeout_ms``, means unchanged.  ``owned`` has partitions by topic
    id.
    """

    request_id: str
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: TopicRows | None = None
    version: int = 1


class ShareGroupHeartbeat(NamedTuple):
    """KIP-932; fields as in ConsumerGroupHeartbeat."""

    request_id: str
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] | None = None
    version: int = 1


class CopartitionGroup(NamedTuple):
    """Indexes of topics among a subtopology's source and repartition source topics."""

    source_topics: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """``repartition_source_topics`` and ``changelog_topics`` are name and partitions, 0 if open."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[tuple[str, int], ...] = ()
    changelog_topics: tuple[tuple[str, int], ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


class Topology(NamedTuple):
    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()


class StreamsGroupHeartbeat(NamedTuple):
    """KIP-1071; fields as in ConsumerGroupHeartbeat. ``owned`` has tasks by role."""

    request_id: str
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    process_id: str | None = None
    topology: Topology | None = None
    client_tags: tuple[tuple[str, str], ...] | None = None
    endpoint: tuple[str, int] | None = None
    endpoint_epoch: int = 0
    shutdown: bool = False
    owned: TaskRows | None = None
    version: int = 0


class ConsumerGroupDescribe(NamedTuple):
    request_id: str
    group_id: str


class ShareGroupDescribe(NamedTuple):
    request_id: str
    group_id: str


class StreamsGroupDescribe(NamedTuple):
    request_id: str
    group_id: str


Request = (
    ConsumerGroupHeartbeat
    | ShareGroupHeartbeat
    | StreamsGroupHeartbeat
    | ConsumerGroupDescribe
    | ShareGroupDescribe
    | StreamsGroupDescribe
    | JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
    | DescribeGroup
    | DeleteGroup
    | ListGroups
)


class JoinResponse(NamedTuple):
    """``members`` are tuples (member id, instance id, metadata), for the leader only."""

    error: Errors
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = ""
    member_id: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    skip_assignment: bool = False


class SyncResponse(NamedTuple):
    error: Errors
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class HeartbeatResponse(NamedTuple):
    error: Errors


class LeaveResponse(NamedTuple):
    """``members`` are tuples (member id, instance id, error), in the order of the request."""

    error: Errors
    members: tuple[tuple[str, str | None, Errors], ...] = ()


class CommitResponse(NamedTuple):
    """``partitions`` are tuples (topic, partition, error)."""

    partitions: tuple[tuple[str, int, Errors], ...]


class FetchResponse(NamedTuple):
    """``partitions`` has (topic, partition, offset, metadata, error); -1 and "" without
    an offset.
    """

    error: Errors
    partitions: tuple[tuple[str, int, int, str, Errors], ...]


class DescribeResponse(NamedTuple):
    """``members`` has (member id, instance id, client id, client host, metadata, assignment)."""

    error: Errors
    state: str
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[tuple[str, str | None, str, str, bytes, bytes], ...] = ()


class DeleteResponse(NamedTuple):
    error: Errors


class ListResponse(NamedTuple):
    """``groups`` are tuples (group id, protocol type, state, group type)."""

    groups: tuple[tuple[str, str, str, str], ...]


class MemberHeartbeatResponse(NamedTuple):
    """The answer to a heartbeat of a consumer or share group member.

    ``assignment`` has partitions by topic id, or None if it did not change since the last answer.
    """

    error: Errors
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: TopicRows | None = None


class StreamsHeartbeatResponse(NamedTuple):
    """``status``: codes; ``creatable_topics`` are names of internal topics to create."""

    error: Errors
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: TaskRows | None = None
    status: tuple[int, ...] = ()
    creatable_topics: tuple[str, ...] = ()


class ConsumerMemberDescription(NamedTuple):
    """``member_type`` is 0 for classic, 1 for consumer. Assignments by topic name."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    regex: str | None
    member_type: int
    assignment: TopicRows
    target: TopicRows


class ConsumerDescribeResponse(NamedTuple):
    error: Errors
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[ConsumerMemberDescription, ...] = ()


class ShareMemberDescription(NamedTuple):
    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    assignment: TopicRows


class ShareDescribeResponse(NamedTuple):
    error: Errors
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[ShareMemberDescription, ...] = ()


class StreamsMemberDescription(NamedTuple):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    assignment: TaskRows
    target: TaskRows


class StreamsDescribeResponse(NamedTuple):
    error: Errors
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    topology_epoch: int = -1
    members: tuple[StreamsMemberDescription, ...] = ()


class BareError(NamedTuple):
    """An answer with an error only: the coordinator failed on the request."""

    error: Errors


Response = (
    MemberHeartbeatResponse
    | StreamsHeartbeatResponse
    | ConsumerDescribeResponse
    | ShareDescribeResponse
    | StreamsDescribeResponse
    | BareError
    | JoinResponse
    | SyncResponse
    | HeartbeatResponse
    | LeaveResponse
    | CommitResponse
    | FetchResponse
    | DescribeResponse
    | DeleteResponse
    | ListResponse
)


class Respond(NamedTuple):
    """Answer the request that carried ``request_id``."""

    request_id: str
    response: Response


class Append(NamedTuple):
    """Write these records, all or none, to the group's partition of `__consumer_offsets`.

    Report the outcome through ``Coordinator.appended``; answers that depend on it come then.
    """

    append_id: int
    group_id: str
    partition: int
    records: tuple[Record, ...]


class Event(NamedTuple):
    """An event of a group, with its cause.

    ``kind`` and the names in ``fields`` are fields of ``log_lines.ParsedEvent``, so that the era's
    log line can be printed from them.  STATE: the group moved to ``state``.
    """

    kind: str
    group_id: str
    state: str
    generation: int
    fields: Mapping[str, Any]


Effect = Respond | Append | Event
