"""Divides a group's history at pauses between its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from coordinator_core.episodes.evidence import ABSORBED, Activity, Cause, Rebalance

# Rebalances and causes with a longer pause between them belong to different episodes.
PAUSE_MS = 15 * 60_000
# An activity ends at midnight UTC if it began at least this long before, so that the episodes of a
# date depend on only the last hours of the previous date.
BEFORE_MIDNIGHT_MS = 3_600_000
DAY_MS = 86_400_000


class _Event(NamedTuple):
    from_ms: int
    to_ms: int
    order: tuple[int, int, int]  # incarnation and generation; rebalances come before causes
    item: Rebalance | Cause


def activities(rebalances: Iterable[Rebalance], causes: Iterable[Cause]) -> Iterator[Activity]:
    """Activities are in order of time.  A cause without a time gets the time of its rebalance."""
    rebalances = list(rebalances)
    events = sorted(_events(rebalances, causes), key=lambda each: (each.from_ms, each.order))
    begun: list[_Event] = []
    reached_ms = 0
    for event in events:
        if begun and _is_cut(begun, reached_ms, event):
            yield _activity(begun)
            begun = []
        reached_ms = max(reached_ms, event.to_ms) if begun else event.to_ms
        begun.append(event)
    if begun:
        yield _activity(begun)


def _is_cut(begun: Sequence[_Event], reached_ms: int, event: _Event) -> bool:
    midnight_ms = event.from_ms // DAY_MS * DAY_MS
    is_next_date = begun[0].from_ms < midnight_ms - BEFORE_MIDNIGHT_MS
    is_reborn = event.item.incarnation != begun[-1].item.incarnation
    return event.from_ms - reached_ms > PAUSE_MS or is_next_date or is_reborn


def _events(rebalances: Sequence[Rebalance], causes: Iterable[Cause]) -> Iterator[_Event]:
    times, types = {}, {}
    for each in rebalances:
        times[each.id], types[each.id] = each.from_ms, each.group_type
        yield _Event(each.from_ms, each.to_ms, (*each.id, 0), each)
    for cause in causes:
        generation = cause.incarnation, cause.generation
        began_ms = times.get(generation, 0)
        at_ms = began_ms if cause.at_ms is None else cause.at_ms
        # A trigger is logged right before its rebalance: keep both together.
        from_ms = at_ms if cause.role == ABSORBED else max(at_ms, began_ms)
        group_type = types.get(generation, cause.group_type)
        timed = cause._replace(at_ms=at_ms, group_type=group_type)
        yield _Event(from_ms, from_ms, (*generation, 1), timed)


def _activity(events: Sequence[_Event]) -> Activity:
    """Causes of a rebalance may be logged before it: the rebalances are in order of generations.

    A member without a record is assumed to have the session timeout of the other members, and to be
    the process with its client id, if records show only one such process.
    """
    items = [each.item for each in events]
    rebalances = sorted((i for i in items if isinstance(i, Rebalance)), key=lambda each: each.id)
    causes = [each for each in items if isinstance(each, Cause)]
    generations = {each.generation for each in rebalances}
    usual_ms = max((each.session_timeout_ms for each in causes), default=0)
    processes = _by_client(causes)
    return Activity(
        events[0].from_ms,
        [each._replace(settings=_changed_within(each, generations)) for each in rebalances],
        [
            each._replace(
                session_timeout_ms=each.session_timeout_ms or usual_ms,
                process=each.process or processes.get(each.client),
            )
            for each in causes
        ],
    )


def _by_client(causes: Sequence[Cause]) -> dict[str, str]:
    """The process of each client id that only one process has."""
    names: dict[str, set[str]] = {}
    for each in causes:
        if each.process is not None and each.instance_id is None:
            names.setdefault(each.client, set()).add(each.process)
    one = {client: min(of) for client, of in names.items() if len(of) == 1}
    # If several processes share a client id and host, each member counts as a process.
    member_ids = {each.member_id for each in causes}
    return {client: process for client, process in one.items() if process not in member_ids}


def _changed_within(rebalance: Rebalance, generations: set[int]) -> list[tuple[int, str]]:
    """Settings that changed within the activity: evidence from before it may be missing."""
    return [(before, text) for before, text in rebalance.settings if before in generations]
