"""The effect of a coordinator failover on a group.

A new coordinator loads the group's last record, and from then on each member has its full session
timeout.  A stable group goes on without a rebalance.  Without that record, or if a member does not
find the new coordinator in time, its members join again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coordinator_core.episodes.drafts import EpisodeDraft, Scene, in_series
from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import EMPTY, RETURN, Cause
from coordinator_core.episodes.process_changes import (
    AT_ONCE_MS,
    ProcessChange,
    What,
    at,
    is_unheard_since_load,
)

# Events within this time after a load may be due to the load.
_AFTER_LOAD_MS = 60_000


def is_after_load(at_ms: int, loads: Sequence[int]) -> bool:
    return any(0 <= at_ms - each <= _AFTER_LOAD_MS for each in loads)


def failed_over(scene: Scene) -> Iterator[EpisodeDraft]:
    """Members whose client lost its session while the group had no coordinator; members that the
    new coordinator does not know, or that did not find it within a session, and are back; static
    members that it fences, as it loaded an older id.
    """
    loads = scene.activity.loads
    for series in in_series(scene.of(What.SESSION_LOST), AT_ONCE_MS, when=_joined_ms):
        confidence = min(each.confidence for each in series)
        yield EpisodeDraft(EpisodeKind.COORDINATOR_FAILOVER, series, confidence)
    if not loads:
        return
    unheard = [
        each
        for each in scene.of(What.EXPIRED)
        if each.departure and each.arrival and is_unheard_since_load(each.departure, loads)
        if not each.was_fenced
    ]
    fenced = [each for each in scene.changes if _is_fenced(each, loads)]
    forgotten = [each for each in scene.of(What.STARTED) if _is_forgotten(each, scene)]
    for series in in_series(unheard, AT_ONCE_MS):
        yield EpisodeDraft(EpisodeKind.COORDINATOR_FAILOVER, series, 0.6)
    for series in in_series(fenced, AT_ONCE_MS):
        yield EpisodeDraft(EpisodeKind.COORDINATOR_FAILOVER, series, 0.9)
    for series in in_series(forgotten, AT_ONCE_MS):
        if len(series) > 1:
            yield EpisodeDraft(EpisodeKind.COORDINATOR_FAILOVER, series, 0.8)


def _is_fenced(change: ProcessChange, loads: Sequence[int]) -> bool:
    if change.departure is None or not (change.what is What.TAKEOVER or change.was_fenced):
        return False
    is_unheard = change.was_fenced and is_unheard_since_load(change.departure, loads)
    return is_unheard or is_after_load(change.departed_ms, loads)


def _joined_ms(change: ProcessChange) -> int:
    return change.to_ms if change.arrival is None else at(change.arrival)


def _is_forgotten(change: ProcessChange, scene: Scene) -> bool:
    """Returns whether a process joins as a new member soon after a load, although it had not
    departed.
    """
    arrival = change.arrival
    if arrival is None or arrival.story != RETURN:
        return False
    return is_after_load(at(arrival), scene.activity.loads) and _had_members(arrival, scene)


def _had_members(arrival: Cause, scene: Scene) -> bool:
    made = (arrival.incarnation, arrival.generation)
    before = [each for each in scene.history.values() if each.id < made]
    last = max(before, key=lambda each: each.id, default=None)
    return last is not None and last.outcome != EMPTY and last.member_count > 0
