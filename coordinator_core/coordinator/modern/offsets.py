"""Tombstones of committed offsets, written with the records of groups and replayed like them."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.coordinator.modern.records import Fields, ModernRecord
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import TopicPartition

_OFFSET = "OffsetCommit"


def offset_tombstones(
    group_id: str, offsets: OffsetStore, partitions: Iterable[TopicPartition] | None = None
) -> list[ModernRecord]:
    """Tombstones of these offsets of the group; ``partitions`` None: of all."""
    removed = [each for each, _ in offsets.in_order()] if partitions is None else partitions
    return [
        ModernRecord(_OFFSET, {"group": group_id, "topic": topic, "partition": partition}, None)
        for topic, partition in removed
    ]


def replay_offset_tombstone(turn: Turn, key: Fields, value: Fields | None) -> None:
    offsets = turn.groups.offsets_for(key["group"])
    partition = (key["topic"], key["partition"])
    committed = offsets.get(partition)
    if value is None and committed is not None:
        offsets.remove(partition)
        turn.log.reverts.append(lambda: offsets.put(partition, committed))


def replay_classic_tombstone(turn: Turn, key: Fields, value: Fields | None) -> None:
    """A classic group that becomes another type: its offsets stay."""
    group = turn.groups.classic.get(key["group"])
    if value is None and group is not None:
        turn.groups.keep_offsets(group.group_id, group.offsets)
        turn.groups.remove_classic(group)

        def revert() -> None:
            turn.groups.add_classic(group)
            turn.groups.put_back[group.group_id] = group

        turn.log.reverts.append(revert)
