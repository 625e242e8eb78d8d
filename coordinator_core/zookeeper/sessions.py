"""The leader's sessions: a session expires when nothing arrived from it for its timeout.

Deadlines are rounded up to the next tick, so a session may live up to one tick longer.
Source: ZooKeeper's SessionTrackerImpl, and ZooKeeperServer for the bounds of a timeout.
"""

from __future__ import annotations

MIN_TICKS = 2
MAX_TICKS = 20


class Sessions:
    def __init__(self, tick_ms: int) -> None:
        self._tick_ms = tick_ms
        self._opened = 0
        self._timeouts_ms: dict[int, int] = {}
        self._deadlines_ms: dict[int, int] = {}

    def negotiated_ms(self, requested_ms: int) -> int:
        """The requested timeout, limited to 2 to 20 ticks."""
        lowest, highest = MIN_TICKS * self._tick_ms, MAX_TICKS * self._tick_ms
        return min(max(requested_ms, lowest), highest)

    def open(self, timeout_ms: int, now_ms: int) -> int:
        self._opened += 1
        self._timeouts_ms[self._opened] = timeout_ms
        self.touch(self._opened, now_ms)
        return self._opened

    def timeout_ms(self, session_id: int) -> int | None:
        """The session's timeout, or None if it has ended or never existed."""
        return self._timeouts_ms.get(session_id)

    def touch(self, session_id: int, now_ms: int) -> None:
        timeout_ms = self._timeouts_ms.get(session_id)
        if timeout_ms is not None:
            deadline_ms = ((now_ms + timeout_ms) // self._tick_ms + 1) * self._tick_ms
            self._deadlines_ms[session_id] = deadline_ms

    def close(self, session_id: int) -> None:
        self._timeouts_ms.pop(session_id, None)
        self._deadlines_ms.pop(session_id, None)

    def due(self, now_ms: int) -> list[int]:
        return sorted(s for s, deadline_ms in self._deadlines_ms.items() if deadline_ms <= now_ms)

    def next_tick_ms(self, now_ms: int) -> int | None:
        """The next tick, when deadlines are checked, or None without sessions."""
        return (now_ms // self._tick_ms + 1) * self._tick_ms if self._deadlines_ms else None
