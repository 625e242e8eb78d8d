"""What the predictions of all groups have in common: periods, changes to try, earlier outcomes.

A worker predicts one group from its evidence and from these values, which the driver sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator_core.whatif import (
    UNCHANGED,
    Baseline,
    Figures,
    Outcomes,
    Prediction,
    SettingsChange,
    candidates,
    predict_each,
    refusals,
)
from jobs.replay.group_rows import FOREVER_MS
from jobs.what_if.downtime import downtime_within


class Span(NamedTuple):
    """A period to evaluate, in ms since the epoch, and the number of seeds.  ``from_ms`` None: from
    the group's first event.
    """

    from_ms: int | None
    to_ms: int
    seeds: int


class Sweep(NamedTuple):
    """What all groups' predictions depend on.  ``changes`` None: the candidates of each group;
    ``era``: of brokers with consumer groups, where their records tell it; ``migrations``: whether
    changes to the consumer protocol of a newer broker are tried, too; ``earlier``: by group.
    """

    span_of: Callable[[str], Span]
    changes: tuple[SettingsChange, ...] | None
    era: str | None = None
    migrations: bool = True
    earlier: Mapping[str, Mapping[str, Outcomes]] = {}

    def predict(self, baseline: Baseline, changes: Sequence[SettingsChange]) -> list[Prediction]:
        earlier = self.earlier.get(baseline.group_id, {})
        seeds = self.span_of(baseline.group_id).seeds
        return predict_each(baseline, (UNCHANGED, *changes), seeds=seeds, earlier=earlier)

    def changes_of(self, baseline: Baseline) -> list[SettingsChange]:
        """The changes to try on a group."""
        if self.changes is None:
            return candidates(baseline)
        return [each for each in self.changes if not any(refusals(baseline, each))]


def lasted_ms(span: Span) -> Column:
    """The part of a row of ownership_gaps that is within a period."""
    begin_ms, end_ms = (0, FOREVER_MS) if span.from_ms is None else (span.from_ms, span.to_ms)
    return F.expr(downtime_within("unix_millis(from_time)", "unowned_ms", begin_ms, end_ms))


def earlier_outcomes(rows: DataFrame) -> dict[str, dict[str, Outcomes]]:
    """The outcomes in rows of what_if, by group and simulation."""
    earlier: dict[str, dict[str, Outcomes]] = {}
    stored = rows.where("simulation IS NOT NULL")
    columns = ("group_id", "simulation", "sessions_matter", "outcomes")
    for group_id, simulation, depends, outcomes in stored.select(*columns).collect():
        figures = [Figures(*each) for each in outcomes]
        earlier.setdefault(group_id, {})[simulation] = Outcomes(figures, depends)
    return earlier
