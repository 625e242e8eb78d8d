"""Sessions of share group members, and their removal."""

from __future__ import annotations

from coordinator_core.coordinator.modern.configuration import rules_of, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.timers import SESSION, Failed
from coordinator_core.coordinator.modern.writing import write
from coordinator_core.coordinator.share import records
from coordinator_core.coordinator.share.group import ShareGroup, ShareMember, subscribed_names
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.coordinator.turn import Turn

SESSION_EXPIRED = "the member session expired"


def start_session(turn: Turn, group_id: str, member_id: str) -> None:
    def expire(failed: Failed) -> None:
        group = turn.groups.modern.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ShareGroup) else None
        if isinstance(group, ShareGroup) and member is not None:
            turn.effects.modern_event(
                "FENCED", group_id, member_id=member_id, reason=SESSION_EXPIRED
            )
            write(turn, group_id, removal(turn, group, member), failed)

    timeout_ms = setting_ms(turn, group_id, SHARE, "session.timeout.ms")
    turn.modern_timers.schedule((SESSION, group_id, member_id), timeout_ms, expire)


def start_timers(turn: Turn, group: ShareGroup) -> None:
    """Start the sessions of a loaded group."""
    for member_id in group.order:
        start_session(turn, group.group_id, member_id)


def removal(turn: Turn, group: ShareGroup, member: ShareMember) -> list[ModernRecord]:
    """The records of a member that leaves or is fenced; ends its session."""
    rules = rules_of(turn)
    group_id, epoch = group.group_id, group.epoch + 1
    others = [each for each in group.members.values() if each is not member]
    metadata_hash = turn.image.group_hash(subscribed_names(others))
    if metadata_hash != group.metadata_hash:
        fields = {"step": "metadata_hash", "metadata_hash": metadata_hash}
        turn.effects.modern_event("METADATA_HASH", group_id, **fields)
    names = records.CURRENT, records.MEMBER_TARGET, records.MEMBER
    removing = records.member_tombstones(group_id, [member.member_id], *names)
    removing.append(records.epoch_record(group_id, epoch, metadata_hash))
    if not others and rules.empties_target:
        removing.append(records.target_record(rules, group_id, epoch, 0))
    turn.modern_timers.cancel_member(group_id, member.member_id)
    return removing
