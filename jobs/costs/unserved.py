"""Times in which an owned partition had records, but nobody handled them.

A partition's position advances with commits.  The partition is unserved

slow_poll, frozen   from the time at which its owner stopped (`jobs.costs.rules`) until the end of
                    the ownership: the client left after max.poll.interval.ms, or its session
                    expired, and the process was still alive;
stuck               while its position stands still, and its owner's other partitions advance;
owner_stalled       while no partition of its owner advances;
no_progress         as stuck, but without log end offsets: perhaps the partition had no records.

A position always stands still between two commits, so up to 1.5 commit intervals
(`QUIET_INTERVALS`) do not count as unserved.  Log end offsets show since when there was work.  A
tenure without any commit, whose next owner begins at the same offset, was unserved as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coordinator_core.protocol.client_times import BATCH_INTERVAL_MS, commits_batches
from jobs.costs.habits import DAY_MS, by_date
from jobs.costs.rules import QUIET_INTERVALS
from jobs.costs.series import LATEST_MS, NONE, Flags, Floats, Ints, Series
from jobs.costs.tenures import dense
from jobs.lake.dates import NEVER_MS

SLOW_POLL, FROZEN, STUCK, OWNER_STALLED, NO_PROGRESS = range(5)
REASONS = ("slow_poll", "frozen", "stuck", "owner_stalled", "no_progress")
# Shorter pauses of a position are normal for fetches and commits.
LEAST_MS = 4000
# A short tenure counts as unserved if its position has not moved for this many times the usual
# limit when the tenure ends.
SHORT_TENURES = 2
# Maximum delay of a client's commit.
LATE_MS = 1000
# The position before an assignment comes from commits at most this long before the assignment,
# because a run for some dates reads no older commits.
LOOKBACK_MS = 3_600_000
# Without log end offsets, a partition makes no progress if its position does not move for this time
# and for this many mean commit intervals of the partition.  The mean covers MEAN_OF intervals.
LEAST_IDLE_MS, IDLE_INTERVALS, MEAN_OF = 60_000, 20, 10


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """One element per assignment of a partition that its owner took, with times in ms.

    ``row`` is the row of the assignment in the input.  ``owner`` is a number per process and group.
    ``until_ms`` is the end, at the latest the partition's next assignment.  ``stop_ms`` says when
    the owner stopped handling records although it owned the partition, and ``reason``; NEVER_MS if
    it did not.  ``position`` at this time; NaN if unknown.
    """

    row: Ints
    group: Ints
    part: Ints
    owner: Ints
    from_ms: Ints
    until_ms: Ints
    stop_ms: Ints
    reason: Ints
    position: Floats
    interval_ms: Floats


@dataclass(frozen=True, kw_only=True)
class Stretches:
    """``piece`` is the index in Pieces.  ``committed`` is the offset, NONE without a commit."""

    piece: Ints
    from_ms: Ints
    to_ms: Ints
    reason: Ints
    committed: Ints
    is_estimated: Flags


@dataclass(frozen=True, kw_only=True)
class _Flat:
    """The time between two advances of a partition within a piece.

    ``is_after_own`` and ``is_before_own`` mean that its owner made these advances.
    ``has_stopped``: see `_stopped_before`.
    """

    piece: Ints
    advance: Ints
    begin_ms: Ints
    end_ms: Ints
    work_ms: Ints
    is_after_own: Flags
    is_before_own: Flags
    has_stopped: Flags


def advances_of(commits: Series) -> Series:
    """The commits that changed the partition's position."""
    is_same = np.zeros(len(commits.part), bool)
    is_same[1:] = commits.part[1:] == commits.part[:-1]
    is_same[1:] &= commits.value[1:] == commits.value[:-1]
    chosen = ~is_same
    return Series(commits.part[chosen], commits.at_ms[chosen], commits.value[chosen])


def stretches(pieces: Pieces, commits: Series, ends: Series) -> Stretches:
    """All unserved times, cut at midnight UTC."""
    advances = advances_of(commits)
    work = _Work(ends)
    stopped_ms = _stopped_before(pieces, advances, work)
    pieces = _stopped_in_time(pieces, commits, advances, stopped_ms)
    explained = _explained(pieces, advances, work)
    both = _joined(explained, _by_commits(pieces, advances, stopped_ms, work))
    return _by_date(both, pieces, commits)


