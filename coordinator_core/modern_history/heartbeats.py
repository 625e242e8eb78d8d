"""Estimates how often the members of a group send heartbeats, and after how long without one they
expire.

No record has the heartbeat interval or the session timeout: they are settings of the broker or of
the group.  If a setting is unknown, or had another value at that time, times show its value.
Members write their current assignments at heartbeats, so the times of these records show the
interval.  A session expires a session timeout after the last heartbeat, so the timeout is the time
from a member's record to its expiry, less a number of intervals.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.modern_history.members import AWAY
from coordinator_core.modern_history.memberships import MemberStep, ModernMembership
from coordinator_core.protocol.client_times import COMMIT_INTERVAL_MS, COMMIT_JITTER_MS

# Defaults of group.consumer.heartbeat.interval.ms, group.consumer.session.timeout.ms, and those of
# share and streams groups.
INTERVAL_MS, SESSION_MS = 5000, 45_000
# Default limits of the intervals that group configurations allow are 5 s and 15 s; tests use lower
# values.
LEAST_INTERVAL_MS, MOST_INTERVAL_MS = 800, 15_250
# Records of one heartbeat are written within this time.
SAME_HEARTBEAT_MS = 50
# A client acknowledges a revocation by an extra heartbeat, sent within this time.
ACKNOWLEDGED_MS = 1600
_SIMILAR_MS, _PHASE_MS = 100, 250
_LEAST_SIMILAR = 3
_CLEARLY_MORE = 1.4
_ROUND_MS, _STEP_MS = 5000, 1000


@dataclass(frozen=True, slots=True)
class Timing:
    """Fields of a group's members."""

    interval_ms: int
    session_ms: int


class ConfiguredTiming(NamedTuple):
    """The settings in force; None: unknown."""

    interval_ms: int | None = None
    session_ms: int | None = None


NOT_CONFIGURED = ConfiguredTiming()


@dataclass(frozen=True, slots=True)
class Expiry:
    """A session that expired at ``at_ms``, and what bounds the member's last heartbeat before.

    ``heard_ms`` is the time of its last record.  ``committed_ms`` has the times of its last
    commits, oldest first. ``silent_ms`` is a time after which the member sent no heartbeat: it
    closed (a static member), or a target was computed that it did not take.  ``session_ms`` is the
    timeout of a classic member, whose request contains it.
    """

    at_ms: int
    heard_ms: int
    committed_ms: tuple[int, ...] = ()
    silent_ms: int | None = None
    session_ms: int | None = None


