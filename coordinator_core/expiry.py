"""The periodic clean-up: offsets that outlived their retention, empty groups without offsets."""

from __future__ import annotations

from coordinator_core import stored
from coordinator_core.errors import Errors
from coordinator_core.group import CONSUMER, CommittedOffset, Group
from coordinator_core.messages import Record, TopicPartition
from coordinator_core.states import GroupState
from coordinator_core.timing_wheel import Timer
from coordinator_core.turn import Turn


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
            clean_up_together(self.turn)
            self.set()
        else:
            self.set()
            clean_up_one_by_one(self.turn)


def clean_up_one_by_one(turn: Turn) -> None:
    """Up to 3.9: a group at a time; a tombstone that cannot be written is not missed."""
    for group_id in turn.era.groups_order(list(turn.groups)):
        group = turn.groups[group_id]
        tombstones = _expire(turn, group)
        has_offsets = group.offsets or group.pending_offsets
        if group.state is GroupState.EMPTY and not has_offsets:
            turn.move(group, GroupState.DEAD)
            turn.event("GROUP_DEAD", group)
            del turn.groups[group_id]
            if group.generation > 0:  # one of generation 0 never had a record
                tombstones.append(stored.group_tombstone(group_id))
        if tombstones:
            turn.append(group, tombstones, lambda error: None)
    _expire_without_groups(turn)


def _expire_without_groups(turn: Turn) -> None:
    """KAFKA-2720: up to 0.10.0 offsets outlive their group."""
    for group_id, offsets in list(turn.offsets_without_groups.items()):
        group = turn.make_group(group_id)
        group.offsets = offsets
        tombstones = _expire(turn, group)
        if not offsets:
            del turn.offsets_without_groups[group_id]
        if tombstones:
            turn.append(group, tombstones, lambda error: None)


def clean_up_together(turn: Turn) -> None:
    """The new coordinator: one append for all groups; if it fails, all is as it was."""
    records: list[Record] = []
    offsets_before: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    gone: list[Group] = []
    for group_id in turn.era.groups_order(list(turn.groups)):
        group = turn.groups[group_id]
        before = dict(group.offsets)
        records += _expire(turn, group)
        offsets_before[group_id] = before
        if group.state is GroupState.EMPTY and not group.offsets:
            records.append(stored.group_tombstone(group_id))
            del turn.groups[group_id]
            gone.append(group)
    if not records:
        return
    some = turn.groups.get(next(iter(offsets_before))) or gone[0]

    def appended(error: Errors) -> None:
        if error is Errors.NONE:
            turn.event("TOMBSTONES", some, count=len(records))
            return
        for group in gone:
            turn.groups[group.group_id] = group
        for group_id, before in offsets_before.items():
            if group_id in turn.groups:
                turn.groups[group_id].offsets = before

    turn.append(some, records, appended)


def _expire(turn: Turn, group: Group) -> list[Record]:
    """Drop the group's expired offsets; their tombstones."""
    expired = [
        partition
        for partition in turn.era.offsets_order(list(group.offsets))
        if partition not in group.pending_offsets
        and _is_expired(turn, group, partition, group.offsets[partition])
    ]
    for partition in expired:
        del group.offsets[partition]
    if expired:
        turn.event("OFFSETS_EXPIRED", group, count=len(expired))
    return [stored.offset_tombstone(group.group_id, partition) for partition in expired]


def _is_expired(
    turn: Turn, group: Group, partition: TopicPartition, committed: CommittedOffset
) -> bool:
    if turn.era.offsets_expire_on_their_own:
        return committed.expire_timestamp_ms is None or committed.expire_timestamp_ms < turn.now_ms
    since_ms = _unused_since(group, partition, committed)
    if since_ms is None:
        return False
    if committed.expire_timestamp_ms is not None:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - since_ms >= turn.config.offsets_retention_ms


def _unused_since(
    group: Group, partition: TopicPartition, committed: CommittedOffset
) -> int | None:
    """KIP-211: from when on the retention counts; None while the offset is in use."""
    if group.protocol_type is None:
        return committed.commit_timestamp_ms
    if group.state is GroupState.EMPTY:
        known = group.state_timestamp_ms != -1
        return group.state_timestamp_ms if known else committed.commit_timestamp_ms
    topics = group.subscribed_topics
    knows_topics = group.protocol_type == CONSUMER and topics is not None
    if group.state is GroupState.STABLE and knows_topics and partition[0] not in (topics or ()):
        return committed.commit_timestamp_ms
    return None
