"""A hierarchical timing wheel on a virtual clock: Kafka's, with a fixed order within a deadline.

The cost of adding and cancelling does not depend on the number of timers.  A timer with a distant
deadline is in a wide bucket of an upper wheel and moves down later; only buckets are sorted.  A
timer that is postponed, as each heartbeat postpones the end of a session, stays in its bucket and
moves when the bucket is due.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush
from operator import attrgetter

_SLOTS = 20  # buckets per wheel, as in Kafka; a bucket spans 1, 20, 400, ... ms
_SPANS = tuple(_SLOTS**level for level in range(10))
_set_order = attrgetter("order")


class Timer:
    """An action at ``deadline_ms``, unless it is cancelled before."""

    __slots__ = ("_bucket", "deadline_ms", "order")

    def __init__(self) -> None:
        self.deadline_ms = 0
        self.order = 0
        self._bucket: OrderedDict[Timer, None] | None = None

    def expire(self) -> None:
        """Act: the deadline has passed."""
        raise NotImplementedError


class TimingWheel:
    """Timers by deadline; timers with the same deadline are in the order in which they were set."""

    __slots__ = ("_buckets", "_count", "_mixed", "_starts", "now_ms")

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._count = 0
        self._mixed: set[int] = set()  # start times of lowest buckets that are out of order
        self._buckets: tuple[dict[int, OrderedDict[Timer, None]], ...] = tuple({} for _ in _SPANS)
        self._starts: list[tuple[int, int]] = []  # heap of (start of a bucket, minus its wheel)

    def __len__(self) -> int:
        return sum(len(bucket) for wheel in self._buckets for bucket in wheel.values())

    def add(self, timer: Timer, deadline_ms: int) -> None:
        """Set the timer, again if it is set; a past deadline is due at once."""
        self._count += 1
        timer.order = self._count
        if deadline_ms < self.now_ms:
            deadline_ms = self.now_ms
        if timer._bucket is not None:
            if deadline_ms >= timer.deadline_ms:
                timer.deadline_ms = deadline_ms
                return
            self.cancel(timer)
        timer.deadline_ms = deadline_ms
        self._place(timer, self.now_ms)

    def cancel(self, timer: Timer) -> None:
        """Cancel the timer; no effect on one that fired or was cancelled."""
        if timer._bucket is not None:
            del timer._bucket[timer]
            timer._bucket = None

    def next_deadline_ms(self) -> int | None:
        """The earliest deadline, or None without timers."""
        return None if self._earliest() is None else self._starts[0][0]

    def pop_due(self, now_ms: int) -> Timer | None:
        """Remove and return the earliest timer if it is due, and move the clock."""
        bucket = self._earliest()
        timer = None if bucket is None else next(iter(bucket))
        if timer is None or timer.deadline_ms > now_ms:
            self.now_ms = max(self.now_ms, now_ms)
            return None
        self.now_ms = max(self.now_ms, timer.deadline_ms)
        self.cancel(timer)
        return timer

    def _place(self, timer: Timer, from_ms: int) -> None:
        deadline_ms = timer.deadline_ms
        distance, level = deadline_ms - from_ms, 0
        while distance >= _SLOTS:
            distance //= _SLOTS
            level += 1
        start = deadline_ms - deadline_ms % _SPANS[level]
        bucket = self._buckets[level].get(start)
        if bucket is None:
            # An OrderedDict finds its first key at once; a dict would iterate over all removed
            # keys.
            bucket = self._buckets[level][start] = OrderedDict()
            heappush(self._starts, (start, -level))
        elif bucket and level == 0 and timer.order < next(reversed(bucket)).order:
            self._mixed.add(start)  # the timer moved down from an upper wheel
        bucket[timer] = None
        timer._bucket = bucket

    def _earliest(self) -> OrderedDict[Timer, None] | None:
        """The bucket of the earliest deadline, sorted; moves timers down from upper wheels."""
        while self._starts:
            start, minus_level = self._starts[0]
            wheel = self._buckets[-minus_level]
            bucket = wheel[start]
            if bucket and minus_level == 0:
                if start in self._mixed:
                    self._mixed.remove(start)
                    ordered = sorted(bucket, key=_set_order)
                    bucket.clear()
                    bucket.update(dict.fromkeys(ordered))
                first = next(iter(bucket))
                if first.deadline_ms == start:
                    return bucket
                del bucket[first]
                self._place(first, max(start, self.now_ms))  # it was postponed
                continue
            heappop(self._starts)
            del wheel[start]
            if minus_level == 0:
                self._mixed.discard(start)
            for timer in bucket:
                self._place(timer, max(start, self.now_ms))
        return None
