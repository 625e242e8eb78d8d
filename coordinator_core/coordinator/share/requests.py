"""The requests of share groups, including requests that other groups have, too."""

from __future__ import annotations

from coordinator_core.coordinator.group_handlers import GroupHandlers
from coordinator_core.coordinator.modern.refusals import REFUSALS
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.share import heartbeat
from coordinator_core.coordinator.share.group import ShareGroup, ShareMember
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.coordinator.share.initialisation import deleting_record, forget_deleted_topics
from coordinator_core.coordinator.share.loading import REPLAYS
from coordinator_core.coordinator.share.records import group_tombstones, tombstones
from coordinator_core.coordinator.share.sessions import start_timers
from coordinator_core.coordinator.share.target import ASSIGNOR
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    DeleteGroup,
    DeleteResponse,
    ShareDescribeResponse,
    ShareGroupDescribe,
    ShareGroupHeartbeat,
    ShareMemberDescription,
)


def describe(turn: Turn, request: ShareGroupDescribe) -> None:
    group = turn.groups.modern.get(request.group_id)
    if not isinstance(group, ShareGroup):
        turn.log.answer(request, ShareDescribeResponse(Errors.GROUP_ID_NOT_FOUND))
        return
    # A reverted append leaves its old values in Kafka's snapshot, so their members show twice.
    shown = sorted([*group.members, *(each for each in group.reverted if each in group.members)])
    response = ShareDescribeResponse(
        Errors.NONE,
        group.state_name(),
        group.epoch,
        group.assignment_epoch,
        ASSIGNOR,
        tuple([_described(turn, group.members[member_id]) for member_id in shown]),
    )
    turn.log.answer(request, response)


def _described(turn: Turn, member: ShareMember) -> ShareMemberDescription:
    """Partitions of topics that exist, by topic name."""
    by_id = turn.image.by_id
    assigned = [
        (by_id[topic_id].name, tuple(partitions))
        for topic_id, partitions in member.assigned.items()
        if topic_id in by_id
    ]
    return ShareMemberDescription(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=member.topics,
        assignment=tuple(assigned),
    )


def delete(turn: Turn, group: ShareGroup, request: DeleteGroup) -> None:
    """Delete the states of the share partitions, then the group."""
    if group.members:
        turn.log.answer(request, DeleteResponse(Errors.NON_EMPTY_GROUP))
        return
    if group.states is None:
        _delete_group(turn, group, request)
        return

    def then(error: Errors) -> None:
        if error is Errors.NONE:
            _delete_group(turn, group, request)
        else:
            refused = turn.era.group_store_errors.get(error, error)
            turn.effects.respond(request.request_id, DeleteResponse(refused))

    write(turn, group.group_id, [deleting_record(turn, group, group.states)], then=then)


def _delete_group(turn: Turn, group: ShareGroup, request: DeleteGroup) -> None:
    write(turn, group.group_id, group_tombstones(group.group_id, group.order))
    answer(turn, request, DeleteResponse(Errors.NONE), DeleteResponse)


HANDLERS: GroupHandlers[Turn] = GroupHandlers(
    group_type=SHARE,
    requests={
        ShareGroupHeartbeat: heartbeat.handle,
        ShareGroupDescribe: describe,
    },
    shared_requests={
        **REFUSALS,
        DeleteGroup: delete,
    },
    replays=REPLAYS,
    start_timers=start_timers,
    tombstones=tombstones,
    forget_topics=forget_deleted_topics,
)
