"""The number of records that the next owner of a partition handles again: rules for one tenure.

A consumer's position is known when it commits.  After its last commit the consumer continues at the
partition's rate until it stops.  The next owner begins at the committed offset and handles the
records in between again, as far as it gets: a next owner that stops at once leaves the rest to the
owner after it.  The events of the owner decide when it stopped:

revoked, left   A client commits when it gives a partition up: 0.  Eager members do so from 1.5 s
                before the rebalance begins until the next assignment.  If most members that had
                new records in the rebalance did not commit, clients of this group do not commit:
                all records from the last commit to the end.  Java's cooperative members commit when
                a rebalance begins, and go on until the next assignment: the same.  If only one
                member did not commit, its commit failed: the same.
no commit       An owner that never committed began at the committed offset: it also handled the
                records between this commit and its assignment.
expired         The owner stopped between its last heartbeat and the next heartbeat, which was due,
                and before its next commit, if it commits at an interval.  Processes that end in one
                rebalance most likely have one cause: they stopped between all of these requests.
                A static member that closes commits, and does not leave.  An eager member commits
                before it rejoins.  Both stopped at this commit.
replaced        A static member stopped.  If its last commit was no automatic commit, the member
                closed then; else it stopped before the next commit.
batches         A client that commits each batch that it has handled loses only the batch in
                progress, and none when it gives a partition up: 0, at most what an automatic commit
                would lose.  Automatic commits follow a timer, in halves of a second.
slow            A client leaves max.poll.interval.ms after its application last polled; the
                application was busy with one batch since then.  A client that left without a
                commit, although other clients of its group committed, also left for this reason.
                Automatic commits may go on: the last one then has all records that the application
                got.
unknown         A partition with a single commit has no rate: null, unless the owner committed when
                it gave the partition up.
quiet           Alive for more than 1.5 commit intervals without a commit: nothing new, so 0; at
                most one interval's worth.
crashed         The owner began with a backlog, and sent no heartbeat or commit after that: it
                handled any part of the backlog.  In a crash loop, the partition with the oldest
                commit has a record that crashes each owner.  Clients take records partition by
                partition: the partitions before it were handled, and one in three of the partitions
                behind it.  If several partitions have the oldest commit, each of them may have the
                record.
zombie          The process was back after its session had expired: if it had been frozen, it may
                have handled records while others owned the partition.  The evidence cannot tell
                this from a restart, so the upper bound is not certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coordinator_core.protocol.client_times import (
    FETCH_MS,
    HEARTBEAT_MS,
    TIMER_TOLERANCE_MS,
    commits_batches,
)
from jobs.costs.habits import DAY_MS, Habits
from jobs.costs.series import NONE, Flags, Floats, Ints, Series
from jobs.costs.tenures import Tenures, dense
from jobs.lake.dates import NEVER_MS

# A commit at most this long before a rebalance counts as made at its revocation.
REVOCATION_MS = 1500
# If a partition has no commit for this many intervals, it had no new records.
QUIET_INTERVALS = 1.5
# A rate covers the records committed in this time before the last commit.  If the next assignment
# came soon, the rate also covers this time after it.
RATE_MS, LONGEST_RATE_MS = 40_000, 600_000
CAUGHT_UP_MS, SOON_MS = 20_000, 300_000
# Expected records count as new records from this number on.
LEAST_NEW = 5
# Tolerance of times inferred from heartbeats.
TOLERANCE_MS = 500
# A commit lacks records if it has at most this share of the expected records, and at least this
# many are expected.
LARGEST_SHARE, LEAST_EXPECTED = 0.75, 8
# heartbeat.interval.ms is typically no longer than session.timeout.ms divided by this number.
SESSION_HEARTBEATS = 3
# Share of a crashed process' partitions that it had processed although they come after the
# partition whose record crashed it.
HANDLED_BEHIND = 1 / 3


@dataclass(frozen=True, kw_only=True)
class CommitProgress:
    """The commits of each tenure; NONE or NaN for null.

    ``last`` is the position of the last commit; ``previous_ms`` is the time of the last one before
    the owner gave the partition up; ``earlier_...`` belongs to the previous commit.  ``rate`` is in
    records per ms. ``interval_ms`` is the time between commits, and ``batch`` the most records
    between two commits of a partition, for the group on the date of the tenure's end.
    """

    last: Ints
    last_ms: Ints
    last_offset: Ints
    previous_ms: Ints
    earlier_ms: Ints
    earlier_offset: Ints
    rate: Floats
    interval_ms: Floats
    batch: Floats

    @property
    def is_batch(self) -> Flags:
        """Returns whether the clients commit each batch as soon as they have handled it."""
        return np.asarray(commits_batches(self.interval_ms))


@dataclass(frozen=True, kw_only=True)
class Reprocessed:
    """``stop_ms`` says when the owner stopped, with the earliest and the latest time; records that
    the next owner handles again, with bounds, and whether the upper one is certain; ``position`` is
    the offset up to which this owner handled records, and at least the offset of its last commit;
    ``handled`` is the offset up to which this owner or an earlier owner handled records;
    ``is_slow`` means that the application did not poll; ``is_stuck`` means that the partition has a
    record that ends its owners.
    """

    stop_ms: Ints
    stop_low_ms: Ints
    stop_high_ms: Ints
    records: Floats
    low: Floats
    high: Floats
    position: Floats
    handled: Floats
    is_bounded: Flags
    is_slow: Flags
    is_stuck: Flags


def progress_of(t: Tenures, commits: Series, habits: Habits) -> CommitProgress:
    end_ms = np.maximum(t.until_ms, np.minimum(t.departed_ms, t.next_ms))
    # Do not read up to the next assignment, which may be on a later date.
    last = commits.last(t.part, np.minimum(t.next_ms, end_ms + REVOCATION_MS))
    last = np.where(commits.times(last) < end_ms - DAY_MS, NONE, last)
    last_ms = commits.times(last)
    before = commits.last(t.part, _closing_from(t) - 1)
    earlier = _previous(commits, last)
    interval_ms, batch = habits.on_date(t.group, t.until_ms)
    return CommitProgress(
        last=last,
        last_ms=last_ms,
        last_offset=commits.values(last),
        previous_ms=commits.times(before),
        earlier_ms=commits.times(earlier),
        earlier_offset=commits.values(earlier),
        rate=_rate(t, commits, last),
        interval_ms=interval_ms,
        batch=batch,
    )


def _closing_from(t: Tenures) -> Ints:
    """The time after which a commit counts as the commit of a client that gives up the
    partition.
    """
    revoking_ms = np.where(t.revoking_ms == NONE, t.until_ms, t.revoking_ms)
    closing_ms = np.where(t.is_kept, t.until_ms, np.minimum(revoking_ms, t.until_ms))
    return closing_ms - REVOCATION_MS


def _rate(t: Tenures, commits: Series, last: Ints) -> Floats:
    """The rate before the last commit or until the next owner has caught up, whichever is slower: a
    backlog that is handled in between counts for the first rate, and downtime for the second.  NaN
    if the partition has a single commit."""
    last_ms = commits.times(last)
    earliest_ms = last_ms - LONGEST_RATE_MS
    begin = commits.last(t.part, last_ms - RATE_MS)
    begin = np.where(commits.times(begin) < earliest_ms, NONE, begin)
    begin = np.where(begin == NONE, commits.first(t.part, np.maximum(earliest_ms, 0)), begin)
    is_soon = t.next_ms - t.until_ms <= SOON_MS
    after_ms = np.where(is_soon, np.minimum(t.next_ms, NEVER_MS >> 20) + CAUGHT_UP_MS, 0)
    after = commits.first(t.part, after_ms)
    is_near = is_soon & (commits.times(after) <= after_ms + 2 * RATE_MS)
    until = np.where(is_near, after, commits.last(t.part, after_ms))
    rates = np.fmin(_slope(commits, begin, last), _slope(commits, begin, until))
    rates = np.where(np.isnan(rates), _slope(commits, _previous(commits, last), last), rates)
    return np.where(last == NONE, np.nan, np.maximum(rates, 0))


def _previous(commits: Series, last: Ints) -> Ints:
    """The commit of the partition before this one, at most a day earlier."""
    before = np.maximum(last - 1, 0)
    if not len(commits.part):
        return np.full(len(last), NONE)
    is_same = (last > 0) & (commits.part[before] == commits.part[np.maximum(last, 0)])
    is_near = commits.times(before) >= commits.times(last) - DAY_MS
    return np.where(is_same & is_near, before, NONE)


def _slope(commits: Series, begin: Ints, end: Ints) -> Floats:
    took_ms = commits.times(end) - commits.times(begin)
    is_known = (begin != NONE) & (end != NONE) & (took_ms > 1000)
    records = commits.values(end) - commits.values(begin)
    return np.where(is_known, records / np.maximum(took_ms, 1), np.nan)


def reprocessed(t: Tenures, p: CommitProgress) -> Reprocessed:
    """See the rules above; ``records`` and their bounds count up to the position at which the owner
    stopped, see `handled_again`.
    """
    begin_ms = np.maximum(p.last_ms, t.from_ms)
    is_expired = t.heard_ms != NONE
    has_closed = (p.last_ms >= t.from_ms) & (p.last_ms >= _closing_from(t))
    is_stopped = is_expired | t.is_replaced
    commits_at_end = _commits_at_end(t, p, has_closed & ~is_stopped)
    polled_ms = _polled_ms(t, p, ~is_stopped & ~has_closed & commits_at_end)
    is_slow = polled_ms != NONE
    is_expired &= ~is_slow
    is_stopped &= ~is_slow
    stop_ms, low_ms, high_ms = _stops(t, p, polled_ms)
    begin_low, begin_high = (np.maximum(each - begin_ms, 0) for each in (low_ms, high_ms))
    backlog = p.rate * _backlog_ms(t, p, stop_ms)
    records = p.rate * np.maximum(stop_ms - begin_ms, 0) + backlog
    low, high = p.rate * begin_low - 1, p.rate * begin_high + backlog + (high_ms > begin_ms)
    is_alive = ~is_stopped & ~is_slow
    commits_at_end &= ~_has_failed(t, p, has_closed)
    is_clean = is_alive & (has_closed | commits_at_end | p.is_batch)
    # In a rebalance, Java's cooperative members commit nothing for some time.
    is_in_join = is_alive & (t.revoking_ms != NONE) & (p.last_ms >= t.revoking_ms - REVOCATION_MS)
    is_quiet = (begin_low > QUIET_INTERVALS * p.interval_ms) & ~is_in_join
    is_nothing = is_clean | is_quiet | (is_stopped & p.is_batch)
    records = np.where(is_nothing, 0, records)
    low = np.where(is_nothing | is_alive, 0, low)
    high = np.where(is_quiet, np.minimum(high, p.rate * p.interval_ms + 1), high)
    high = np.where(is_clean, 0, high)
    records, low, high, is_stuck = _crashed(t, p, (records, low, high), high_ms)
    records, high = _in_hand(t, p, is_slow, records, high)
    is_known = ~np.isnan(p.rate) | (is_alive & has_closed)
    records, low, high = (np.where(is_known, each, np.nan) for each in (records, low, high))
    is_zombie = is_expired & (np.maximum(t.back_ms, t.until_ms) > t.departed_ms)
    return Reprocessed(
        stop_ms=stop_ms,
        stop_low_ms=low_ms,
        stop_high_ms=high_ms,
        records=records,
        low=np.maximum(np.minimum(low, records), 0),
        high=np.maximum(high, records),
        position=np.where(p.last == NONE, np.nan, p.last_offset + np.nan_to_num(records)),
        handled=p.last_offset + records,
        is_bounded=~is_zombie,
        is_slow=is_slow,
        is_stuck=is_stuck,
    )


def _backlog_ms(t: Tenures, p: CommitProgress, stop_ms: Ints) -> Ints:
    """The time from the last commit until the tenure began, if the owner then consumed long enough
    to handle the records of this time, too.
    """
    since_ms = t.from_ms - p.last_ms
    has_backlog = (p.last != NONE) & (since_ms > 0) & (since_ms <= RATE_MS)
    return np.where(has_backlog & (stop_ms - t.from_ms >= REVOCATION_MS), since_ms, 0)


def handled_again(t: Tenures, p: CommitProgress, r: Reprocessed) -> Reprocessed:
    """The records that the next owner itself handles again: if it stops before it reaches the
    offset that was reached, it leaves the rest to its successor.
    """
    is_next = (t.part[1:] == t.part[:-1]) & (t.next_ms[:-1] == t.from_ms[1:])
    is_chained = is_next & (p.last_offset[1:] >= p.last_offset[:-1]) & (p.last_offset[:-1] != NONE)
    chain = np.cumsum(np.append(0, ~is_chained))
    base = np.maximum(p.last_offset, 0)[np.append(0, np.flatnonzero(~is_chained) + 1)][chain]
    position = np.maximum(p.last_offset, 0) - base
    already = np.nan_to_num(r.handled - base)

    def again(own: Floats) -> tuple[Floats, Floats]:
        # Chains are sorted.  Each chain is raised above the previous chain, so that one running
        # maximum serves all chains.
        lift = chain * (np.max(own, initial=0) + 1)
        reached = np.maximum.accumulate(own + lift) - lift
        following = np.full(len(own), np.inf)
        following[:-1][is_next] = (own + base)[1:][is_next] - base[:-1][is_next]
        return reached, np.maximum(np.minimum(reached, following) - position, 0)

    reached, records = again(np.maximum(position + np.nan_to_num(r.records), already))
    _, low = again(position + np.nan_to_num(r.low))
    _, high = again(np.maximum(position + np.nan_to_num(r.high), already))
    is_null = np.isnan(r.records)
    return replace(
        r,
        records=np.where(is_null, np.nan, records),
        low=np.where(is_null, np.nan, np.minimum(low, records)),
        high=np.where(is_null, np.nan, np.maximum(high, records)),
        handled=np.where(is_null, np.nan, reached + base),
    )


def _commits_at_end(t: Tenures, p: CommitProgress, has_closed: Flags) -> Flags:
    """Returns whether clients of the group commit when they give up partitions: most living members
    with new records did so in the same rebalance, or no such members exist.
    """
    is_alive = (t.heard_ms == NONE) & (t.departed_ms == NONE)
    expected = p.rate * (t.until_ms - np.maximum(p.previous_ms, t.from_ms)) >= 2
    is_sample = is_alive & expected & (p.last_ms >= t.from_ms)
    rebalance = dense(t.group, t.generation)
    size = int(rebalance.max(initial=-1)) + 1
    closed = np.bincount(rebalance, is_sample & has_closed, size)
    samples = np.bincount(rebalance, is_sample, size)
    return np.asarray((closed * 2 >= samples)[rebalance])


def _has_failed(t: Tenures, p: CommitProgress, has_closed: Flags) -> Flags:
    """Returns whether a member did not commit when it gave up its partitions, although other
    members did: a commit with an old generation fails.  One commit contains all partitions of a
    member.
    """
    since_ms = np.maximum(p.previous_ms, t.from_ms + 2 * FETCH_MS)
    has_new = p.rate * (t.until_ms - since_ms) >= LEAST_NEW
    has_new &= t.from_ms - p.last_ms <= QUIET_INTERVALS * p.interval_ms
    new, closed = (np.bincount(t.member, each)[t.member] for each in (has_new, has_closed))
    return np.asarray((new > 0) & (closed == 0))


def _polled_ms(t: Tenures, p: CommitProgress, is_unexplained: Flags) -> Ints:
    """The time at which a slow application last polled; NONE for others."""
    is_of_tenure = (t.polled_ms >= t.from_ms - TOLERANCE_MS) & (
        t.polled_ms <= np.maximum(t.until_ms, t.departed_ms)
    )
    left_ms = t.departed_ms - t.poll_ms
    has_left = is_unexplained & (t.departed_ms != NONE) & (t.poll_ms > 0)
    is_back = np.maximum(t.back_ms, t.until_ms) > t.departed_ms
    was_due = p.rate * (t.departed_ms - np.maximum(p.last_ms, t.from_ms)) >= 2
    has_left &= is_back & was_due & (left_ms >= t.from_ms - TOLERANCE_MS)
    known_ms = np.where(is_of_tenure, t.polled_ms, NONE)
    return np.where(known_ms != NONE, known_ms, np.where(has_left, left_ms, NONE))


def _most_of_member(t: Tenures, values: Ints) -> Ints:
    """The highest value of each member's partitions."""
    highest = np.full(int(t.member.max(initial=-1)) + 1, NONE)
    np.maximum.at(highest, t.member, values)
    return highest[t.member]


