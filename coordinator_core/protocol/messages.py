"""Requests, responses and effects: plain values.

Perform effects in their order.  Report the outcome of an ``Append`` through
``Coordinator.appended``, and perform the effects that it returns before those that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.errors import Errors

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata), most preferred first
TopicPartition = tuple[str, int]
Record = tuple[bytes, bytes | None]  # key, value; None is a tombstone


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
    """``offsets``: (topic, partition, offset, metadata).  A simple consumer has generation -1.

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


class OffsetFetch(NamedTuple):
    """``partitions``: None for all partitions with an offset."""

    request_id: str
    group_id: str
    partitions: tuple[TopicPartition, ...] | None


class DescribeGroup(NamedTuple):
    request_id: str
    group_id: str
    version: int = 5


class DeleteGroup(NamedTuple):
    request_id: str
    group_id: str


class ListGroups(NamedTuple):
    """``states``: case-insensitive names; empty for all states."""

    request_id: str
    states: tuple[str, ...] = ()
    group_id: str = ""


Request = (
    JoinGroup
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
    """``members``: (member id, instance id, metadata), for the leader only."""

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
    """``members``: (member id, instance id, error), in the order of the request."""

    error: Errors
    members: tuple[tuple[str, str | None, Errors], ...] = ()


class CommitResponse(NamedTuple):
    """``partitions``: (topic, partition, error)."""

    partitions: tuple[tuple[str, int, Errors], ...]


class FetchResponse(NamedTuple):
    """``partitions``: (topic, partition, offset, metadata, error); -1 and "" without an offset."""

    error: Errors
    partitions: tuple[tuple[str, int, int, str, Errors], ...]


class DescribeResponse(NamedTuple):
    """``members``: (member id, instance id, client id, client host, metadata, assignment)."""

    error: Errors
    state: str
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[tuple[str, str | None, str, str, bytes, bytes], ...] = ()


class DeleteResponse(NamedTuple):
    error: Errors


class ListResponse(NamedTuple):
    """``groups``: (group id, protocol type, state)."""

    groups: tuple[tuple[str, str, str], ...]


class BareError(NamedTuple):
    """An answer with an error only: the coordinator failed on the request."""

    error: Errors


Response = (
    BareError
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

    ``kind`` and the names in ``fields`` are those of ``log_lines.ParsedEvent``, so that the era's
    log line can be printed from them.  STATE: the group moved to ``state``.
    """

    kind: str
    group_id: str
    state: str
    generation: int
    fields: Mapping[str, Any]


Effect = Respond | Append | Event
