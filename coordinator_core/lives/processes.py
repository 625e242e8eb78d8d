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
from coordinator_core.lives.spans import Going, Span, When
from coordinator_core.log_lines.reasons import client_cause_of

# A departure and an arrival of the same process within this time is a restart.
RESTART_MS = 60_000
# A consumer beyond max.poll.interval.ms leaves as if it were closed, unless it says why (KIP-800).
# What gives it away: nothing committed since its last poll, give or take an auto-commit interval
# (auto.commit.interval.ms, 5 s) and a heartbeat.
COMMIT_SLACK_MS = 6_000
_SAME_MOMENT_MS = 100


class Slow(NamedTuple):
    """The application was away from poll; ``to`` None: it never came back."""

    began: When
    to: When | None
    confidence: float
    evidence: str


@dataclass(frozen=True)
class Life:
    """A process from start to end.  ``was_there``: since before the evidence begins.

    ``ended`` None: it still runs.  ``killed``: it went without a word; a static member that was
    closed does, too.  ``confidence``: from 0 to 1, that it was so.
    """

    client_id: str
    client_host: str
    member: RecordedMember
    member_ids: tuple[str, ...]
    started: When
    was_there: bool
    ended: When | None
    killed: bool
    slow: tuple[Slow, ...]
    first_generation: int
    last_generation: int
    confidence: float
    evidence: str


@dataclass(frozen=True)
class Process:
    """``name`` is unique in its group."""

    name: str
    instance_id: str | None
    lives: tuple[Life, ...]


def processes(
    spans: Iterable[Span],
    *,
    heartbeat_ms: int = 3000,
    last_commit_ms: Mapping[str, int] | None = None,
) -> list[Process]:
    """``heartbeat_ms``: heartbeat.interval.ms; ``last_commit_ms``: of members that are
    gone, when what they owned was committed for the last time.
    """
    commits = last_commit_ms or {}
    slots = _matched(list(spans))
    _pair(slots)
    for slot in slots:
        slot.spans.sort(key=lambda span: span.began.at_ms)
    slots.sort(key=lambda slot: slot.spans[0].began.at_ms)
    named = _names(slots)
    return [
        Process(
            name,
            slot.spans[-1].member.instance_id,
            tuple(_Lives(slot, heartbeat_ms, commits).told()),
        )
        for slot, name in zip(slots, named, strict=True)
    ]


# -- who is who ----------------------------------------------------------------------------------


@dataclass
class _Slot:
    """``sureness``: that all of these are one process."""

    spans: list[Span] = field(default_factory=list)
    sureness: float = 1.0


def _key(span: Span) -> tuple[str, ...]:
    member = span.member
    if member.instance_id is not None:
        return ("instance", member.instance_id)
    return ("client", member.client_id, member.client_host)


def _matched(spans: list[Span]) -> list[_Slot]:
    slots: list[_Slot] = []
    by_key: dict[tuple[str, ...], list[_Slot]] = {}
    for span in spans:
        mine = by_key.setdefault(_key(span), [])
        free = [slot for slot in mine if _is_over(slot.spans[-1], span)]
        slot = max(free, key=lambda each: _went_ms(each.spans[-1]), default=None)
        if slot is None:
            slot = _Slot()
            slots.append(slot)
            mine.append(slot)
        elif len(free) > 1:
            slot.sureness = min(slot.sureness, 0.6)
        slot.spans.append(span)
    return slots


def _is_over(last: Span, span: Span) -> bool:
    return last.ended is not None and _went_ms(last) <= span.began.at_ms + _SAME_MOMENT_MS


def _went_ms(span: Span) -> int:
    """Of one that fell silent, when it was heard of last: its next life may begin before the group
    has put it out."""
    assert span.ended is not None
    return span.ended.at_ms if span.last_heard_ms is None else span.last_heard_ms


