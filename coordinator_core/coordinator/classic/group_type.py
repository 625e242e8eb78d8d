"""The classic group type."""

from __future__ import annotations

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.protocol.messages import Heartbeat, HeartbeatResponse

CLASSIC = GroupType(
    name="classic",
    heartbeat=Heartbeat,
    refusal=HeartbeatResponse,
    record_prefix="",
    phases=("PreparingRebalance", "CompletingRebalance"),
    has_epochs=False,
    converts=True,
)
