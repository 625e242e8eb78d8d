"""The periodic clean-up: offsets that outlived their retention, empty groups without offsets."""

from __future__ import annotations

from coordinator_core.coordinator import written_records as stored
from coordinator_core.coordinator.classic.group import CONSUMER, Group
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.timing_wheel import Timer
from coordinator_core.coordinator.turn import Shard, Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Record, TopicPartition


class CleanUp(Timer):
    """Fires every offsets.retention.check.interval.ms."""

    __slots__ = ("interval_ms", "turn")

    def __init__(self, turn: Turn, interval_ms: int) -> None:
        super().__init__()
        self.turn = turn
        self.interval_ms = interval_ms

    def set(self) -> None:
        self.turn.wheel.add(self, self.turn.wheel.now_ms + self.interval_ms)

    def expire(self) -> None:
        if self.turn.era.is_new_coordinator:
            for partition in sorted(self.turn.shards):
                clean_up_together(self.turn, self.turn.shards[partition])
            self.set()
        else:
            self.set()
            clean_up_one_by_one(self.turn)


def clean_up_one_by_one(turn: Turn) -> None:
    """Up to 3.9: a group at a time; a tombstone that cannot be written is not missed."""
    for group in turn.all_groups():
        tombstones = _tombstones(group, _drop_expired(turn, group))
        has_offsets = group.offsets or group.offsets.pending
        if group.state is GroupState.EMPTY and not has_offsets:
            turn.move(group, GroupState.DEAD)
            turn.event("GROUP_DEAD", group)
            turn.remove_group(group)
            if group.generation > 0:  # one of generation 0 never had a record
                tombstones.append(stored.group_tombstone(group.group_id))
        if tombstones:
            turn.append(group, tombstones, lambda error: None)
    _clean_up_without_groups(turn)


def _clean_up_without_groups(turn: Turn) -> None:
    """KAFKA-2720: up to 0.10.0 offsets outlive their group."""
    for group_id in list(turn.offsets_without_groups):
        group = turn.make_group(group_id)
        tombstones = _tombstones(group, _drop_expired(turn, group))
        if not group.offsets and group_id not in turn.groups:
            del turn.offsets_without_groups[group_id]
        if tombstones:
            turn.append(group, tombstones, lambda error: None)


def clean_up_together(turn: Turn, shard: Shard) -> None:
    """The new coordinator: one append for a shard's groups; if it fails, all stays as it was."""
    records: list[Record] = []
    expired: list[tuple[Group, list[TopicPartition]]] = []
    gone: list[Group] = []
    for group in turn.groups_of(shard):
        partitions = _expired(turn, group)
        expired.append((group, partitions))
        records += _tombstones(group, partitions)
        if group.state is GroupState.EMPTY and len(partitions) == len(group.offsets):
            records.append(stored.group_tombstone(group.group_id))
            gone.append(group)
    if not records:
        return
    for group in gone:
        turn.let_go(group)

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            turn.put_back(gone)
            for group, partitions in expired:
                group.offsets.revert_removal(partitions, shard.snapshot)
            return
        turn.event("TOMBSTONES", expired[0][0], count=len(records), duration_ms=0)
        for group, partitions in expired:
            _drop(turn, group, partitions)

    turn.append(expired[0][0], records, appended)


def _expired(turn: Turn, group: Group) -> list[TopicPartition]:
    pending = group.offsets.pending
    return group.offsets.in_order_of_removal(
        lambda partition, committed: (
            partition not in pending and _is_expired(turn, group, partition, committed)
        )
    )


def _drop(turn: Turn, group: Group, partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        group.offsets.remove(partition)
    if partitions:
        turn.event("OFFSETS_EXPIRED", group, count=len(partitions), duration_ms=0)


def _drop_expired(turn: Turn, group: Group) -> list[TopicPartition]:
    partitions = _expired(turn, group)
    _drop(turn, group, partitions)
    return partitions


def _tombstones(group: Group, partitions: list[TopicPartition]) -> list[Record]:
    return [stored.offset_tombstone(group.group_id, partition) for partition in partitions]


def _is_expired(
    turn: Turn, group: Group, partition: TopicPartition, committed: CommittedOffset
) -> bool:
    if turn.era.offsets_expire_on_their_own:
        return committed.expire_timestamp_ms is None or committed.expire_timestamp_ms < turn.now_ms
    since_ms = _unused_since(turn, group, partition, committed)
    if since_ms is None:
        return False
    if committed.expire_timestamp_ms is not None:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - since_ms >= turn.offsets_retention_ms


def _unused_since(
    turn: Turn, group: Group, partition: TopicPartition, committed: CommittedOffset
) -> int | None:
    """KIP-211: from when on the retention counts; None while the offset is in use."""
    if group.protocol_type is None:
        return committed.commit_timestamp_ms
    if group.state is GroupState.EMPTY:
        known = group.state_timestamp_ms != -1
        return group.state_timestamp_ms if known else committed.commit_timestamp_ms
    topics = group.subscribed_topics
    knows_topics = group.protocol_type == CONSUMER and topics is not None
    settled = group.state is GroupState.STABLE or not turn.era.expires_only_when_stable
    if settled and knows_topics and partition[0] not in (topics or ()):
        return committed.commit_timestamp_ms
    return None
