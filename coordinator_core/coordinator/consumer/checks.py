"""Checks of a request to a consumer group, before it changes anything."""

from __future__ import annotations

from coordinator_core.coordinator.consumer.group import (
    LEFT,
    LEFT_FOR_A_WHILE,
    ConsumerGroup,
    ConsumerMember,
    Partitions,
)
from coordinator_core.coordinator.consumer.target import assignors
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import ConsumerGroupHeartbeat

_MEMBER_MAKES_ITS_ID = 1  # minimum request version in which the member makes its own id


def check_request(turn: Turn, request: ConsumerGroupHeartbeat) -> Errors:
    """Returns the error of the request itself."""
    epoch = request.member_epoch
    may_lack_id = request.version < _MEMBER_MAKES_ITS_ID and epoch <= 0 and epoch != LEFT
    texts = [request.group_id, request.instance_id, request.rack_id]
    if not may_lack_id:
        texts.append(request.member_id)
    if any(text is not None and not text.strip() for text in texts):
        return Errors.INVALID_REQUEST
    if epoch == 0 and not _is_full_join(request):
        return Errors.INVALID_REQUEST
    if epoch < LEFT_FOR_A_WHILE or (epoch == LEFT_FOR_A_WHILE and request.instance_id is None):
        return Errors.INVALID_REQUEST
    if request.assignor is not None and request.assignor not in assignors(turn):
        return Errors.UNSUPPORTED_ASSIGNOR
    return Errors.NONE


def _is_full_join(request: ConsumerGroupHeartbeat) -> bool:
    subscribes = request.topics is not None or request.regex is not None
    return request.rebalance_timeout_ms != -1 and request.owned == () and subscribes


def check_epoch(
    rules: ModernRules, member: ConsumerMember, epoch: int, owned: Partitions | None
) -> Errors:
    """The member's epoch, or the previous epoch if it owns no more than is assigned to it."""
    if epoch == member.epoch or (epoch == 0 and rules.takes_members_back):
        return Errors.NONE
    is_previous = epoch < member.epoch and epoch == member.previous_epoch
    if is_previous and owned is not None and _is_assigned(member, owned):
        return Errors.NONE
    return Errors.FENCED_MEMBER_EPOCH


def _is_assigned(member: ConsumerMember, owned: Partitions) -> bool:
    return all(
        topic_id in member.assigned and partitions <= member.assigned[topic_id].keys()
        for topic_id, partitions in owned.items()
    )


def check_size(turn: Turn, group: ConsumerGroup, member_id: str, instance_id: str | None) -> Errors:
    """A full group accepts no new member; since 4.2 it accepts a member that replaces a static
    member.
    """
    assert turn.era.modern is not None
    replaces = turn.era.modern.full_groups_take_replacements and instance_id in group.static_members
    is_full = len(group.members) >= turn.config.modern.consumer.max_size
    is_new = member_id not in group.members
    return Errors.GROUP_MAX_SIZE_REACHED if is_full and is_new and not replaces else Errors.NONE


def check_static(turn: Turn, group: ConsumerGroup, member_id: str, instance_id: str) -> Errors:
    """The instance id must belong to a member, and this member must be the sender."""
    member = group.static_member(instance_id)
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    if member.member_id == member_id:
        return Errors.NONE
    fields = {"member_id": member_id, "instance_id": instance_id, "old_member_id": member.member_id}
    turn.effects.modern_event("STATIC_FENCED", group.group_id, **fields)
    return Errors.FENCED_INSTANCE_ID
