"""Which members are the same process, when each process ran, and when its application was away.

A process is known by its instance id, else by client id and host.  Where several of one name run
at a time, whoever comes takes the place of the one that went last.  Of the rest one that went and
one that came within a minute are the same process under another name, as a Deployment's pods are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.incident.stimuli import Basis
from coordinator_core.lives.memberships import Departure, Membership, TimeEstimate
from coordinator_core.log_lines.reasons import client_cause_of

# A departure and an arrival of the same process within this time is a restart.
RESTART_MS = 60_000
# A consumer beyond max.poll.interval.ms leaves as if it were closed, unless it says why (KIP-800).
# What gives it away: nothing committed since its last poll, give or take an auto-commit interval
# (auto.commit.interval.ms, 5 s) and a heartbeat.
COMMIT_SLACK_MS = 6_000
_SAME_MOMENT_MS = 100


class SlowPoll(NamedTuple):
    """The application was away from poll; ``to`` None: it never came back."""

    began: TimeEstimate
    to: TimeEstimate | None
    confidence: float
    evidence: str


@dataclass(frozen=True)
class ProcessLife:
    """A process from start to end.  ``was_there``: since before the evidence begins.

    ``ended`` None: it still runs.  ``killed``: it went without a word; a static member that was
    closed does, too.  ``confidence``: from 0 to 1, that it was so.
    """

    client_id: str
    client_host: str
    member: RecordedMember
    member_ids: tuple[str, ...]
    started: TimeEstimate
    predates_evidence: bool
    ended: TimeEstimate | None
    killed: bool
    slow: tuple[SlowPoll, ...]
    first_generation: int
    last_generation: int
    confidence: float
    evidence: str


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
) -> list[ConsumerProcess]:
    """``heartbeat_ms``: heartbeat.interval.ms; ``last_commit_ms``: of members that are
    gone, when what they owned was committed for the last time.
    """
    commits = last_commit_ms or {}
    slots = _matched(list(memberships))
    _pair(slots)
    for slot in slots:
        slot.memberships.sort(key=lambda membership: membership.began.at_ms)
    slots.sort(key=lambda slot: slot.memberships[0].began.at_ms)
    named = _names(slots)
    return [
        ConsumerProcess(
            name,
            slot.memberships[-1].member.instance_id,
            tuple(_Lives(slot, heartbeat_ms, commits).told()),
        )
        for slot, name in zip(slots, named, strict=True)
    ]


# -- who is who ----------------------------------------------------------------------------------


@dataclass
class _Slot:
    """``sureness``: that all of these are one process."""

    memberships: list[Membership] = field(default_factory=list)
    sureness: float = 1.0


def _key(membership: Membership) -> tuple[str, ...]:
    member = membership.member
    if member.instance_id is not None:
        return ("instance", member.instance_id)
    return ("client", member.client_id, member.client_host)


def _matched(memberships: list[Membership]) -> list[_Slot]:
    slots: list[_Slot] = []
    by_key: dict[tuple[str, ...], list[_Slot]] = {}
    for membership in memberships:
        mine = by_key.setdefault(_key(membership), [])
        free = [slot for slot in mine if _is_over(slot.memberships[-1], membership)]
        slot = max(free, key=lambda each: _went_ms(each.memberships[-1]), default=None)
        if slot is None:
            slot = _Slot()
            slots.append(slot)
            mine.append(slot)
        elif len(free) > 1:
            slot.sureness = min(slot.sureness, 0.6)
        slot.memberships.append(membership)
    return slots


def _is_over(last: Membership, membership: Membership) -> bool:
    return last.ended is not None and _went_ms(last) <= membership.began.at_ms + _SAME_MOMENT_MS


def _went_ms(membership: Membership) -> int:
    """Of one that fell silent, when it was heard of last: its next life may begin before the group
    has put it out."""
    assert membership.ended is not None
    return (
        membership.ended.at_ms if membership.last_contact_ms is None else membership.last_contact_ms
    )


def _pair(slots: list[_Slot]) -> None:
    """One in, one out: who never came back, and who had never been there."""
    gone = [s for s in slots if s.memberships[-1].ended is not None and not _is_named(s)]
    came = [s for s in slots if not s.memberships[0].predates_evidence and not _is_named(s)]
    near = sorted(
        (
            (abs(new.memberships[0].began.at_ms - _went_ms(old.memberships[-1])), n, m)
            for n, old in enumerate(gone)
            for m, new in enumerate(came)
            if old is not new and old.memberships[0].began.at_ms < new.memberships[0].began.at_ms
        ),
    )
    taken: set[int] = set()
    follows: dict[int, _Slot] = {}
    for apart_ms, n, m in near:
        old, new = gone[n], came[m]
        if apart_ms > RESTART_MS or id(new) in taken or id(old) in follows:
            continue
        taken.add(id(new))
        follows[id(old)] = new
    for old in list(slots):
        if id(old) in taken:
            continue  # joined from its head
        new_ = follows.get(id(old))
        while new_ is not None:
            same = new_.memberships[0].member.client_id == old.memberships[-1].member.client_id
            old.sureness = min(old.sureness, new_.sureness, 0.8 if same else 0.6)
            old.memberships += new_.memberships
            slots.remove(new_)
            new_ = follows.get(id(new_))


def _is_named(slot: _Slot) -> bool:
    return slot.memberships[0].member.instance_id is not None


def _names(slots: list[_Slot]) -> list[str]:
    """The instance id, else the client id, with its host and a number where that is not enough."""
    plain = [
        s.memberships[0].member.instance_id or s.memberships[0].member.client_id for s in slots
    ]
    hosted = [
        name
        if plain.count(name) == 1
        else f"{name}@{slot.memberships[0].member.client_host.lstrip('/')}"
        for name, slot in zip(plain, slots, strict=True)
    ]
    seen: dict[str, int] = {}
    named = []
    for name in hosted:
        seen[name] = seen.get(name, 0) + 1
        named.append(name if hosted.count(name) == 1 else f"{name}#{seen[name]}")
    return named


# -- from member ids to lives ---------------------------------------------------------------------


class _Lives:
    """Reads the members of one process in their order."""

    def __init__(self, slot: _Slot, heartbeat_ms: int, commits: Mapping[str, int]) -> None:
        self._slot = slot
        self._heartbeat_ms = heartbeat_ms
        self._commits = commits

    def told(self) -> list[ProcessLife]:
        found: list[ProcessLife] = []
        following = [*self._slot.memberships[1:], None]
        goes_on = False
        for membership, after in zip(self._slot.memberships, following, strict=True):
            slow = self._slow(membership, after)
            life = self._life(membership, after, slow)
            found[-1:] = [_joined(found[-1], life)] if goes_on else [*found[-1:], life]
            goes_on = slow is not None and slow.to is not None
        return found

    def _life(
        self, membership: Membership, after: Membership | None, slow: SlowPoll | None
    ) -> ProcessLife:
        ended, sure = (None, 1.0) if slow is not None else self._ended(membership, after)
        came = {Basis.LOG: 1.0, Basis.RECORD: 0.8, Basis.ASSUMED: 0.5}[membership.basis]
        left = "" if membership.left_evidence is None else f"; {membership.left_evidence}"
        return ProcessLife(
            membership.member.client_id,
            membership.member.client_host,
            membership.member,
            (membership.member_id,),
            membership.began,
            membership.predates_evidence,
            ended,
            membership.departure in (Departure.EXPIRED, Departure.DROPPED),
            () if slow is None else (slow,),
            membership.first_generation,
            membership.last_generation,
            min(sure, came, self._slot.sureness),
            membership.evidence + left,
        )

    def _ended(
        self, membership: Membership, after: Membership | None
    ) -> tuple[TimeEstimate | None, float]:
        """When its process ended, and how sure that is."""
        ended = membership.ended
        if ended is None:
            return None, 1.0
        committed_ms = self._commits.get(membership.member_id)
        if membership.departure is Departure.EXPIRED:
            latest_ms = min(ended.at_ms + self._heartbeat_ms, ended.latest_ms)
            heard_ms = ended.at_ms
            since_ms = membership.waited_since_ms
            if since_ms is not None and heard_ms - since_ms > self._heartbeat_ms:
                heard_ms = since_ms  # a long wait: it died in it rather than right after
            earliest_ms = min(max(heard_ms, committed_ms or 0), latest_ms)
            comes_early = after is not None and after.began.at_ms < ended.latest_ms
            if after is not None:
                latest_ms = max(min(latest_ms, after.began.at_ms), earliest_ms)
            at_ms = (earliest_ms + latest_ms) // 2
            # What comes back later may have been frozen: nothing on disk tells that from a crash.
            return TimeEstimate(at_ms, earliest_ms, latest_ms), 0.95 if comes_early else 0.7
        if membership.departure is Departure.REPLACED:
            if committed_ms is not None and ended.earliest_ms <= committed_ms <= ended.latest_ms:
                return TimeEstimate(committed_ms, committed_ms, ended.latest_ms), 0.8
            return ended, 0.6
        return ended, 0.9 if membership.departure is Departure.LEFT else 0.5

    def _slow(self, membership: Membership, after: Membership | None) -> SlowPoll | None:
        """That it went only because its application was away from poll."""
        poll_ms = membership.member.rebalance_timeout_ms
        if (
            membership.departure is Departure.DROPPED
            and after is not None
            and membership.ended is not None
        ):
            began = TimeEstimate.exactly(
                max(membership.ended.at_ms - poll_ms, membership.began.at_ms)
            )
            return SlowPoll(began, after.began, 0.5, membership.left_evidence or "")
        if membership.ended is None or poll_ms <= 0:
            return None
        committed_ms = self._commits.get(membership.member_id)
        silent_ms = 0 if committed_ms is None else membership.ended.at_ms - committed_ms
        if membership.departure is Departure.REPLACED:
            # It heartbeat on, or its session would have run out.
            longest_ms = max(poll_ms, membership.member.session_timeout_ms + COMMIT_SLACK_MS)
            if committed_ms is None or after is None or silent_ms < longest_ms:
                return None
            began = TimeEstimate(committed_ms, committed_ms, committed_ms + COMMIT_SLACK_MS)
            return SlowPoll(began, after.began, 0.7, membership.left_evidence or "")
        if membership.departure is not Departure.LEFT:
            return None
        says_so = client_cause_of(membership.reason) == "POLL_TIMEOUT"
        is_silent = silent_ms > COMMIT_SLACK_MS and abs(silent_ms - poll_ms) <= COMMIT_SLACK_MS
        if not says_so and (membership.reason is not None or not is_silent):
            return None
        polled_ms = membership.ended.at_ms - poll_ms
        began = TimeEstimate(polled_ms, polled_ms - self._heartbeat_ms, polled_ms)
        to = None if after is None else after.began
        return SlowPoll(began, to, 1.0 if says_so else 0.8, membership.left_evidence or "")


def _joined(life: ProcessLife, after: ProcessLife) -> ProcessLife:
    """One process under two member ids."""
    return replace(
        after,
        started=life.started,
        predates_evidence=life.predates_evidence,
        member_ids=life.member_ids + after.member_ids,
        slow=life.slow + after.slow,
        first_generation=life.first_generation,
        confidence=min([life.confidence, after.confidence, *(s.confidence for s in life.slow)]),
        evidence=f"{life.evidence}; {after.evidence}",
    )
