"""Time of each member id in its group, from its first join to its departure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.incident.explanation import ExplainedGeneration, ExplainedIncarnation
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.protocol.client_times import SAME_MOMENT_MS
from coordinator_core.protocol.processes import client_of


class TimeEstimate(NamedTuple):
    """The most likely time and the interval around it, in ms since the epoch."""

    at_ms: int
    earliest_ms: int
    latest_ms: int

    @classmethod
    def exactly(cls, at_ms: int) -> TimeEstimate:
        return cls(at_ms, at_ms, at_ms)


class Departure(Enum):
    LEFT = "left"
    SESSION_EXPIRED = "session_expired"
    REPLACED = "replaced"  # The next process with the same instance id replaced the member.
    DROPPED = "dropped"  # The member did not rejoin or sync in time.


@dataclass(kw_only=True)
class Membership:
    """One member id's time in the group; ``departure`` and ``ended`` are None while it lasts.

    ``predates_evidence`` means that the member joined before the evidence begins.
    ``last_contact_ms`` is the last contact of a member whose session expired.  ``waited_since_ms``
    is the start of the join for which the member waited until its last contact or its leave.  A
    waiting member needs no heartbeats, so it may have died during the wait; and the LeaveGroup of a
    closing client waits behind its JoinGroup, on the same connection.  ``reason`` is the client's
    reason for leaving (KIP-800).
    """

    member: RecordedMember
    incarnation: int
    began: TimeEstimate
    basis: Basis
    evidence: str
    predates_evidence: bool = False
    waited_since_ms: int | None = None
    departure: Departure | None = None
    ended: TimeEstimate | None = None
    last_contact_ms: int | None = None
    reason: str | None = None
    left_evidence: str | None = None
    first_generation: int = 0
    last_generation: int = 0

    @property
    def member_id(self) -> str:
        return self.member.member_id


def memberships_of(incarnations: Iterable[ExplainedIncarnation]) -> list[Membership]:
    """By start. A client that received a member id but never joined has no membership."""
    memberships = [
        each for explained in incarnations for each in _MembershipReader(explained).read()
    ]
    return sorted(memberships, key=lambda each: each.began.at_ms)


class _MembershipReader:
    def __init__(self, explained: ExplainedIncarnation) -> None:
        self._explained = explained
        self._directory = explained.members
        self._open: dict[str, Membership] = {}
        self._pending: dict[str, TimeEstimate] = {}  # time at which a member received its id
        self._by_id: dict[str, Membership] = {}
        self._joins = sorted(_joins(explained))

    def read(self) -> list[Membership]:
        for each in self._explained.generations:
            self._end_expired(each)
            for stimulus in each.stimuli:
                self._apply(stimulus)
            self._end_dropped(each.evidence)
            self._add_recorded(each.evidence)
        self._mark_predating()
        return list(self._by_id.values())

    def _end_dropped(self, evidence: GenerationEvidence) -> None:
        for event in evidence.events:
            if event.event == "DROPPED_NOT_REJOINED" or event.cause == "SYNC_TIMEOUT":
                ended = TimeEstimate.exactly(event.at_ms)
                for member_id in event.members or (event.member_id or "",):
                    self._end(member_id, Departure.DROPPED, ended, event.where)

    def _mark_predating(self) -> None:
        """If the first generations are missing, a member of the first known generation whose join
        is not logged joined before the evidence begins.
        """
        numbers = (each.evidence.generation for each in self._explained.generations)
        first = next((number for number in numbers if number), 1)
        for membership in self._by_id.values():
            if 1 < first == membership.first_generation and membership.basis is not Basis.LOG:
                membership.predates_evidence = True

    def _apply(self, stimulus: Stimulus) -> None:
        when = TimeEstimate(stimulus.at_ms, stimulus.earliest_ms, stimulus.latest_ms)
        member_id = stimulus.member_id
        is_join = stimulus.kind in (StimulusKind.JOIN, StimulusKind.REJOIN)
        if stimulus.kind is StimulusKind.ASK_ID:
            self._pending[member_id] = when
        elif is_join and member_id not in self._by_id:
            began = self._pending.pop(member_id, when)
            self._replace(stimulus.instance_id, began, stimulus.evidence)
            generation = stimulus.generation
            self._begin(member_id, generation, began, stimulus.basis, stimulus.evidence)
        elif stimulus.kind is StimulusKind.LEAVE:
            for leaver in stimulus.leavers:
                membership = self._end(leaver, Departure.LEFT, when, stimulus.evidence)
                if membership is not None:
                    membership.reason = stimulus.reason
                    membership.waited_since_ms = self._waited_since_ms(when.at_ms, before_ms=0)

    def _begin(
        self, member_id: str, generation: int, began: TimeEstimate, basis: Basis, evidence: str
    ) -> Membership:
        member = self._directory.at(member_id, generation)
        if not member.client_id or member_id not in self._directory:
            member = self._like_its_instance(member)
        number = self._explained.incarnation.number
        membership = Membership(
            member=member, incarnation=number, began=began, basis=basis, evidence=evidence
        )
        membership.first_generation = membership.last_generation = generation
        self._open[member_id] = self._by_id[member_id] = membership
        return membership

    def _like_its_instance(self, member: RecordedMember) -> RecordedMember:
        """A member without a record takes the settings of its instance's previous member."""
        name = client_of(member.member_id)
        for membership in reversed(self._by_id.values()):
            other = membership.member
            if other.instance_id is not None and member.member_id.startswith(other.instance_id):
                return other._replace(member_id=member.member_id)
        return member._replace(client_id=member.client_id or name)

    def _replace(self, instance_id: str | None, began: TimeEstimate, evidence: str) -> None:
        if instance_id is None:
            return
        for member_id, membership in list(self._open.items()):
            if membership.member.instance_id == instance_id:
                session_ms = membership.member.session_timeout_ms
                earliest_ms = max(membership.began.at_ms, began.at_ms - session_ms)
                ended = TimeEstimate(began.at_ms, earliest_ms, began.at_ms)
                self._end(member_id, Departure.REPLACED, ended, evidence)

    def _end(
        self, member_id: str, departure: Departure, ended: TimeEstimate, evidence: str
    ) -> Membership | None:
        membership = self._open.pop(member_id, None)
        if membership is not None:
            membership.departure, membership.ended = departure, ended
            membership.left_evidence = evidence
        return membership

    def _waited_since_ms(self, last_contact_ms: int, before_ms: int = SAME_MOMENT_MS) -> int | None:
        """``before_ms`` says how long before the end of the join the last contact may be."""
        at = bisect_left(self._joins, (last_contact_ms - SAME_MOMENT_MS,))
        for joined_ms, began_ms in self._joins[at : at + 1]:
            if joined_ms <= last_contact_ms + before_ms:
                return began_ms
        return None

    def _end_expired(self, each: ExplainedGeneration) -> None:
        by_id = {expired.member_id: expired for expired in each.expired_sessions}
        for event in each.evidence.events:
            expired = by_id.get(event.member_id or "")
            if event.event != "HEARTBEAT_EXPIRED" or expired is None:
                continue
            last_contact_ms = expired.last_contact_ms
            ended = TimeEstimate(last_contact_ms, last_contact_ms, event.at_ms)
            if expired.member_id not in self._by_id:
                self._apply_stimuli_of(each, expired.member_id)
            membership = self._end(
                expired.member_id, Departure.SESSION_EXPIRED, ended, expired.evidence
            )
            if membership is not None:
                membership.last_contact_ms = last_contact_ms
                membership.waited_since_ms = self._waited_since_ms(last_contact_ms)

    def _apply_stimuli_of(self, each: ExplainedGeneration, member_id: str) -> None:
        """Apply the stimuli of a member that joins and expires in the same generation."""
        for stimulus in each.stimuli:
            if stimulus.member_id == member_id:
                self._apply(stimulus)

    def _add_recorded(self, evidence: GenerationEvidence) -> None:
        """A recorded member whose join is not known joined before the evidence begins."""
        for record in evidence.records:
            for member in record.members:
                membership = self._by_id.get(member.member_id)
                if membership is None:
                    began = TimeEstimate.exactly(record.joined_ms)
                    membership = self._begin(
                        member.member_id, record.generation, began, Basis.RECORD, record.where
                    )
                    membership.predates_evidence = True
                membership.last_generation = max(membership.last_generation, record.generation)
                membership.member = member


def _joins(explained: ExplainedIncarnation) -> Iterator[tuple[int, int]]:
    """The times at which each join ended and began."""
    for each in explained.generations:
        start, joined = each.evidence.start, each.evidence.first("JOIN_COMPLETE")
        if start is not None and joined is not None:
            yield joined.at_ms, start.at_ms
