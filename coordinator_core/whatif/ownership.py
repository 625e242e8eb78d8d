"""How long partitions had no owner within a span of time."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.simulation.ground_truth import Ownership


def owned_within(from_ms: int, to_ms: int, idle: Sequence[tuple[int, int]] = ()) -> Ownership:
    """Told of every change in order of time, and closed at the end of the span.  A partition counts
    from its first owner on, and not while the group is shut down (``idle``, spans in order)."""

    def lasted_ms(since_ms: int, until_ms: int) -> int:
        first_ms, last_ms = max(since_ms, from_ms), min(until_ms, to_ms)
        idle_ms = sum(max(min(last_ms, end) - max(first_ms, begin), 0) for begin, end in idle)
        return max(last_ms - first_ms - idle_ms, 0)

    return Ownership(lasted_ms)
