"""The cheapest change that saves most of a group's partition downtime: why, at what risk, and what
was rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coordinator_core.figures import counted
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import cost_of
from coordinator_core.whatif.concerned import concerned
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.currencies import (
    DOWNTIME,
    MIN_SAVED_MS,
    REBALANCES,
    Currency,
    better_and_worse,
    saves_surely,
    worse_changes,
)
from coordinator_core.whatif.figures import Figures, Prediction, difference
from coordinator_core.whatif.fit import misses, not_explained
from coordinator_core.whatif.in_force import in_force_text
from coordinator_core.whatif.kafka_names import seconds
from coordinator_core.whatif.predict import instance_ids_of
from coordinator_core.whatif.reasons import assumption_of, reasons_of, risks_of
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, UNCHANGED, SettingsChange

# The best change must save at least this share of partition downtime.
_MIN_SHARE = 0.1
# The best change must also save this much partition downtime or time in rebalances.
_MIN_SAVED_MS = MIN_SAVED_MS
# A cheaper change is advised if it saves at least this share of the best change's saving.
_SHARE_OF_BEST = 0.85
# Confidence without a log, where expired sessions look like members that left.
_MAX_CONFIDENCE_WITHOUT_LOG = 0.5


@dataclass(frozen=True, kw_only=True)
class Advice:
    """``predicted`` is the prediction of the advised change, or of the unchanged settings if there
    is nothing to gain, or if the model does not explain the group (``misses``: the figures that
    differ).

    ``share`` is the share of the partition downtime that the change saves, 0 to 1.  ``risk`` says
    what the change costs.  ``rejected`` is the alternative, and why not.  ``worse`` has the changes
    that make a figure worse in every seed; ``makes_better`` and ``makes_worse`` are the figures
    that the advised change makes better, and worse, in every seed.  ``confidence`` is a number from
    0 to 1, as near as the model of the unchanged settings comes to the observed figures.
    ``assumption`` says where instance ids come from, and what the other source would change.
    ``settings_in_force`` are the settings in force, with their evidence.  ``whose`` has the
    processes that cause the rebalances, and who bears them.
    """

    unchanged: Prediction
    predicted: Prediction
    observed: Figures
    share: float
    sentence: str
    client_properties: str | None
    broker_properties: str | None
    risk: str | None
    rejected: str | None
    worse: str | None
    instance_ids: str | None
    assumption: str | None
    confidence: float
    confidence_reason: str
    settings_in_force: str
    whose: str
    makes_better: str | None
    makes_worse: str | None
    misses: Sequence[str] = ()

    @property
    def change(self) -> SettingsChange | None:
        """The best change, or None if there is nothing to gain."""
        return None if self.predicted.change == UNCHANGED else self.predicted.change

    @property
    def saved(self) -> Figures:
        """The model under unchanged settings minus the prediction."""
        return difference(self.unchanged.median, self.predicted.median)


def advise(
    baseline: Baseline,
    observed: Figures,
    unchanged: Prediction,
    changed: Sequence[Prediction],
    prefer: Currency = DOWNTIME,
) -> Advice:
    """The change to recommend; only savings that every seed shows count.  No change if the observed
    figures are too small for a change to save enough, or if the model misses these figures.
    """
    little = has_little(observed, prefer)
    missed = misses(observed, unchanged)
    explained = () if missed else changed
    chosen = unchanged
    if not missed and not little:
        chosen = cheapest(baseline, unchanged, changed, prefer)
    change = chosen.change
    better, worse = better_and_worse(unchanged, chosen, baseline.group_protocol)
    confidence, reason = _confidence(baseline, observed, unchanged)
    return Advice(
        unchanged=unchanged,
        predicted=chosen,
        observed=observed,
        share=_share(unchanged, chosen),
        sentence=_sentence(baseline, observed, unchanged, chosen, missed, prefer),
        client_properties=client_properties(baseline, change),
        broker_properties=broker_properties(baseline, change),
        risk=risks_of(baseline, change),
        rejected=_rejected(baseline, unchanged, chosen, explained),
        worse=worse_changes(unchanged, explained, baseline.group_protocol),
        makes_better="; ".join(better) or None,
        makes_worse="; ".join(worse) or None,
        instance_ids=instance_ids_of(baseline, change),
        assumption=assumption_of(baseline, chosen, changed),
        confidence=confidence,
        confidence_reason=reason,
        settings_in_force=in_force_text(baseline),
        whose=concerned(baseline),
        misses=missed,
    )


def has_little(observed: Figures, prefer: Currency = DOWNTIME) -> bool:
    """Returns whether the observed figures are too small for any change to save enough."""
    if prefer is DOWNTIME:
        downtime_ms = observed.unavailable_partition_ms
        return downtime_ms == 0 or max(downtime_ms, observed.not_stable_ms) < _MIN_SAVED_MS
    return (prefer.of(observed) or 0) < prefer.least_saved


def little_to_gain(observed: int | None, prefer: Currency = DOWNTIME) -> str:
    """The sentence of a group that `has_little`; ``observed`` is its figure in the currency."""
    if observed is None:
        return (
            "nothing to gain: the lake has no commits, so the number of processed records is "
            "unknown"
        )
    return f"nothing to gain: at most {prefer.amount(observed)}"


def cheapest(
    baseline: Baseline,
    unchanged: Prediction,
    changed: Sequence[Prediction],
    prefer: Currency = DOWNTIME,
) -> Prediction:
    """The cheapest of the good changes; ``unchanged`` if none saves enough."""
    savings = [
        (each, _share(unchanged, each, prefer))
        for each in changed
        if is_sure(baseline, unchanged, each, prefer)
    ]
    best = max((share for _, share in savings), default=0.0)
    if best < _MIN_SHARE:
        return unchanged
    good = [(each, share) for each, share in savings if share >= _SHARE_OF_BEST * best]
    return min(good, key=lambda saving: (cost_of(baseline, saving[0].change), -saving[1]))[0]


def _share(unchanged: Prediction, changed: Prediction, prefer: Currency = DOWNTIME) -> float:
    before, after = prefer.of(unchanged.median), prefer.of(changed.median)
    return (before - after) / before if before and after is not None else 0.0


def is_sure(
    baseline: Baseline, unchanged: Prediction, changed: Prediction, prefer: Currency = DOWNTIME
) -> bool:
    """Returns whether the worst seed of ``changed`` is better than the best seed of ``unchanged``,
    and by more than noise.  Less downtime counts only without more time in rebalances.
    """
    if prefer is not DOWNTIME:
        return saves_surely(prefer, unchanged, changed)
    now, then = unchanged.median, changed.median
    saved_ms = max(
        now.unavailable_partition_ms - then.unavailable_partition_ms,
        now.not_stable_ms - then.not_stable_ms,
    )
    return (
        changed.maximum.unavailable_partition_ms < unchanged.minimum.unavailable_partition_ms
        and not _takes_longer(baseline, unchanged, changed)
        and saved_ms >= _MIN_SAVED_MS
    )


def _takes_longer(baseline: Baseline, unchanged: Prediction, changed: Prediction) -> bool:
    """Returns whether there is more time in rebalances.  It does not compare between group
    protocols: in a consumer group only the members that wait for partitions are affected, and all
    other members consume.
    """
    is_comparable = changed.change.protocol_of(baseline.group_protocol) == baseline.group_protocol
    return is_comparable and changed.median.not_stable_ms > unchanged.median.not_stable_ms


def _sentence(
    baseline: Baseline,
    observed: Figures,
    unchanged: Prediction,
    chosen: Prediction,
    missed: Sequence[str],
    prefer: Currency,
) -> str:
    if has_little(observed, prefer):
        return little_to_gain(prefer.of(observed), prefer)
    if missed:
        return f"no advice: {not_explained(missed)}"
    if chosen is unchanged:
        least = prefer.shown(prefer.least_saved)
        return f"nothing to gain: no change surely saves 10% of the {prefer.noun} and {least}"
    now, then = unchanged.median, chosen.median
    currencies = [REBALANCES, *([] if prefer is REBALANCES else [prefer])]
    figures = ", ".join(each.beside(now, then) for each in currencies)
    _, worse = better_and_worse(unchanged, chosen, baseline.group_protocol)
    first = f"{chosen.change.in_kafka_names()}: {figures}"
    first += f", but {' and '.join(worse)}" if worse else ""
    return "; ".join([first, *reasons_of(baseline, chosen.change)])


def _rejected(
    baseline: Baseline,
    unchanged: Prediction,
    chosen: Prediction,
    changed: Sequence[Prediction],
) -> str | None:
    """The alternative that saves most rebalances or downtime, and why it is not advised."""
    without_effect = (_rebalancing(unchanged), _rebalancing(chosen))
    others = [each for each in changed if _rebalancing(each) not in without_effect]
    better = [each for each in others if _share(unchanged, each) > 0]
    fewest = min(others, key=_by_rebalances, default=None)
    if fewest is None:
        return None
    halves = fewest.median.rebalances <= unchanged.median.rebalances // 2
    if not better or (chosen is unchanged and halves):
        return f"{fewest.change.in_kafka_names()}: {_against(baseline, unchanged, fewest, chosen)}"
    best = min(better, key=_by_downtime)
    return f"{best.change.in_kafka_names()}: {_against(baseline, unchanged, best, chosen)}"


def _rebalancing(each: Prediction) -> list[Figures]:
    """The outcomes without the figures that depend on commits."""
    return [
        figures._replace(records_reprocessed=None, consumption_pause_ms=None, catch_up_ms=None)
        for figures in each.outcomes
    ]


def _by_rebalances(each: Prediction) -> tuple[int, int]:
    return each.median.rebalances, each.change.cost


def _by_downtime(each: Prediction) -> tuple[int, int]:
    return each.median.unavailable_partition_ms, each.change.cost


def _against(
    baseline: Baseline, unchanged: Prediction, other: Prediction, chosen: Prediction
) -> str:
    """The figures of a rejected change, and what speaks against it."""
    now, then = unchanged.median, other.median
    figures = figures_text(now, then)
    if then.unavailable_partition_ms > now.unavailable_partition_ms:
        return f"{REBALANCES.beside(now, then)}, but {DOWNTIME.beside(now, then)}"
    if _takes_longer(baseline, unchanged, other):
        return f"{figures}, but {seconds(then.not_stable_ms)} in rebalances instead of" + (
            f" {seconds(now.not_stable_ms)}"
        )
    if other.maximum.unavailable_partition_ms >= unchanged.minimum.unavailable_partition_ms:
        return f"{figures}, but not in every simulation"
    if _share(unchanged, other) < _MIN_SHARE:
        return f"{figures}: too little"
    if then.unavailable_partition_ms >= chosen.median.unavailable_partition_ms:
        return f"{figures}: saves less"
    return f"{figures}: saves little more, but is harder to introduce"


def _confidence(baseline: Baseline, observed: Figures, unchanged: Prediction) -> tuple[float, str]:
    """How closely the model with unchanged settings matches the observed figures, and the figures
    that show it.
    """
    model = unchanged.median
    compared = (
        (observed.rebalances, model.rebalances),
        (observed.unavailable_partition_ms, model.unavailable_partition_ms),
    )
    nearness = min(min(pair) / max(pair) if max(pair) else 1.0 for pair in compared)
    reason = (
        f"the model has {counted(model.rebalances, 'rebalance')}"
        f" (observed: {observed.rebalances}) and"
        f" {seconds(model.unavailable_partition_ms)} of partition downtime"
        f" (observed: {seconds(observed.unavailable_partition_ms)})"
    )
    if any(_logged(baseline)):
        return round(nearness, 2), reason
    reason += "; without the broker's log, expired sessions cannot be told from members that left"
    return round(min(nearness, _MAX_CONFIDENCE_WITHOUT_LOG), 2), reason


def _logged(baseline: Baseline) -> Iterator[bool]:
    if baseline.group_protocol == CONSUMER_PROTOCOL:
        for process in baseline.processes:
            for life in process.lives:
                yield "(log)" in life.evidence or "(both)" in life.evidence
    for explained in baseline.explained.incarnations:
        for generation in explained.generations:
            yield generation.is_logged


def figures_text(now: Figures, then: Figures) -> str:
    """Rebalances and partition downtime of a change beside those of the unchanged settings."""
    return f"{REBALANCES.beside(now, then)}, {DOWNTIME.beside(now, then)}"
