"""Online upgrades to the consumer protocol (KIP-848), and downgrades.

A classic group is converted when the first process of the new protocol joins, and back when the
last one leaves.  In between its events start no classic rebalances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coordinator_core.episodes.drafts import Draft, Kind, Scene, in_series
from coordinator_core.episodes.evidence import (
    ABSORBED,
    CONVERT,
    EMPTY,
    Activity,
    Cause,
    Rebalance,
)
from coordinator_core.episodes.process_changes import Change, What, at
from coordinator_core.lives.life_kinds import DEPLOY_GAP_MS

# A record or line may be this much late.
_SLACK_MS = 20
_SETTING = {True: "group.protocol classic -> consumer", False: "group.protocol consumer -> classic"}
_RESTARTS = (What.RESTARTED, What.REPLACED, What.STOPPED, What.STARTED)


class Conversion(NamedTuple):
    """``is_upgrade``: to the consumer protocol; ``is_of_empty``: the group had no members."""

    at_ms: int
    is_upgrade: bool
    is_of_empty: bool


def conversions(activity: Activity) -> list[Conversion]:
    return [
        _conversion(at(each), activity.rebalances)
        for each in activity.causes
        if each.cause == CONVERT and each.role == ABSORBED
    ]


def _conversion(at_ms: int, rebalances: Iterable[Rebalance]) -> Conversion:
    """A downgrade starts a classic rebalance at once."""
    in_order = sorted(rebalances, key=lambda each: each.from_ms)
    before = [each for each in in_order if each.from_ms < at_ms - _SLACK_MS]
    after = [each for each in in_order if 0 <= each.from_ms - at_ms + _SLACK_MS <= 2 * _SLACK_MS]
    if after:
        return Conversion(at_ms, False, after[0].was_empty)
    return Conversion(at_ms, True, bool(before) and before[-1].outcome == EMPTY)


def converted(scene: Scene) -> Iterator[Draft]:
    """Processes restarted one after another around a conversion; each belongs to the nearest one.

    Members of the new protocol have no classic record, only an id.
    """
    migrations = [each for each in conversions(scene.activity) if not each.is_of_empty]
    if not migrations:
        return
    restarted: dict[Conversion, list[Change]] = {each: [] for each in migrations}
    for series in in_series(scene.of(*_RESTARTS), DEPLOY_GAP_MS, until=lambda each: each.to_ms):
        near = [each for each in migrations if _is_near(each, series)]
        for change in series if near else ():
            nearest = min(near, key=lambda each: abs(each.at_ms - change.from_ms))
            restarted[nearest].append(change)
            for later in near:
                if later.at_ms > nearest.at_ms and _is_back_after(change, later, scene):
                    restarted[later].append(change.split())
    for each, changes in restarted.items():
        yield _draft(each, changes, scene.activity.causes)


def _is_back_after(change: Change, conversion: Conversion, scene: Scene) -> bool:
    """Whether the process left before the conversion, and its next record is of a generation after
    it.
    """
    if change.departure is None or change.arrival is None:
        return False
    made = scene.history.get((change.arrival.incarnation, change.arrival.generation))
    return made is not None and made.from_ms >= conversion.at_ms - _SLACK_MS


def _is_near(conversion: Conversion, series: list[Change]) -> bool:
    last_ms = max(each.to_ms for each in series)
    return series[0].from_ms - DEPLOY_GAP_MS <= conversion.at_ms <= last_ms + DEPLOY_GAP_MS


def _draft(conversion: Conversion, changes: list[Change], causes: Iterable[Cause]) -> Draft:
    named = [each for each in changes if any(_has_name(cause) for cause in each.causes)]
    others = [cause for each in changes if each not in named for cause in each.causes]
    others += [
        each
        for each in causes
        if each.cause == CONVERT and abs(at(each) - conversion.at_ms) <= _SLACK_MS
    ]
    setting = _SETTING[conversion.is_upgrade]
    return Draft(Kind.CONFIGURATION_CHANGE, named, 0.95, others, [setting])


def _has_name(cause: Cause) -> bool:
    """A classic member's id begins with its client id."""
    return cause.client not in ("", cause.member_id)


def is_outside_rebalances(draft: Draft, activity: Activity) -> bool:
    """Whether a draft without rebalances is no episode: no process did anything, or the group had
    the consumer protocol.
    """
    if draft.settings:
        return False
    upgrades = [each.at_ms for each in conversions(activity) if each.is_upgrade]
    return all(_is_in_consumer_group(each, upgrades, activity) for each in draft.changes)


def _is_in_consumer_group(change: Change, upgrades: list[int], activity: Activity) -> bool:
    upgraded_ms = max((each for each in upgrades if each <= change.from_ms), default=None)
    return upgraded_ms is not None and not any(
        upgraded_ms <= each.from_ms <= change.from_ms for each in activity.rebalances
    )
