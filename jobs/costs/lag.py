"""The lag that a handover leaves: log end offsets minus the group's position.

The position stands still from the owner's stop until the next owner has fetched.  From then on the
lag is known at each commit, and is interpolated in between.  If the first commit shows no lag, the
next owner caught up as soon as it had fetched, because handling a backlog takes less time than an
interval of commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coordinator_core.protocol.client_times import FETCH_MS
from jobs.costs.rules import CommitProgress, Reprocessed
from jobs.costs.series import NONE, Floats, Ints, Series
from jobs.costs.tenures import Tenures
from jobs.lake.dates import NEVER_MS

# The lag is followed for this long after the next assignment, so that settled rows do not depend on
# later dates (`jobs.group_days`).
FOLLOWED_MS = 300_000
# A partition has caught up if its lag is at most this many records, plus the records that arrive in
# this time.
LEAST_LAG, LEAST_LAG_MS = 2.0, 1500
# If two sightings are this far apart, the log end offset between the sightings is unknown.
LONGEST_UNSEEN_MS = 900_000


@dataclass(frozen=True, kw_only=True)
class Lag:
    """``peak`` in records, ``catch_up_ms`` from the owner's stop, ``record_seconds``: records times
    the time that they waited; NaN for null."""

    peak: Floats
    catch_up_ms: Floats
    record_seconds: Floats


class LogEnds:
    """Log end offsets of partitions, interpolated between sightings."""

    def __init__(self, ends: Series) -> None:
        self._ends = ends
        area = np.zeros(len(ends.part))
        if len(area) > 1:
            took_ms = np.diff(ends.at_ms) * (ends.part[1:] == ends.part[:-1])
            area[1:] = np.cumsum((ends.value[1:] + ends.value[:-1]) / 2 * took_ms)
        self._area = area

    def until(self, part: Ints) -> Ints:
        """The time of each partition's last sighting."""
        return self._ends.times(self._ends.last(part, np.full(len(part), NEVER_MS)))

    def offsets(self, part: Ints, at_ms: Ints) -> Floats:
        """NaN before the first sighting and after the last one."""
        before, after, share = self._around(part, at_ms)
        begin, end = self._ends.values(before), self._ends.values(after)
        return np.where(share >= 0, begin + (end - begin) * share, np.nan)

    def area(self, part: Ints, from_ms: Ints, to_ms: Ints) -> Floats:
        """The integral of the log end offset over this time, in records times ms."""
        return self._until(part, to_ms) - self._until(part, from_ms)

    def _until(self, part: Ints, at_ms: Ints) -> Floats:
        before, _, share = self._around(part, at_ms)
        took_ms = at_ms - self._ends.times(before)
        middle = (self._ends.values(before) + self.offsets(part, at_ms)) / 2
        area = self._area[np.maximum(before, 0)] if len(self._area) else np.zeros(len(part))
        return np.where(share >= 0, area + middle * took_ms, np.nan)

    def _around(self, part: Ints, at_ms: Ints) -> tuple[Ints, Ints, Floats]:
        """The sightings before and after, and the share of the time between them that has passed;
        NONE without both."""
        before, after = self._ends.last(part, at_ms), self._ends.first(part, at_ms)
        took_ms = self._ends.times(after) - self._ends.times(before)
        is_known = (before != NONE) & (after != NONE) & (took_ms <= LONGEST_UNSEEN_MS)
        share = (at_ms - self._ends.times(before)) / np.maximum(took_ms, 1)
        return before, after, np.where(is_known, share, NONE)


