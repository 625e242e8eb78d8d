"""Loading a partition of `__consumer_offsets`, and unloading it.

A coordinator that becomes responsible for a partition reads its log and continues where the
previous coordinator stopped: groups as their last record has them, and the latest offsets.  State
that no record holds (pending members, a rebalance in progress) is lost; clients join again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator_core.coordinator.classic.loading import apply_group, dismiss, start_sessions
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Record
from coordinator_core.records import decode

_NO_TIME = -1
_NO_ID = "A" * 22


def load(turn: Turn, records: Iterable[Record]) -> None:
    """Apply records in the order of the log, compacted or not, then start the members' sessions.

    Skips record types that classic groups do not have.  Raises BadRecord for unreadable bytes.
    """
    already_loaded = {*turn.groups.classic, *turn.groups.modern}
    for key, value in records:
        record = decode(key, value)
        if record.name == "GroupMetadata":
            apply_group(turn, record.key["group"], record.value)
        elif record.name in ("OffsetCommit", "LegacyOffsetCommit"):
            partition = (record.key["topic"], record.key["partition"])
            _apply_offset(turn, record.key["group"], partition, record.value)
        elif record.name in turn.handlers.replays:
            turn.handlers.replays[record.name](turn, record.key, record.value)
    turn.log.reverts.clear()
    for group_id, modern in sorted(turn.groups.modern.items()):
        if group_id not in already_loaded:
            fields = {"protocol": modern.group_type.name, "member_count": len(modern.member_rows())}
            turn.effects.modern_event("LOADED", group_id, step="group", **fields)
            turn.handlers.of[modern.group_type.name].start_timers(turn, modern)
    for group in turn.groups.all_classic():
        if group.group_id not in already_loaded:
            turn.log.shard_of(group.partition).unwritten.pop(group.group_id, None)
            start_sessions(turn, group)


def _apply_offset(
    turn: Turn, group_id: str, partition: tuple[str, int], value: Mapping[str, Any] | None
) -> None:
    group = turn.groups.get(group_id)
    if group is None and value is None:
        return
    if group is None:
        groups, now_ms = turn.groups, turn.now_ms
        if turn.era.has_empty_state:
            group = groups.new_classic(group_id, now_ms)
        else:  # KAFKA-2720: before this change, offsets alone did not create a group
            group = groups.unregistered_classic(group_id, now_ms)
    if value is not None:
        expire_ms = value.get("expire_timestamp", _NO_TIME)
        committed = CommittedOffset(
            value["offset"],
            value["metadata"],
            value["commit_timestamp"],
            None if expire_ms == _NO_TIME else expire_ms,
        )
        topic_id = value.get("topic_id", _NO_ID)
        committed.topic_id = None if topic_id == _NO_ID else topic_id
        group.offsets.put(partition, committed)
    elif partition in group.offsets:
        group.offsets.remove(partition)


def unload(turn: Turn, partition: int | None) -> None:
    """Forget the groups of a partition, or all; requests that wait are answered NOT_COORDINATOR."""
    for group in turn.groups.all_classic():
        if partition is None or group.partition == partition:
            turn.effects.event("UNLOADED", group)
            dismiss(turn, group, Errors.NOT_COORDINATOR)
            turn.groups.remove_classic(group)
    for modern in list(turn.groups.modern.values()):
        if partition is None or modern.partition == partition:
            turn.effects.modern_event("UNLOADED", modern.group_id, epoch=modern.epoch)
            del turn.groups.modern[modern.group_id]

    def is_unloaded(group_id: str) -> bool:
        return partition is None or turn.log.partition_of(group_id) == partition

    turn.modern_timers.cancel_groups(is_unloaded)
    groups = turn.groups
    for by_group in (groups.kept_offsets, groups.unwritten_removals, groups.put_back):
        for group_id in filter(is_unloaded, list(by_group)):
            del by_group[group_id]
    if partition is None and turn.era.modern is not None:
        # groups that are loaded next count as new
        turn.version_with_new_topics = turn.image.version
