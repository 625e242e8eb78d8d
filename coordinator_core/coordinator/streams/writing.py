"""Writes the records of a streams group."""

from __future__ import annotations

from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.timers import Failed
from coordinator_core.coordinator.modern.writing import write
from coordinator_core.coordinator.streams.group import StreamsGroup
from coordinator_core.coordinator.turn import Turn


def write_for(
    turn: Turn, group: StreamsGroup, records: list[ModernRecord], failed: Failed | None = None
) -> None:
    """``write``; a failure also reverts what no record holds, back to the last append."""

    def on_failure() -> None:
        group.revert_unwritten(turn.log.snapshot_of(group.partition))
        if failed is not None:
            failed()

    write(turn, group.group_id, records, on_failure)