def _stopped_before(pieces: Pieces, advances: Series, work: _Work) -> Ints:
    """Per advance, the time at which its owner stopped before this commit; NONE if the owner went
    on.

    An owner that had handled all records at the previous commit, and lags at this one, stopped when
    the log got the first record that this commit lacks.  A client that commits each batch stopped
    at the previous commit.
    """
    piece = _piece_at(pieces, advances.part, advances.at_ms)
    interval_ms = np.where(piece == NONE, 0, pieces.interval_ms[piece]).astype(np.int64)
    usual_ms = LATE_MS + np.where(interval_ms <= BATCH_INTERVAL_MS, 2 * interval_ms, LATE_MS)
    is_batch = commits_batches(interval_ms)
    since_ms = work.since_ms(advances.part, advances.value, np.zeros(len(piece), np.int64))
    lags = work.is_known(advances.part) & (since_ms < advances.at_ms - usual_ms)
    stopped_ms = np.full(len(piece), NONE)
    is_next = (piece[1:] == piece[:-1]) & (piece[1:] != NONE) & ~lags[:-1] & lags[1:]
    is_next &= ~is_batch[1:]
    stopped_ms[1:][is_next] = np.maximum(since_ms[1:], advances.at_ms[:-1])[is_next]
    return stopped_ms


