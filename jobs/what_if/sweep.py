"""What the predictions of all groups have in common: periods, changes to try, earlier outcomes.

A worker predicts one group from its evidence and from these values, which the driver sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from pyspark.sql import DataFrame

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
from jobs.lake.literals import quoted
from jobs.what_if.evidence import ClusterEvidence


class EvaluatedPeriod(NamedTuple):
    """A period to evaluate, in ms since the epoch, and the number of seeds.  ``from_ms`` None: from
    the group's first event.
    """

    from_ms: int | None
    to_ms: int
    seeds: int


class Sweep(NamedTuple):
    """The settings of a sweep over all groups.

    ``changes``: None for the candidates of each group.  ``migrations``: whether changes to the
    consumer protocol of a newer broker are tried, too.  ``earlier``: earlier outcomes by group.
    """

    span_of: Callable[[str], EvaluatedPeriod]
    changes: tuple[SettingsChange, ...] | None
    cluster: ClusterEvidence
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


def times_of(spans: Mapping[str, EvaluatedPeriod]) -> dict[str, str]:
    """The parameters of the evidence of a period, for these groups."""
    return {
        "begin_ms": _by_group({name: span.from_ms or 0 for name, span in spans.items()}),
        "end_ms": _by_group({name: span.to_ms for name, span in spans.items()}),
    }


def _by_group(values: Mapping[str, int]) -> str:
    cases = " ".join(f"WHEN {quoted(name)} THEN {value}" for name, value in values.items())
    return f"CASE group_id {cases} END"


def earlier_outcomes(rows: DataFrame) -> dict[str, dict[str, Outcomes]]:
    """The outcomes in rows of what_if, by group and simulation."""
    earlier: dict[str, dict[str, Outcomes]] = {}
    stored = rows.where("simulation IS NOT NULL")
    columns = ("group_id", "simulation", "sessions_matter", "outcomes", "outcome_costs")
    for group_id, simulation, depends, outcomes, costs in stored.select(*columns).collect():
        # Rows of earlier versions have no costs.
        of_seeds = zip(outcomes, costs or repeat(()), strict=False)
        figures = [Figures(*each, *cost) for each, cost in of_seeds]
        earlier.setdefault(group_id, {})[simulation] = Outcomes(figures, depends)
    return earlier