def _own_commit_ms(t: Tenures, p: CommitProgress) -> Ints:
    """The last commit of each member, of any partition; NONE without one since the assignment."""
    return _most_of_member(t, np.where(p.last_ms >= t.from_ms, p.last_ms, NONE))


def _stops(t: Tenures, p: CommitProgress, polled_ms: Ints) -> tuple[Ints, Ints, Ints]:
    """The time at which the owner stopped, with the earliest and the latest possible time."""
    is_slow = polled_ms != NONE
    is_expired = (t.heard_ms != NONE) & ~is_slow
    is_replaced = t.is_replaced & ~is_slow & ~is_expired
    until_ms = np.where(t.departed_ms > 0, np.minimum(t.until_ms, t.departed_ms), t.until_ms)
    low_ms, high_ms = (
        np.where(is_expired, expired_ms, np.where(is_replaced, replaced_ms, until_ms))
        for expired_ms, replaced_ms in zip(
            _expired_between(t, p), _replaced_between(t, p, until_ms), strict=True
        )
    )
    is_crash = _is_crash(t, p) & (_own_commit_ms(t, p) == NONE)
    crash_ms = np.minimum(t.from_ms + TOLERANCE_MS, high_ms)
    middle_ms = np.where(is_expired, _expired_at(t, p), (low_ms + high_ms) // 2)
    middle_ms = np.where(is_crash, crash_ms, np.clip(middle_ms, low_ms, high_ms))
    # A member of the new protocol leaves at its next heartbeat.
    late_ms = np.where((t.poll_ms == NONE) & (t.heard_ms == NONE), HEARTBEAT_MS, 0)
    by_poll = polled_ms - late_ms // 2, polled_ms - late_ms - TOLERANCE_MS, polled_ms + TOLERANCE_MS
    busy_ms = _busy_ms(t, p)
    is_busy = is_slow & (busy_ms < polled_ms)
    by_commits = busy_ms, p.earlier_ms, p.last_ms
    stop_ms, low_ms, high_ms = (
        np.where(is_busy, committed_ms, np.where(is_slow, slow_ms, other_ms))
        for committed_ms, slow_ms, other_ms in zip(
            by_commits, by_poll, (middle_ms, low_ms, high_ms), strict=True
        )
    )
    return stop_ms, low_ms, high_ms


def _busy_ms(t: Tenures, p: CommitProgress) -> Ints:
    """The time at which a process got its last records; NEVER_MS if the commits do not show it.

    Automatic commits go on while the application is busy, except in clients that commit in poll().
    Therefore the last commit has fewer records than the rate of its partitions predicts.
    librdkafka's members of the consumer protocol leave only when the application polls again, so
    they also continued to commit.
    """
    is_own = (p.earlier_ms >= t.from_ms) & ~np.isnan(p.rate) & ~p.is_batch
    took_ms = p.last_ms - p.earlier_ms
    size = int(t.member.max(initial=-1)) + 1
    expected, committed = (
        np.bincount(t.member, np.where(is_own, records, 0), size)[t.member]
        for records in (np.nan_to_num(p.rate) * took_ms, p.last_offset - p.earlier_offset)
    )
    share = np.minimum(committed / np.maximum(expected, 1), 1)
    is_known = (share <= LARGEST_SHARE) | (t.is_back & (t.poll_ms == NONE))
    is_known &= is_own & (expected >= LEAST_EXPECTED)
    return np.where(is_known, p.earlier_ms + (share * took_ms).astype(np.int64), NEVER_MS)


def _expired_between(t: Tenures, p: CommitProgress) -> tuple[Ints, Ints]:
    """The owner stopped between its last heartbeat or commit and the next request that was due."""
    earliest_ms, due_ms, next_ms = _requests(t, p)
    late_ms = np.where(t.due_ms == NONE, HEARTBEAT_MS - _heartbeat_ms(t), 2 * TOLERANCE_MS)
    latest_ms = np.maximum(np.minimum(due_ms + late_ms, next_ms), earliest_ms)
    return np.where(_stopped_at_commit(t, p), _own_commit_ms(t, p), earliest_ms), latest_ms


def _expired_at(t: Tenures, p: CommitProgress) -> Ints:
    """The middle of the time between these requests.

    Processes of a group that ended in the same rebalance most likely ended at the same time,
    between the requests of all of them.
    """
    earliest_ms, due_ms, next_ms = _requests(t, p)
    latest_ms = np.maximum(np.minimum(due_ms, next_ms), earliest_ms)
    is_expired = t.heard_ms != NONE
    rebalance = dense(t.group, t.generation)
    size = int(rebalance.max(initial=-1)) + 1
    begin_ms, end_ms = np.full(size, NONE), np.full(size, NEVER_MS)
    np.maximum.at(begin_ms, rebalance, np.where(is_expired, earliest_ms, NONE))
    np.minimum.at(end_ms, rebalance, np.where(is_expired, latest_ms, NEVER_MS))
    is_common = (begin_ms <= end_ms)[rebalance]
    begin_ms = np.where(is_common, begin_ms[rebalance], earliest_ms)
    end_ms = np.where(is_common, end_ms[rebalance], latest_ms)
    middle_ms = (begin_ms + end_ms) // 2
    return np.where(_stopped_at_commit(t, p), _own_commit_ms(t, p), middle_ms)


def _requests(t: Tenures, p: CommitProgress) -> tuple[Ints, Ints, Ints]:
    """Times per member: its last heartbeat or commit, its next heartbeat, and its next commit; the
    latter two were due."""
    member_ms = _own_commit_ms(t, p)
    due_ms = np.where(t.due_ms == NONE, t.heard_ms + _heartbeat_ms(t), t.due_ms)
    next_ms = member_ms + p.interval_ms.astype(np.int64) + TOLERANCE_MS
    rates = np.bincount(t.member, np.nan_to_num(p.rate), int(t.member.max(initial=-1)) + 1)
    is_due = (member_ms != NONE) & (rates[t.member] * p.interval_ms >= 2)
    is_due &= next_ms >= t.heard_ms
    return np.maximum(t.heard_ms, member_ms), due_ms, np.where(is_due, next_ms, NEVER_MS)


def _heartbeat_ms(t: Tenures) -> Ints:
    """The default heartbeat interval, but at most a third of the session timeout."""
    session_ms = np.maximum(t.departed_ms - t.heard_ms, 0)
    return np.asarray(np.minimum(HEARTBEAT_MS, session_ms // SESSION_HEARTBEATS))


def _replaced_between(t: Tenures, p: CommitProgress, until_ms: Ints) -> tuple[Ints, Ints]:
    """The owner stopped at its last commit, if it closed then; else before the next commit."""
    member_ms = _own_commit_ms(t, p)
    next_ms = member_ms + np.maximum(p.interval_ms, 1).astype(np.int64) + TIMER_TOLERANCE_MS
    latest_ms = np.where(_has_closed(t, p), member_ms, next_ms)
    latest_ms = np.where(member_ms == NONE, until_ms, latest_ms)
    earliest_ms = np.where(member_ms == NONE, t.from_ms, member_ms)
    return earliest_ms, np.maximum(np.minimum(latest_ms, t.next_ms), earliest_ms)


def _has_closed(t: Tenures, p: CommitProgress) -> Flags:
    """Returns whether the last commit of each member was no automatic commit."""
    member_ms = _own_commit_ms(t, p)
    since_ms = p.last_ms - np.maximum(p.earlier_ms, t.from_ms)
    interval_ms = np.maximum(p.interval_ms, 1)
    off_ms = np.abs(np.mod(since_ms + interval_ms / 2, interval_ms) - interval_ms / 2)
    is_automatic = (p.earlier_ms >= t.from_ms) & (since_ms >= interval_ms / 2)
    is_automatic &= off_ms <= np.maximum(0.02 * interval_ms, 2 * TIMER_TOLERANCE_MS)
    is_closing = (p.last_ms >= member_ms - TOLERANCE_MS) & ~is_automatic & (member_ms != NONE)
    return np.asarray(_most_of_member(t, is_closing.astype(np.int64)) > 0)


def _stopped_at_commit(t: Tenures, p: CommitProgress) -> Flags:
    """Returns whether an owner whose session expired had stopped at its last commit.

    A static member that closes commits, and does not leave.  An eager member commits and revokes
    its partitions before it rejoins: a contact after it noticed the rebalance shows that it did.
    """
    is_expired = (t.heard_ms != NONE) & (_own_commit_ms(t, p) != NONE)
    has_timer = _most_of_member(t, p.earlier_ms) >= t.from_ms
    is_in_join = t.is_eager & (t.revoking_ms != NONE)
    is_in_join &= (p.last_ms >= t.revoking_ms) & (t.heard_ms >= t.revoking_ms + HEARTBEAT_MS)
    return np.asarray(is_expired & (is_in_join | (t.is_static & has_timer & _has_closed(t, p))))


def _is_crash(t: Tenures, p: CommitProgress) -> Flags:
    """Returns whether the process stopped without a heartbeat after the assignment, or with
    commits, but none of this partition.
    """
    has_stopped = (t.heard_ms != NONE) | t.is_replaced
    is_early = (t.heard_ms == NONE) | (t.heard_ms <= t.from_ms + TOLERANCE_MS)
    has_skipped = _own_commit_ms(t, p) != NONE
    has_backlog = (p.last_ms < t.from_ms) & (p.last_ms != NONE)
    return np.asarray(has_stopped & (is_early | has_skipped) & has_backlog)


def _crashed(
    t: Tenures, p: CommitProgress, estimate: tuple[Floats, Floats, Floats], high_ms: Ints
) -> tuple[Floats, Floats, Floats, Flags]:
    """The estimate with its bounds, and whether the partition has a record that ends its owners."""
    is_crash = _is_crash(t, p)
    size = int(t.member.max(initial=-1)) + 1
    oldest = np.full(size, NEVER_MS)
    np.minimum.at(oldest, t.member, np.where(is_crash, p.last_ms, NEVER_MS))
    oldest_ms = oldest[t.member]
    # The previous owner also ended without a commit, at the same offset.
    was_stopped = ((t.heard_ms != NONE) | t.is_replaced) & ~_stopped_at_commit(t, p)
    is_next = (t.part[1:] == t.part[:-1]) & (p.last_offset[1:] == p.last_offset[:-1])
    has_ended_again = np.append(False, is_next & was_stopped[:-1])[: len(is_crash)]
    is_oldest_again = is_crash & (p.last_ms == oldest_ms) & has_ended_again
    is_loop = is_crash & (_most_of_member(t, p.last_ms) - oldest_ms > p.interval_ms)
    is_loop &= _most_of_member(t, is_oldest_again.astype(np.int64)) > 0
    # The partitions were committed at the same time, and the previous owner also crashed, so any of
    # the partitions may contain the record.
    is_again = np.zeros(len(is_crash), bool)
    is_again[1:] = (t.part[1:] == t.part[:-1]) & (p.last_ms[1:] == p.last_ms[:-1]) & is_crash[:-1]
    is_again &= is_crash
    is_candidate = (is_loop | is_again) & (p.last_ms == oldest_ms)
    killer = np.full(size, NEVER_MS)
    np.minimum.at(killer, t.member, np.where(is_candidate & is_loop, t.partition, NEVER_MS))
    backlog = p.rate * (t.from_ms + TOLERANCE_MS - p.last_ms)
    is_before = (t.partition < killer[t.member]) & ~(is_again & ~is_loop)
    handled = np.where(is_before | ~(is_loop | is_again), backlog, HANDLED_BEHIND * backlog)
    share = 1 / np.maximum(np.bincount(t.member, is_candidate, size)[t.member], 1)
    # All owners of the partition with the fatal record stopped at this record.
    run = np.cumsum(np.append(0, ~is_next))
    is_stuck = np.bincount(run, is_candidate & (share == 1))[run] > 0
    before_record = p.rate * p.interval_ms / 2
    stuck = share * before_record + (1 - share) * HANDLED_BEHIND * backlog
    handled = np.where(is_candidate, stuck, handled)
    handled = np.where(is_stuck, before_record, handled)
    records, low, high = estimate
    most = p.rate * (high_ms - p.last_ms) + 1
    return (
        np.where(is_crash, np.minimum(handled, most), records),
        np.where(is_crash, 0, low),
        np.where(is_crash, most, high),
        is_stuck,
    )


def _in_hand(
    t: Tenures, p: CommitProgress, is_slow: Flags, records: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """A slow application that never committed was busy with its first batch, of one partition."""
    is_first = is_slow & (p.last_ms < t.from_ms) & (p.last_ms != NONE)
    size = int(t.member.max(initial=-1)) + 1
    partitions = np.bincount(t.member, is_first, size)[t.member]
    batch = np.minimum(p.rate * np.maximum(t.from_ms - p.last_ms, 0), p.batch)
    return (
        np.where(is_first, np.maximum(records, batch / np.maximum(partitions, 1)), records),
        np.where(is_first, np.maximum(high, batch + 1), high),
    )
