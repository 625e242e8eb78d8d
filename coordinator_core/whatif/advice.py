"""The cheapest change that saves most of a group's partition downtime: why, at what risk, and what
was rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import LIMITS_COST, widened_limits
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.figures import Figures, Prediction, difference
from coordinator_core.whatif.fit import misses
from coordinator_core.whatif.in_force import in_force_text
from coordinator_core.whatif.kafka_names import listed, seconds
from coordinator_core.whatif.predict import instance_ids_of
from coordinator_core.whatif.reasons import assumption_of, reasons_of, risks_of
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, UNCHANGED, SettingsChange

# The best change must save at least this share of the unavailable partition time ...
_MIN_SHARE = 0.1
# ... and so much partition downtime or time in rebalances, ...
_MIN_SAVED_MS = 5000
# ... and a cheaper change is advised if it saves at least this share of what the best one saves.
_SHARE_OF_BEST = 0.85
# Without a log, expired sessions look like members that left.
_MAX_CONFIDENCE_WITHOUT_LOG = 0.5


@dataclass(frozen=True, kw_only=True)
class Advice:
    """``predicted``: of the advised change, or of the unchanged settings: nothing to gain, or the
    model does not explain the group (``misses``: which figures differ).

    ``share``: the share of the partition downtime that the change saves, 0 to 1.  ``risk``: what
    the change costs.  ``rejected``: the alternative, and why not.  ``worse``: the changes that make
    the partition downtime longer in every seed.  ``confidence``: 0 to 1, as near as the model of
    the unchanged settings comes to the observed figures.  ``assumption``: where instance ids come
    from, and what the other source would change.  ``settings_in_force``: with what shows them.
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
    misses: Sequence[str] = ()

    @property
    def change(self) -> SettingsChange | None:
        """None: nothing to gain."""
        return None if self.predicted.change == UNCHANGED else self.predicted.change

    @property
    def saved(self) -> Figures:
        """The model under unchanged settings minus the prediction."""
        return difference(self.unchanged.median, self.predicted.median)


def advise(
    baseline: Baseline, observed: Figures, unchanged: Prediction, changed: Sequence[Prediction]
) -> Advice:
    """The change to recommend; only savings that every seed shows count.  None where so little was
    observed that no change can save enough, or where the model misses the observed figures.
    """
    missed = [] if has_little(observed) else misses(observed, unchanged)
    compared = () if missed else changed
    chosen = unchanged
    if not missed and not has_little(observed):
        chosen = cheapest(baseline, unchanged, changed)
    change = chosen.change
    confidence, reason = _confidence(baseline, observed, unchanged)
    return Advice(
        unchanged=unchanged,
        predicted=chosen,
        observed=observed,
        share=_share(unchanged, chosen),
        sentence=_sentence(baseline, observed, unchanged, chosen, missed),
        client_properties=client_properties(baseline, change),
        broker_properties=broker_properties(baseline, change),
        risk=risks_of(baseline, change),
        rejected=_rejected(baseline, unchanged, chosen, compared),
        worse=worse_changes(unchanged, compared),
        instance_ids=instance_ids_of(baseline, change),
        assumption=assumption_of(baseline, chosen, changed),
        confidence=confidence,
        confidence_reason=reason,
        settings_in_force=in_force_text(baseline),
        misses=missed,
    )


def has_little(observed: Figures) -> bool:
    """Whether no change can save enough, whatever it changes."""
    return max(observed.unavailable_partition_ms, observed.not_stable_ms) < _MIN_SAVED_MS


def little_to_gain(unavailable_partition_ms: int) -> str:
    """The sentence of a group that `has_little`."""
    return (
        f"nothing to gain: at most {seconds(unavailable_partition_ms)} of partition downtime"
        " (partition-seconds)"
    )


def cheapest(
    baseline: Baseline, unchanged: Prediction, changed: Sequence[Prediction]
) -> Prediction:
    """The cheapest of the good changes; ``unchanged`` if none saves enough."""
    savings = [
        (each, _share(unchanged, each)) for each in changed if is_sure(baseline, unchanged, each)
    ]
    best = max((share for _, share in savings), default=0.0)
    if best < _MIN_SHARE:
        return unchanged
    good = [(each, share) for each, share in savings if share >= _SHARE_OF_BEST * best]
    return min(good, key=lambda saving: (_cost(baseline, saving[0]), -saving[1]))[0]


def _cost(baseline: Baseline, each: Prediction) -> int:
    return each.change.cost + (LIMITS_COST if widened_limits(baseline, each.change) else 0)


