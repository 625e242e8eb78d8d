"""The requests of consumer groups, and how they handle those that classic groups have, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.consumer import classic_members, describe, heartbeat, offsets
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import (
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Request,
    SyncGroup,
)

HANDLERS: Mapping[type[Request], Callable[[Turn, Any], None]] = {
    ConsumerGroupHeartbeat: heartbeat.handle,
    ConsumerGroupDescribe: describe.handle,
}
SHARED_HANDLERS: Mapping[type[Request], Callable[[Turn, Any, Any], None]] = {
    JoinGroup: classic_members.handle_join,
    SyncGroup: classic_members.handle_sync,
    Heartbeat: classic_members.handle_heartbeat,
    LeaveGroup: classic_members.handle_leave,
    OffsetCommit: offsets.handle_commit,
    OffsetFetch: offsets.handle_fetch,
    DescribeGroup: describe.handle_classic,
    DeleteGroup: describe.handle_delete,
}
