"""Determines which memberships belong to the same process, and the lives and slow polls of each
process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coordinator_core.client.libraries import recognised
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.incident.stimuli import Basis
from coordinator_core.lives.memberships import Departure, Membership, TimeEstimate
from coordinator_core.lives.silences import Silences, with_silence
from coordinator_core.log_lines.reasons import client_cause_of
from coordinator_core.protocol.client_times import COMMIT_SLACK_MS, exceeded_poll_interval
from coordinator_core.protocol.processes import killed_between, process_key, process_name

# A process that starts again within this time counts as restarted.
RESTART_MS = 60_000
# A client notices at most this long after the limit that max.poll.interval.ms is exceeded.
POLL_CHECK_MS = 500
# A process may join its next life this long before the known end of its previous life.
_OVERLAP_MS = 100


class SlowPoll(NamedTuple):
    """A time in which the application exceeded max.poll.interval.ms; ``to`` None: it never returned
    to poll.
    """

    began: TimeEstimate
    to: TimeEstimate | None
    confidence: float
    evidence: str


class Freeze(NamedTuple):
    """A time in which the process did not run, although it came back as the same member."""

    began: TimeEstimate
    to: TimeEstimate


@dataclass(frozen=True, kw_only=True)
class ProcessLife:
    """A process from start to end; ``ended`` None: it still runs.

    ``predates_evidence`` means that it started before the evidence begins.  ``killed`` means that
    it ended without leaving, as static members do when they are closed, too.  ``frozen_until`` is
    set only if it was killed, and the next life may be the same process: frozen, or cut off, beyond
    its session. ``freezes`` means that its member came back under its id, so it certainly was.
    ``confidence`` is a number from 0 to 1.
    """

    client_id: str
    client_host: str
    member: RecordedMember
    member_ids: tuple[str, ...]
    started: TimeEstimate
    predates_evidence: bool
    ended: TimeEstimate | None
    killed: bool
    slow_polls: tuple[SlowPoll, ...]
    first_generation: int
    last_generation: int
    confidence: float
    evidence: str
    frozen_until: TimeEstimate | None = None
    freezes: tuple[Freeze, ...] = ()


@dataclass(frozen=True)
class ConsumerProcess:
    """``name`` is unique in its group."""

    name: str
    instance_id: str | None
    lives: tuple[ProcessLife, ...]


def identify_processes(
    memberships: Iterable[Membership],
    *,
    heartbeat_ms: int = 3000,
    last_commit_ms: Mapping[str, int] | None = None,
    silences: Silences | None = None,
) -> list[ConsumerProcess]:
    """``heartbeat_ms``: heartbeat.interval.ms; ``last_commit_ms`` has, by id of a departed member,
    the last commit of a partition that it owned.
    """
    commits = last_commit_ms or {}
    candidates = _same_name(list(memberships))
    _merge_renamed(candidates)
    for candidate in candidates:
        candidate.memberships.sort(key=lambda each: each.began.at_ms)
    candidates.sort(key=lambda each: each.memberships[0].began.at_ms)
    names = _names(candidates)
    return [
        ConsumerProcess(
            name,
            candidate.memberships[-1].member.instance_id,
            tuple(_LifeReader(candidate, heartbeat_ms, commits, silences or {}).lives()),
        )
        for candidate, name in zip(candidates, names, strict=True)
    ]


# -- memberships of the same process -------------------------------------------------------------


@dataclass
class _Candidate:
    """Memberships assumed to be one process, and the confidence of this assumption."""

    memberships: list[Membership] = field(default_factory=list)
    confidence: float = 1.0


def _key(membership: Membership) -> tuple[str, ...]:
    member = membership.member
    return process_key(member.instance_id, member.client_id, member.client_host)


def _same_name(memberships: list[Membership]) -> list[_Candidate]:
    """Group by instance id, else client id and host.  If several processes with the same name have
    departed, a new membership continues the process that departed last.
    """
    candidates: list[_Candidate] = []
    by_key: dict[tuple[str, ...], list[_Candidate]] = {}
    for membership in memberships:
        same = by_key.setdefault(_key(membership), [])
        departed = [each for each in same if _is_over(each.memberships[-1], membership)]
        candidate = max(departed, key=lambda each: _ended_ms(each.memberships[-1]), default=None)
        if candidate is None:
            candidate = _Candidate()
            candidates.append(candidate)
            same.append(candidate)
        elif len(departed) > 1:
            candidate.confidence = min(candidate.confidence, 0.6)
        candidate.memberships.append(membership)
    return candidates


def _is_over(last: Membership, membership: Membership) -> bool:
    if _waited_to_leave(last, membership):
        return True
    return last.ended is not None and _ended_ms(last) <= membership.began.at_ms + _OVERLAP_MS


def _waited_to_leave(last: Membership, following: Membership) -> bool:
    """Returns whether the process closed while it waited for the response to JoinGroup, and its
    next life joined before the response.
    """
    since_ms, began_ms = last.waited_since_ms, following.began.at_ms
    if last.departure is not Departure.LEFT or since_ms is None:
        return False
    return since_ms < began_ms <= _ended_ms(last)


def _ended_ms(membership: Membership) -> int:
    """For an expired session, the last contact: the process may be back before the expiry."""
    assert membership.ended is not None
    if membership.last_contact_ms is not None:
        return membership.last_contact_ms
    return membership.ended.at_ms


def _merge_renamed(candidates: list[_Candidate]) -> None:
    """Merge a process that never returned with one that started within a minute of its end."""
    ended = [
        each
        for each in candidates
        if each.memberships[-1].ended is not None and not _has_instance_id(each)
    ]
    started = [
        each
        for each in candidates
        if not each.memberships[0].predates_evidence and not _has_instance_id(each)
    ]
    by_distance = sorted(
        (abs(new.memberships[0].began.at_ms - _ended_ms(old.memberships[-1])), n, m)
        for n, old in enumerate(ended)
        for m, new in enumerate(started)
        if old is not new and _replaces(new, old)
    )
    successors: set[int] = set()
    successor_of: dict[int, _Candidate] = {}
    for distance_ms, n, m in by_distance:
        old, new = ended[n], started[m]
        if distance_ms > RESTART_MS or id(new) in successors or id(old) in successor_of:
            continue
        successors.add(id(new))
        successor_of[id(old)] = new
    for first in list(candidates):
        if id(first) not in successors:  # The chain is merged into its first process.
            _merge_chain(first, successor_of, candidates)


def _replaces(new: _Candidate, old: _Candidate) -> bool:
    """A replacement runs beside the other process for less time than each of them runs without the
    other.  Processes of a group that scaled out and in start or end together.
    """
    began_ms, ended_ms = new.memberships[0].began.at_ms, _ended_ms(old.memberships[-1])
    last = new.memberships[-1]
    before_ms = began_ms - old.memberships[0].began.at_ms
    if old.memberships[0].predates_evidence:
        before_ms = max(before_ms, RESTART_MS)
    after_ms = RESTART_MS if last.ended is None else _ended_ms(last) - ended_ms
    return after_ms > 0 and max(ended_ms - began_ms, 0) < min(before_ms, after_ms)


def _merge_chain(
    first: _Candidate, successor_of: dict[int, _Candidate], candidates: list[_Candidate]
) -> None:
    new = successor_of.get(id(first))
    while new is not None:
        same_id = new.memberships[0].member.client_id == first.memberships[-1].member.client_id
        first.confidence = min(first.confidence, new.confidence, 0.8 if same_id else 0.6)
        first.memberships += new.memberships
        candidates.remove(new)
        new = successor_of.get(id(new))


def _has_instance_id(candidate: _Candidate) -> bool:
    return candidate.memberships[0].member.instance_id is not None


def _names(candidates: list[_Candidate]) -> list[str]:
    """The instance id, else the client id, with host and number if the id is not unique."""
    members = [each.memberships[0].member for each in candidates]
    plain = [member.instance_id or member.client_id for member in members]
    with_host = [
        name if plain.count(name) == 1 else process_name(name, member.client_host)
        for name, member in zip(plain, members, strict=True)
    ]
    counts: dict[str, int] = {}
    names = []
    for name in with_host:
        counts[name] = counts.get(name, 0) + 1
        names.append(name if with_host.count(name) == 1 else f"{name}#{counts[name]}")
    return names


# -- from memberships to process lives -----------------------------------------------------------


class _LifeReader:
    """Reads the memberships of one process in order."""

    def __init__(
        self,
        candidate: _Candidate,
        heartbeat_ms: int,
        commits: Mapping[str, int],
        silences: Silences,
    ) -> None:
        self._candidate = candidate
        self._heartbeat_ms = heartbeat_ms
        self._commits = commits
        self._silences = silences

    def lives(self) -> list[ProcessLife]:
        lives: list[ProcessLife] = []
        memberships = self._candidate.memberships
        continues = False
        for membership, following in zip(memberships, [*memberships[1:], None], strict=True):
            slow_poll = self._slow_poll(membership, following)
            life = self._life(membership, following, slow_poll)
            lives[-1:] = [_joined(lives[-1], life)] if continues else [*lives[-1:], life]
            continues = slow_poll is not None and slow_poll.to is not None
        return lives

    def _life(
        self, membership: Membership, following: Membership | None, slow_poll: SlowPoll | None
    ) -> ProcessLife:
        ended, confidence = None, 1.0
        if slow_poll is None:
            ended, confidence = self._ended(membership, following)
        of_start = {Basis.LOG: 1.0, Basis.RECORD: 0.8, Basis.ASSUMED: 0.5}[membership.basis]
        left = "" if membership.left_evidence is None else f"; {membership.left_evidence}"
        return ProcessLife(
            client_id=membership.member.client_id,
            client_host=membership.member.client_host,
            member=membership.member,
            member_ids=(membership.member_id,),
            started=membership.began,
            predates_evidence=membership.predates_evidence,
            ended=ended,
            killed=membership.departure in (Departure.SESSION_EXPIRED, Departure.DROPPED),
            slow_polls=() if slow_poll is None else (slow_poll,),
            first_generation=membership.first_generation,
            last_generation=membership.last_generation,
            confidence=min(confidence, of_start, self._candidate.confidence),
            evidence=membership.evidence + left,
            frozen_until=None if slow_poll is not None else _frozen_until(membership, following),
        )

    def _ended(
        self, membership: Membership, following: Membership | None
    ) -> tuple[TimeEstimate | None, float]:
        """The time at which the process ended, and the confidence."""
        ended = membership.ended
        if ended is None:
            return None, 1.0
        gone_ms = ended.latest_ms
        if membership.departure is Departure.SESSION_EXPIRED:
            ended, confidence = self._ended_before_expiry(membership, ended, following)
            return self._with_silence(ended, gone_ms, membership), confidence
        committed_ms = self._commits.get(membership.member_id)
        if membership.departure is Departure.REPLACED:
            confidence = 0.6
            if committed_ms is not None and ended.earliest_ms <= committed_ms <= gone_ms:
                ended, confidence = TimeEstimate(committed_ms, committed_ms, gone_ms), 0.8
            return self._with_silence(ended, gone_ms, membership), confidence
        if following is not None and _waited_to_leave(membership, following):
            # The process sent its JoinGroup within a heartbeat interval.
            latest_ms = following.began.at_ms
            earliest_ms = min((membership.waited_since_ms or 0) + self._heartbeat_ms, latest_ms)
            return TimeEstimate((earliest_ms + latest_ms) // 2, earliest_ms, latest_ms), 0.8
        return ended, 0.9 if membership.departure is Departure.LEFT else 0.5

    def _with_silence(
        self, ended: TimeEstimate, gone_ms: int, membership: Membership
    ) -> TimeEstimate:
        member = membership.member
        name = member.instance_id or process_name(member.client_id, member.client_host)
        return with_silence(ended, gone_ms, self._silences, [name, member.member_id])

    def _ended_before_expiry(
        self, membership: Membership, ended: TimeEstimate, following: Membership | None
    ) -> tuple[TimeEstimate, float]:
        """The time is between the last contact and the next heartbeat, which was never sent."""
        next_ms = min(ended.at_ms + self._heartbeat_ms, ended.latest_ms)
        contact_ms, since_ms = ended.at_ms, membership.waited_since_ms
        if since_ms is not None and contact_ms - since_ms > self._heartbeat_ms:
            # The process more likely died during the long wait than after it.
            contact_ms = since_ms
        committed_ms = self._commits.get(membership.member_id)
        back_ms = [] if following is None else [following.began.at_ms]
        earliest_ms, latest_ms = killed_between([contact_ms, committed_ms], [next_ms], back_ms)
        is_back_early = following is not None and following.began.at_ms < ended.latest_ms
        at_ms = (earliest_ms + latest_ms) // 2
        # A process that returns later may also have been frozen, because the evidence is the same.
        return TimeEstimate(at_ms, earliest_ms, latest_ms), 0.95 if is_back_early else 0.7

    def _slow_poll(self, membership: Membership, following: Membership | None) -> SlowPoll | None:
        """The slow poll because of which the member departed, if there was one."""
        poll_ms, ended = membership.member.rebalance_timeout_ms, membership.ended
        evidence = membership.left_evidence or ""
        if (
            membership.departure is Departure.DROPPED
            and following is not None
            and ended is not None
        ):
            began = TimeEstimate.exactly(max(ended.at_ms - poll_ms, membership.began.at_ms))
            return SlowPoll(began, following.began, 0.5, evidence)
        if ended is None or poll_ms <= 0:
            return None
        committed_ms = self._commits.get(membership.member_id)
        no_commit_ms = 0 if committed_ms is None else ended.at_ms - committed_ms
        library = recognised(membership.member, None)
        if library is not None and not library.has_poll_interval:
            return None
        if membership.departure is Departure.REPLACED:
            # The process kept sending heartbeats; without them its session would have expired.
            longest_ms = max(poll_ms, membership.member.session_timeout_ms + COMMIT_SLACK_MS)
            if committed_ms is None or following is None or no_commit_ms < longest_ms:
                return None
            began = TimeEstimate(committed_ms, committed_ms, committed_ms + COMMIT_SLACK_MS)
            return SlowPoll(began, following.began, 0.7, evidence)
        if membership.departure is not Departure.LEFT:
            return None
        is_reported = client_cause_of(membership.reason) == "POLL_TIMEOUT"
        stopped_committing = exceeded_poll_interval(no_commit_ms, poll_ms)
        if not is_reported and (membership.reason is not None or not stopped_committing):
            return None
        polled_ms = ended.at_ms - poll_ms
        began = TimeEstimate(polled_ms - POLL_CHECK_MS // 2, polled_ms - POLL_CHECK_MS, polled_ms)
        to = None if following is None else following.began
        return SlowPoll(began, to, 1.0 if is_reported else 0.8, evidence)


def _frozen_until(membership: Membership, following: Membership | None) -> TimeEstimate | None:
    """The time at which the process was back, if it may have been frozen until then: its session
    expired, and the same client on the same host joined within another session timeout.  A freeze
    is rarely as long as two sessions, a restart often is.
    """
    ended = membership.ended
    if membership.departure is not Departure.SESSION_EXPIRED or ended is None or following is None:
        return None
    member, other = membership.member, following.member
    is_same = (member.client_id, member.client_host) == (other.client_id, other.client_host)
    away_ms = following.began.at_ms - ended.latest_ms
    return following.began if is_same and 0 <= away_ms <= member.session_timeout_ms else None


def _joined(life: ProcessLife, following: ProcessLife) -> ProcessLife:
    """One process life that combines the member ids of both lives."""
    slow_polls = [each.confidence for each in life.slow_polls]
    return replace(
        following,
        started=life.started,
        predates_evidence=life.predates_evidence,
        member_ids=life.member_ids + following.member_ids,
        slow_polls=life.slow_polls + following.slow_polls,
        freezes=life.freezes + following.freezes,
        first_generation=life.first_generation,
        confidence=min([life.confidence, following.confidence, *slow_polls]),
        evidence=f"{life.evidence}; {following.evidence}",
    )
