"""OffsetFetch: the committed offsets of a group of any type, in any state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import FetchResponse, OffsetFetch, TopicPartition

_NO_OFFSET = -1


def fetch_offsets(turn: Turn, request: OffsetFetch) -> None:
    group: ClassicGroup | ModernGroup | None = turn.groups.readable_classic(request.group_id)
    group = group or turn.groups.modern.get(request.group_id)
    if group is not None:
        offsets: OffsetStore | None = group.offsets
    else:
        offsets = turn.groups.groupless_offsets(request.group_id)
    partitions = request.partitions
    if partitions is None:
        partitions = () if offsets is None else tuple([tp for tp, _ in offsets.in_order()])
    rows = tuple([_row(offsets, partition) for partition in partitions])
    turn.effects.respond(request.request_id, FetchResponse(Errors.NONE, rows))


def fetch_as_member(
    turn: Turn, request: OffsetFetch, members: Mapping[str, Any], stale: Callable[[Any], Errors]
) -> None:
    """Fetch, if the member that the request names has the epoch that it names.

    ``members`` has them by id; each has an ``epoch``.  ``stale`` is the error for one with another
    epoch.
    """
    error = Errors.NONE
    if request.member_id is not None or request.member_epoch >= 0:
        member = members.get(request.member_id or "")
        if member is None:
            error = Errors.UNKNOWN_MEMBER_ID
        elif member.epoch != request.member_epoch:
            error = stale(member)
    if error is Errors.NONE:
        fetch_offsets(turn, request)
    else:
        turn.effects.respond(request.request_id, FetchResponse(error, ()))


def _row(
    offsets: OffsetStore | None, partition: TopicPartition
) -> tuple[str, int, int, str, Errors]:
    committed = None if offsets is None else offsets.get(partition)
    if committed is None:
        return (*partition, _NO_OFFSET, "", Errors.NONE)
    return (*partition, committed.offset, committed.metadata, Errors.NONE)
