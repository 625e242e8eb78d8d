"""OffsetCommit and OffsetFetch of a consumer group's members."""

from __future__ import annotations

from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.offset_commit import answer_of
from coordinator_core.coordinator.offset_fetch import fetch_as_member
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch

_MEMBER_EPOCHS = 9  # the first version of OffsetCommit with member epochs


def handle_commit(turn: Turn, group: ConsumerGroup, request: OffsetCommit) -> None:
    error = _check_commit(turn, group, request)
    if error is Errors.NONE:
        turn.era.store_offsets(turn, group, request)
    else:
        turn.log.answer(request, answer_of(request, {}, error))


def _check_commit(turn: Turn, group: ConsumerGroup, request: OffsetCommit) -> Errors:
    epoch = request.generation
    if epoch < 0 and not group.members:
        return Errors.NONE  # Only a simple consumer or an administrator sends such a request.
    member = group.members.get(request.member_id)
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    if member.classic is None and request.version < _MEMBER_EPOCHS:
        return Errors.UNSUPPORTED_VERSION
    if epoch == member.epoch:
        return Errors.NONE
    assert turn.era.modern is not None
    takes_older = turn.era.modern.accepts_commits_of_older_epochs and epoch < member.epoch
    if takes_older and _were_assigned(turn, member, request):
        return Errors.NONE
    return _stale(member)


def _stale(member: ConsumerMember) -> Errors:
    is_classic = member.classic is not None
    return Errors.ILLEGAL_GENERATION if is_classic else Errors.STALE_MEMBER_EPOCH


def _were_assigned(turn: Turn, member: ConsumerMember, request: OffsetCommit) -> bool:
    """KIP-1251: whether the member got all these partitions at the request's epoch or before."""
    for topic, partition, _, _ in request.offsets:
        topic_id = request.topic_ids.get(topic, "")
        epoch = member.assigned.get(topic_id, {}).get(partition)
        if epoch is None:
            epoch = member.pending.get(topic_id, {}).get(partition)
        if epoch is None or request.generation < epoch:
            return False
    return True


def handle_fetch(turn: Turn, group: ConsumerGroup, request: OffsetFetch) -> None:
    fetch_as_member(turn, request, group.members, _stale)
