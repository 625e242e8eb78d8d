"""The virtual clock: a queue of callbacks ordered by time.

Entries of one millisecond run by phase, then by actor, then in the order in which the actor
scheduled them.  The order in which different actors scheduled their entries has no effect: with
idle time skipped they schedule at other moments, and the result must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple

Callback = Callable[[int], None]
"""Called with the current time in ms."""


class Phase(IntEnum):
    """The order of entries within one millisecond."""

    CLUSTER = 0  # changes of leadership, faults, actions on processes
    LOG = 1  # acknowledgements of appends
    TIMERS = 2  # coordinators' timers
    TO_BROKER = 3
    TO_CLIENT = 4
    CLIENT = 5  # timers of consumers and their applications


class QueueEntry(NamedTuple):
    at_ms: int
    phase: Phase
    actor: int
    order: int
    callback: Callback


class EventQueue:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._entries: list[QueueEntry] = []
        self._scheduled = 0

    def schedule(self, at_ms: int, phase: Phase, actor: int, callback: Callback) -> None:
        """``actor`` is the number of the broker, process or partition that acts."""
        self._scheduled += 1
        at_ms = max(at_ms, self.now_ms)
        heappush(self._entries, QueueEntry(at_ms, phase, actor, self._scheduled, callback))

    def step(self, until_ms: int) -> bool:
        """Run the next entry if it is due before ``until_ms``. Returns False if nothing is due."""
        if not self._entries or self._entries[0].at_ms >= until_ms:
            return False
        entry = heappop(self._entries)
        self.now_ms = entry.at_ms
        entry.callback(entry.at_ms)
        return True
