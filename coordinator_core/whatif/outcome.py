"""What a group went through in a span of time, in the four figures that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.whatif.settings import Change


class Outcome(NamedTuple):
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

    change: Change
    outcomes: Sequence[Outcome]

    @property
    def middle(self) -> Outcome:
        """The median of each figure."""
        return Outcome(*(sorted(figures)[len(figures) // 2] for figures in self._figures()))

    @property
    def least(self) -> Outcome:
        return Outcome(*map(min, self._figures()))

    @property
    def most(self) -> Outcome:
        return Outcome(*map(max, self._figures()))

    def _figures(self) -> list[tuple[int, ...]]:
        return list(zip(*self.outcomes, strict=True))
