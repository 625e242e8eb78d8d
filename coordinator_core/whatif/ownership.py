"""How long partitions had no owner within a period."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.simulation.ownership_times import OwnershipTimes


def owned_within(from_ms: int, to_ms: int, idle: Sequence[tuple[int, int]] = ()) -> OwnershipTimes:
    """Takes all changes in order of time; close it at the end of the period.

    A partition counts from its first owner on, except while the group is shut down (``idle``:
    begin and end of each such time, in order).
    """

    def counted_ms(since_ms: int, until_ms: int) -> int:
        first_ms, last_ms = max(since_ms, from_ms), min(until_ms, to_ms)
        idle_ms = sum(max(min(last_ms, end) - max(first_ms, begin), 0) for begin, end in idle)
        return max(last_ms - first_ms - idle_ms, 0)

    return OwnershipTimes(counted_ms)
