"""ConsumerGroupDescribe, DescribeGroups and DeleteGroups of consumer groups."""

from __future__ import annotations

from collections.abc import Mapping, Set

from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.consumer.records import tombstones
from coordinator_core.coordinator.consumer.subscriptions import preferred_assignor
from coordinator_core.coordinator.consumer.target import default_assignor
from coordinator_core.coordinator.modern.offsets import offset_tombstones
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    ConsumerDescribeResponse,
    ConsumerGroupDescribe,
    ConsumerMemberDescription,
    DeleteGroup,
    DeleteResponse,
    DescribeGroup,
    DescribeResponse,
    TopicRows,
)

# for DescribeGroups; earlier versions return a missing group as Dead
_GROUP_ID_NOT_FOUND_VERSION = 6


def handle(turn: Turn, request: ConsumerGroupDescribe) -> None:
    group = turn.groups.readable_modern(request.group_id)
    if not request.group_id:
        turn.effects.respond(request.request_id, ConsumerDescribeResponse(Errors.INVALID_GROUP_ID))
    elif not isinstance(group, ConsumerGroup):
        turn.effects.respond(
            request.request_id, ConsumerDescribeResponse(Errors.GROUP_ID_NOT_FOUND)
        )
    else:
        turn.effects.respond(request.request_id, _described(turn, group))


def _described(turn: Turn, group: ConsumerGroup) -> ConsumerDescribeResponse:
    # A reverted append leaves its old values in Kafka's snapshot, so their members show twice.
    shown = [*group.members, *(each for each in group.reverted if each in group.members)]
    members = [group.members[member_id] for member_id in sorted(shown)]
    return ConsumerDescribeResponse(
        Errors.NONE,
        group.state_name(),
        group.epoch,
        group.assignment_epoch,
        preferred_assignor(group, default_assignor(turn)),
        tuple([_described_member(turn, group, member) for member in members]),
    )


def _described_member(
    turn: Turn, group: ConsumerGroup, member: ConsumerMember
) -> ConsumerMemberDescription:
    owned = {topic_id: set(partitions) for topic_id, partitions in member.assigned.items()}
    assert turn.era.modern is not None
    pending = member.pending if turn.era.modern.describes_pending_partitions else {}
    for topic_id, partitions in pending.items():
        owned.setdefault(topic_id, set()).update(partitions)
    return ConsumerMemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(member.topics)),
        regex=member.regex,
        member_type=0 if member.classic is not None else 1,
        assignment=_by_name(turn, owned),
        target=_by_name(turn, group.targets.get(member.member_id, {})),
    )


def _by_name(turn: Turn, partitions: Mapping[str, Set[int]]) -> TopicRows:
    """Rows of the topics that still exist."""
    by_id = turn.image.by_id
    return tuple(
        [
            (by_id[topic_id].name, tuple(sorted(numbers)))
            for topic_id, numbers in partitions.items()
            if topic_id in by_id
        ]
    )


def handle_classic(turn: Turn, group: ConsumerGroup, request: DescribeGroup) -> None:
    """A request for a classic group, sent to a group that is not classic."""
    is_reported = request.version >= _GROUP_ID_NOT_FOUND_VERSION
    error = Errors.GROUP_ID_NOT_FOUND if is_reported else Errors.NONE
    turn.effects.respond(request.request_id, DescribeResponse(error, "Dead"))


def handle_delete(turn: Turn, group: ConsumerGroup, request: DeleteGroup) -> None:
    if not group.is_empty():
        turn.log.answer(request, DeleteResponse(Errors.NON_EMPTY_GROUP))
        return
    records = offset_tombstones(group.group_id, group.offsets) + tombstones(group)
    write(turn, group.group_id, records)
    answer(turn, request, DeleteResponse(Errors.NONE), DeleteResponse)
