"""Stimuli of a generation that only its records tell of: the plainest way from one to the next."""

from __future__ import annotations

from coordinator_core.coordinator.era import Era
from coordinator_core.incident.broker_settings import initial_wait_ms
from coordinator_core.incident.evidence import GroupRecord, RecordedMember
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.log_inference import OF_THE_CLUSTER, InferredStimuli
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.incident.stimulus_builder import LOG_LAG_MS


class RecordInference:
    """``before``: the members that the record before has; ``since_ms``: when it was written."""

    def __init__(
        self,
        chapter: GenerationEvidence,
        before: tuple[str, ...],
        generation_before: int,
        since_ms: int,
        members: MemberDirectory,
        era: Era,
        delay_ms: int,
    ) -> None:
        self.chapter, self.before, self.known = chapter, before, members
        self.generation_before, self.since_ms = generation_before, since_ms
        self.era, self.delay_ms = era, delay_ms
        self.record = chapter.records[0]
        self.stimuli: list[Stimulus] = []

    def read(self) -> InferredStimuli:
        if self.record.members:
            self._form()
            self._sync()
        else:
            self._empty()
        for before, after in zip(self.chapter.records, self.chapter.records[1:], strict=False):
            self._replace(before, after)
        last = self.chapter.records[-1]
        return InferredStimuli(self.stimuli, [], tuple(member.member_id for member in last.members))

    def _form(self) -> None:
        """Who is gone leaves, who is new joins, all others rejoin; else the leader asked for it."""
        at_ms = self.record.joined_ms
        instances = {each: self.known.at(each, 0).instance_id for each in self.before}
        taken_over = {
            member.instance_id
            for member in self.record.members
            if member.instance_id is not None and member.instance_id in instances.values()
        }
        gone = [
            each
            for each in self.before
            if each not in self.record.by_id and instances[each] not in taken_over
        ]
        came = [each for each in self.record.members if each.member_id not in self.before]
        stay = [each for each in self.record.members if each.member_id in self.before]
        first_ms = at_ms if self.before else at_ms - self._delay(came)
        if not gone and all(each.instance_id in taken_over for each in came):
            self._rejoin(stay[:1], first_ms, changed=True)  # static ones alone make no rebalance
        # A newcomer that leads was there when the former leader went.
        comes_first = any(each.member_id == self.record.leader for each in came)
        if comes_first:
            self._join(came, first_ms, at_ms)
        for member_id in gone:
            self._add(StimulusKind.LEAVE, first_ms, member_id, leavers=(member_id,))
        if not comes_first:
            self._join(came, first_ms, at_ms)
        self._rejoin(stay, at_ms)
        self._unseen(at_ms)

    def _join(self, came: list[RecordedMember], first_ms: int, at_ms: int) -> None:
        for place, member in enumerate(self._leader_first(came)):
            joins_ms = first_ms + min(place, 1) if not self.before else at_ms
            # No id is given out twice: one that was in the group before is the client's own word.
            was_here = self.known.was_seen_before(member.member_id, self.record)
            kind = StimulusKind.REJOIN if was_here else StimulusKind.JOIN
            self._add(kind, joins_ms, member.member_id, member.instance_id)

    def _unseen(self, at_ms: int) -> None:
        """Generations without a record: nobody synced before somebody asked for the next."""
        for _ in range(self.generation_before + 1, self.record.generation):
            self._rejoin(self.record.members[:1], at_ms, changed=True)
            self._rejoin(self.record.members, at_ms)

    def _delay(self, came: list[RecordedMember]) -> int:
        """A new group waits; it waits on if others join meanwhile."""
        if not self.era.has_initial_delay or not came:
            return 0
        extends = self.era.is_new_coordinator or self.record.generation == 1
        others_ms = [1] if len(came) > 1 and extends else []
        return initial_wait_ms(self.delay_ms, came[0].rebalance_timeout_ms, others_ms)

    def _leader_first(self, came: list[RecordedMember]) -> list[RecordedMember]:
        """Whoever joins an empty group first leads it."""
        return sorted(came, key=lambda each: each.member_id != self.record.leader)

    def _rejoin(
        self, members: list[RecordedMember] | tuple[RecordedMember, ...], at_ms: int, *,
        changed: bool = False,
    ) -> None:  # fmt: skip
        for each in members:
            self._add(StimulusKind.REJOIN, at_ms, each.member_id, each.instance_id, changed=changed)

    def _sync(self) -> None:
        record = self.record
        given = {member.member_id: member.assignment for member in record.members}
        for member in sorted(record.members, key=lambda each: each.member_id == record.leader):
            is_leader = member.member_id == record.leader
            self._add(
                StimulusKind.SYNC,
                record.at_ms,
                member.member_id,
                member.instance_id,
                assignments=given if is_leader else None,
            )

    def _empty(self) -> None:
        at_ms = self.record.joined_ms
        last = [self.known.at(each, 0)._replace(member_id=each) for each in self.before]
        for _ in range(self.generation_before + 1, self.record.generation):
            self._rejoin(last[:1], at_ms, changed=True)
            self._rejoin(last[1:], at_ms)
        for member_id in self.before:
            self._add(StimulusKind.LEAVE, at_ms, member_id, leavers=(member_id,))

    def _replace(self, before: GroupRecord, after: GroupRecord) -> None:
        """A second record of a generation: a static member came back under a new id."""
        for member in after.members:
            if member.member_id not in before.by_id and member.instance_id is not None:
                self._add(
                    StimulusKind.JOIN,
                    after.at_ms,
                    member.member_id,
                    member.instance_id,
                    record=after,
                )

    def _add(
        self,
        kind: StimulusKind,
        at_ms: int,
        member_id: str,
        instance_id: str | None = None,
        *,
        changed: bool = False,
        leavers: tuple[str, ...] = (),
        assignments: dict[str, bytes] | None = None,
        record: GroupRecord | None = None,
    ) -> None:
        told_by = record or self.record
        is_assumed = kind is StimulusKind.LEAVE or changed
        self.stimuli.append(
            Stimulus(
                kind,
                at_ms,
                min(self.since_ms, at_ms),
                told_by.at_ms,
                told_by.where,
                Basis.ASSUMED if is_assumed else Basis.RECORD,
                self.record.generation,
                member_id,
                instance_id,
                changed,
                leavers,
                assignments,
            )
        )


def before_first_start(chapter: GenerationEvidence, asked: dict[str, int]) -> list[Stimulus]:
    """Of a chapter whose rebalance no log has: who asked for an id meanwhile, takeovers."""
    found = []
    for event in chapter.events:
        kind, member_id = OF_THE_CLUSTER.get(event.event), ""
        if event.event == "MEMBER_JOIN" and event.step == "id_required":
            kind, member_id = StimulusKind.ASK_ID, event.member_id or ""
            asked[member_id] = event.at_ms
        if kind is not None and event.step in (None, "group", "id_required"):
            found.append(
                Stimulus(
                    kind,
                    event.at_ms,
                    event.at_ms - LOG_LAG_MS,
                    event.at_ms,
                    event.where,
                    Basis.LOG,
                    chapter.generation + 1,
                    member_id,
                )
            )
    return found
