"""Time in which a group's partitions had no owner or several owners, by the listener calls of its
processes.
"""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.protocol.messages import TopicPartition


class OwnershipTimes:
    """``unowned_ms`` has sum over partitions of the time without an owner, from the first owner on;
    ``double_ms`` is the sum of the time with two or more owners; ``moves`` are changes of owner.

    ``lasted_ms(since, until)`` says how much of that time counts.
    """

    def __init__(
        self, lasted_ms: Callable[[int, int], int] = lambda since, until: until - since
    ) -> None:
        self._lasted_ms = lasted_ms
        self.unowned_ms = 0
        self.double_ms = 0
        self.moves = 0
        self._owners: dict[TopicPartition, set[str]] = {}
        self._since_ms: dict[TopicPartition, int] = {}
        self._last: dict[TopicPartition, str] = {}

    def assigned(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        self._count(partition, now_ms)
        if self._last.get(partition, owner) != owner:
            self.moves += 1
        self._last[partition] = owner
        self._owners.setdefault(partition, set()).add(owner)

    def revoked(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        self._count(partition, now_ms)
        self._owners.get(partition, set()).discard(owner)

    def process_ended(self, owner: str, now_ms: int) -> None:
        for partition, owners in self._owners.items():
            if owner in owners:
                self.revoked(owner, partition, now_ms)

    def owned_by(self, owner: str) -> list[TopicPartition]:
        return [partition for partition, owners in self._owners.items() if owner in owners]

    def close(self, now_ms: int) -> None:
        for partition in self._owners:
            self._count(partition, now_ms)

    def _count(self, partition: TopicPartition, now_ms: int) -> None:
        owners = self._owners.get(partition)
        lasted_ms = self._lasted_ms(self._since_ms.get(partition, now_ms), now_ms)
        self._since_ms[partition] = now_ms
        if owners is None:
            return
        if not owners:
            self.unowned_ms += lasted_ms
        elif len(owners) > 1:
            self.double_ms += lasted_ms
