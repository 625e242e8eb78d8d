"""The share group type (KIP-932)."""

from __future__ import annotations

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.protocol.messages import MemberHeartbeatResponse, ShareGroupHeartbeat

SHARE = GroupType(
    name="share",
    heartbeat=ShareGroupHeartbeat,
    refusal=MemberHeartbeatResponse,
    record_prefix="Share",
    phases=("Assigning", "Reconciling"),
    is_stable_in_phases=True,
    default_assignor="simple",
    stable_state=0,
    has_static_members=False,
    revokes=False,
)
