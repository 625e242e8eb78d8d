"""Stimuli of a generation known only by its records: the simplest way from record to record."""

from __future__ import annotations

from coordinator_core.coordinator.era import Era
from coordinator_core.incident.broker_settings import initial_wait_ms
from coordinator_core.incident.evidence import MetadataRecord, RecordedMember
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.log_inference import CLUSTER_STIMULI, InferredStimuli
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.incident.stimulus_builder import LOG_LAG_MS


class RecordInference:
    """``previous_members`` are the members of the previous record, which was written at
    ``since_ms``.
    """

    def __init__(
        self,
        *,
        evidence: GenerationEvidence,
        previous_members: tuple[str, ...],
        previous_generation: int,
        since_ms: int,
        directory: MemberDirectory,
        era: Era,
        delay_ms: int,
    ) -> None:
        self.evidence, self.directory = evidence, directory
        self.previous_members, self.previous_generation = previous_members, previous_generation
        self.since_ms = since_ms
        self.era, self.delay_ms = era, delay_ms
        self.record = evidence.records[0]
        self.stimuli: list[Stimulus] = []

    def infer(self) -> InferredStimuli:
        if self.record.members:
            self._form()
            self._sync()
        else:
            self._empty()
        for before, after in zip(self.evidence.records, self.evidence.records[1:], strict=False):
            self._replace(before, after)
        last = self.evidence.records[-1]
        return InferredStimuli(self.stimuli, [], tuple(member.member_id for member in last.members))

    def _form(self) -> None:
        """Missing members leave, new members join, and all other members rejoin.  If there are
        neither missing nor new members, a member requested the rebalance.
        """
        at_ms = self.record.joined_ms
        instances = {each: self.directory.at(each, 0).instance_id for each in self.previous_members}
        taken_over = {
            member.instance_id
            for member in self.record.members
            if member.instance_id is not None and member.instance_id in instances.values()
        }
        missing = [
            each
            for each in self.previous_members
            if each not in self.record.by_id and instances[each] not in taken_over
        ]
        staying = [each for each in self.record.members if each.member_id in self.previous_members]
        joined = [
            each for each in self.record.members if each.member_id not in self.previous_members
        ]
        new = [each for each in joined if each.instance_id not in taken_over]
        # A new process with the same instance id triggers no rebalance here: it joined during a
        # rebalance.
        replacing = [each for each in joined if each.instance_id in taken_over]
        first_ms = at_ms if self.previous_members else at_ms - self._delay(new)
        if not missing and not new:
            self._rejoin(staying[:1], first_ms, changed=True)
        # A new leader joined before the previous leader left.
        joins_first = any(each.member_id == self.record.leader for each in new)
        if joins_first:
            self._join(new, first_ms, at_ms)
        for member_id in missing:
            self._add(StimulusKind.LEAVE, first_ms, member_id, leavers=(member_id,))
        if not joins_first:
            self._join(new, first_ms, at_ms)
        self._join(replacing, first_ms, at_ms)
        self._rejoin(staying, at_ms)
        self._unrecorded_generations(at_ms)

    def _join(self, new: list[RecordedMember], first_ms: int, at_ms: int) -> None:
        for place, member in enumerate(self._leader_first(new)):
            joins_ms = first_ms + min(place, 1) if not self.previous_members else at_ms
            # Brokers assign an id only once, so a former member that joins sent its old id itself.
            was_member = self.directory.was_seen_before(member.member_id, self.record)
            kind = StimulusKind.REJOIN if was_member else StimulusKind.JOIN
            self._add(kind, joins_ms, member.member_id, member.instance_id)

    def _unrecorded_generations(self, at_ms: int) -> None:
        """Generations without a record: superseded before their leader synced."""
        for _ in range(self.previous_generation + 1, self.record.generation):
            self._rejoin(self.record.members[:1], at_ms, changed=True)
            self._rejoin(self.record.members, at_ms)

    def _delay(self, new: list[RecordedMember]) -> int:
        """The initial rebalance delay, extended if other members join during it."""
        if not self.era.has_initial_delay or not new:
            return 0
        extends = self.era.extends_every_initial_delay or self.record.generation == 1
        others_ms = [1] if len(new) > 1 and extends else []
        return initial_wait_ms(self.delay_ms, new[0].rebalance_timeout_ms, others_ms)

    def _leader_first(self, new: list[RecordedMember]) -> list[RecordedMember]:
        """The first member to join an empty group becomes its leader."""
        return sorted(new, key=lambda each: each.member_id != self.record.leader)

    def _rejoin(
        self, members: list[RecordedMember] | tuple[RecordedMember, ...], at_ms: int, *,
        changed: bool = False,
    ) -> None:  # fmt: skip
        for each in members:
            self._add(StimulusKind.REJOIN, at_ms, each.member_id, each.instance_id, changed=changed)

    def _sync(self) -> None:
        record = self.record
        assignments = {member.member_id: member.assignment for member in record.members}
        for member in sorted(record.members, key=lambda each: each.member_id == record.leader):
            is_leader = member.member_id == record.leader
            self._add(
                StimulusKind.SYNC,
                record.at_ms,
                member.member_id,
                member.instance_id,
                assignments=assignments if is_leader else None,
            )

    def _empty(self) -> None:
        at_ms = self.record.joined_ms
        last = [
            self.directory.at(each, 0)._replace(member_id=each) for each in self.previous_members
        ]
        for _ in range(self.previous_generation + 1, self.record.generation):
            self._rejoin(last[:1], at_ms, changed=True)
            self._rejoin(last[1:], at_ms)
        for member_id in self.previous_members:
            self._add(StimulusKind.LEAVE, at_ms, member_id, leavers=(member_id,))

    def _replace(self, before: MetadataRecord, after: MetadataRecord) -> None:
        """A second record of a generation: a static member rejoined under a new member id."""
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
        record: MetadataRecord | None = None,
    ) -> None:
        source = record or self.record
        is_assumed = kind is StimulusKind.LEAVE or changed
        self.stimuli.append(
            Stimulus(
                kind=kind,
                at_ms=at_ms,
                earliest_ms=min(self.since_ms, at_ms),
                latest_ms=source.at_ms,
                evidence=source.where,
                basis=Basis.ASSUMED if is_assumed else Basis.RECORD,
                generation=self.record.generation,
                member_id=member_id,
                instance_id=instance_id,
                changed=changed,
                leavers=leavers,
                assignments=assignments,
            )
        )


def before_first_start(evidence: GenerationEvidence, pending_ms: dict[str, int]) -> list[Stimulus]:
    """Logged requests for member ids and takeovers, in a generation whose start is not logged.

    Adds the members that received an id to ``pending_ms``.
    """
    stimuli = []
    for event in evidence.events:
        kind, member_id = CLUSTER_STIMULI.get(event.event), ""
        if event.event == "MEMBER_JOIN" and event.step == "id_required":
            kind, member_id = StimulusKind.ASK_ID, event.member_id or ""
            pending_ms[member_id] = event.at_ms
        if kind is not None and event.step in (None, "group", "id_required"):
            stimuli.append(
                Stimulus(
                    kind=kind,
                    at_ms=event.at_ms,
                    earliest_ms=event.at_ms - LOG_LAG_MS,
                    latest_ms=event.at_ms,
                    evidence=event.where,
                    basis=Basis.LOG,
                    generation=evidence.generation + 1,
                    member_id=member_id,
                )
            )
    return stimuli
