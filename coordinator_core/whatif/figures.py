"""The figures of a group within a period, and predictions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from coordinator_core.whatif.settings import SettingsChange


class Figures(NamedTuple):
    """``rebalances`` are generations whose leader sent the assignment, target assignments of a
    group of the consumer protocol; ``not_stable_ms`` is from the start of each rebalance to its
    assignment, or in Assigning and Reconciling; ``moved_partitions`` are partitions assigned to
    another process than their previous owner; ``unavailable_partition_ms`` is the time without an
    owner, summed over partitions, from each partition's first owner on, except while it is shut
    down; ``static_refused`` starts of static members that were refused, as another member had
    their id; ``records_reprocessed`` has records that the next owner of a partition handles again;
    ``consumption_pause_ms`` is from the stop of each owner to the next one's first records, summed
    over partitions; ``catch_up_ms`` is from the stop of an owner until its partition had caught
    up, the longest.  None: no commits show how much the group consumes; ``catch_up_ms`` is also
    unknown without log end offsets.
    """

    rebalances: int
    not_stable_ms: int
    moved_partitions: int
    unavailable_partition_ms: int
    static_refused: int = 0
    records_reprocessed: int | None = None
    consumption_pause_ms: int | None = None
    catch_up_ms: int | None = None


def median_of(outcomes: Sequence[Figures]) -> Figures:
    """The median of each figure; ``minimum_of`` and ``maximum_of`` are also per figure."""
    return _of_each(outcomes, lambda values: sorted(values)[len(values) // 2])


def minimum_of(outcomes: Sequence[Figures]) -> Figures:
    return _of_each(outcomes, min)


def maximum_of(outcomes: Sequence[Figures]) -> Figures:
    return _of_each(outcomes, max)


def difference(before: Figures, after: Figures) -> Figures:
    return _of_each([before, after], lambda pair: pair[0] - pair[1])


def _of_each(outcomes: Sequence[Figures], chosen: Callable[[Sequence[int]], int]) -> Figures:
    """``chosen`` of the values of each figure, or None if it is unknown."""
    by_figure = zip(*outcomes, strict=True)
    values: list[Any] = [None if None in each else chosen(each) for each in by_figure]
    return Figures(*values)


class Outcomes(NamedTuple):
    """``figures`` has one per seed; ``depends`` says whether longer sessions may change them."""

    figures: Sequence[Figures]
    depends: bool


class Prediction(NamedTuple):
    """One per seed: ``outcomes``; ``conversions`` says when the group changed its protocol.
    ``migrations`` are those of each direction of a rolling migration.  ``simulation`` is a hash of
    all that was simulated, by which a later `predict_each` knows the outcomes; None: it cannot, or
    they were not simulated.  ``depends`` is that of Outcomes.
    """

    change: SettingsChange
    outcomes: Sequence[Figures]
    migrations: Sequence[PredictedMigration] = ()
    conversions: Sequence[tuple[Converted, ...]] = ()
    simulation: str | None = None
    depends: bool = True

    @property
    def median(self) -> Figures:
        return median_of(self.outcomes)

    @property
    def minimum(self) -> Figures:
        return minimum_of(self.outcomes)

    @property
    def maximum(self) -> Figures:
        return maximum_of(self.outcomes)


class Converted(NamedTuple):
    """``at_ms`` is since the epoch; ``protocol`` is that of the group from then on."""

    at_ms: int
    protocol: str


class PredictedMigration(NamedTuple):
    """A rolling migration to ``protocol``, from its first restart to an interval after the last
    one, in ms since the epoch.  One per seed: ``outcomes``; ``conversions``, as of the prediction;
    ``refusals`` say why the group was not converted, and errors that ended processes, with counts.
    """

    protocol: str
    from_ms: int
    to_ms: int
    outcomes: Sequence[Figures]
    conversions: Sequence[tuple[Converted, ...]]
    refusals: Sequence[Mapping[str, int]]
