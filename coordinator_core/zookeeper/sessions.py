"""Sessions as the leader keeps them: each ends when nothing was heard of it for its timeout.

Deadlines are rounded up to the next tick, so a session lives up to a tick longer than it asked for.
Source: ZooKeeper's SessionTrackerImpl, and ZooKeeperServer for the bounds of a timeout.
"""

from __future__ import annotations

SHORTEST_TICKS = 2
LONGEST_TICKS = 20


class Sessions:
    def __init__(self, tick_ms: int) -> None:
        self._tick_ms = tick_ms
        self._opened = 0
        self._timeouts_ms: dict[int, int] = {}
        self._deadlines_ms: dict[int, int] = {}

    def granted_ms(self, asked_ms: int) -> int:
        """The timeout within what the ensemble allows: 2 to 20 ticks."""
        lowest, highest = SHORTEST_TICKS * self._tick_ms, LONGEST_TICKS * self._tick_ms
        return min(max(asked_ms, lowest), highest)

    def open(self, timeout_ms: int, now_ms: int) -> int:
        self._opened += 1
        self._timeouts_ms[self._opened] = timeout_ms
        self.touch(self._opened, now_ms)
        return self._opened

    def timeout_ms(self, session_id: int) -> int | None:
        """None: the session has ended, or never was."""
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
        """When deadlines are to be looked at again, all being whole ticks; None without any."""
        return (now_ms // self._tick_ms + 1) * self._tick_ms if self._deadlines_ms else None
