"""How long partitions had no owner within a span of time."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.messages import TopicPartition


class OwnedTime:
    """Told of every change in order of time.  A partition counts from its first owner on, and
    not while the group is shut down (``idle``, spans in order).
    """

    def __init__(self, from_ms: int, to_ms: int, idle: Sequence[tuple[int, int]] = ()) -> None:
        self._from_ms, self._to_ms, self._idle = from_ms, to_ms, idle
        self._owners: dict[TopicPartition, set[str]] = {}
        self._unowned_since_ms: dict[TopicPartition, int] = {}
        self._unowned_ms = 0

    def gained(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        self._owners.setdefault(partition, set()).add(owner)
        since_ms = self._unowned_since_ms.pop(partition, None)
        if since_ms is not None:
            self._unowned_ms += self._within(since_ms, now_ms)

    def let_go(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        owners = self._owners.get(partition)
        if owners and owner in owners:
            owners.remove(owner)
            if not owners:
                self._unowned_since_ms[partition] = now_ms

    def gone(self, owner: str, now_ms: int) -> None:
        for partition, owners in self._owners.items():
            if owner in owners:
                self.let_go(owner, partition, now_ms)

    def owned_by(self, owner: str) -> list[TopicPartition]:
        return [partition for partition, owners in self._owners.items() if owner in owners]

    def unowned_ms(self) -> int:
        """Up to the end of the span."""
        open_ms = sum(self._within(since, self._to_ms) for since in self._unowned_since_ms.values())
        return self._unowned_ms + open_ms

    def _within(self, since_ms: int, until_ms: int) -> int:
        first_ms, last_ms = max(since_ms, self._from_ms), min(until_ms, self._to_ms)
        idle_ms = sum(max(min(last_ms, end) - max(first_ms, begin), 0) for begin, end in self._idle)
        return max(last_ms - first_ms - idle_ms, 0)
