"""Members from their coming to their going, by what reached the coordinator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.members import MemberDirectory, client_of
from coordinator_core.incident.replay import ExplainedGeneration, ExplainedIncarnation
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind

_SAME_MOMENT_MS = 50


class TimeEstimate(NamedTuple):
    """A moment in ms since the epoch, and the interval that it lay in."""

    at_ms: int
    earliest_ms: int
    latest_ms: int

    @classmethod
    def exactly(cls, at_ms: int) -> TimeEstimate:
        return cls(at_ms, at_ms, at_ms)


class Departure(Enum):
    LEFT = "left"
    EXPIRED = "expired"
    REPLACED = "replaced"  # by the next process of its instance id
    DROPPED = "dropped"  # did not rejoin or sync in time
    UNSEEN = "unseen"  # its group is gone


@dataclass
class Membership:
    """One member id's time in the group.

    ``was_there``: before the evidence begins.  ``told_ms``: when the group learnt that it went.
    ``last_heard_ms``: of one that expired; ``waited_since_ms``: it was put out a session after a
    join that it waited for since then: who waits counts as heard of.  ``reason``: the client's own
    words about its leave.
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
    told_ms: int | None = None
    last_contact_ms: int | None = None
    reason: str | None = None
    left_evidence: str | None = None
    first_generation: int = 0
    last_generation: int = 0

    @property
    def member_id(self) -> str:
        return self.member.member_id


def memberships_of(told: Iterable[ExplainedIncarnation]) -> list[Membership]:
    """All members of a group in the order in which they came; who only asked for an id is none."""
    found: list[Membership] = []
    for life in told:
        found += _Reader(life).read()
    return sorted(found, key=lambda each: each.began.at_ms)


class _Reader:
    def __init__(self, told: ExplainedIncarnation) -> None:
        self._told = told
        self._members: MemberDirectory = told.members
        self._open: dict[str, Membership] = {}
        self._asked: dict[str, TimeEstimate] = {}
        self._found: dict[str, Membership] = {}

    def read(self) -> list[Membership]:
        for each in self._told.chapters:
            self._expiries(each)
            for stimulus in each.stimuli:
                self._take(stimulus)
            for event in each.chapter.events:
                if event.event == "DROPPED_NOT_REJOINED" or event.cause == "SYNC_TIMEOUT":
                    for member_id in event.members or (event.member_id or "",):
                        self._end(
                            member_id,
                            Departure.DROPPED,
                            TimeEstimate.exactly(event.at_ms),
                            event.where,
                        )
            self._see(each.chapter)
        self._mark_those_before()
        return list(self._found.values())

    def _mark_those_before(self) -> None:
        """Of a story that begins in the middle: whose coming has no line was there before."""
        first = next((e.chapter.generation for e in self._told.chapters if e.chapter.generation), 1)
        for membership in self._found.values():
            if 1 < first == membership.first_generation and membership.basis is not Basis.LOG:
                membership.predates_evidence = True

    def _take(self, stimulus: Stimulus) -> None:
        when = TimeEstimate(stimulus.at_ms, stimulus.earliest_ms, stimulus.latest_ms)
        member_id = stimulus.member_id
        if stimulus.kind is StimulusKind.ASK_ID:
            self._asked[member_id] = when
        elif (
            stimulus.kind in (StimulusKind.JOIN, StimulusKind.REJOIN)
            and member_id not in self._found
        ):
            began = self._asked.pop(member_id, when)
            self._replace(stimulus.instance_id, began, stimulus.evidence)
            generation = stimulus.generation
            self._begin(member_id, generation, began, stimulus.basis, stimulus.evidence)
        elif stimulus.kind is StimulusKind.LEAVE:
            for leaver in stimulus.leavers:
                membership = self._end(leaver, Departure.LEFT, when, stimulus.evidence)
                if membership is not None:
                    membership.reason = stimulus.reason

    def _begin(
        self, member_id: str, generation: int, began: TimeEstimate, basis: Basis, evidence: str
    ) -> Membership:
        member = self._members.at(member_id, generation)
        if not member.client_id or member_id not in self._members:
            member = self._like_its_instance(member)
        membership = Membership(member, self._told.life.incarnation, began, basis, evidence)
        membership.first_generation = membership.last_generation = generation
        self._open[member_id] = self._found[member_id] = membership
        return membership

    def _like_its_instance(self, member: RecordedMember) -> RecordedMember:
        """A member that is in no record: what its instance was before."""
        name = client_of(member.member_id)
        for other in reversed(self._found.values()):
            known = other.member
            if known.instance_id is not None and member.member_id.startswith(known.instance_id):
                return known._replace(member_id=member.member_id)
        return member._replace(client_id=member.client_id or name)

    def _replace(self, instance_id: str | None, began: TimeEstimate, evidence: str) -> None:
        if instance_id is None:
            return
        for member_id, membership in list(self._open.items()):
            if membership.member.instance_id == instance_id:
                session_ms = membership.member.session_timeout_ms
                earliest_ms = max(membership.began.at_ms, began.at_ms - session_ms)
                gone = TimeEstimate(began.at_ms, earliest_ms, began.at_ms)
                self._end(member_id, Departure.REPLACED, gone, evidence)

    def _end(
        self, member_id: str, departure: Departure, ended: TimeEstimate, evidence: str
    ) -> Membership | None:
        membership = self._open.pop(member_id, None)
        if membership is not None:
            membership.departure, membership.ended, membership.told_ms = (
                departure,
                ended,
                ended.at_ms,
            )
            membership.left_evidence = evidence
        return membership

    def _waited_since_ms(self, heard_ms: int) -> int | None:
        for each in self._told.chapters:
            start, joined = each.chapter.start, each.chapter.first("JOIN_COMPLETE")
            if start is None or joined is None:
                continue
            if abs(heard_ms - joined.at_ms) <= _SAME_MOMENT_MS:
                return start.at_ms
        return None

    def _expiries(self, each: ExplainedGeneration) -> None:
        silent = {silence.member_id: silence for silence in each.expired_sessions}
        for event in each.chapter.events:
            silence = silent.get(event.member_id or "")
            if event.event != "HEARTBEAT_EXPIRED" or silence is None:
                continue
            heard_ms = silence.last_contact_ms
            ended = TimeEstimate(heard_ms, heard_ms, event.at_ms)
            if silence.member_id not in self._found:
                self._take_from(each, silence.member_id)
            membership = self._end(silence.member_id, Departure.EXPIRED, ended, silence.evidence)
            if membership is not None:
                membership.told_ms, membership.last_contact_ms = event.at_ms, heard_ms
                membership.waited_since_ms = self._waited_since_ms(heard_ms)

    def _take_from(self, each: ExplainedGeneration, member_id: str) -> None:
        """Of a chapter in which the member came, too."""
        for stimulus in each.stimuli:
            if stimulus.member_id == member_id:
                self._take(stimulus)

    def _see(self, chapter: GenerationEvidence) -> None:
        """Members that a record has and nothing told of were there before."""
        for record in chapter.records:
            for member in record.members:
                membership = self._found.get(member.member_id)
                if membership is None:
                    began = TimeEstimate.exactly(record.joined_ms)
                    membership = self._begin(
                        member.member_id, record.generation, began, Basis.RECORD, record.where
                    )
                    membership.predates_evidence = True
                membership.last_generation = max(membership.last_generation, record.generation)
                membership.member = member
