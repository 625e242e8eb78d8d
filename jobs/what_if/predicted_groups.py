"""Predict one group under other settings: its rows of all tables of the sweep.

A group that cannot be simulated has no rows but an advice and a migration advice that say why; a
group that only has commits has a migration advice.
"""

from __future__ import annotations

from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import Baseline, NotAConsumerGroup
from coordinator_core.whatif.judgement import GroupJudgement
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
from jobs.what_if.migration_rows import (
    WITHOUT_CONSUMERS,
    migrated,
    migration_row,
    predicted_row,
)
from jobs.what_if.result_rows import advice_row, figure_rows, lives_rows, no_prediction, time_of
from jobs.what_if.sweep import Sweep

WRITES = ("process_lives", "what_if", "advice", "migration_advice")


def rows_of(keys: Row, evidence: PredictionEvidence, sweep: Sweep) -> dict[str, list[Row]]:
    """The group's rows, by table of WRITES; ``keys`` are cluster and group."""
    if evidence.has_only_commits:
        return _without_members(keys)
    try:
        baseline = sweep.baseline(evidence)
        judged = sweep.judge(baseline, evidence.observed(baseline))
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return _not_predicted(keys, evidence, error)
    verdict = _verdict(evidence, baseline, judged)
    return _predicted_rows(
        keys, baseline, judged, predicted_row(verdict, evidence.last_type, baseline, judged)
    )


def _verdict(
    evidence: PredictionEvidence, baseline: Baseline, judged: GroupJudgement
) -> MigrationVerdict:
    if baseline.group_protocol == CLASSIC_PROTOCOL:
        return verdict_of(baseline, judged, evidence.blockers(baseline))
    if evidence.last_type == CLASSIC_PROTOCOL:
        return MigrationVerdict(
            verdict=UNKNOWN, reason="was converted to the consumer protocol and back", blockers=()
        )
    return migrated(judged)


def _without_members(keys: Row) -> dict[str, list[Row]]:
    """A group that only has commits."""
    reason = (
        "offset commits while the group had no members: by tools, or by consumers that assign "
        "their own partitions"
    )
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
    elif group_type in WITHOUT_CONSUMERS:
        verdict = MigrationVerdict(
            verdict=NOT_APPLICABLE,
            reason=f"a {group_type} group, not a group of consumers",
            blockers=(),
        )
    else:
        reason = f"no prediction: {error}"
        verdict = not_predicted(UNKNOWN, reason, evidence.blockers(None))
    return {name: [] for name in WRITES} | {
        "advice": [keys | no_prediction(error)],
        "migration_advice": [keys | migration_row(verdict, group_type)],
    }


def _predicted_rows(
    keys: Row, baseline: Baseline, judged: GroupJudgement, migration: Row
) -> dict[str, list[Row]]:
    period = {"from_time": time_of(baseline.from_ms), "to_time": time_of(baseline.to_ms)}
    is_classic = baseline.group_protocol == CLASSIC_PROTOCOL
    return {
        "process_lives": [keys | row for row in lives_rows(baseline)] if is_classic else [],
        "what_if": [keys | row | period for row in figure_rows(baseline, judged)],
        "advice": [keys | advice_row(judged.advice) | period],
        "migration_advice": [keys | migration | period],
    }
