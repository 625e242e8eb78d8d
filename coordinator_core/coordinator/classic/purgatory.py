"""Delayed operations, and the place where they wait: Kafka's DelayedOperation and
DelayedOperationPurgatory.

An operation completes once: by an event, when ``try_complete`` finds that it may, or when its time
runs out (``on_complete``, then ``on_expiration``).  It is watched under a key; code that changes
the condition of an operation calls ``check_and_complete`` with that key.
"""

from __future__ import annotations

from collections.abc import Hashable

from coordinator_core.coordinator.timing_wheel import Timer, TimingWheel


class DelayedOperation(Timer):
    __slots__ = ("completed", "key", "purgatory")

    purgatory: Purgatory
    key: Hashable

    def __init__(self) -> None:
        super().__init__()
        self.completed = False

    def try_complete(self) -> bool:
        """Force completion if the operation need not wait any longer.

        Returns True if the operation is complete.
        """
        raise NotImplementedError

    def on_complete(self) -> None:
        """React to completion, by an event or by time; nothing by default."""

    def on_expiration(self) -> None:
        """React to completion by time, after ``on_complete``; nothing by default."""

    def force_complete(self) -> bool:
        """Complete now. Returns False if the operation was already complete."""
        if self.completed:
            return False
        self.completed = True
        self.purgatory.forget(self)
        self.on_complete()
        return True

    def expire(self) -> None:
        if self.force_complete():
            self.on_expiration()


class Purgatory:
    """Operations of one kind, watched by key, on a wheel that several purgatories share."""

    __slots__ = ("_watchers", "_wheel")

    def __init__(self, wheel: TimingWheel) -> None:
        self._wheel = wheel
        self._watchers: dict[Hashable, list[DelayedOperation]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    def watched(self, key: Hashable) -> tuple[DelayedOperation, ...]:
        return tuple(self._watchers.get(key, ()))

    def try_complete_else_watch(
        self, operation: DelayedOperation, key: Hashable, delay_ms: int
    ) -> bool:
        """Complete the operation, or watch it under the key for ``delay_ms`` from now."""
        operation.purgatory, operation.key = self, key
        if operation.try_complete():
            return True
        # Kafka checks once more after it added the watch: another thread may have changed the
        # condition.
        watchers = self._watchers.get(key)
        if watchers is None:
            self._watchers[key] = [operation]
        else:
            watchers.append(operation)
        self._wheel.add(operation, self._wheel.now_ms + delay_ms)
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Complete the operations under the key that may complete; returns how many did."""
        watchers = self._watchers.get(key)
        return 0 if watchers is None else sum([each.try_complete() for each in tuple(watchers)])

    def cancel(self, key: Hashable) -> None:
        """Drop all operations under the key: they neither complete nor expire."""
        for operation in self._watchers.pop(key, ()):
            operation.completed = True
            self._wheel.cancel(operation)

    def forget(self, operation: DelayedOperation) -> None:
        """Stop timing and watching an operation that has completed."""
        self._wheel.cancel(operation)
        watchers = self._watchers.get(operation.key)
        if watchers is None or operation not in watchers:
            return
        if len(watchers) == 1:
            del self._watchers[operation.key]
        else:
            watchers.remove(operation)