def interval_of(memberships: Iterable[ModernMembership], usual_ms: int | None = None) -> int:
    """The most frequent time between two records of a member, in ms; without any, ``usual_ms`` or
    the default.
    """
    between = sorted(
        later - earlier
        for membership in memberships
        for earlier, later in pairwise(_in_turn(membership.steps))
        if LEAST_INTERVAL_MS <= later - earlier <= MOST_INTERVAL_MS
    )
    similar = [
        range(bisect_left(between, ms - _SIMILAR_MS), bisect_right(between, ms + _SIMILAR_MS))
        for ms in between
    ]
    most = max(map(len, similar), default=0)
    if most < _LEAST_SIMILAR:
        return usual_ms or INTERVAL_MS
    # Several heartbeat intervals may pass between two records, so the smallest frequent difference
    # is the interval.
    near = next(each for each in similar if len(each) >= max(_LEAST_SIMILAR, most / 3))
    chosen = between[near.start : near.stop]
    frequent_ms = round(chosen[len(chosen) // 2] / _SIMILAR_MS) * _SIMILAR_MS
    return _halved(frequent_ms, between)


def _halved(frequent_ms: int, between: Sequence[int]) -> int:
    """Half of the interval, if it occurs and clearly more of the times are multiples of this
    half.
    """
    half_ms = frequent_ms // 2
    if not any(abs(each - half_ms) <= _SIMILAR_MS for each in between):
        return frequent_ms
    is_clear = _multiples(half_ms, between) >= _CLEARLY_MORE * _multiples(frequent_ms, between)
    return half_ms if is_clear else frequent_ms


def _multiples(interval_ms: int, between: Iterable[int]) -> int:
    return sum(_off_phase(each, interval_ms) <= _SIMILAR_MS for each in between)


def _in_turn(steps: Sequence[MemberStep]) -> list[int]:
    """The times of the heartbeats that were not sent to acknowledge a revocation or to leave."""
    times: list[int] = []
    asked_ms = None
    for step in steps:
        is_answer = asked_ms is not None and step.time_ms - asked_ms <= ACKNOWLEDGED_MS
        is_same = bool(times) and step.time_ms - times[-1] <= SAME_HEARTBEAT_MS
        if step.epoch != AWAY and not is_answer and not is_same:
            times.append(step.time_ms)
        asked_ms = step.time_ms if step.pending else None
    return times


def timing_of(
    interval_ms: int, expiries: Iterable[Expiry], configured_ms: int | None = None
) -> Timing:
    """The session timeout ``configured_ms`` if the expiries can have it, else the timeout in whole
    seconds that explains them best.
    """
    own = [each for each in expiries if each.session_ms is None]
    return Timing(interval_ms, _session_of(own, interval_ms, configured_ms))


def _session_of(expiries: Sequence[Expiry], interval_ms: int, configured_ms: int | None) -> int:
    """A timeout within the bounds of all expiries for which the last heartbeats are whole intervals
    after the members' records: the default, else a multiple of 5 s, else the longest.
    """
    if not expiries:
        return configured_ms or SESSION_MS
    longest_ms = min(_longest_ms(each, interval_ms) for each in expiries)
    shortest_ms = max(_shortest_ms(each) for each in expiries)
    late_ms = longest_ms + _STEP_MS // 20
    if configured_ms is not None and shortest_ms <= configured_ms <= late_ms:
        return configured_ms
    candidates = range(_STEP_MS, late_ms + 1, _STEP_MS)
    possible = [each for each in candidates if each >= shortest_ms] or [longest_ms]
    # Timeouts that differ by whole intervals fit equally well.
    phases = {each % interval_ms for each in possible}
    fits = {each: _fits(each, expiries, interval_ms) for each in phases}
    most = max(fits.values())
    likely = [each for each in possible if fits[each % interval_ms] >= 0.6 * most]
    return max(likely, key=lambda each: (each == SESSION_MS, each % _ROUND_MS == 0, each))


def _longest_ms(expiry: Expiry, interval_ms: int) -> int:
    """The last heartbeat was not before the member's record, nor more than an interval before its
    last commit."""
    committed_ms = max((each - interval_ms for each in expiry.committed_ms), default=0)
    return expiry.at_ms - max(expiry.heard_ms, committed_ms)


def _shortest_ms(expiry: Expiry) -> int:
    """The last heartbeat was before the member was silent, and before its next automatic commit
    was due."""
    until_ms = [expiry.at_ms if expiry.silent_ms is None else expiry.silent_ms]
    if commits_in_turn(expiry.committed_ms):
        until_ms.append(expiry.committed_ms[-1] + COMMIT_INTERVAL_MS + COMMIT_JITTER_MS)
    return max(0, expiry.at_ms - min(until_ms))


def commits_in_turn(committed_ms: Sequence[int]) -> bool:
    """Returns whether one of the last commits was automatic: an interval after the previous one.

    A client also commits when it gives up partitions.
    """
    between = [later - earlier for earlier, later in pairwise(committed_ms)][-2:]
    return any(abs(each - COMMIT_INTERVAL_MS) <= COMMIT_JITTER_MS for each in between)


def _fits(session_ms: int, expiries: Iterable[Expiry], interval_ms: int) -> int:
    return sum(
        _off_phase(each.at_ms - each.heard_ms - session_ms, interval_ms) <= _PHASE_MS
        for each in expiries
    )


def _off_phase(ms: int, interval_ms: int) -> int:
    return abs((ms + interval_ms // 2) % interval_ms - interval_ms // 2)
