"""What the predictions of all groups have in common: periods, changes to try, earlier outcomes.

A worker predicts one group from its evidence and from these values, which the driver sends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from coordinator_core.whatif import Baseline, Figures, Outcomes, SettingsChange, refusals
from coordinator_core.whatif.candidates import to_consumer
from coordinator_core.whatif.currencies import PREFERENCES
from coordinator_core.whatif.judgement import ADVICE_SEEDS, GroupJudgement, judge
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL
from jobs.lake.dates import NEVER_MS
from jobs.lake.literals import quoted
from jobs.what_if.evidence import ClusterEvidence, PredictionEvidence
from jobs.what_if.periods import EvaluatedPeriod

_AT_ONCE = 20


class Sweep(NamedTuple):
    """The settings of a sweep over all groups.

    ``spans`` has a span by group; a group without a span is evaluated from its first to its last
    event. ``changes`` is None for the candidates of each group.  ``prefer`` is a name of
    PREFERENCES.  ``migrations`` says whether changes to the consumer protocol of a newer broker are
    tried, too.  ``earlier`` has earlier outcomes by group.
    """

    spans: Mapping[str, EvaluatedPeriod]
    cluster: ClusterEvidence
    seeds: int = ADVICE_SEEDS
    changes: tuple[SettingsChange, ...] | None = None
    prefer: str = "downtime"
    migrations: bool = True
    earlier: Mapping[str, Mapping[str, Outcomes]] = {}

    def baseline(self, evidence: PredictionEvidence) -> Baseline:
        span = self.spans.get(evidence.group_id)
        return (
            evidence.baseline()
            if span is None
            else evidence.baseline(from_ms=span.from_ms, to_ms=span.to_ms)
        )

    def judge(self, baseline: Baseline, observed: Figures) -> GroupJudgement:
        is_migrated = baseline.group_protocol == CONSUMER_PROTOCOL
        tries_migrations = self.changes is None and self.migrations and not is_migrated
        return judge(
            baseline,
            observed,
            changes=self._changes_of(baseline),
            others=to_consumer(baseline) if tries_migrations else (),
            seeds=self.seeds,
            prefer=PREFERENCES[self.prefer],
            earlier=self.earlier.get(baseline.group_id, {}),
        )

    def _changes_of(self, baseline: Baseline) -> list[SettingsChange] | None:
        if self.changes is None:
            return None
        return [each for each in self.changes if not any(refusals(baseline, each))]


def batched(groups: Iterable[str]) -> Iterator[list[str]]:
    """The groups of one query each: the embedded engine counts the memory of a query's evidence
    once per row.
    """
    left = iter(groups)
    while some := list(islice(left, _AT_ONCE)):
        yield some


def times_of(spans: Mapping[str, EvaluatedPeriod]) -> dict[str, str]:
    """The parameters of the evidence of a period, for these groups and for all other groups."""
    return {
        "begin_ms": _by_group({name: span.from_ms or 0 for name, span in spans.items()}, 0),
        "end_ms": _by_group({name: span.to_ms for name, span in spans.items()}, NEVER_MS),
    }


def _by_group(values: Mapping[str, int], other: int) -> str:
    if not values:
        return str(other)
    cases = " ".join(f"WHEN {quoted(name)} THEN {value}" for name, value in values.items())
    return f"CASE group_id {cases} ELSE {other} END"
