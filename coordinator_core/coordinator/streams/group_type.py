"""The streams group type (KIP-1071)."""

from __future__ import annotations

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.protocol.messages import StreamsGroupHeartbeat, StreamsHeartbeatResponse

STREAMS = GroupType(
    name="streams",
    heartbeat=StreamsGroupHeartbeat,
    refusal=StreamsHeartbeatResponse,
    record_prefix="Streams",
    phases=("Assigning", "Reconciling"),
    default_assignor="sticky",
    stable_state=StreamsMemberState.STABLE.value,
    unrevoked_state=StreamsMemberState.UNREVOKED_TASKS.value,
    has_topology=True,
    has_initial_delay=True,
)
