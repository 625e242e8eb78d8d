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
    advise,
    observed,
    with_both_instance_ids,
)
from coordinator_core.whatif.candidates import to_consumer
from coordinator_core.whatif.readiness import Blocker, blockers_of_group
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from coordinator_core.whatif.verdict import (
    MIGRATED,
    NOT_APPLICABLE,
    UNKNOWN,
    Verdict,
    not_predicted,
    verdict_of,
)
from jobs.replay.group_rows import Row
from jobs.what_if.classic_evidence import (
    classic_baseline,
    evidence_of,
    migration_blockers,
    type_of,
)
from jobs.what_if.consumer_evidence import ConsumerRows
from jobs.what_if.migration_rows import migrated, migration_row, predicted_row
from jobs.what_if.result_rows import advice_row, figure_rows, lives_rows, no_advice, time_of
from jobs.what_if.sweep import Sweep

WRITES = ("process_lives", "what_if", "advice", "migration_advice")


def rows_of_classic(
    keys: Row, event_rows: list[Row], record_rows: list[Row], sweep: Sweep
) -> dict[str, list[Row]]:
    """The rows of a classic group, by table of WRITES."""
    evidence = evidence_of(keys["group_id"], event_rows, record_rows)
    if not evidence.incarnations and not evidence.logged:
        return _without_members(keys)
    span = sweep.span_of(keys["group_id"])
    try:
        baseline = classic_baseline(evidence, span, sweep.era)
        changes = sweep.changes_of(baseline)
        others = to_consumer(baseline) if sweep.changes is None and sweep.migrations else []
        migrations = [each for each in others if each not in changes]
        tried = [*with_both_instance_ids(baseline, changes), *migrations]
        model, *predicted = sweep.predict(baseline, tried)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        blockers = blockers_of_group(evidence.records, evidence.logged, None)
        return _not_predicted(keys, error, type_of(evidence), blockers)
    figures = observed(baseline, evidence.downtime_ms)
    possible = [each for each in predicted if each.change not in migrations]
    advice = advise(baseline, figures, model, possible)
    verdict = verdict_of(baseline, model, predicted, migration_blockers(baseline, evidence))
    return _predicted_rows(keys, baseline, figures, model, predicted, advice, verdict)


def _without_members(keys: Row) -> dict[str, list[Row]]:
    """A group that only has commits."""
    reason = "commits without members: tools, or consumers that assign their own partitions"
    row = migration_row(Verdict(NOT_APPLICABLE, reason, ()), "commits")
    return {name: [] for name in WRITES} | {"migration_advice": [keys | row]}


def _not_predicted(
    keys: Row, error: Exception, group_type: str, blockers: list[Blocker]
) -> dict[str, list[Row]]:
    verdict = not_predicted(UNKNOWN, f"no prediction: {error}", blockers)
    return {
        "process_lives": [],
        "what_if": [],
        "advice": [keys | no_advice(error)],
        "migration_advice": [keys | migration_row(verdict, group_type)],
    }


def rows_of_new_type(rows: ConsumerRows, sweep: Sweep) -> dict[str, list[Row]]:
    """The rows of a group that is not classic, by table of WRITES."""
    span = sweep.span_of(rows.keys["group_id"])
    to_ms = None if span.from_ms is None else span.to_ms
    try:
        baseline = rows.baseline(sweep.era, from_ms=span.from_ms, to_ms=to_ms, until_ms=span.to_ms)
        tried = with_both_instance_ids(baseline, sweep.changes_of(baseline))
        model, *predicted = sweep.predict(baseline, [*tried])
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return _not_predicted_new_type(rows, error)
    figures = rows.observed(baseline)
    advice = advise(baseline, figures, model, predicted)
    verdict = migrated(model, predicted)
    return _predicted_rows(rows.keys, baseline, figures, model, predicted, advice, verdict)


def _not_predicted_new_type(rows: ConsumerRows, error: Exception) -> dict[str, list[Row]]:
    group_type = rows.types[-1] if rows.types else CONSUMER_PROTOCOL
    is_consumer = group_type == CONSUMER_PROTOCOL
    reason = f"a {group_type} group, not a group of consumers"
    if is_consumer and rows.has_classic_members:
        reason = "has the consumer protocol already; members of the classic protocol were in it"
    elif is_consumer:
        reason = f"has the consumer protocol already; no prediction: {error}"
    verdict = Verdict(MIGRATED if is_consumer else NOT_APPLICABLE, reason, ())
    return {name: [] for name in WRITES} | {
        "advice": [rows.keys | no_advice(error)],
        "migration_advice": [rows.keys | migration_row(verdict, group_type)],
    }


def _predicted_rows(
    keys: Row,
    baseline: Baseline,
    figures: Figures,
    model: Prediction,
    predicted: list[Prediction],
    advice: Advice,
    verdict: Verdict,
) -> dict[str, list[Row]]:
    period = {"from_time": time_of(baseline.from_ms), "to_time": time_of(baseline.to_ms)}
    migration = predicted_row(verdict, baseline, figures, model, advice.confidence)
    is_classic = baseline.group_protocol == CLASSIC_PROTOCOL
    return {
        "process_lives": [keys | row for row in lives_rows(baseline)] if is_classic else [],
        "what_if": [
            keys | row | period for row in figure_rows(baseline, figures, model, predicted)
        ],
        "advice": [keys | advice_row(advice) | period],
        "migration_advice": [keys | migration | period],
    }
