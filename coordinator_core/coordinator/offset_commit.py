"""Storing the offsets of an accepted OffsetCommit, as the era does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.offset_records import offset_record
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import CommitResponse, OffsetCommit, Record, TopicPartition

_Offsets = list[tuple[TopicPartition, CommittedOffset]]
_NEVER_STORED = CommittedOffset(-1, "", -1, None)


def store_then_answer(turn: Turn, group: ClassicGroup | ModernGroup, request: OffsetCommit) -> None:
    """4.x: records in the order of the request; a failed append fails every partition."""
    too_large, offsets = _split(turn, request)
    if not offsets:
        turn.log.answer(request, answer_of(request, too_large, Errors.NONE))
        return

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            group.offsets.revert_commit(
                [partition for partition, _ in offsets], turn.log.snapshot_of(group.partition)
            )
            return
        for partition, committed in offsets:
            group.offsets.put(partition, committed)

    records = _records(turn, group, offsets)
    turn.log.append(group.group_id, group.partition, records, appended)
    errors = turn.era.commit_store_errors
    turn.log.answer(
        request,
        answer_of(request, too_large, Errors.NONE),
        lambda error: answer_of(request, {}, errors.get(error, error)),
    )


def store_and_answer(turn: Turn, group: ClassicGroup, request: OffsetCommit) -> None:
    """Up to 3.9, records are in the order of a hash map, and offsets are pending until they are in
    the log.
    """
    too_large, offsets = _split(turn, request)
    if not offsets:
        turn.log.answer(request, answer_of(request, too_large, Errors.NONE))
        return
    unique = dict(offsets)
    count = len(unique) + len(too_large)
    in_order = [(tp, unique[tp]) for tp in turn.era.commit_order(list(unique), count)]
    pending = group.offsets.pending
    pending.update(unique)
    # The offset never expires, so the group can never be removed.
    if turn.era.too_large_stay_pending:
        pending.update(dict.fromkeys(too_large, _NEVER_STORED))

    def appended(error: Errors) -> None:
        for tp, committed in unique.items():
            if error is Errors.NONE and tp in pending and group.state is not GroupState.DEAD:
                group.offsets.put(tp, committed)
            if pending.get(tp) is committed:
                del pending[tp]
        mapped = turn.era.commit_store_errors.get(error, error)
        turn.effects.respond(request.request_id, answer_of(request, too_large, mapped))

    turn.log.append(group.group_id, group.partition, _records(turn, group, in_order), appended)


def answer_of(
    request: OffsetCommit, errors: Mapping[TopicPartition, Errors], otherwise: Errors
) -> CommitResponse:
    """The answer with an error per partition.

    Partitions that are not in ``errors`` get ``otherwise``.
    """
    return CommitResponse(
        tuple([(t, p, errors.get((t, p), otherwise)) for t, p, _, _ in request.offsets])
    )


def _split(turn: Turn, request: OffsetCommit) -> tuple[dict[TopicPartition, Errors], _Offsets]:
    """Errors of the partitions whose metadata are too long, and the offsets of all other
    partitions.
    """
    limit = turn.config.offset_metadata_max_bytes
    too_large: dict[TopicPartition, Errors] = {}
    offsets: _Offsets = []
    for topic, partition, offset, metadata in request.offsets:
        if metadata is not None and _java_length(metadata) > limit:
            too_large[topic, partition] = Errors.OFFSET_METADATA_TOO_LARGE
        else:
            committed = _committed(turn, request, offset, metadata or "")
            committed.topic_id = request.topic_ids.get(topic)
            offsets.append(((topic, partition), committed))
    return too_large, offsets


def _java_length(metadata: str) -> int:
    """``String.length``: UTF-16 units."""
    return len(metadata) if metadata.isascii() else len(metadata.encode("utf-16-le")) // 2


def _committed(turn: Turn, request: OffsetCommit, offset: int, metadata: str) -> CommittedOffset:
    expire_ms = None
    if request.retention_ms != -1:
        expire_ms = turn.now_ms + request.retention_ms
    elif turn.era.offsets_expire_on_their_own:
        expire_ms = turn.now_ms + turn.offsets_retention_ms
    return CommittedOffset(offset, metadata, turn.now_ms, expire_ms)


def _records(
    turn: Turn,
    group: ClassicGroup | ModernGroup,
    offsets: Iterable[tuple[TopicPartition, CommittedOffset]],
) -> list[Record]:
    era, group_id = turn.era, group.group_id
    return [offset_record(era, group_id, tp, committed) for tp, committed in offsets]
