"""OffsetCommit: keep offsets, of members and of consumers that use Kafka for nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.coordinator import written_records as stored
from coordinator_core.coordinator.classic.group import Group
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import CommitResponse, OffsetCommit, Record, TopicPartition

_Offsets = list[tuple[TopicPartition, CommittedOffset]]
_KIP_848_OFFSET_COMMIT = 9


def handle(turn: Turn, request: OffsetCommit) -> None:
    group = turn.groups.get(request.group_id)
    if group is None:
        if request.generation >= 0:
            _refuse_all(turn, request, _no_such_group(turn, request))
            return
        group = _simple_group(turn, request)
    error = turn.era.check_commit(turn.era, group, request)
    if error is Errors.NONE:
        turn.react(Input.COMMIT, group, request)
    else:
        _refuse_all(turn, request, error)


def _no_such_group(turn: Turn, request: OffsetCommit) -> Errors:
    """KIP-848 lets newer clients know that there is no such group."""
    is_new = turn.era.is_new_coordinator and request.version >= _KIP_848_OFFSET_COMMIT
    return Errors.GROUP_ID_NOT_FOUND if is_new else Errors.ILLEGAL_GENERATION


def _simple_group(turn: Turn, request: OffsetCommit) -> Group:
    """A group for the offsets of a consumer that has no members."""
    if not turn.era.has_empty_state:
        return turn.make_group(request.group_id)  # KAFKA-2720: such offsets had no group
    group = turn.new_group(request.group_id)
    turn.event("SIMPLE_GROUP", group)
    return group


def _refuse_all(turn: Turn, request: OffsetCommit, error: Errors) -> None:
    turn.answer(request, _answered(request, {}, error))


def _answered(
    request: OffsetCommit, errors: dict[TopicPartition, Errors], otherwise: Errors
) -> CommitResponse:
    return CommitResponse(
        tuple([(t, p, errors.get((t, p), otherwise)) for t, p, _, _ in request.offsets])
    )


# -- reactions -----------------------------------------------------------------------------------


def refuse(turn: Turn, group: Group, request: OffsetCommit) -> None:
    """The member is about to get another assignment, and does not know it yet."""
    _refuse_all(turn, request, Errors.REBALANCE_IN_PROGRESS)


def store_keeping_alive(turn: Turn, group: Group, request: OffsetCommit) -> None:
    """A member's commit is a sign of life."""
    member = group.members[request.member_id]
    turn.era.renew_session(turn, group, member, member.session_timeout_ms)
    store(turn, group, request)


def store(turn: Turn, group: Group, request: OffsetCommit) -> None:
    too_large, offsets = _split(turn, request)
    if not offsets:
        turn.answer(request, _answered(request, too_large, Errors.NONE))
        return
    if turn.era.is_new_coordinator:
        _store_then_answer(turn, group, request, too_large, offsets)
    else:
        _store_and_answer(turn, group, request, too_large, offsets)


def _split(turn: Turn, request: OffsetCommit) -> tuple[dict[TopicPartition, Errors], _Offsets]:
    """Errors of the partitions whose metadata are too long, and the others' offsets."""
    limit = turn.config.offset_metadata_max_bytes
    too_large: dict[TopicPartition, Errors] = {}
    offsets: _Offsets = []
    for topic, partition, offset, metadata in request.offsets:
        if metadata is not None and _length(metadata) > limit:
            too_large[topic, partition] = Errors.OFFSET_METADATA_TOO_LARGE
        else:
            committed = _committed(turn, request, offset, metadata or "")
            offsets.append(((topic, partition), committed))
    return too_large, offsets


def _length(metadata: str) -> int:
    """A Java string's."""
    return len(metadata) if metadata.isascii() else len(metadata.encode("utf-16-le")) // 2


def _committed(turn: Turn, request: OffsetCommit, offset: int, metadata: str) -> CommittedOffset:
    expire_ms = None
    if request.retention_ms != -1:
        expire_ms = turn.now_ms + request.retention_ms
    elif turn.era.offsets_expire_on_their_own:
        expire_ms = turn.now_ms + turn.offsets_retention_ms
    return CommittedOffset(offset, metadata, turn.now_ms, expire_ms)


def _records(
    turn: Turn, group: Group, offsets: Iterable[tuple[TopicPartition, CommittedOffset]]
) -> list[Record]:
    era, group_id = turn.era, group.group_id
    return [stored.offset_record(era, group_id, tp, committed) for tp, committed in offsets]


def _store_then_answer(
    turn: Turn,
    group: Group,
    request: OffsetCommit,
    too_large: dict[TopicPartition, Errors],
    offsets: _Offsets,
) -> None:
    """The new coordinator: records in the order of the request, and a failure fails all of it."""

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            group.offsets.revert_commit(
                [partition for partition, _ in offsets], turn.shard_of(group.partition).snapshot
            )
            return
        for partition, committed in offsets:
            group.offsets.put(partition, committed)

    turn.append(group, _records(turn, group, offsets), appended)
    map_ = turn.era.commit_store_errors
    turn.answer(
        request,
        _answered(request, too_large, Errors.NONE),
        lambda error: _answered(request, {}, map_.get(error, error)),
    )


def _store_and_answer(
    turn: Turn,
    group: Group,
    request: OffsetCommit,
    too_large: dict[TopicPartition, Errors],
    offsets: _Offsets,
) -> None:
    """Up to 3.9: records in the order of a hash map; offsets are pending until in the log."""
    unique = dict(offsets)
    count = len(unique) + len(too_large)
    in_order = [(tp, unique[tp]) for tp in turn.era.commit_order(list(unique), count)]
    pending = group.offsets.pending
    pending.update(unique)
    if turn.era.too_large_stay_pending:  # for ever, and keep the group alive
        pending.update(dict.fromkeys(too_large, _NEVER))

    def appended(error: Errors) -> None:
        for tp, committed in unique.items():
            if error is Errors.NONE and tp in pending and group.state is not GroupState.DEAD:
                group.offsets.put(tp, committed)
            if pending.get(tp) is committed:
                del pending[tp]
        mapped = turn.era.commit_store_errors.get(error, error)
        turn.respond(request.request_id, _answered(request, too_large, mapped))

    turn.append(group, _records(turn, group, in_order), appended)


_NEVER = CommittedOffset(-1, "", -1, None)
