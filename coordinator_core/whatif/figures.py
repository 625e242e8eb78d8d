"""What a group went through in a span of time, in the four figures that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.whatif.settings import SettingsChange


class Figures(NamedTuple):
    """``rebalances``: generations whose assignment arrived; ``not_stable_ms``: from each start of
    a rebalance to its assignment; ``moved_partitions``: given to another process than the last
    that had it; ``unavailable_partition_ms``: over all partitions, the time that no process had it
    since one first did, but for spans without any process.
    """

    rebalances: int
    not_stable_ms: int
    moved_partitions: int
    unavailable_partition_ms: int


class Prediction(NamedTuple):
    """``outcomes``: one a seed."""

    change: SettingsChange
    outcomes: Sequence[Figures]

    @property
    def median(self) -> Figures:
        """The median of each figure."""
        return Figures(*(sorted(figures)[len(figures) // 2] for figures in self._figures()))

    @property
    def minimum(self) -> Figures:
        return Figures(*map(min, self._figures()))

    @property
    def maximum(self) -> Figures:
        return Figures(*map(max, self._figures()))

    def _figures(self) -> list[tuple[int, ...]]:
        return list(zip(*self.outcomes, strict=True))