def _share(unchanged: Prediction, changed: Prediction) -> float:
    before = unchanged.median.unavailable_partition_ms
    return (before - changed.median.unavailable_partition_ms) / before if before else 0.0


def is_sure(baseline: Baseline, unchanged: Prediction, changed: Prediction) -> bool:
    """Whether the worst seed of ``changed`` is better than the best seed of ``unchanged``, and by
    more than noise.
    """
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
    """Whether there is more time in rebalances.  It does not compare between group protocols: of a
    consumer group only the members that wait for partitions are concerned, others consume.
    """
    is_comparable = changed.change.protocol_of(baseline.group_protocol) == baseline.group_protocol
    return is_comparable and changed.median.not_stable_ms > unchanged.median.not_stable_ms


def _sentence(
    baseline: Baseline,
    observed: Figures,
    unchanged: Prediction,
    chosen: Prediction,
    missed: Sequence[str],
) -> str:
    now = unchanged.median
    if missed:
        return f"no advice: the model does not explain this group: {'; '.join(missed)}"
    if has_little(observed):
        return little_to_gain(observed.unavailable_partition_ms)
    if chosen is not unchanged:
        figures = figures_text(now, chosen.median)
        worse = " and ".join(_worse(unchanged, chosen))
        first = f"{chosen.change.in_kafka_names()}: {figures}" + (worse and f", but {worse}")
        return "; ".join([first, *reasons_of(baseline, chosen.change)])
    return "nothing to gain: no change surely saves 10% of the partition downtime and 5 s"


def _worse(unchanged: Prediction, chosen: Prediction) -> Iterator[str]:
    """The records reprocessed and the pauses, if all seeds have more than without the change."""
    now, then = unchanged.median, chosen.median
    most, least = unchanged.maximum, chosen.minimum
    if (least.records_reprocessed or 0) > (most.records_reprocessed or 0):
        yield f"{then.records_reprocessed} records reprocessed instead of {now.records_reprocessed}"
    if (least.consumption_pause_ms or 0) > (most.consumption_pause_ms or 0):
        yield (
            f"consumption pauses of {seconds(then.consumption_pause_ms or 0)} instead of"
            f" {seconds(now.consumption_pause_ms or 0)} (partition-seconds)"
        )


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
        figures._replace(records_reprocessed=None, consumption_pause_ms=None)
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
        return f"{_rebalances(now, then)}, but {_downtime(now, then)}"
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
    return f"{figures}: saves little more, and takes more to introduce"


def worse_changes(unchanged: Prediction, changed: Sequence[Prediction]) -> str | None:
    """The changes whose best seed has a longer partition downtime than the worst one without."""
    limit_ms = unchanged.maximum.unavailable_partition_ms
    worse = [each for each in changed if each.minimum.unavailable_partition_ms > limit_ms]
    if not worse:
        return None
    texts = [
        f"{each.change.in_kafka_names()} ({seconds(each.median.unavailable_partition_ms)})"
        for each in sorted(worse, key=lambda each: each.change.cost)
    ]
    now = seconds(unchanged.median.unavailable_partition_ms)
    return f"longer partition downtime than {now}: {listed(texts, '; ')}"


def _confidence(baseline: Baseline, observed: Figures, unchanged: Prediction) -> tuple[float, str]:
    """How near the model under unchanged settings comes to the observed figures, and the figures
    that say so.
    """
    model = unchanged.median
    compared = (
        (observed.rebalances, model.rebalances),
        (observed.unavailable_partition_ms, model.unavailable_partition_ms),
    )
    nearness = min(min(pair) / max(pair) if max(pair) else 1.0 for pair in compared)
    reason = (
        f"the model has {model.rebalances} of {observed.rebalances} observed rebalances and"
        f" {seconds(model.unavailable_partition_ms)} of"
        f" {seconds(observed.unavailable_partition_ms)} observed partition downtime"
    )
    if any(_logged(baseline)):
        return round(nearness, 2), reason
    reason += "; without the broker's log, expired sessions look like members that left"
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
    return f"{_rebalances(now, then)}, {_downtime(now, then)}"


def _rebalances(now: Figures, then: Figures) -> str:
    noun = "rebalance" if then.rebalances == 1 else "rebalances"
    return f"{then.rebalances} {noun} instead of {now.rebalances}"


def _downtime(now: Figures, then: Figures) -> str:
    return (
        f"partition downtime {seconds(then.unavailable_partition_ms)} instead of"
        f" {seconds(now.unavailable_partition_ms)} (partition-seconds)"
    )
