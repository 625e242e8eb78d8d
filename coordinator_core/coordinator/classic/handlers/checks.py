"""Checks of a request itself, independent of the group's state where the era allows it."""

from __future__ import annotations

from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinGroup, OffsetCommit, SyncGroup


def check_member(group: ClassicGroup, member_id: str, instance_id: str | None) -> Errors:
    """A member with an instance id must be the member to which the instance id belongs."""
    if instance_id is not None:
        current = group.static_members.get(instance_id)
        if current is None:
            return Errors.UNKNOWN_MEMBER_ID
        if current != member_id:
            return Errors.FENCED_INSTANCE_ID
    return Errors.NONE if member_id in group.members else Errors.UNKNOWN_MEMBER_ID


def check_member_leniently(group: ClassicGroup, member_id: str, instance_id: str | None) -> Errors:
    """Up to 2.8, an instance id that no member has is ignored."""
    if instance_id is not None and group.static_members.get(instance_id, member_id) != member_id:
        return Errors.FENCED_INSTANCE_ID
    return Errors.NONE if member_id in group.members else Errors.UNKNOWN_MEMBER_ID


def check_sync(turn: Turn, group: ClassicGroup, request: SyncGroup) -> Errors:
    error = checked_member(turn, group, request.member_id, request.instance_id, "sync-group")
    if error is not Errors.NONE:
        return error
    if request.generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    is_other_type = _is_inconsistent(turn, request.protocol_type, group.protocol_type)
    if is_other_type or _is_inconsistent(turn, request.protocol_name, group.protocol):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    return Errors.NONE


def _is_inconsistent(turn: Turn, named: str | None, chosen: str | None) -> bool:
    """KIP-559: the request names another protocol than the group has chosen."""
    if named is None or (chosen is None and turn.era.accepts_any_protocol_until_chosen):
        return False
    return named != chosen


def checked_member(
    turn: Turn, group: ClassicGroup, member_id: str, instance_id: str | None, operation: str
) -> Errors:
    """The era's check of a member; logs a fenced one."""
    error = turn.era.check_member(group, member_id, instance_id)
    if error is Errors.FENCED_INSTANCE_ID and instance_id is not None:
        turn.effects.event(
            "STATIC_FENCED",
            group,
            member_id=member_id,
            instance_id=instance_id,
            old_member_id=group.static_members[instance_id],
            operation=operation,
        )
    return error


def check_generation(era: Era, group: ClassicGroup, request: Any) -> Errors:
    return Errors.NONE if request.generation == group.generation else Errors.ILLEGAL_GENERATION


def check_generation_unless_completing(era: Era, group: ClassicGroup, request: Any) -> Errors:
    """Up to 2.2 a heartbeat between join and sync may have any generation."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        return Errors.NONE
    return check_generation(era, group, request)


def check_commit(era: Era, group: ClassicGroup, request: OffsetCommit) -> Errors:
    """A simple consumer may commit to an Empty group; a member needs its id and generation."""
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return Errors.NONE
    if request.generation >= 0 or request.member_id or request.instance_id is not None:
        error = era.check_member(group, request.member_id, request.instance_id)
        return check_generation(era, group, request) if error is Errors.NONE else error
    return Errors.NONE if group.state is GroupState.EMPTY else Errors.UNKNOWN_MEMBER_ID


def check_commit_fencing_first(era: Era, group: ClassicGroup, request: OffsetCommit) -> Errors:
    """In 2.5, a fenced instance id is refused even where a simple commit is accepted."""
    error = era.check_member(group, request.member_id, request.instance_id)
    if error is Errors.FENCED_INSTANCE_ID:
        return error
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return Errors.NONE
    return check_generation(era, group, request) if error is Errors.NONE else error


def check_commit_state_first(era: Era, group: ClassicGroup, request: OffsetCommit) -> Errors:
    """Up to 2.1, every commit between join and sync is refused, even the commit of an unknown
    member.
    """
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return Errors.NONE
    if group.state is GroupState.COMPLETING_REBALANCE:
        return Errors.REBALANCE_IN_PROGRESS
    error = era.check_member(group, request.member_id, request.instance_id)
    return check_generation(era, group, request) if error is Errors.NONE else error


def accepts_size(turn: Turn, group: ClassicGroup, request: JoinGroup) -> bool:
    """group.max.size: during a rebalance the members that have rejoined count."""
    limit = turn.config.group_max_size
    member = group.members.get(request.member_id)
    if group.state is GroupState.EMPTY or group.state is GroupState.DEAD:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        waits = member is not None and member.awaiting_join is not None
        return waits or group.awaiting_join_count < limit
    return member is not None or len(group.members) < limit


def accepts_size_by_members(turn: Turn, group: ClassicGroup, request: JoinGroup) -> bool:
    """Up to 2.5 (KIP-389), all members count, and a full group refuses members that rejoin late."""
    limit = turn.config.group_max_size
    member = group.members.get(request.member_id)
    if not request.member_id:
        return len(group.members) < limit
    is_late = member is not None and member.awaiting_join is None
    return not (len(group.members) > limit and is_late)


def accepts_any_size(turn: Turn, group: ClassicGroup, request: JoinGroup) -> bool:
    """Before KIP-389 a group had no maximal size."""
    return True
