"""A classic group from its record: members with new sessions; and its end when it is unloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator_core.coordinator.classic import rebalance
from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.reactions import move
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.subscriptions import subscribed_topics
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import SyncResponse

_NO_TIME = -1


def apply_group(turn: Turn, group_id: str, value: Mapping[str, Any] | None) -> None:
    """Replace the group by the group in the record's value; None removes it."""
    previous = turn.groups.classic.get(group_id)
    if value is None and previous is None:
        return
    offsets = turn.groups.offsets_for(group_id)
    if previous is not None:
        turn.groups.remove_classic(previous)
    if value is None:
        # A group of another type may follow in the log, and its offsets with it.
        if turn.era.modern is not None:
            turn.groups.keep_offsets(group_id, offsets)
        return
    turn.groups.modern.pop(group_id, None)
    group = turn.groups.new_classic(group_id, turn.now_ms)
    group.offsets = offsets
    group.generation = value["generation"]
    group.protocol_type = value["protocol_type"] or None
    group.protocol = value["protocol"]
    group.leader = value["leader"]
    group.state_timestamp_ms = value.get("current_state_timestamp", _NO_TIME)
    for fields in value["members"]:
        _add(group, _member(group, fields))
    is_stable = bool(group.members) or not turn.era.has_empty_state
    group.state = GroupState.STABLE if is_stable else GroupState.EMPTY
    group.subscribed_topics = subscribed_topics(turn.era, group)


def _member(group: ClassicGroup, fields: Mapping[str, Any]) -> ClassicMember:
    """A member as recorded; the record has only the chosen protocol of the member."""
    timeout_ms = fields.get("rebalance_timeout", _NO_TIME)
    return ClassicMember(
        member_id=fields["member_id"],
        instance_id=fields.get("group_instance_id"),
        client_id=fields["client_id"],
        client_host=fields["client_host"],
        rebalance_timeout_ms=fields["session_timeout"] if timeout_ms == _NO_TIME else timeout_ms,
        session_timeout_ms=fields["session_timeout"],
        protocols=((group.protocol or "", fields["subscription"]),),
        assignment=fields["assignment"],
    )


def _add(group: ClassicGroup, member: ClassicMember) -> None:
    if member.instance_id is not None:
        group.static_members[member.instance_id] = member.member_id
    group.add(member, None)


def start_sessions(turn: Turn, group: ClassicGroup) -> None:
    turn.effects.event("LOADED", group, step="group", member_count=len(group.members))
    is_too_large = len(group.members) > turn.config.group_max_size
    if is_too_large and not turn.era.starts_sessions_before_shrinking:
        _shrink(turn, group)
    for member in group.in_order():
        turn.timers.renew_session(group, member, member.session_timeout_ms)
    if is_too_large and turn.era.starts_sessions_before_shrinking:
        _shrink(turn, group)


def _shrink(turn: Turn, group: ClassicGroup) -> None:
    """KIP-389: group.max.size may have been lowered since the group was written."""
    cause = {
        "cause": "OVER_CAPACITY",
        "member_count": len(group.members),
        "max_size": turn.config.group_max_size,
    }
    rebalance.prepare(turn, group, cause)


def dismiss(turn: Turn, group: ClassicGroup, error: Errors) -> None:
    """Fail the requests that wait in the group, and cancel its timers."""
    was_preparing = group.state is GroupState.PREPARING_REBALANCE
    move(turn, group, GroupState.DEAD)
    for member in group.in_order():
        join, sync = group.take_join(member), member.awaiting_sync
        member.awaiting_sync = None
        if was_preparing and join is not None:
            turn.effects.respond(join, rebalance.failed_join(turn, member.member_id, error))
        if not was_preparing and sync is not None:
            turn.effects.respond(sync, SyncResponse(error))
    turn.timers.cancel_all(group)