def _pair(slots: list[_Slot]) -> None:
    """One in, one out: who never came back, and who had never been there."""
    gone = [s for s in slots if s.spans[-1].ended is not None and not _is_named(s)]
    came = [s for s in slots if not s.spans[0].was_there and not _is_named(s)]
    near = sorted(
        (
            (abs(new.spans[0].began.at_ms - _went_ms(old.spans[-1])), n, m)
            for n, old in enumerate(gone)
            for m, new in enumerate(came)
            if old is not new and old.spans[0].began.at_ms < new.spans[0].began.at_ms
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
            same = new_.spans[0].member.client_id == old.spans[-1].member.client_id
            old.sureness = min(old.sureness, new_.sureness, 0.8 if same else 0.6)
            old.spans += new_.spans
            slots.remove(new_)
            new_ = follows.get(id(new_))


def _is_named(slot: _Slot) -> bool:
    return slot.spans[0].member.instance_id is not None


def _names(slots: list[_Slot]) -> list[str]:
    """The instance id, else the client id, with its host and a number where that is not enough."""
    plain = [s.spans[0].member.instance_id or s.spans[0].member.client_id for s in slots]
    hosted = [
        name if plain.count(name) == 1 else f"{name}@{slot.spans[0].member.client_host.lstrip('/')}"
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

    def told(self) -> list[Life]:
        found: list[Life] = []
        following = [*self._slot.spans[1:], None]
        goes_on = False
        for span, after in zip(self._slot.spans, following, strict=True):
            slow = self._slow(span, after)
            life = self._life(span, after, slow)
            found[-1:] = [_joined(found[-1], life)] if goes_on else [*found[-1:], life]
            goes_on = slow is not None and slow.to is not None
        return found

    def _life(self, span: Span, after: Span | None, slow: Slow | None) -> Life:
        ended, sure = (None, 1.0) if slow is not None else self._ended(span, after)
        came = {Basis.LOG: 1.0, Basis.RECORD: 0.8, Basis.ASSUMED: 0.5}[span.basis]
        left = "" if span.left_evidence is None else f"; {span.left_evidence}"
        return Life(
            span.member.client_id,
            span.member.client_host,
            span.member,
            (span.member_id,),
            span.began,
            span.was_there,
            ended,
            span.going in (Going.EXPIRED, Going.DROPPED),
            () if slow is None else (slow,),
            span.first_generation,
            span.last_generation,
            min(sure, came, self._slot.sureness),
            span.evidence + left,
        )

    def _ended(self, span: Span, after: Span | None) -> tuple[When | None, float]:
        """When its process ended, and how sure that is."""
        ended = span.ended
        if ended is None:
            return None, 1.0
        committed_ms = self._commits.get(span.member_id)
        if span.going is Going.EXPIRED:
            latest_ms = min(ended.at_ms + self._heartbeat_ms, ended.latest_ms)
            heard_ms = ended.at_ms
            since_ms = span.waited_since_ms
            if since_ms is not None and heard_ms - since_ms > self._heartbeat_ms:
                heard_ms = since_ms  # a long wait: it died in it rather than right after
            earliest_ms = min(max(heard_ms, committed_ms or 0), latest_ms)
            comes_early = after is not None and after.began.at_ms < ended.latest_ms
            if after is not None:
                latest_ms = max(min(latest_ms, after.began.at_ms), earliest_ms)
            at_ms = (earliest_ms + latest_ms) // 2
            # What comes back later may have been frozen: nothing on disk tells that from a crash.
            return When(at_ms, earliest_ms, latest_ms), 0.95 if comes_early else 0.7
        if span.going is Going.REPLACED:
            if committed_ms is not None and ended.earliest_ms <= committed_ms <= ended.latest_ms:
                return When(committed_ms, committed_ms, ended.latest_ms), 0.8
            return ended, 0.6
        return ended, 0.9 if span.going is Going.LEFT else 0.5

    def _slow(self, span: Span, after: Span | None) -> Slow | None:
        """That it went only because its application was away from poll."""
        poll_ms = span.member.rebalance_timeout_ms
        if span.going is Going.DROPPED and after is not None and span.ended is not None:
            began = When.exactly(max(span.ended.at_ms - poll_ms, span.began.at_ms))
            return Slow(began, after.began, 0.5, span.left_evidence or "")
        if span.ended is None or poll_ms <= 0:
            return None
        committed_ms = self._commits.get(span.member_id)
        silent_ms = 0 if committed_ms is None else span.ended.at_ms - committed_ms
        if span.going is Going.REPLACED:
            # It heartbeat on, or its session would have run out.
            longest_ms = max(poll_ms, span.member.session_timeout_ms + COMMIT_SLACK_MS)
            if committed_ms is None or after is None or silent_ms < longest_ms:
                return None
            began = When(committed_ms, committed_ms, committed_ms + COMMIT_SLACK_MS)
            return Slow(began, after.began, 0.7, span.left_evidence or "")
        if span.going is not Going.LEFT:
            return None
        says_so = client_cause_of(span.reason) == "POLL_TIMEOUT"
        is_silent = silent_ms > COMMIT_SLACK_MS and abs(silent_ms - poll_ms) <= COMMIT_SLACK_MS
        if not says_so and (span.reason is not None or not is_silent):
            return None
        polled_ms = span.ended.at_ms - poll_ms
        began = When(polled_ms, polled_ms - self._heartbeat_ms, polled_ms)
        to = None if after is None else after.began
        return Slow(began, to, 1.0 if says_so else 0.8, span.left_evidence or "")


def _joined(life: Life, after: Life) -> Life:
    """One process under two member ids."""
    return replace(
        after,
        started=life.started,
        was_there=life.was_there,
        member_ids=life.member_ids + after.member_ids,
        slow=life.slow + after.slow,
        first_generation=life.first_generation,
        confidence=min([life.confidence, after.confidence, *(s.confidence for s in life.slow)]),
        evidence=f"{life.evidence}; {after.evidence}",
    )
