"""Lag as a function of time: records produced minus records handled for the first time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Lag:
    """A step function: ``values[n]`` from ``times[n]`` (epoch ms) on, 0 before."""

    def __init__(self, produced_ms: Iterable[int], handled_ms: Iterable[int]) -> None:
        changes: dict[int, int] = {}
        for at_ms in produced_ms:
            changes[at_ms] = changes.get(at_ms, 0) + 1
        for at_ms in handled_ms:
            changes[at_ms] = changes.get(at_ms, 0) - 1
        self.times = sorted(changes)
        self.values: list[int] = []
        lag = 0
        for at_ms in self.times:
            lag += changes[at_ms]
            self.values.append(lag)

    def at(self, ms: int) -> int:
        place = bisect_right(self.times, ms)
        return self.values[place - 1] if place else 0

    def before(self, ms: int) -> int:
        return self.at(ms - 1)

    def steps(self, from_ms: int, to_ms: int) -> list[tuple[int, int, int]]:
        """Begin, length in ms and lag of each constant stretch."""
        first, last = bisect_right(self.times, from_ms), bisect_left(self.times, to_ms)
        edges = [from_ms, *self.times[first:last], to_ms]
        values = [self.at(from_ms), *self.values[first:last]]
        return [
            (begin, end - begin, value)
            for begin, end, value in zip(edges[:-1], edges[1:], values, strict=True)
            if end > begin
        ]

    def peak(self, from_ms: int, to_ms: int) -> tuple[int, int]:
        """The highest lag and its first time; 0 if the stretch is empty."""
        steps = self.steps(from_ms, to_ms)
        if not steps:
            return 0, from_ms
        begin, _, value = max(steps, key=lambda step: (step[2], -step[0]))
        return value, begin

    def seconds(self, from_ms: int, to_ms: int) -> float:
        """The integral: records times seconds."""
        return sum(length * value for _, length, value in self.steps(from_ms, to_ms)) / 1000

    def percentile(self, share: float, from_ms: int, to_ms: int) -> int:
        """The lag that is not exceeded for this share of the time."""
        rest = share * (to_ms - from_ms)
        for lag, length in sorted((step[2], step[1]) for step in self.steps(from_ms, to_ms)):
            rest -= length
            if rest <= 0:
                return lag
        return self.peak(from_ms, to_ms)[0]

    def first_at_most(self, level: int, from_ms: int, to_ms: int) -> int | None:
        """When the lag is first at most the level."""
        return next((begin for begin, _, lag in self.steps(from_ms, to_ms) if lag <= level), None)

    def ms_above(self, level: int, from_ms: int, to_ms: int) -> int:
        return sum(length for _, length, lag in self.steps(from_ms, to_ms) if lag > level)
