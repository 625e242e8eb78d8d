"""Predict one group under other settings: its rows of all tables of the sweep.

A group that cannot be simulated has no rows but an advice and a migration advice that say why; a
group that only has commits has a migration advice.
"""

from __future__ import annotations

from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import (
    Advice,
    Baseline,
    Figures,
    NotAConsumerGroup,
    Prediction,
    SettingsChange,
    advise,
    with_both_instance_ids,
)
from coordinator_core.whatif.candidates import to_consumer
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from coordinator_core.whatif.verdict import (
    MIGRATED,
    NOT_APPLICABLE,
    UNKNOWN,
    MigrationVerdict,
    not_predicted,
    verdict_of,
)
from jobs.lake.evidence import Row
from jobs.what_if.evidence import PredictionEvidence
from jobs.what_if.migration_rows import migrated, migration_row, predicted_row
from jobs.what_if.result_rows import advice_row, figure_rows, lives_rows, no_advice, time_of
from jobs.what_if.sweep import Sweep

# Types of groups whose members are not consumers.
_WITHOUT_CONSUMERS = ("share", "streams")
WRITES = ("process_lives", "what_if", "advice", "migration_advice")


def rows_of(keys: Row, evidence: PredictionEvidence, sweep: Sweep) -> dict[str, list[Row]]:
    """The group's rows, by table of WRITES; ``keys``: cluster and group."""
    if evidence.has_only_commits:
        return _without_members(keys)
    span = sweep.span_of(evidence.group_id)
    to_ms = None if span.from_ms is None else span.to_ms
    try:
        baseline = evidence.baseline(from_ms=span.from_ms, to_ms=to_ms)
        changes = sweep.changes_of(baseline)
        migrations = [each for each in _migrations(baseline, sweep) if each not in changes]
        tried = [*with_both_instance_ids(baseline, changes), *migrations]
        model, *predicted = sweep.predict(baseline, tried)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return _not_predicted(keys, evidence, error)
    figures = evidence.observed(baseline)
    possible = [each for each in predicted if each.change not in migrations]
    advice = advise(baseline, figures, model, possible)
    verdict = _verdict(evidence, baseline, model, predicted)
    migration = predicted_row(
        verdict, evidence.last_type, baseline, figures, model, advice.confidence
    )
    return _predicted_rows(keys, baseline, figures, model, predicted, advice, migration)


def _migrations(baseline: Baseline, sweep: Sweep) -> list[SettingsChange]:
    if baseline.group_protocol == CONSUMER_PROTOCOL:
        return []
    return to_consumer(baseline) if sweep.changes is None and sweep.migrations else []


def _verdict(
    evidence: PredictionEvidence,
    baseline: Baseline,
    model: Prediction,
    predicted: list[Prediction],
) -> MigrationVerdict:
    if baseline.group_protocol == CLASSIC_PROTOCOL:
        return verdict_of(baseline, model, predicted, evidence.blockers(baseline))
    if evidence.last_type == CLASSIC_PROTOCOL:
        return MigrationVerdict(
            verdict=UNKNOWN, reason="was converted to the consumer protocol and back", blockers=()
        )
    return migrated(model, predicted)


def _without_members(keys: Row) -> dict[str, list[Row]]:
    """A group that only has commits."""
    reason = "commits without members: tools, or consumers that assign their own partitions"
    row = migration_row(
        MigrationVerdict(verdict=NOT_APPLICABLE, reason=reason, blockers=()), "commits"
    )
    return {name: [] for name in WRITES} | {"migration_advice": [keys | row]}


def _not_predicted(
    keys: Row, evidence: PredictionEvidence, error: Exception
) -> dict[str, list[Row]]:
    group_type = evidence.last_type
    if group_type == CONSUMER_PROTOCOL:
        reason = f"has the consumer protocol already; no prediction: {error}"
        verdict = MigrationVerdict(verdict=MIGRATED, reason=reason, blockers=())
    elif group_type in _WITHOUT_CONSUMERS:
        verdict = MigrationVerdict(
            verdict=NOT_APPLICABLE,
            reason=f"a {group_type} group, not a group of consumers",
            blockers=(),
        )
    else:
        reason = f"no prediction: {error}"
        verdict = not_predicted(UNKNOWN, reason, evidence.blockers(None))
    return {name: [] for name in WRITES} | {
        "advice": [keys | no_advice(error)],
        "migration_advice": [keys | migration_row(verdict, group_type)],
    }


def _predicted_rows(
    keys: Row,
    baseline: Baseline,
    figures: Figures,
    model: Prediction,
    predicted: list[Prediction],
    advice: Advice,
    migration: Row,
) -> dict[str, list[Row]]:
    period = {"from_time": time_of(baseline.from_ms), "to_time": time_of(baseline.to_ms)}
    is_classic = baseline.group_protocol == CLASSIC_PROTOCOL
    return {
        "process_lives": [keys | row for row in lives_rows(baseline)] if is_classic else [],
        "what_if": [
            keys | row | period for row in figure_rows(baseline, figures, model, predicted)
        ],
        "advice": [keys | advice_row(advice) | period],
        "migration_advice": [keys | migration | period],
    }
