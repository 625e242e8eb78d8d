"""Ranges that hold the truth nine times out of ten.

The range over the seeds has what a seed draws: the unknown times of starts and ends, and late
heartbeats.  The range of the seeds includes neither the errors of the models nor the other chances
of a real run.  Therefore the shown range is wider, by the errors that the captures with truth show
(tools.coverage):

    least - share x size ... most + share x size

``size`` is the predicted median, but at least `LEAST_SIZES`.  The share depends on the command, the
figure and the kind of settings that is predicted.  A decision between two predictions compares
their seeds, not these ranges: an error of the model affects both predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import NamedTuple

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, maximum_of, median_of, minimum_of
from coordinator_core.whatif.settings import (
    CONSUMER_PROTOCOL,
    COOPERATIVE,
    UNCHANGED,
    SettingsChange,
)
from schemas.prediction_ranges import widening

WHAT_IF, PLAN = "what-if", "plan"
# Kind of setting that stands for all kinds; kinds with few scripts get its share.
OTHER = "other"
# Errors of smaller figures are measured relative to these sizes.
LEAST_SIZES = {
    "rebalances": 5,
    "not_stable_ms": 5000,
    "moved_partitions": 10,
    "unavailable_partition_ms": 20_000,
    "records_reprocessed": 20,
    "static_refused": 5,
}


class PredictedRange(NamedTuple):
    """Per figure; None: unknown.  Figures without captured truth have the range over the seeds."""

    least: Figures
    most: Figures


def setting_of(baseline: Baseline, change: SettingsChange) -> str:
    """The kind of settings that is predicted; if it is another than the present kind, both."""
    present, predicted = _kind(baseline, UNCHANGED), _kind(baseline, change)
    return predicted if predicted == present else f"{present} to {predicted}"


def _kind(baseline: Baseline, change: SettingsChange) -> str:
    if change.protocol_of(baseline.group_protocol) == CONSUMER_PROTOCOL:
        return CONSUMER_PROTOCOL
    is_static = any(process.instance_id is not None for process in baseline.processes)
    if change.membership is not None:
        is_static = change.membership == "static"
    if is_static:
        return "static"
    is_cooperative = COOPERATIVE in (change.assignors or baseline.assignors)
    return "cooperative" if is_cooperative else "eager"


def range_of(
    baseline: Baseline, change: SettingsChange, outcomes: Sequence[Figures], command: str = WHAT_IF
) -> PredictedRange:
    """The range of a prediction with these outcomes, one per seed."""
    by_setting = widening()[command]
    shares = by_setting[OTHER] | by_setting.get(setting_of(baseline, change), {})
    return widened(shares, outcomes)


def widened(shares: Mapping[str, float], outcomes: Sequence[Figures]) -> PredictedRange:
    """``shares``: by figure."""
    least, most = minimum_of(outcomes)._asdict(), maximum_of(outcomes)._asdict()
    for name, median in median_of(outcomes)._asdict().items():
        if median is not None and name in shares:
            width = shares[name] * max(median, LEAST_SIZES[name])
            least[name] = max(0, floor(least[name] - width))
            most[name] = ceil(most[name] + width)
    return PredictedRange(Figures(**least), Figures(**most))
