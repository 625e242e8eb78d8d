"""Rows of migration_advice: of groups with and without a prediction."""

from __future__ import annotations

from typing import Any

from coordinator_core.whatif import Baseline, Figures
from coordinator_core.whatif.advice import figures_text
from coordinator_core.whatif.calibration import range_of
from coordinator_core.whatif.fit import not_explained
from coordinator_core.whatif.judgement import GroupJudgement
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL
from coordinator_core.whatif.verdict import MIGRATED, NOT_APPLICABLE, UNKNOWN, MigrationVerdict

Row = dict[str, Any]
# Group types whose members are not consumers.
WITHOUT_CONSUMERS = ("share", "streams")
ORDER = ("migrate", "no difference", "stay", "blocked", UNKNOWN, MIGRATED, NOT_APPLICABLE)
# Names of the columns of figures, by basis and figure.
_FIGURES = {
    "rebalances": "rebalances_{}",
    "not_stable_ms": "not_stable_{}_ms",
    "moved_partitions": "moved_{}",
    "unavailable_partition_ms": "unowned_{}_partition_ms",
    "records_reprocessed": "reprocessed_{}",
    "consumption_pause_ms": "pause_{}_ms",
}


def migration_row(verdict: MigrationVerdict, group_type: str) -> Row:
    """Without figures."""
    return {
        "rank": 0,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "group_type": group_type,
        "blockers": [each._asdict() for each in verdict.blockers],
        "worse": "; ".join(verdict.worse) or None,
        "client_properties": verdict.client_properties,
        "broker_properties": verdict.broker_properties,
    }


def predicted_row(
    verdict: MigrationVerdict,
    group_type: str,
    baseline: Baseline,
    judged: GroupJudgement,
) -> Row:
    """The row with the figures of the chosen settings, if the verdict has them."""
    row = migration_row(verdict, group_type)
    row |= _figures("observed", judged.observed) | _figures("unchanged", judged.model.median)
    row["clients"] = ", ".join(sorted(set(baseline.libraries.values())))
    row["confidence"] = judged.advice.confidence
    row["seeds"] = len(judged.model.outcomes)
    chosen, defaults = verdict.chosen, verdict.defaults
    if chosen is not None:
        row |= _figures("predicted", chosen.median)
        row["setting"] = str(chosen.change)
        row["static_refused_predicted"] = chosen.median.static_refused
        least, most = range_of(baseline, chosen.change, chosen.outcomes)
        row["unowned_predicted_min_partition_ms"] = least.unavailable_partition_ms
        row["unowned_predicted_max_partition_ms"] = most.unavailable_partition_ms
    if defaults is not None:
        row["unowned_defaults_partition_ms"] = defaults.median.unavailable_partition_ms
    return row


def _figures(basis: str, figures: Figures) -> Row:
    return {column.format(basis): getattr(figures, name) for name, column in _FIGURES.items()}


def migrated(judged: GroupJudgement) -> MigrationVerdict:
    """The row of a group that has the consumer protocol, with the best way back."""
    back = [each for each in judged.predicted if each.change.group_protocol == CLASSIC_PROTOCOL]
    reason = "has the consumer protocol already; table advice has other settings of it"
    best = min(back, key=lambda each: each.median.unavailable_partition_ms, default=None)
    if judged.advice.misses:
        reason = f"has the consumer protocol already; {not_explained(judged.advice.misses)}"
    elif best is not None:
        figures = figures_text(judged.model.median, best.median)
        reason += f"; back to the classic protocol, {best.change.in_kafka_names()}: {figures}"
    return MigrationVerdict(verdict=MIGRATED, reason=reason, blockers=())
