"""The time at which the process behind a membership stopped owning partitions, and the evidence for
it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from coordinator_core.client.libraries import keeps_member_id
from coordinator_core.modern_history.evidence import DROPPED, LEFT, SESSION_EXPIRED, Partition
from coordinator_core.modern_history.heartbeats import (
    NOT_CONFIGURED,
    ConfiguredTiming,
    Expiry,
    Timing,
    commits_in_turn,
    interval_of,
    timing_of,
)
from coordinator_core.modern_history.history import History
from coordinator_core.modern_history.memberships import ModernMembership
from coordinator_core.protocol.client_times import (
    COMMIT_INTERVAL_MS,
    COMMIT_JITTER_MS,
    SAME_COMMIT_MS,
    exceeded_poll_interval,
)
from coordinator_core.protocol.processes import killed_between

REPLACED, CONVERTED, REVOKED = "replaced", "converted", "revoked"
# The member is in the group, but its process sends no heartbeats.
NO_HEARTBEAT = "no_heartbeat"
LOG, RECORDS = "log", "records"
# A client that closes commits right before it leaves.
CLOSING_MS = 1000
# A client that left because of a slow poll joins again within this time after it polls.
_AT_ONCE_MS = 200

Commits = Mapping[tuple[str, int], Mapping[Partition, Sequence[int]]]
"""By member id and time of departure (0 for a member still in the group): the last commits of
each of its partitions."""


@dataclass(frozen=True, slots=True)
class MembershipEnd:
    """The time at which a membership ended.  If its session expired, ``heard_ms`` is the last
    heartbeat before that, and ``due_ms`` the time at which the next heartbeat was due; ``back_ms``
    says when the process was back, unless its client would have kept the member id while the
    process was frozen.
    """

    at_ms: int
    heard_ms: int | None = None
    due_ms: int | None = None
    back_ms: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The time at which a process stopped owning its partitions; ``at_ms`` None: it still owns
    them.

    ``polled_ms`` says when a slow application last polled; it took no partition after that.
    ``departure``: it is None while the process is a member, and if another member took its place.
    """

    at_ms: int | None
    how: str = REVOKED
    by: str = RECORDS
    is_estimated: bool = False
    polled_ms: int | None = None
    departure: MembershipEnd | None = None


