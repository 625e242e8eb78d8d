"""Members leave a consumer group, or are removed from it."""

from __future__ import annotations

from coordinator_core.coordinator.consumer import downgrade
from coordinator_core.coordinator.consumer.checks import check_static
from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import (
    LEFT_FOR_A_WHILE,
    ConsumerGroup,
    ConsumerMember,
)
from coordinator_core.coordinator.consumer.records import (
    current_record,
    regex_tombstone,
    removal_records,
    target_record,
)
from coordinator_core.coordinator.consumer.subscriptions import Subscriptions, take_topics
from coordinator_core.coordinator.modern.timers import Failed
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import ConsumerGroupHeartbeat, MemberHeartbeatResponse


def leave(turn: Turn, request: ConsumerGroupHeartbeat) -> None:
    """Handle a heartbeat with a negative epoch: the member leaves; a static member may leave
    temporarily.
    """
    group = turn.groups.modern.get(request.group_id)
    if not isinstance(group, ConsumerGroup):
        turn.log.answer(request, MemberHeartbeatResponse(Errors.GROUP_ID_NOT_FOUND))
        return
    error = _check_leave(turn, group, request)
    if error is not Errors.NONE:
        turn.log.answer(request, MemberHeartbeatResponse(error))
        return
    member = group.members[request.member_id]
    fields = {
        "member_id": member.member_id,
        "instance_id": request.instance_id,
        "protocol": "consumer",
    }
    is_for_a_while = request.instance_id is not None and request.member_epoch == LEFT_FOR_A_WHILE
    if is_for_a_while:
        turn.effects.modern_event("LEFT", group.group_id, step="temporarily", **fields)
        _leave_for_a_while(turn, group, member)
    else:
        turn.effects.modern_event("LEFT", group.group_id, step="member", **fields)
        fence_members(turn, group, [member])
    response = MemberHeartbeatResponse(Errors.NONE, member.member_id, request.member_epoch)
    answer(turn, request, response, MemberHeartbeatResponse)


def _check_leave(turn: Turn, group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> Errors:
    if request.instance_id is not None:
        return check_static(turn, group, request.member_id, request.instance_id)
    is_known = request.member_id in group.members
    return Errors.NONE if is_known else Errors.UNKNOWN_MEMBER_ID


def _leave_for_a_while(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    """The member keeps its place until its session expires."""
    draft = Draft(turn, group, [])
    assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()}
    away = member._replace(epoch=LEFT_FOR_A_WHILE, assigned=assigned, pending={})
    draft.records.append(current_record(draft.rules, group.group_id, away))
    write(turn, group.group_id, draft.records)


def fence_members(
    turn: Turn,
    group: ConsumerGroup,
    members: list[ConsumerMember],
    failed: Failed | None = None,
) -> None:
    """Remove members and bump the epoch, or make the group classic if all other members are
    classic.
    """
    if not members:
        return
    if downgrade.may_downgrade(turn, group, members):
        downgrade.downgrade_without(turn, group, members, failed)
        return
    draft = Draft(turn, group, [])
    for member in members:
        draft.records += removal_records(group.group_id, member.member_id)
    gone = {member.member_id for member in members}
    left = [member for member in group.members.values() if member.member_id not in gone]
    subscriptions = Subscriptions(group, left)
    for regex in dict.fromkeys([member.regex for member in members if member.regex]):
        if regex not in subscriptions.regexes:
            draft.records.append(regex_tombstone(group.group_id, regex))
    take_topics(draft, subscriptions.topics(), bumps=True)
    if not left and draft.rules.empties_target:
        draft.records.append(target_record(draft.rules, group.group_id, draft.epoch, 0))
    for member in members:
        turn.modern_timers.cancel_member(group.group_id, member.member_id)
    write(turn, group.group_id, draft.records, failed)
