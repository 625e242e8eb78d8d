"""The consumer group type (KIP-848)."""

from __future__ import annotations

from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.protocol.messages import ConsumerGroupHeartbeat, MemberHeartbeatResponse

CONSUMER = GroupType(
    name="consumer",
    heartbeat=ConsumerGroupHeartbeat,
    refusal=MemberHeartbeatResponse,
    record_prefix="Consumer",
    phases=("Assigning", "Reconciling"),
    default_assignor="uniform",  # the default: the first value of group.consumer.assignors
    stable_state=ConsumerMemberState.STABLE.value,
    unrevoked_state=ConsumerMemberState.UNREVOKED_PARTITIONS.value,
    converts=True,
)
