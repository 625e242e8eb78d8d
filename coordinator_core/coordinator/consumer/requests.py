"""The requests of consumer groups, and how they handle those that classic groups have, too."""

from __future__ import annotations

from coordinator_core.coordinator.consumer import classic_members, describe, heartbeat, offsets
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.loading import REPLAYS
from coordinator_core.coordinator.consumer.records import tombstones
from coordinator_core.coordinator.consumer.timers import start_timers
from coordinator_core.coordinator.group_handlers import GroupHandlers
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
    SyncGroup,
)

HANDLERS: GroupHandlers[Turn] = GroupHandlers(
    group_type=CONSUMER,
    requests={
        ConsumerGroupHeartbeat: heartbeat.handle,
        ConsumerGroupDescribe: describe.handle,
    },
    shared_requests={
        JoinGroup: classic_members.handle_join,
        SyncGroup: classic_members.handle_sync,
        Heartbeat: classic_members.handle_heartbeat,
        LeaveGroup: classic_members.handle_leave,
        OffsetCommit: offsets.handle_commit,
        OffsetFetch: offsets.handle_fetch,
        DescribeGroup: describe.handle_classic,
        DeleteGroup: describe.handle_delete,
    },
    replays=REPLAYS,
    start_timers=start_timers,
    tombstones=tombstones,
)
