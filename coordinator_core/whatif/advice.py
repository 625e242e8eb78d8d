"""The cheapest change that saves most of a group's unavailable partition time, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.settings import SettingsChange

# The best change must save at least this share of the unavailable partition time ...
_MIN_SHARE = 0.1
# ... and a cheaper change is advised if it saves at least this share of what the best one saves.
_SHARE_OF_BEST = 0.85


class Advice(NamedTuple):
    """``change`` None: nothing to gain.  ``saved``: the model under unchanged settings minus the
    prediction.  ``share``: the share of the partition downtime that the change saves, 0 to 1.
    """

    change: SettingsChange | None
    saved: Figures
    share: float
    sentence: str


_NOTHING = Figures(0, 0, 0, 0)


def advise(baseline: Baseline, unchanged: Prediction, changed: Sequence[Prediction]) -> Advice:
    """The change to recommend; only savings that every seed shows count."""
    now = unchanged.median
    savings = [(each, _share(unchanged, each)) for each in changed if _is_sure(unchanged, each)]
    best = max((share for _, share in savings), default=0.0)
    if best < _MIN_SHARE:
        text = "nothing to gain: no change saves 10% or more of the partition downtime"
        if now.unavailable_partition_ms == 0:
            text = "nothing to gain: all partitions always had an owner"
        return Advice(None, _NOTHING, 0.0, text + _fewer_rebalances(now, changed))
    good = [(each, share) for each, share in savings if share >= _SHARE_OF_BEST * best]
    chosen, share = min(good, key=lambda saving: (saving[0].change.cost, -saving[1]))
    then = chosen.median
    saved = Figures(*(before - after for before, after in zip(now, then, strict=True)))
    return Advice(chosen.change, saved, share, _sentence(baseline, chosen.change, now, then))


def _fewer_rebalances(now: Figures, changed: Sequence[Prediction]) -> str:
    """The change with the fewest rebalances, and what it costs, if it halves their number."""
    fewest = min(changed, key=lambda each: (each.median.rebalances, each.change.cost), default=None)
    if fewest is None or fewest.median.rebalances > now.rebalances // 2:
        return ""
    then = fewest.median
    return f"; {fewest.change}: {_rebalances(now, then)}, but {_downtime(now, then)}"


def _share(unchanged: Prediction, changed: Prediction) -> float:
    before = unchanged.median.unavailable_partition_ms
    return (before - changed.median.unavailable_partition_ms) / before if before else 0.0


def _is_sure(unchanged: Prediction, changed: Prediction) -> bool:
    """Whether the worst seed of ``changed`` is better than the best seed of ``unchanged``."""
    return (
        changed.maximum.unavailable_partition_ms < unchanged.minimum.unavailable_partition_ms
        and changed.median.not_stable_ms <= unchanged.median.not_stable_ms
    )


def _sentence(baseline: Baseline, change: SettingsChange, now: Figures, then: Figures) -> str:
    reasons = [
        reason
        for reason in (_static(baseline, change), _cooperative(change), _timeouts(change))
        if reason
    ]
    figures = f"{_rebalances(now, then)}, {_downtime(now, then)}"
    return "; ".join([f"{change}: {figures}", *reasons])


def _rebalances(now: Figures, then: Figures) -> str:
    return f"{then.rebalances} rebalances instead of {now.rebalances}"


def _downtime(now: Figures, then: Figures) -> str:
    return (
        f"partition downtime {_seconds(then.unavailable_partition_ms)} instead of"
        f" {_seconds(now.unavailable_partition_ms)} (partition-seconds)"
    )


def _static(baseline: Baseline, change: SettingsChange) -> str | None:
    if change.membership != "static":
        return None
    downtimes_ms = [
        life.started.at_ms - previous.ended.at_ms
        for process in baseline.processes
        for previous, life in zip(process.lives, process.lives[1:], strict=False)
        if previous.ended is not None
    ]
    session_ms = change.session_timeout_ms or max(
        life.member.session_timeout_ms for process in baseline.processes for life in process.lives
    )
    within = sum(each < session_ms for each in downtimes_ms)
    return (
        f"{within} of {len(downtimes_ms)} restarts took less than the session timeout of"
        f" {_seconds(session_ms)}: static members then keep their partitions without a rebalance"
    )


def _cooperative(change: SettingsChange) -> str | None:
    if change.protocol != "cooperative":
        return None
    return "members revoke only the partitions that move to another member"


def _timeouts(change: SettingsChange) -> str | None:
    if change.rebalance_timeout_ms is not None:
        return "applications may take longer between polls before they leave the group"
    if change.initial_rebalance_delay_ms is not None:
        return "the broker waits longer for members before the first generation"
    if change.session_timeout_ms is not None and change.membership is None:
        return "members may send no heartbeat for longer before their session expires"
    return None


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.0f} s"
