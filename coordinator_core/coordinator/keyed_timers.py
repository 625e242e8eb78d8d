"""Timers that are set, replaced and cancelled by key, as the Java coordinator's (KIP-848)."""

from __future__ import annotations

from collections.abc import Hashable

from coordinator_core.coordinator.timing_wheel import Timer, TimingWheel


class KeyedTimer(Timer):
    __slots__ = ("key", "timers")

    timers: KeyedTimers
    key: Hashable

    def expire(self) -> None:
        self.timers.forget(self.key)
        self.fire()

    def fire(self) -> None:
        """React to the deadline; the key is free again."""
        raise NotImplementedError


class KeyedTimers:
    """At most one timer per key, on a wheel that several users share."""

    __slots__ = ("_timers", "_wheel")

    def __init__(self, wheel: TimingWheel) -> None:
        self._wheel = wheel
        self._timers: dict[Hashable, KeyedTimer] = {}

    def __len__(self) -> int:
        return len(self._timers)

    @property
    def now_ms(self) -> int:
        return self._wheel.now_ms

    def all_keys(self) -> list[Hashable]:
        return list(self._timers)

    def get(self, key: Hashable) -> KeyedTimer | None:
        return self._timers.get(key)

    def schedule(self, timer: KeyedTimer, key: Hashable, delay_ms: int) -> None:
        """Set the timer for ``delay_ms`` from now; it replaces the key's present timer."""
        self.cancel(key)
        timer.timers, timer.key = self, key
        self._timers[key] = timer
        self._wheel.add(timer, self._wheel.now_ms + delay_ms)

    def renew(self, key: Hashable, delay_ms: int) -> bool:
        """Set the key's present timer for ``delay_ms`` from now.

        Returns False if the key has no timer.
        """
        timer = self._timers.get(key)
        if timer is None:
            return False
        self._wheel.add(timer, self._wheel.now_ms + delay_ms)
        return True

    def cancel(self, key: Hashable) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            self._wheel.cancel(timer)

    def forget(self, key: Hashable) -> None:
        """Free the key of a timer that fired."""
        del self._timers[key]
