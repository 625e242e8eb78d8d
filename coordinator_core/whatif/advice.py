"""The cheapest change that takes most of a group's unavailability away, and why it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.settings import SettingsChange

# A change is worth its while from such a share of the unavailable partition-time on ...
_LEAST_SHARE = 0.1
# ... and as good as the best one with so much of what that one saves.
_NEARLY_ALL = 0.85


class Advice(NamedTuple):
    """``change`` None: nothing to gain.  ``saved``: of the model's own run of what was, less what
    the change comes to; ``share``: of the unavailable partition-time.
    """

    change: SettingsChange | None
    saved: Figures
    share: float
    sentence: str


_NOTHING = Figures(0, 0, 0, 0)


def advise(baseline: Baseline, unchanged: Prediction, changed: Sequence[Prediction]) -> Advice:
    """Of some predictions the one to follow.  A saving counts that every seed shows."""
    now = unchanged.median
    worth = [(each, _share(unchanged, each)) for each in changed if _is_sure(unchanged, each)]
    best = max((share for _, share in worth), default=0.0)
    if best < _LEAST_SHARE:
        text = "nothing to gain: no setting tried takes a tenth of the unavailable time away"
        if now.unavailable_partition_ms == 0:
            text = "nothing to gain: its partitions always had an owner"
        return Advice(None, _NOTHING, 0.0, text + _calmer(now, changed))
    good = [(each, share) for each, share in worth if share >= _NEARLY_ALL * best]
    chosen, share = min(good, key=lambda found: (found[0].change.cost, -found[1]))
    then = chosen.median
    saved = Figures(*(before - after for before, after in zip(now, then, strict=True)))
    return Advice(chosen.change, saved, share, _sentence(baseline, chosen.change, now, then))


def _calmer(now: Figures, changed: Sequence[Prediction]) -> str:
    """That a setting makes fewer rebalances, at a price."""
    calm = min(changed, key=lambda each: (each.median.rebalances, each.change.cost), default=None)
    if calm is None or calm.median.rebalances > now.rebalances // 2:
        return ""
    then = calm.median
    return (
        f"; {calm.change} leaves {then.rebalances} of {now.rebalances} rebalances, but partitions"
        f" are without an owner for {_seconds(then.unavailable_partition_ms)} instead of"
        f" {_seconds(now.unavailable_partition_ms)} (partition-seconds)"
    )


def _share(unchanged: Prediction, changed: Prediction) -> float:
    before = unchanged.median.unavailable_partition_ms
    return (before - changed.median.unavailable_partition_ms) / before if before else 0.0


def _is_sure(unchanged: Prediction, changed: Prediction) -> bool:
    """Its worst is better than the unchanged settings' best."""
    return (
        changed.maximum.unavailable_partition_ms < unchanged.minimum.unavailable_partition_ms
        and changed.median.not_stable_ms <= unchanged.median.not_stable_ms
    )


def _sentence(baseline: Baseline, change: SettingsChange, now: Figures, then: Figures) -> str:
    less = (
        f"{now.rebalances} rebalances become {then.rebalances}, and partitions are without an owner"
        f" for {_seconds(then.unavailable_partition_ms)} instead of"
        f" {_seconds(now.unavailable_partition_ms)} (partition-seconds)"
    )
    why = [
        text
        for text in (_static(baseline, change), _cooperative(change), _timeouts(change))
        if text
    ]
    return f"{change}: {less}" + (f"; {'; '.join(why)}" if why else "")


def _static(baseline: Baseline, change: SettingsChange) -> str | None:
    if change.membership != "static":
        return None
    back = [
        after.started.at_ms - before.ended.at_ms
        for process in baseline.processes
        for before, after in zip(process.lives, process.lives[1:], strict=False)
        if before.ended is not None
    ]
    session_ms = change.session_timeout_ms or max(
        life.member.session_timeout_ms for process in baseline.processes for life in process.lives
    )
    within = sum(away_ms < session_ms for away_ms in back)
    return (
        f"{within} of {len(back)} times a process was back within the session timeout of"
        f" {_seconds(session_ms)} and takes its own partitions again, without a rebalance"
    )


def _cooperative(change: SettingsChange) -> str | None:
    if change.protocol != "cooperative":
        return None
    return "in a rebalance only what changes its owner is taken away"


def _timeouts(change: SettingsChange) -> str | None:
    if change.rebalance_timeout_ms is not None:
        return "an application that is away from poll longer than before stays a member"
    if change.initial_rebalance_delay_ms is not None:
        return "the broker waits for more members before the first generation"
    if change.session_timeout_ms is not None and change.membership is None:
        return "a member that is silent for a while is not put out"
    return None


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.0f} s"
