"""The answers of share and streams groups to requests that are not for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    CommitResponse,
    DescribeGroup,
    DescribeResponse,
    FetchResponse,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    OffsetCommit,
    OffsetFetch,
    Request,
    SyncGroup,
    SyncResponse,
)

_KIP_1043_DESCRIBE = 6
_NO_OFFSET = -1


def refuse_join(turn: Turn, group: ModernGroup, request: JoinGroup) -> None:
    error = Errors.INCONSISTENT_GROUP_PROTOCOL
    turn.log.answer(request, JoinResponse(error=error, protocol_name=turn.era.failed_join_protocol))


def refuse_sync(turn: Turn, group: ModernGroup, request: SyncGroup) -> None:
    turn.log.answer(request, SyncResponse(Errors.UNKNOWN_MEMBER_ID))


def refuse_heartbeat(turn: Turn, group: ModernGroup, request: Heartbeat) -> None:
    turn.log.answer(request, HeartbeatResponse(Errors.UNKNOWN_MEMBER_ID))


def refuse_leave(turn: Turn, group: ModernGroup, request: LeaveGroup) -> None:
    unknown = [
        (each.member_id, each.instance_id, Errors.UNKNOWN_MEMBER_ID) for each in request.members
    ]
    turn.log.answer(request, LeaveResponse(Errors.NONE, tuple(unknown)))


def refuse_commit(turn: Turn, group: ModernGroup, request: OffsetCommit) -> None:
    error = Errors.GROUP_ID_NOT_FOUND
    rows = [(topic, partition, error) for topic, partition, _, _ in request.offsets]
    turn.log.answer(request, CommitResponse(tuple(rows)))


def fetch_nothing(turn: Turn, group: ModernGroup, request: OffsetFetch) -> None:
    rows = [(*each, _NO_OFFSET, "", Errors.NONE) for each in request.partitions or ()]
    turn.effects.respond(request.request_id, FetchResponse(Errors.NONE, tuple(rows)))


def hide(turn: Turn, group: ModernGroup, request: DescribeGroup) -> None:
    """DescribeGroups shows classic groups alone."""
    is_reported = request.version >= _KIP_1043_DESCRIBE
    error = Errors.GROUP_ID_NOT_FOUND if is_reported else Errors.NONE
    turn.effects.respond(request.request_id, DescribeResponse(error, "Dead"))


REFUSALS: Mapping[type[Request], Callable[[Turn, Any, Any], None]] = {
    JoinGroup: refuse_join,
    SyncGroup: refuse_sync,
    Heartbeat: refuse_heartbeat,
    LeaveGroup: refuse_leave,
    OffsetCommit: refuse_commit,
    OffsetFetch: fetch_nothing,
    DescribeGroup: hide,
}