def _stopped_in_time(pieces: Pieces, commits: Series, advances: Series, stopped_ms: Ints) -> Pieces:
    """An owner stopped no later than the first commit that it missed, or that lacks records."""
    until_ms = np.minimum(pieces.stop_ms, pieces.until_ms)
    last = advances.last(pieces.part, until_ms)
    is_own = advances.times(last) >= pieces.from_ms
    last_ms = np.where(is_own, advances.times(last), NONE)
    lagged_ms = np.where(is_own & (last != NONE), stopped_ms[last], NONE)
    # This key groups all partitions that an owner had when it stopped.
    key = dense(pieces.owner, pieces.stop_ms)
    size = int(key.max(initial=-1)) + 1
    of_owner, lagged_of_owner = np.full(size, NONE), np.full(size, NONE)
    np.maximum.at(of_owner, key, last_ms)
    np.maximum.at(lagged_of_owner, key, lagged_ms)
    last_ms, lagged_ms = of_owner[key], lagged_of_owner[key]
    interval_ms = pieces.interval_ms.astype(np.int64)
    due_ms = np.where(lagged_ms != NONE, lagged_ms, last_ms + interval_ms // 2)
    is_late = (lagged_ms != NONE) | (pieces.stop_ms > last_ms + interval_ms + LATE_MS)
    is_late &= (last_ms != NONE) & (pieces.stop_ms < NEVER_MS) & (due_ms < pieces.stop_ms)
    return replace(
        pieces,
        stop_ms=np.where(is_late, due_ms, pieces.stop_ms),
        position=np.where(is_late & (last != NONE), advances.values(last), pieces.position),
    )


class _Work:
    """The time since when the log of a partition had the next record."""

    def __init__(self, ends: Series) -> None:
        self._ends = ends
        # Offsets of a topic that was created again start at 0.
        self._key = np.maximum.accumulate((ends.part << 42) | ends.value)
        self._parts = np.unique(ends.part)

    def is_known(self, part: Ints) -> Flags:
        return np.isin(part, self._parts)

    def since_ms(self, part: Ints, position: Ints, earliest_ms: Ints) -> Ints:
        """The time at which the log got a record at this position, or the earliest time if that is
        later; NEVER_MS if it had none until its last sighting.  Without log end offsets, the log
        always had the record.
        """
        if not len(self._key):
            return earliest_ms
        at = np.searchsorted(self._key, (part << 42) | position, side="right")
        after = np.minimum(at, len(self._key) - 1)
        before = np.maximum(after - 1, 0)
        has_record = (at == after) & (self._ends.part[after] == part)
        begin, end = self._ends.value[before], self._ends.value[after]
        took_ms = self._ends.at_ms[after] - self._ends.at_ms[before]
        share = np.clip((position + 1 - begin) / np.maximum(end - begin, 1), 0, 1)
        since_ms = self._ends.at_ms[before] + np.rint(took_ms * share).astype(np.int64)
        is_first = (after == 0) | (self._ends.part[before] != part)
        since_ms = np.where(is_first, earliest_ms, np.maximum(since_ms, earliest_ms))
        return np.where(has_record, since_ms, np.where(self.is_known(part), NEVER_MS, earliest_ms))


def _explained(pieces: Pieces, advances: Series, work: _Work) -> Stretches:
    """Stretches from an owner's stop to the end of its ownership."""
    has_position = ~np.isnan(pieces.position)
    piece = np.flatnonzero((pieces.stop_ms < pieces.until_ms) & has_position)
    part, from_ms = pieces.part[piece], np.maximum(pieces.stop_ms, pieces.from_ms)[piece]
    position = pieces.position[piece].astype(np.int64)
    from_ms = work.since_ms(part, position, from_ms)
    to_ms = pieces.until_ms[piece]
    is_long = to_ms - from_ms >= LEAST_MS
    last = advances.last(part, to_ms)
    return Stretches(
        piece=piece[is_long],
        from_ms=from_ms[is_long],
        to_ms=to_ms[is_long],
        reason=pieces.reason[piece][is_long],
        committed=advances.values(last)[is_long],
        is_estimated=np.ones(int(is_long.sum()), bool),
    )


def _by_commits(pieces: Pieces, advances: Series, stopped_ms: Ints, work: _Work) -> Stretches:
    """Stretches in which a position stood still although there was work."""
    flat = _flat(pieces, advances, stopped_ms, work)
    part = advances.part[flat.advance]
    interval_ms = pieces.interval_ms[flat.piece].astype(np.int64)
    from_ms = np.maximum(flat.begin_ms, flat.work_ms)
    took_ms = np.maximum(flat.end_ms - from_ms, 0)
    usual_ms = np.maximum(QUIET_INTERVALS * interval_ms + LATE_MS, LEAST_MS)
    # Short tenures without a commit count whole if their position had not moved for a long time
    # before.
    is_whole = ~flat.is_after_own & ~flat.is_before_own
    stood_ms = flat.end_ms - advances.at_ms[flat.advance]
    is_long = (took_ms > usual_ms) | (is_whole & (stood_ms > SHORT_TENURES * usual_ms))
    is_known = work.is_known(part)
    is_long &= is_known | _makes_no_progress(flat, advances)
    owners = _owners(pieces, advances)
    owner = pieces.owner[flat.piece]
    after = owners.first(owner, from_ms + interval_ms // 2)
    others_advance = (after != NONE) & (owners.times(after) < flat.end_ms)
    is_long &= is_known | others_advance
    # An owner whose next commit is missing may have processed records until that commit was due.
    is_sure = others_advance | ~flat.is_after_own | flat.has_stopped
    from_ms = np.where(is_sure, from_ms, np.maximum(flat.begin_ms + interval_ms // 2, flat.work_ms))
    to_ms = np.where(flat.is_before_own, flat.end_ms - interval_ms // 2, flat.end_ms)
    is_long &= to_ms - from_ms >= LATE_MS
    reason = np.where(others_advance, np.where(is_known, STUCK, NO_PROGRESS), OWNER_STALLED)
    return Stretches(
        piece=flat.piece[is_long],
        from_ms=from_ms[is_long],
        to_ms=to_ms[is_long],
        reason=reason[is_long],
        committed=advances.value[flat.advance][is_long],
        is_estimated=(~is_sure | flat.is_before_own)[is_long],
    )


def _flat(pieces: Pieces, advances: Series, stopped_ms: Ints, work: _Work) -> _Flat:
    """Each time of LEAST_MS or more between an advance and the partition's next advance, cut at the
    pieces, and at the stops of their owners.
    """
    count = len(advances.part)
    next_ms = np.full(count, LATEST_MS)
    is_same = advances.part[1:] == advances.part[:-1]
    next_ms[:-1][is_same] = advances.at_ms[1:][is_same]
    # An owner that stopped before its next commit had processed all records until then.
    has_gone_on = np.append(stopped_ms[1:] != NONE, False)
    begin_ms = np.where(stopped_ms == NONE, advances.at_ms, stopped_ms)
    is_long = (next_ms - begin_ms >= LEAST_MS) & ~has_gone_on
    from_key = (pieces.part << 42) | pieces.from_ms
    until_key = (pieces.part << 42) | pieces.until_ms
    first = np.searchsorted(until_key, (advances.part << 42) | begin_ms, side="right")
    behind = np.searchsorted(from_key, (advances.part << 42) | next_ms, side="left")
    pairs = np.where(is_long, np.maximum(behind - first, 0), 0)
    advance = np.repeat(np.arange(count), pairs)
    piece = np.repeat(first - np.cumsum(pairs) + pairs, pairs) + np.arange(len(advance))
    at_ms, following_ms = advances.at_ms[advance], next_ms[advance]
    from_ms, until_ms = pieces.from_ms[piece], pieces.until_ms[piece]
    is_near = at_ms >= from_ms - LOOKBACK_MS
    advance, piece, at_ms, following_ms, from_ms, until_ms = (
        each[is_near] for each in (advance, piece, at_ms, following_ms, from_ms, until_ms)
    )
    has_stopped = stopped_ms[advance] != NONE
    begin_ms = np.maximum(begin_ms[advance], from_ms)
    stop_ms = np.maximum(pieces.stop_ms[piece], begin_ms)
    end_ms = np.minimum(np.minimum(following_ms, until_ms), stop_ms)
    part = advances.part[advance]
    return _Flat(
        piece=piece,
        advance=advance,
        begin_ms=begin_ms,
        end_ms=end_ms,
        work_ms=work.since_ms(part, advances.value[advance], begin_ms),
        is_after_own=at_ms >= from_ms,
        is_before_own=following_ms <= until_ms,
        has_stopped=has_stopped,
    )


def _makes_no_progress(flat: _Flat, advances: Series) -> Flags:
    """Returns whether the partition advanced regularly before, and then for a long time did not."""
    before = np.maximum(flat.advance - MEAN_OF, 0)
    at_ms = advances.at_ms[flat.advance]
    regular_ms = at_ms - advances.at_ms[before]
    is_regular = advances.part[before] == advances.part[flat.advance]
    is_regular &= (flat.advance >= MEAN_OF) & (regular_ms <= LOOKBACK_MS)
    least_ms = np.maximum(LEAST_IDLE_MS, regular_ms * IDLE_INTERVALS / MEAN_OF)
    return np.asarray(is_regular & (flat.end_ms - at_ms >= least_ms))


def _owners(pieces: Pieces, advances: Series) -> Series:
    """The times at which an owner's partitions advanced."""
    piece = _piece_at(pieces, advances.part, advances.at_ms)
    is_own = piece != NONE
    return Series(pieces.owner[piece[is_own]], advances.at_ms[is_own], advances.part[is_own])


def _piece_at(pieces: Pieces, part: Ints, at_ms: Ints) -> Ints:
    """The assignment in which the partition was owned at this time; NONE without."""
    until_key = (pieces.part << 42) | pieces.until_ms
    at = np.searchsorted(until_key, (part << 42) | at_ms, side="left")
    piece = np.minimum(at, len(until_key) - 1)
    is_own = (at == piece) & (pieces.part[piece] == part) & (pieces.from_ms[piece] <= at_ms)
    return np.where(is_own, piece, NONE)


def _joined(*parts: Stretches) -> Stretches:
    names = Stretches.__dataclass_fields__
    return Stretches(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def _by_date(all_of: Stretches, pieces: Pieces, commits: Series) -> Stretches:
    """Cut at midnight UTC before each date on which the group has commits.

    A run for some dates writes rows of the dates on which the group has events.
    """
    group_of_part = np.zeros(int(max(commits.part.max(), pieces.part.max(initial=0))) + 1, np.int64)
    group_of_part[pieces.part] = pieces.group
    of_commits = by_date(group_of_part[commits.part], commits.at_ms)
    # A partition's commits are in order, so most equal dates are neighbors.
    dates = np.unique(of_commits[np.append(True, of_commits[1:] != of_commits[:-1])])
    first = all_of.from_ms // DAY_MS
    count = (all_of.to_ms - 1) // DAY_MS - first + 1
    index = np.repeat(np.arange(len(first)), count)
    nth = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    date = first[index] + nth
    group = pieces.group[all_of.piece[index]]
    is_cut = (nth == 0) | np.isin(by_date(group, date * DAY_MS), dates)
    index, date = index[is_cut], date[is_cut]
    cut = {name: getattr(all_of, name)[index] for name in Stretches.__dataclass_fields__}
    cut["from_ms"] = np.maximum(cut["from_ms"], date * DAY_MS)
    goes_on = index[1:] == index[:-1]
    cut["to_ms"][:-1][goes_on] = cut["from_ms"][1:][goes_on]
    return Stretches(**cut)
