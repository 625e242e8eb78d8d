"""The periodic clean-up: offsets whose retention has passed, and empty groups without offsets."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.group_records import group_tombstone
from coordinator_core.coordinator.classic.reactions import move
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.log import Shard
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.offsets import offset_tombstones
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.writing import replayed
from coordinator_core.coordinator.offset_records import offset_tombstone
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.timing_wheel import Timer
from coordinator_core.coordinator.turn import Turn
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

    def loaded(self) -> None:
        """Restart the interval; up to 3.9 it is an interval of the broker, independent of what is
        loaded.
        """
        if self.turn.era.answers_after_append:
            self.turn.wheel.cancel(self)
            self.set()

    def expire(self) -> None:
        self.set()
        self.turn.era.clean_up(self.turn)


def clean_up_groups(turn: Turn) -> None:
    """Up to 3.9, there is one append per group, and a failed append of tombstones has no
    consequence.
    """
    for group in turn.groups.all_classic():
        tombstones = _tombstones(group, _remove_expired(turn, group))
        has_offsets = group.offsets or group.offsets.pending
        if group.state is GroupState.EMPTY and not has_offsets:
            move(turn, group, GroupState.DEAD)
            turn.effects.event("GROUP_DEAD", group)
            turn.groups.remove_classic(group)
            if group.generation > 0:  # a group of generation 0 has no record
                tombstones.append(group_tombstone(group.group_id))
        if tombstones:
            turn.log.append(group.group_id, group.partition, tombstones, lambda error: None)
    _clean_up_without_groups(turn)


def _clean_up_without_groups(turn: Turn) -> None:
    """KAFKA-2720: up to 0.10.0 offsets outlive their group."""
    for group_id in list(turn.groups.offsets_without_groups):
        group = turn.groups.unregistered_classic(group_id, turn.now_ms)
        tombstones = _tombstones(group, _remove_expired(turn, group))
        if not group.offsets and group_id not in turn.groups.classic:
            del turn.groups.offsets_without_groups[group_id]
        if tombstones:
            turn.log.append(group.group_id, group.partition, tombstones, lambda error: None)


def clean_up_shards(turn: Turn) -> None:
    """4.x: one append per shard; if it fails, all its groups and offsets stay."""
    for partition in sorted(turn.log.shards):
        _clean_up_shard(turn, turn.log.shards[partition], partition)


def _clean_up_shard(turn: Turn, shard: Shard, partition: int) -> None:
    records: list[Record] = []
    expired: list[tuple[ClassicGroup, list[TopicPartition]]] = []
    removed: list[ClassicGroup] = []
    for group in turn.groups.classic_of(shard):
        partitions = _expired(turn, group)
        expired.append((group, partitions))
        records += _tombstones(group, partitions)
        if group.state is GroupState.EMPTY and len(partitions) == len(group.offsets):
            records.append(group_tombstone(group.group_id))
            removed.append(group)
    modern = _modern_tombstones(turn, partition)
    if not records and not modern:
        return
    for group in removed:
        turn.groups.discard_classic(group)
    reverts = replayed(turn, modern)
    records += [record.encoded() for record in modern]

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            for revert in reversed(reverts):
                revert()
            turn.groups.restore_classic(removed)
            for group, partitions in expired:
                group.offsets.revert_removal(partitions, shard.snapshot)
            return
        if expired:
            turn.effects.event("TOMBSTONES", expired[0][0], count=len(records), duration_ms=0)
        for group, partitions in expired:
            _remove(turn, group, partitions)

    group_id = expired[0][0].group_id if expired else str(modern[0].group_id())
    turn.log.append(group_id, partition, records, appended)


def _modern_tombstones(turn: Turn, partition: int) -> list[ModernRecord]:
    """Tombstones of expired offsets of consumer, share and streams groups, and of empty groups."""
    records: list[ModernRecord] = []
    for group in turn.groups.modern.values():
        if group.partition != partition:
            continue
        offsets = [
            each
            for each, committed in group.offsets.in_order()
            if _is_unused(turn, group, each[0], committed)
        ]
        records += offset_tombstones(group.group_id, group.offsets, offsets)
        if group.is_empty() and group.expires and len(offsets) == len(group.offsets):
            records += turn.handlers.of[group.group_type.name].tombstones(group)
    return records


def _is_unused(turn: Turn, group: ModernGroup, topic: str, committed: CommittedOffset) -> bool:
    """KIP-211: whether no member subscribes to the topic, and the retention has passed."""
    if group.subscribes_to(topic):
        return False
    if committed.expire_timestamp_ms is not None:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - committed.commit_timestamp_ms >= turn.offsets_retention_ms


def _remove_expired(turn: Turn, group: ClassicGroup) -> list[TopicPartition]:
    partitions = _expired(turn, group)
    _remove(turn, group, partitions)
    return partitions


def _expired(turn: Turn, group: ClassicGroup) -> list[TopicPartition]:
    """Partitions whose offsets have expired, in the order in which the era removes them."""
    pending = group.offsets.pending
    return group.offsets.in_order_of_removal(
        lambda partition, committed: (
            partition not in pending and _is_expired(turn, group, partition, committed)
        )
    )


def _remove(turn: Turn, group: ClassicGroup, partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        group.offsets.remove(partition)
    if partitions:
        turn.effects.event("OFFSETS_EXPIRED", group, count=len(partitions), duration_ms=0)


def _tombstones(group: ClassicGroup, partitions: list[TopicPartition]) -> list[Record]:
    return [offset_tombstone(group.group_id, partition) for partition in partitions]


def _is_expired(
    turn: Turn, group: ClassicGroup, partition: TopicPartition, committed: CommittedOffset
) -> bool:
    if turn.era.offsets_expire_on_their_own:
        return committed.expire_timestamp_ms is None or committed.expire_timestamp_ms < turn.now_ms
    only_when_stable = turn.era.expires_only_when_stable
    since_ms = group.offset_unused_since_ms(partition, committed, only_when_stable=only_when_stable)
    if since_ms is None:
        return False
    if committed.expire_timestamp_ms is not None:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - since_ms >= turn.offsets_retention_ms
