"""Online upgrades to the consumer protocol (KIP-848), and downgrades.

A classic group is converted when the first process of the consumer protocol joins, and back when
the last one leaves: the next generation has another group type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from coordinator_core.episodes.drafts import EpisodeDraft, Scene, in_series
from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import CONVERT, EMPTY, Cause, Rebalance
from coordinator_core.episodes.grouping import by
from coordinator_core.episodes.process_changes import ProcessChange, What, at
from coordinator_core.lives.life_kinds import DEPLOY_GAP_MS

# A line may be logged this long before its record.
_SLACK_MS = 20
_CONVERSIONS = (CONVERT, "CONVERSION")
_RESTARTS = (What.RESTARTED, What.REPLACED, What.STOPPED, What.STARTED)


class Conversion(NamedTuple):
    """``id`` is the id of the first generation after the conversion."""

    id: tuple[int, int]
    at_ms: int
    setting: str


def conversions(
    rebalances: Iterable[Rebalance], history: Mapping[tuple[int, int], Rebalance]
) -> Iterator[Conversion]:
    """Conversions of groups with members; an empty group that changes its type is started again."""
    if len({each.group_type for each in history.values()}) < 2:
        return
    in_order = sorted(history)
    for each in rebalances:
        place = in_order.index(each.id)
        before = history[in_order[place - 1]] if place else each
        is_same_group = before.incarnation == each.incarnation and before.outcome != EMPTY
        if is_same_group and before.group_type != each.group_type:
            setting = f"group.protocol {before.group_type} -> {each.group_type}"
            yield Conversion(each.id, each.from_ms, setting)


def converted(scene: Scene) -> Iterator[EpisodeDraft]:
    """Processes restarted one after another around a conversion.  Each restart belongs to the
    nearest conversion.  A deployment before or after it restarts the same processes once more.
    """
    made = list(conversions(scene.rebalances, scene.history))
    if not made:
        return
    restarted: dict[Conversion, list[list[ProcessChange]]] = {each: [] for each in made}
    for series in in_series(scene.of(*_RESTARTS), DEPLOY_GAP_MS, until=lambda each: each.to_ms):
        for once in _each_process_once(series):
            near = [each for each in made if _is_near(each, once)]
            for nearest, own in by(partial(_nearest, near), once if near else ()).items():
                restarted[nearest].append(own)
    for each, parts in restarted.items():
        changes: list[ProcessChange] = []
        for part in sorted(parts, key=partial(_distance_ms, each)):
            if not _ended(part) & _ended(changes):
                changes += part
        causes = [cause for cause in scene.activity.causes if _starts(cause, each)]
        changes.sort(key=lambda change: change.from_ms)
        yield EpisodeDraft(EpisodeKind.CONFIGURATION_CHANGE, changes, 0.95, causes, [each.setting])


def _each_process_once(series: Iterable[ProcessChange]) -> Iterator[list[ProcessChange]]:
    part: list[ProcessChange] = []
    for each in series:
        if _ended([each]) & _ended(part):
            yield part
            part = []
        part.append(each)
    yield part


def _ended(changes: Iterable[ProcessChange]) -> set[str]:
    """The processes with a life that ended."""
    return {each.process for each in changes if each.what is not What.STARTED}


def _nearest(conversions: Iterable[Conversion], change: ProcessChange) -> Conversion:
    return min(conversions, key=lambda each: abs(each.at_ms - change.from_ms))


def _distance_ms(conversion: Conversion, changes: Sequence[ProcessChange]) -> int:
    """0 for a conversion between the first and the last of these changes."""
    first_ms, last_ms = changes[0].from_ms, max(each.to_ms for each in changes)
    return max(first_ms - conversion.at_ms, conversion.at_ms - last_ms, 0)


def _is_near(conversion: Conversion, series: list[ProcessChange]) -> bool:
    last_ms = max(each.to_ms for each in series)
    return series[0].from_ms - DEPLOY_GAP_MS <= conversion.at_ms <= last_ms + DEPLOY_GAP_MS


def _starts(cause: Cause, conversion: Conversion) -> bool:
    is_near = abs(at(cause) - conversion.at_ms) <= _SLACK_MS
    return cause.cause in _CONVERSIONS and is_near
