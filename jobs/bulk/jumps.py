"""Where the elements of arrays start: from each to the next by the lengths in it, nothing checked.

Kafka writes no offsets: the second member of a group is found by way of the first.  All rows go in
step, from the first element of each to the second of each, so that few are few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coordinator_core.records.errors import Misfit
from coordinator_core.records.primitives import Reader
from jobs.bulk.data import Data
from jobs.bulk.lengths import COMPACT, Lengths

NARROW = 8
"""Rows with a further element, below which one by one is faster than array by array."""


@dataclass(frozen=True, slots=True)
class Jump:
    """Over ``ahead`` bytes, then over a length and what it counts, each of ``times`` bytes."""

    ahead: int
    lengths: Lengths
    times: int


@dataclass(frozen=True, slots=True)
class Jumps:
    """Over an element of one version; ``rest`` are the bytes behind the last jump's."""

    jumps: tuple[Jump, ...]
    rest: int

    def one(self, content: bytes, at: int) -> int:
        """Over one element, exactly: from where it starts to where it ends; beyond the end of
        ``content``, anywhere."""
        for jump in self.jumps:
            length, at = jump.lengths.read_one(content, at + jump.ahead)
            at += max(length, 0) * jump.times
        return at + self.rest

    def like(self, data: Data, at: np.ndarray, wide: bool) -> Callable[[np.ndarray], np.ndarray]:
        """Over elements that are like those at ``at``: a length has one byte where it has in
        those, and what is null or empty in all of those always is.  ``wide``: lengths have two
        bytes, come what may.
        """
        ahead, moves = 0, list[_Move]()
        for jump in self.jumps:
            ahead += jump.ahead
            move = _move(jump, data.bytes[ahead:], at, wide)
            ahead += jump.lengths.size
            if move is not None:
                moves.append(move)
                at = move(at)
        ahead += self.rest

        def go(at: np.ndarray) -> np.ndarray:
            for move in moves:
                at = move(at)
            return at + ahead

        return go


_Move = Callable[[np.ndarray], np.ndarray]
_NULL = 255  # the first byte of a null's length; the last one, too
_LENGTH = np.append(np.arange(_NULL), 0)  # by the last byte of a length of one byte
_COMPACT_LENGTH = np.maximum(np.arange(256) - 1, 0)  # by its only byte


def _move(jump: Jump, data: np.ndarray, at: np.ndarray, wide: bool) -> _Move | None:
    """None where there is nothing to move over."""
    size, times = jump.lengths.size, jump.times
    low = data[size - 1 :]
    if jump.lengths is COMPACT:
        return lambda at: at + times * _COMPACT_LENGTH.take(low.take(at, mode="clip"))
    high = data[size - 2 :]
    top = high.take(at, mode="clip")
    is_null = top == _NULL
    if wide or top[~is_null].any():
        return lambda at: at + times * _of_two_bytes(high, low, at)
    if not low.take(at[~is_null], mode="clip").any():
        return None
    if is_null.any() or times > 1:
        return lambda at: at + times * _LENGTH.take(low.take(at, mode="clip"))
    return lambda at: at + low.take(at, mode="clip")


def _of_two_bytes(high: np.ndarray, low: np.ndarray, at: np.ndarray) -> np.ndarray:
    top = high.take(at, mode="clip")
    length = top.astype(np.int64) << 8
    length += low.take(at, mode="clip")
    length[top == _NULL] = 0
    return length


# Walks ----------------------------------------------------------------------------------------


def walk(
    data: Data, at: np.ndarray, end: np.ndarray, count: np.ndarray, jumps: Jumps, wide: bool
) -> np.ndarray:
    """Where the ``count`` elements of each row start, the first one at ``at``; a guess."""
    order = np.argsort(-count, kind="stable")  # so that rows with a next element come first
    fewer = -count[order]
    width = np.searchsorted(fewer, -np.arange(int(count.max(initial=0))), "left")
    first = np.cumsum(width) - width  # of each step, in `found`
    found = np.empty(int(count.sum()), np.int64)
    at, end = at[order], end[order]
    leaps = int(np.count_nonzero(width >= NARROW))
    go = jumps.like(data, at[: width[0]], wide) if leaps else None
    for begin, size in zip(first[:leaps].tolist(), width[:leaps].tolist(), strict=True):
        found[begin : begin + size] = at = at[:size]
        at = go(at)
    for row in range(int(width[leaps]) if leaps < len(width) else 0):
        later = first[leaps : -int(fewer[row])] + row
        found[later] = _one_by_one(data, int(at[row]), int(end[row]), len(later), jumps.one)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    step = np.arange(len(found)) - np.repeat(np.cumsum(count) - count, count)
    return found[first[step] + np.repeat(rank, count)]


def _one_by_one(
    data: Data, start: int, end: int, count: int, one: Callable[[bytes, int], int]
) -> list[int]:
    content, at, found = data.bytes[min(start, end) : end].tobytes(), 0, []
    for _ in range(count):
        found.append(min(start + at, end))
        at = one(content, at)
    return found


def walk_by_reference(
    data: Data, at: np.ndarray, end: np.ndarray, count: np.ndarray, read: Reader
) -> np.ndarray:
    """The same without a guess, element by element; what cannot be read ends its row."""

    def one(content: bytes, at: int) -> int:
        try:
            return read(content, at)[1]
        except Misfit:
            return len(content)

    places = zip(at.tolist(), end.tolist(), count.tolist(), strict=True)
    found = [start for place in places for start in _one_by_one(data, *place, one)]
    return np.array(found, np.int64)
