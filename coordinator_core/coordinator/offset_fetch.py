"""OffsetFetch: the committed offsets of a group of any type, in any state."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import FetchResponse, OffsetFetch, TopicPartition

_NO_OFFSET = -1


def fetch_offsets(turn: Turn, request: OffsetFetch) -> None:
    group: ClassicGroup | ModernGroup | None = turn.readable(request.group_id)
    group = group or turn.modern.get(request.group_id)
    if group is not None:
        offsets: OffsetStore | None = group.offsets
    else:
        offsets = turn.offsets_without_groups.get(request.group_id)
    partitions = request.partitions
    if partitions is None:
        partitions = () if offsets is None else tuple([tp for tp, _ in offsets.in_order()])
    rows = tuple([_row(offsets, partition) for partition in partitions])
    turn.respond(request.request_id, FetchResponse(Errors.NONE, rows))


def _row(
    offsets: OffsetStore | None, partition: TopicPartition
) -> tuple[str, int, int, str, Errors]:
    committed = None if offsets is None else offsets.get(partition)
    if committed is None:
        return (*partition, _NO_OFFSET, "", Errors.NONE)
    return (*partition, committed.offset, committed.metadata, Errors.NONE)
