"""The timers of streams groups: sessions, revocations, initial delay; the removal of members."""

from __future__ import annotations

from coordinator_core.coordinator.modern.configuration import rules_of, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.timers import REBALANCE, SESSION, Action, Failed
from coordinator_core.coordinator.streams import records
from coordinator_core.coordinator.streams.group import StreamsGroup, StreamsMember
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.coordinator.streams.writing import write_for
from coordinator_core.coordinator.turn import Turn

INITIAL_DELAY = "initial-rebalance"
SESSION_EXPIRED = "the member session expired."


def start_session(turn: Turn, group_id: str, member_id: str) -> None:
    def expire(failed: Failed) -> None:
        group, member = _member(turn, group_id, member_id)
        if group is not None and member is not None:
            fields = {"member_id": member_id, "reason": SESSION_EXPIRED, "protocol": "streams"}
            turn.effects.modern_event("FENCED", group_id, **fields)
            write_for(turn, group, removal(turn, group, member), failed)

    timeout_ms = setting_ms(turn, group_id, STREAMS, "session.timeout.ms")
    turn.modern_timers.schedule((SESSION, group_id, member_id), timeout_ms, expire)


def start_rebalance(turn: Turn, group_id: str, member: StreamsMember) -> None:
    """Wait for the member to revoke its tasks, in the epoch that it is in."""
    member_id, epoch, timeout_ms = member.member_id, member.epoch, member.rebalance_timeout_ms
    reason = f"it failed to transition from epoch {epoch} within {timeout_ms}ms"

    def expire(failed: Failed) -> None:
        group, present = _member(turn, group_id, member_id)
        if group is not None and present is not None and present.epoch == epoch:
            turn.effects.modern_event("FENCED", group_id, member_id=member_id, reason=reason)
            write_for(turn, group, removal(turn, group, present), failed)

    turn.modern_timers.schedule((REBALANCE, group_id, member_id), timeout_ms, expire)


def start_timers(turn: Turn, group: StreamsGroup) -> None:
    """Start the sessions of a loaded group, and the waits for members that revoke."""
    for member_id in group.order:
        member = group.members[member_id]
        start_session(turn, group.group_id, member_id)
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            start_rebalance(turn, group.group_id, member)


def end_rebalance(turn: Turn, group_id: str, member_id: str) -> None:
    turn.modern_timers.cancel((REBALANCE, group_id, member_id))


def start_initial_delay(turn: Turn, group_id: str, delay_ms: int, action: Action) -> None:
    turn.modern_timers.schedule_if_absent((INITIAL_DELAY, group_id), delay_ms, action)


def is_delayed(turn: Turn, group_id: str) -> bool:
    """Returns whether the group's initial delay runs."""
    return turn.modern_timers.is_set((INITIAL_DELAY, group_id))


def cancel_initial_delay(turn: Turn, group_id: str) -> None:
    turn.modern_timers.cancel((INITIAL_DELAY, group_id))


def _member(
    turn: Turn, group_id: str, member_id: str
) -> tuple[StreamsGroup | None, StreamsMember | None]:
    group = turn.groups.modern.get(group_id)
    if not isinstance(group, StreamsGroup):
        return None, None
    return group, group.members.get(member_id)


def removal(turn: Turn, group: StreamsGroup, member: StreamsMember) -> list[ModernRecord]:
    """The records of a member that leaves or is fenced; ends its timers."""
    rules, group_id, epoch = rules_of(turn), group.group_id, group.epoch + 1
    metadata_hash = group.metadata_hash if rules.streams.keeps_hash_when_members_leave else 0
    removing = records.member_tombstones(group_id, member.member_id)
    removing.append(
        records.epoch_record(
            rules, group, epoch, metadata_hash, group.validated_epoch, group.assignment_configs
        )
    )
    if len(group.members) == 1 and rules.empties_target:
        removing.append(records.target_record(rules, group_id, epoch, 0))
    turn.modern_timers.cancel_member(group_id, member.member_id)
    return removing