class Ends:
    """The ends of all memberships of an incarnation."""

    def __init__(
        self, history: History, commits: Commits, configured: ConfiguredTiming = NOT_CONFIGURED
    ) -> None:
        self._commits = commits
        self._targets = sorted((each.joined_ms, each.number) for each in history.generations)
        self._joined: dict[str, list[int]] = {}
        self._started: dict[str, list[int]] = {}
        for each in sorted(history.memberships, key=lambda each: each.joined_ms):
            self._joined.setdefault(each.member_id, []).append(each.joined_ms)
            self._started.setdefault(each.process, []).append(each.joined_ms)
        self._last_ms = _last_ms(history)
        self._interval_ms = interval_of(history.memberships, configured.interval_ms)
        self._hows = {each: self._how(each) for each in history.memberships}
        expired = [each for each, how in self._hows.items() if how == SESSION_EXPIRED]
        # While a broker is down, a coordinator may expire a member at another time, and twice.
        gone = [each for each in expired if not self._is_back(each)]
        self.timing: Timing = timing_of(
            self._interval_ms, map(self._expiry, gone or expired), configured.session_ms
        )

    def of(self, membership: ModernMembership) -> End:
        end, how = self._of(membership), self._hows[membership]
        if membership.ended_ms is None or how in (CONVERTED, REPLACED):
            return end
        if how != SESSION_EXPIRED:
            return replace(end, departure=MembershipEnd(membership.ended_ms))
        heartbeats, back_ms = self._heartbeats(membership), self._new_member_ms(membership)
        return replace(end, departure=MembershipEnd(membership.ended_ms, *heartbeats, back_ms))

    def _of(self, membership: ModernMembership) -> End:
        ended_ms, how = membership.ended_ms, self._hows[membership]
        if ended_ms is None:
            return self._of_open(membership)
        if how in (CONVERTED, REPLACED):
            return End(ended_ms, how)
        if how != LEFT or not self._has_closed(membership):
            back_ms = _first_since(ended_ms, self._joined[membership.member_id])
            if back_ms is not None:
                polled_ms = self._polled_ms(membership, how, back_ms)
                return End(back_ms, how, is_estimated=True, polled_ms=polled_ms)
        by = LOG if membership.has_log else RECORDS
        if how == SESSION_EXPIRED:
            return End(self._killed_ms(membership), how, by, is_estimated=True)
        return End(ended_ms, how, by, is_estimated=how == DROPPED or not membership.has_log)

    def _of_open(self, membership: ModernMembership) -> End:
        """A process that took no target for two heartbeats has ended, although its session has not
        expired."""
        silent_ms, last = self._silent_ms(membership), membership.last_heartbeat
        if last is None or silent_ms is None or membership.away_ms is not None:
            return End(None)
        if self._last_ms - silent_ms <= 2 * self._interval_ms:
            return End(None)
        killed_ms = self._middle_ms(membership, last.time_ms, silent_ms + self._interval_ms)
        return End(killed_ms, NO_HEARTBEAT, is_estimated=True)

    def last_polls(self) -> dict[tuple[str, int], int]:
        """The last poll of a slow application in ms, by member id and time of departure."""
        polls = {}
        for membership in self._hows:
            polled_ms = self._of(membership).polled_ms
            if polled_ms is not None:
                polls[membership.member_id, membership.ended_ms or 0] = polled_ms
        return polls

    def _new_member_ms(self, membership: ModernMembership) -> int | None:
        """The time at which a client that takes a new member id after its session expired was
        back.
        """
        if keeps_member_id(membership.member_id):
            return None
        return _first_since(membership.ended_ms or 0, self._started[membership.process])

    def _polled_ms(self, membership: ModernMembership, how: str, back_ms: int) -> int | None:
        """The time at which a slow application last polled, or None if it was not slow.

        A client whose application does not poll leaves, or stops its heartbeats,
        max.poll.interval.ms after the last poll.  librdkafka only stops its heartbeats: if its
        session has not expired when the application polls again, it leaves, and joins at once.
        """
        poll_ms, ended_ms = membership.rebalance_timeout_ms, membership.ended_ms or 0
        if poll_ms is None or how == DROPPED:
            return None
        if how == LEFT:
            if back_ms - ended_ms > _AT_ONCE_MS:
                return ended_ms - poll_ms
            return self._last_poll_ms(membership, poll_ms)
        last_ms = self._last_heartbeat_ms(membership)
        committed_ms = self._committed(membership)
        is_slow = committed_ms and exceeded_poll_interval(last_ms - committed_ms[-1], poll_ms)
        if not is_slow and not self._ignored_revocation(membership, last_ms):
            return None
        return last_ms + self._interval_ms // 2 - poll_ms

    def _last_poll_ms(self, membership: ModernMembership, poll_ms: int) -> int:
        """The most likely time of the last poll, within a session before the latest possible time.

        A thread of librdkafka commits: the last commit follows the last poll within a commit
        interval.  Without commits, the application is assumed to be late by at most a third of
        max.poll.interval.ms.
        """
        latest_ms = (membership.ended_ms or 0) - poll_ms
        session_ms = self._session_ms(membership)
        committed_ms = self._committed(membership)
        if committed_ms and latest_ms - session_ms <= committed_ms[-1] <= latest_ms:
            earliest_ms = max(latest_ms - session_ms, committed_ms[-1] - COMMIT_INTERVAL_MS)
            return (earliest_ms + committed_ms[-1]) // 2
        return latest_ms - min(session_ms, poll_ms // 3) // 2

    def _ignored_revocation(self, membership: ModernMembership, last_ms: int) -> bool:
        """Returns whether the member kept sending heartbeats but revoked nothing after a revocation
        was requested: its application did not poll.
        """
        last = membership.last_step
        if last is None or not last.pending:
            return False
        return last_ms - last.time_ms > 2 * self._interval_ms

    def was_cut_off(self, membership: ModernMembership) -> bool:
        """Returns whether the process did not stop by itself."""
        return self._hows[membership] == SESSION_EXPIRED and membership.instance_id is None

    def _how(self, membership: ModernMembership) -> str:
        """Without a line, the member was dropped if it ended at the end of its rebalance timeout.

        Its session expired if it took no target for two heartbeats, if its next life joined before
        it was gone, or if it made automatic commits, but none when it ended.  Otherwise, and if it
        came back, it left.
        """
        ended_ms, last = membership.ended_ms, membership.last_step
        if membership.how is not None or ended_ms is None or last is None:
            return membership.how or LEFT
        timeout_ms = membership.rebalance_timeout_ms
        was_late = timeout_ms is not None and (
            abs(ended_ms - last.time_ms - timeout_ms) <= CLOSING_MS
        )
        if last.pending and was_late:
            return DROPPED
        silent_ms = self._silent_ms(membership)
        is_silent = silent_ms is not None and ended_ms - silent_ms > 2 * self._interval_ms
        lacks_commit = _lacks_commit(self._committed(membership), ended_ms)
        lives_on = any(last.time_ms < ms < ended_ms for ms in self._next_lives_ms(membership))
        has_expired = is_silent or lacks_commit or lives_on
        return SESSION_EXPIRED if has_expired and not self._is_back(membership) else LEFT

    def _is_back(self, membership: ModernMembership) -> bool:
        """Returns whether its process lived on: only a running client joins again under its member
        id.
        """
        ended_ms = membership.ended_ms or 0
        return _first_since(ended_ms, self._joined[membership.member_id]) is not None

    def _has_closed(self, membership: ModernMembership) -> bool:
        """A client that leaves because its application does not poll has nothing new to commit."""
        committed_ms = self._committed(membership)
        return bool(committed_ms) and (membership.ended_ms or 0) - committed_ms[-1] <= CLOSING_MS

    def _expiry(self, membership: ModernMembership) -> Expiry:
        last = membership.last_heartbeat
        return Expiry(
            membership.ended_ms or 0,
            membership.joined_ms if last is None else last.time_ms,
            tuple(self._committed(membership)),
            self._silent_ms(membership),
            membership.session_timeout_ms,
        )

    def _silent_ms(self, membership: ModernMembership) -> int | None:
        """The time at which it closed, or of the first target after its last heartbeat that it did
        not take.
        """
        last = membership.last_heartbeat
        if last is None or membership.away_ms is not None:
            return membership.away_ms
        ended_ms = membership.ended_ms or self._last_ms
        following = bisect_right(self._targets, last.time_ms, key=itemgetter(0))
        for at in range(following, len(self._targets)):
            time_ms, number = self._targets[at]
            if number > last.epoch or time_ms >= ended_ms:
                return time_ms if time_ms < ended_ms else None
        return None

    def _killed_ms(self, membership: ModernMembership) -> int:
        return self._middle_ms(membership, *self._heartbeats(membership))

    def _heartbeats(self, membership: ModernMembership) -> tuple[int, int]:
        """The last heartbeat before the session expired, and when the next one was due."""
        expiry = self._expiry(membership)
        last_ms = self._last_heartbeat_ms(membership)
        next_ms = min(last_ms + self._interval_ms, expiry.at_ms)
        return max(last_ms, expiry.heard_ms), next_ms

    def _last_heartbeat_ms(self, membership: ModernMembership) -> int:
        return (membership.ended_ms or 0) - self._session_ms(membership)

    def _session_ms(self, membership: ModernMembership) -> int:
        return membership.session_timeout_ms or self.timing.session_ms

    def _middle_ms(self, membership: ModernMembership, last_ms: int, next_ms: int) -> int:
        """``last_ms`` and ``next_ms`` have the time of the last heartbeat, and time at which the
        next heartbeat was due.
        """
        committed_ms, due_ms = self._committed(membership), [next_ms]
        if commits_in_turn(committed_ms):
            due_ms.append(committed_ms[-1] + COMMIT_INTERVAL_MS + COMMIT_JITTER_MS)
        earliest_ms, latest_ms = killed_between(
            [last_ms, *committed_ms[-1:]], due_ms, [*self._next_lives_ms(membership)]
        )
        middle_ms: int = (earliest_ms + latest_ms) // 2
        return middle_ms

    def _next_lives_ms(self, membership: ModernMembership) -> Iterator[int]:
        """The time at which the process started again, or was refused because its instance id was
        in use.
        """
        yield from membership.refused_ms
        next_ms = _first_since(membership.joined_ms + 1, self._started[membership.process])
        if next_ms is not None:
            yield next_ms

    def _committed(self, membership: ModernMembership) -> list[int]:
        """The times of its last commits: of partitions since they were assigned to it."""
        of_partitions = self._commits.get((membership.member_id, membership.ended_ms or 0), {})
        since_ms: dict[Partition, int] = {}
        for step in membership.steps if of_partitions else ():
            since_ms = {each: since_ms.get(each, step.time_ms) for each in step.assigned}
        times = sorted(
            at_ms
            for partition, all_ms in of_partitions.items()
            for at_ms in all_ms
            if at_ms >= since_ms.get(partition, membership.joined_ms)
        )
        pairs = pairwise([0, *times])
        return [later for earlier, later in pairs if later - earlier > SAME_COMMIT_MS]


def _last_ms(history: History) -> int:
    """The time of the group's last record."""
    joined = (each.joined_ms for each in history.memberships)
    ended = (each.ended_ms or 0 for each in history.memberships)
    steps = (each.time_ms for each in history.steps)
    bumps = (each.time_ms for each in history.bumps)
    return max((*joined, *ended, *steps, *bumps), default=0)


def _first_since(at_ms: int, times: Sequence[int]) -> int | None:
    """``times`` are in ascending order."""
    at = bisect_left(times, at_ms)
    return times[at] if at < len(times) else None


def _lacks_commit(committed_ms: Sequence[int], ended_ms: int) -> bool:
    return commits_in_turn(committed_ms) and ended_ms - committed_ms[-1] > CLOSING_MS
