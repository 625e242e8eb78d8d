"""The requests of streams groups, including requests that other groups have, too."""

from __future__ import annotations

from coordinator_core.coordinator.classic.handlers import join
from coordinator_core.coordinator.group_handlers import GroupHandlers
from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.offsets import offset_tombstones
from coordinator_core.coordinator.modern.refusals import REFUSALS, refuse_join
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.offset_commit import answer_of
from coordinator_core.coordinator.offset_fetch import fetch_as_member
from coordinator_core.coordinator.streams import heartbeat
from coordinator_core.coordinator.streams.group import NO_TOPOLOGY, StreamsGroup, StreamsMember
from coordinator_core.coordinator.streams.group_type import STREAMS
from coordinator_core.coordinator.streams.loading import REPLAYS
from coordinator_core.coordinator.streams.records import tombstones
from coordinator_core.coordinator.streams.tasks import rows_of
from coordinator_core.coordinator.streams.timers import cancel_initial_delay, start_timers
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    DeleteGroup,
    DeleteResponse,
    JoinGroup,
    OffsetCommit,
    OffsetFetch,
    StreamsDescribeResponse,
    StreamsGroupDescribe,
    StreamsGroupHeartbeat,
    StreamsMemberDescription,
)

_MEMBER_EPOCHS = 9  # the first version of OffsetCommit with member epochs


def describe(turn: Turn, request: StreamsGroupDescribe) -> None:
    group = turn.groups.modern.get(request.group_id)
    if not request.group_id:
        turn.log.answer(request, StreamsDescribeResponse(Errors.INVALID_GROUP_ID))
    elif not isinstance(group, StreamsGroup):
        turn.log.answer(request, StreamsDescribeResponse(Errors.GROUP_ID_NOT_FOUND))
    else:
        turn.log.answer(request, _described(turn, group))


def _described(turn: Turn, group: StreamsGroup) -> StreamsDescribeResponse:
    state, configured = group.seen_at(turn.log.snapshot_of(group.partition))
    # Kafka 4.1 shows only a configured topology.
    topology = group.topology if group.rules.writes_validated_epoch else configured
    # A reverted append leaves its old values in Kafka's snapshot, so their members show twice.
    shown = sorted([*group.members, *(each for each in group.reverted if each in group.members)])
    return StreamsDescribeResponse(
        Errors.NONE,
        state,
        group.epoch,
        group.assignment_epoch,
        NO_TOPOLOGY if topology is None else topology.epoch,
        tuple([_described_member(group, group.members[member_id]) for member_id in shown]),
    )


def _described_member(group: StreamsGroup, member: StreamsMember) -> StreamsMemberDescription:
    return StreamsMemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        assignment=member.assigned.rows(),
        target=rows_of(*group.target_of(member.member_id)),
    )


def commit(turn: Turn, group: StreamsGroup, request: OffsetCommit) -> None:
    error = _check_commit(turn, group, request)
    if error is Errors.NONE:
        turn.era.store_offsets(turn, group, request)
    else:
        turn.log.answer(request, answer_of(request, {}, error))


def _check_commit(turn: Turn, group: StreamsGroup, request: OffsetCommit) -> Errors:
    epoch = request.generation
    if epoch < 0 and not group.members:
        return Errors.NONE  # an administrator
    member = group.members.get(request.member_id)
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    if request.version < _MEMBER_EPOCHS:
        return Errors.UNSUPPORTED_VERSION
    takes_older = rules_of(turn).streams.writes_task_epochs and epoch < member.epoch
    if epoch == member.epoch or (takes_older and _were_assigned(group, member, request)):
        return Errors.NONE
    return Errors.STALE_MEMBER_EPOCH


def _were_assigned(group: StreamsGroup, member: StreamsMember, request: OffsetCommit) -> bool:
    """KIP-1251: whether the member got all these tasks at the request's epoch or before."""
    subtopologies = {} if group.topology is None else group.subtopology_of_topics()
    for topic, partition, _, _ in request.offsets:
        subtopology = subtopologies.get(topic, "")
        epoch = member.assigned.active.get(subtopology, {}).get(partition)
        if epoch is None:
            epoch = member.pending.active.get(subtopology, {}).get(partition)
        if epoch is None or request.generation < epoch:
            return False
    return True


def fetch(turn: Turn, group: StreamsGroup, request: OffsetFetch) -> None:
    fetch_as_member(turn, request, group.members, lambda _: Errors.STALE_MEMBER_EPOCH)


def delete(turn: Turn, group: StreamsGroup, request: DeleteGroup) -> None:
    if not group.is_empty():
        turn.log.answer(request, DeleteResponse(Errors.NON_EMPTY_GROUP))
        return
    cancel_initial_delay(turn, group.group_id)
    removed = offset_tombstones(group.group_id, group.offsets) + tombstones(group)
    write(turn, group.group_id, removed)
    answer(turn, request, DeleteResponse(Errors.NONE), DeleteResponse)


def handle_join(turn: Turn, group: StreamsGroup, request: JoinGroup) -> None:
    """An empty group becomes classic; it is back if its records cannot be written."""
    if not group.rules.converts_empty_groups or not group.is_empty():
        refuse_join(turn, group, request)
        return
    error = join.check(turn, request)
    if error is not Errors.NONE:
        join.refuse(turn, request, request.member_id, error)
        return
    cancel_initial_delay(turn, group.group_id)
    turn.groups.modern.pop(group.group_id)
    turn.groups.keep_offsets(group.group_id, group.offsets)
    turn.effects.modern_event("CONVERT", group.group_id, step="empty_streams_to_classic")

    def revert() -> None:
        turn.groups.restore_modern(group)

    removed = [record.encoded() for record in tombstones(group)]
    join.handle_replacing(turn, request, removed, revert)


HANDLERS: GroupHandlers[Turn] = GroupHandlers(
    group_type=STREAMS,
    requests={
        StreamsGroupHeartbeat: heartbeat.handle,
        StreamsGroupDescribe: describe,
    },
    shared_requests={
        **REFUSALS,
        JoinGroup: handle_join,
        OffsetCommit: commit,
        OffsetFetch: fetch,
        DeleteGroup: delete,
    },
    replays=REPLAYS,
    start_timers=start_timers,
    tombstones=tombstones,
)
