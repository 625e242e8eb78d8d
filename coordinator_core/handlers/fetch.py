"""OffsetFetch: committed offsets, whatever the group is doing."""

from __future__ import annotations

from coordinator_core.errors import Errors
from coordinator_core.group import CommittedOffset
from coordinator_core.messages import FetchResponse, OffsetFetch, TopicPartition
from coordinator_core.turn import Turn

_NO_OFFSET = -1


def handle(turn: Turn, request: OffsetFetch) -> None:
    group = turn.readable(request.group_id)
    if group is not None:
        offsets = group.offsets
    else:
        offsets = turn.offsets_without_groups.get(request.group_id, {})
    wanted = tuple(offsets) if request.partitions is None else request.partitions
    found = tuple([_found(offsets, partition) for partition in wanted])
    turn.respond(request.request_id, FetchResponse(Errors.NONE, found))


def _found(
    offsets: dict[TopicPartition, CommittedOffset], partition: TopicPartition
) -> tuple[str, int, int, str, Errors]:
    committed = offsets.get(partition)
    if committed is None:
        return (*partition, _NO_OFFSET, "", Errors.NONE)
    return (*partition, committed.offset, committed.metadata, Errors.NONE)
