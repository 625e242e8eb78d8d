"""Values of many partitions in the order of time, and the position of a time among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Stands for null in arrays of times and offsets, none of which are negative.
NONE = -1
# Any earlier time counts as any time of a partition's values.
_TIME_BITS = 42
LATEST_MS = (1 << _TIME_BITS) - 1


class Series:
    """``value`` of the partition ``part`` at the time ``at_ms``; positions are positions in the
    sorted arrays.

    ``part`` has numbers from 0, below 2^21.  The values of a partition at one time keep their
    order.
    """

    def __init__(self, part: Ints, at_ms: Ints, value: Ints) -> None:
        order = np.lexsort((at_ms, part))
        self.part, self.at_ms, self.value = part[order], at_ms[order], value[order]
        self._key = (self.part << _TIME_BITS) | self.at_ms

    def last(self, part: Ints, until_ms: Ints) -> Ints:
        """The position of each partition's last value at or before a time; NONE without any."""
        at = np.searchsorted(self._key, _key(part, until_ms), side="right") - 1
        return self._own(at, part)

    def first(self, part: Ints, since_ms: Ints) -> Ints:
        """The position of each partition's first value at or after a time; NONE without any."""
        return self._own(np.searchsorted(self._key, _key(part, since_ms), side="left"), part)

    def times(self, positions: Ints) -> Ints:
        return _taken(self.at_ms, positions)

    def values(self, positions: Ints) -> Ints:
        return _taken(self.value, positions)

    def _own(self, at: Any, part: Ints) -> Ints:
        if not len(self.part):
            return np.full(len(part), NONE)
        within = np.clip(at, 0, len(self.part) - 1)
        is_own = (at == within) & (self.part[within] == part)
        return np.where(is_own, at, NONE)


def _key(part: Ints, at_ms: Ints) -> Ints:
    return (part << _TIME_BITS) | np.clip(at_ms, 0, LATEST_MS)


def _taken(values: Ints, positions: Ints) -> Ints:
    if not len(values):
        return np.full(len(positions), NONE)
    return np.where(positions == NONE, NONE, values[np.maximum(positions, 0)])
