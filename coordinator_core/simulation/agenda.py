"""What is to be done when, on the one virtual clock.

Of one moment the order follows from who acts, never from when it was noted: with idle time skipped
things are noted at other times, and must happen in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple

Act = Callable[[int], None]
"""Called with the time in ms."""


class Phase(IntEnum):
    """What comes first within a millisecond."""

    WORLD = 0  # leadership, faults, what is done to processes
    LOG = 1  # appends that are through
    TIMERS = 2  # of coordinators
    TO_BROKER = 3
    TO_CLIENT = 4
    CLIENT = 5  # timers of consumers, and what their applications do


class Entry(NamedTuple):
    at_ms: int
    phase: Phase
    actor: int
    order: int
    act: Act


class Agenda:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._entries: list[Entry] = []
        self._noted = 0

    def note(self, at_ms: int, phase: Phase, actor: int, act: Act) -> None:
        """``actor``: the number of who acts; what one does in one phase, in the order noted."""
        self._noted += 1
        heappush(self._entries, Entry(max(at_ms, self.now_ms), phase, actor, self._noted, act))

    def step(self, until_ms: int) -> bool:
        """Do what is next, if it is due before ``until_ms``."""
        if not self._entries or self._entries[0].at_ms >= until_ms:
            return False
        entry = heappop(self._entries)
        self.now_ms = entry.at_ms
        entry.act(entry.at_ms)
        return True