def lag_of(t: Tenures, p: CommitProgress, r: Reprocessed, commits: Series, ends: LogEnds) -> Lag:
    """The lag from the stop of each owner until the partition has caught up, or the next owner
    stops.
    """
    has_next = t.next_ms < NEVER_MS
    next_stop_ms = _of_next(t, r.stop_ms, NEVER_MS)
    end_ms = np.minimum(np.where(has_next, t.next_ms, 0) + FOLLOWED_MS, next_stop_ms)
    end_ms = np.minimum(end_ms, ends.until(t.part))
    resumed_ms = np.minimum(np.where(has_next, t.next_ms, 0) + FETCH_MS, end_ms)
    end_ms = np.maximum(end_ms, resumed_ms)
    stopped_ms = np.minimum(r.stop_ms, resumed_ms)
    handled = np.where(np.isnan(r.handled), p.last_offset, r.handled)
    position = np.fmin(handled, ends.offsets(t.part, stopped_ms))
    waited = ends.area(t.part, stopped_ms, resumed_ms) - position * (resumed_ms - stopped_ms)
    resumed = ends.offsets(t.part, resumed_ms) - position
    behind = _Behind(commits, ends)
    first = commits.first(t.part, resumed_ms)
    first = np.where(commits.times(first) > end_ms, NONE, first)
    usual = _usual(p)
    caught = behind.next_below(first, _of_parts(usual, t.part, commits))
    caught = np.where(commits.times(caught) > end_ms, NONE, caught)
    # Before the next owner's first commit is due, assume no lag if the previous owner had none.
    was_near = ends.offsets(t.part, stopped_ms) - position <= usual
    is_assumed = (first == NONE) & was_near & (end_ms - resumed_ms <= 1.5 * p.interval_ms)
    is_assumed &= _of_next(t, r.position, np.inf) > p.last_offset
    last = np.where(caught != NONE, caught, commits.last(t.part, end_ms))
    last = np.where(first == NONE, NONE, last)
    # Sum three parts: until the first commit, from the first to the last commit, and from the last
    # commit to the end.
    first_behind = np.where(first == NONE, 0, behind.at(first))
    to_first = np.where(
        (first == NONE) | (first == caught),
        0,
        (resumed + first_behind) / 2 * (commits.times(first) - resumed_ms),
    )
    between = np.where(last == NONE, 0, behind.area(first, last))
    since_ms = np.where(last == NONE, resumed_ms, commits.times(last))
    offset = np.where(last == NONE, position, commits.values(last))
    rest = ends.area(t.part, since_ms, end_ms) - offset * (end_ms - since_ms)
    has_caught = (caught != NONE) | is_assumed
    rest = np.where(has_caught, 0, np.nan_to_num(rest))
    area = np.maximum(waited, 0) + to_first + between + rest
    peak = np.fmax(resumed, np.where(last == NONE, np.nan, behind.most(first, last)))
    final = ends.offsets(t.part, end_ms) - offset
    peak = np.where(has_caught, peak, np.fmax(peak, final))
    at_once = is_assumed | ((first != NONE) & (first == caught))
    caught_ms = np.where(at_once, resumed_ms, commits.times(caught))
    is_known = has_next & (p.last != NONE) & ~np.isnan(resumed)
    return Lag(
        peak=np.where(is_known, np.maximum(peak, 0), np.nan),
        catch_up_ms=np.where(is_known & has_caught, caught_ms - stopped_ms, np.nan),
        record_seconds=np.where(is_known, area / 1000, np.nan),
    )


def _of_next(t: Tenures, values: Any, otherwise: float) -> Any:
    """The value of each partition's next tenure, if it has ended."""
    following = np.full(len(values), otherwise, dtype=np.asarray(values).dtype)
    is_next = (t.part[1:] == t.part[:-1]) & (t.next_ms[:-1] == t.from_ms[1:])
    following[:-1][is_next] = values[1:][is_next]
    return following


def _usual(p: CommitProgress) -> Floats:
    """The lag of a partition that is consumed without delay."""
    usual = p.rate * np.where(p.is_batch, 1.5 * p.interval_ms, LEAST_LAG_MS)
    return np.maximum(np.nan_to_num(usual), LEAST_LAG)


def _of_parts(usual: Floats, part: Ints, commits: Series) -> Floats:
    """The highest value of each partition's tenures."""
    of_parts = np.full(int(max(commits.part.max(initial=-1), part.max(initial=-1))) + 1, LEAST_LAG)
    np.maximum.at(of_parts, part, usual)
    return of_parts


class _Behind:
    """The lag at each commit."""

    def __init__(self, commits: Series, ends: LogEnds) -> None:
        self._commits = commits
        self._lag = np.maximum(ends.offsets(commits.part, commits.at_ms) - commits.value, 0)
        lag = np.nan_to_num(self._lag)
        took_ms = np.diff(commits.at_ms, prepend=0)
        middle = (lag + np.append(0, lag[:-1])) / 2 if len(lag) else lag
        self._area = np.cumsum(middle * took_ms)

    def at(self, commit: Ints) -> Floats:
        return self._lag[np.maximum(commit, 0)] if len(self._lag) else np.zeros(len(commit))

    def area(self, first: Ints, last: Ints) -> Floats:
        if not len(self._area):
            return np.zeros(len(first))
        area: Floats = self._area[np.maximum(last, 0)] - self._area[np.maximum(first, 0)]
        return area

    def most(self, first: Ints, last: Ints) -> Floats:
        """The greatest lag from one commit to another."""
        if not len(self._lag):
            return np.zeros(len(first))
        lag = np.append(np.nan_to_num(self._lag), 0)
        bounds = np.stack([np.maximum(first, 0), np.maximum(last, first) + 1], axis=1)
        bounds = np.clip(bounds, 0, len(lag) - 1).ravel()
        return np.asarray(np.maximum.reduceat(lag, bounds)[::2])

    def next_below(self, first: Ints, least: Floats) -> Ints:
        """The partition's first commit from ``first`` on with at most this lag."""
        if not len(self._lag):
            return np.full(len(first), NONE)
        count, part = len(self._lag), self._commits.part
        is_below = self._lag <= least[part]
        at = np.where(is_below, np.arange(count), count)
        following = np.minimum.accumulate(at[::-1])[::-1]
        next_ = np.where(first == NONE, count, following[np.maximum(first, 0)])
        within = np.minimum(next_, count - 1)
        is_own = (next_ < count) & (part[within] == part[np.maximum(first, 0)])
        return np.where(is_own, next_, NONE)
