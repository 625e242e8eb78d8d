"""The timers of members: sessions, revocations, and joins and syncs of classic members."""

from __future__ import annotations

from coordinator_core.coordinator.consumer.fencing import fence_members
from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.states import ConsumerMemberState
from coordinator_core.coordinator.modern.configuration import setting_ms
from coordinator_core.coordinator.modern.timers import JOIN, REBALANCE, SESSION, SYNC, Failed
from coordinator_core.coordinator.turn import Turn

SESSION_EXPIRED = "the member session expired"
JOIN_EXPIRED = "the classic member failed to join within the rebalance timeout"
SYNC_EXPIRED = "the member failed to sync within timeout"


def start_session(turn: Turn, group_id: str, member_id: str, timeout_ms: int | None = None) -> None:
    """Restart the session; ``timeout_ms`` is the timeout of a classic member, else the group's
    timeout.
    """
    if timeout_ms is None:
        timeout_ms = setting_ms(turn, group_id, CONSUMER, "session.timeout.ms")
    _schedule(turn, SESSION, group_id, member_id, timeout_ms, SESSION_EXPIRED)


def start_rebalance(turn: Turn, group_id: str, member: ConsumerMember) -> None:
    """Wait for the member to revoke its partitions, in the epoch that it is in."""
    member_id, epoch = member.member_id, member.epoch
    timeout_ms = member.rebalance_timeout_ms
    reason = f"it failed to transition from epoch {epoch} within {timeout_ms}ms"

    def expire(failed: Failed) -> None:
        group, present = _member(turn, group_id, member_id)
        if group is not None and present is not None and present.epoch == epoch:
            turn.effects.modern_event("FENCED", group_id, member_id=member_id, reason=reason)
            fence_members(turn, group, [present], failed)

    turn.modern_timers.schedule((REBALANCE, group_id, member_id), timeout_ms, expire)


def start_join(turn: Turn, group_id: str, member: ConsumerMember) -> None:
    """Wait for the join of a classic member that was asked to rejoin, unless the member already
    waits.
    """
    key = (JOIN, group_id, member.member_id)
    if not turn.modern_timers.is_set(key):
        timeout_ms = member.rebalance_timeout_ms
        _schedule(turn, JOIN, group_id, member.member_id, timeout_ms, JOIN_EXPIRED)


def start_sync(turn: Turn, group_id: str, member_id: str, timeout_ms: int) -> None:
    _schedule(turn, SYNC, group_id, member_id, timeout_ms, SYNC_EXPIRED)


def start_timers(turn: Turn, group: ConsumerGroup) -> None:
    """Start the sessions of a loaded group, and the waits for members that revoke."""
    for member in group.in_order():
        start_session(turn, group.group_id, member.member_id)
        if member.state is ConsumerMemberState.UNREVOKED_PARTITIONS:
            start_rebalance(turn, group.group_id, member)


def _schedule(
    turn: Turn, kind: str, group_id: str, member_id: str, timeout_ms: int, reason: str
) -> None:
    def expire(failed: Failed) -> None:
        group, member = _member(turn, group_id, member_id)
        if group is not None and member is not None:
            turn.effects.modern_event("FENCED", group_id, member_id=member_id, reason=reason)
            fence_members(turn, group, [member], failed)

    turn.modern_timers.schedule((kind, group_id, member_id), timeout_ms, expire)


def _member(
    turn: Turn, group_id: str, member_id: str
) -> tuple[ConsumerGroup | None, ConsumerMember | None]:
    group = turn.groups.modern.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return None, None
    return group, group.members.get(member_id)
