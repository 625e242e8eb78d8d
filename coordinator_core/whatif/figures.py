"""The four figures of a group within a period, and predictions of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.whatif.settings import SettingsChange


class Figures(NamedTuple):
    """``rebalances``: generations whose leader sent the assignment; ``not_stable_ms``: from the
    start of each rebalance to its assignment; ``moved_partitions``: partitions assigned to another
    process than their previous owner; ``unavailable_partition_ms``: time without an owner, summed
    over partitions, from each partition's first owner on, except while it is shut down.
    """

    rebalances: int
    not_stable_ms: int
    moved_partitions: int
    unavailable_partition_ms: int


class Prediction(NamedTuple):
    """``outcomes``: one per seed."""

    change: SettingsChange
    outcomes: Sequence[Figures]

    @property
    def median(self) -> Figures:
        """The median of each figure; ``minimum`` and ``maximum`` are also per figure."""
        return Figures(*(sorted(figures)[len(figures) // 2] for figures in self._figures()))

    @property
    def minimum(self) -> Figures:
        return Figures(*map(min, self._figures()))

    @property
    def maximum(self) -> Figures:
        return Figures(*map(max, self._figures()))

    def _figures(self) -> list[tuple[int, ...]]:
        return list(zip(*self.outcomes, strict=True))
