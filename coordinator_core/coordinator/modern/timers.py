"""Timers of consumer, share and streams groups, by key.

A timer's action writes records; if their append fails, the action is done again half a second
later, unless the key was set or cancelled meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from coordinator_core.coordinator.keyed_timers import KeyedTimer, KeyedTimers
from coordinator_core.coordinator.timing_wheel import TimingWheel
from coordinator_core.protocol.errors import UnexpectedState

RETRY_MS = 500
SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"  # of a member
Failed = Callable[[], None]
Action = Callable[[Failed], None]  # function that receives the function to call if the append fails


class ModernTimers:
    """``KeyedTimers`` with actions.

    Keys are tuples: the kind of timer and the group id; a member's timers have its id, too.
    """

    __slots__ = ("_timers",)

    def __init__(self, wheel: TimingWheel) -> None:
        self._timers = KeyedTimers(wheel)

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: Hashable, delay_ms: int, action: Action) -> None:
        self._timers.schedule(ActionTimer(self, action), key, delay_ms)

    def schedule_if_absent(self, key: Hashable, delay_ms: int, action: Action) -> None:
        if self._timers.get(key) is None:
            self.schedule(key, delay_ms, action)

    def move(self, key: Hashable, deadline_ms: int) -> None:
        """Set another deadline for the key's timer, if there is one."""
        timer = self._timers.get(key)
        if timer is not None:
            self._timers.schedule(timer, key, deadline_ms - self._timers.now_ms)

    def is_set(self, key: Hashable) -> bool:
        return self._timers.get(key) is not None

    def cancel(self, key: Hashable) -> None:
        self._timers.cancel(key)

    def cancel_member(self, group_id: str, member_id: str) -> None:
        """Cancel all timers of a member."""
        for kind in (SESSION, REBALANCE, JOIN, SYNC):
            self._timers.cancel((kind, group_id, member_id))

    def cancel_groups(self, is_cancelled: Callable[[str], bool]) -> None:
        """Cancel all timers of these groups, including timers of former members."""
        for key in self._timers.all_keys():
            assert isinstance(key, tuple)
            if is_cancelled(key[1]):
                self._timers.cancel(key)


class ActionTimer(KeyedTimer):
    __slots__ = ("action", "modern")

    def __init__(self, modern: ModernTimers, action: Action) -> None:
        super().__init__()
        self.modern = modern
        self.action = action

    def fire(self) -> None:
        """Act; if Kafka's coordinator throws, it tries again as after a failed append."""
        try:
            self.action(self._retry)
        except UnexpectedState:
            self._retry()
            raise

    def _retry(self) -> None:
        self.modern.schedule_if_absent(self.key, RETRY_MS, self.action)
