"""Builds the stimuli of one generation while it tracks which members are present."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.incident.evidence import LogEvent
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.later_evidence import LaterEvidence, error_of_append
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.protocol.errors import Errors

# A line is logged at most this long after the event that it describes.
LOG_LAG_MS = 10
# Schedule on-time rejoins this long before the deadline, so that the engine's timer does not fire
# first.
_IN_TIME_MS = 20
DEPARTURES = ("LEFT", "HEARTBEAT_EXPIRED")


class StimulusBuilder:
    """``present``: current members; ``joined`` has members that joined since the start of the
    rebalance; ``departed`` has members that left in the rebalance; ``stimuli`` are the stimuli
    found so far.
    """

    def __init__(
        self,
        evidence: GenerationEvidence,
        previous_members: tuple[str, ...],
        pending_ms: dict[str, int],
        directory: MemberDirectory,
        later: LaterEvidence,
        delay_ms: int,
    ) -> None:
        """``pending_ms`` has members that received an id and have not joined, and when; updated
        here.

        ``delay_ms``: group.initial.rebalance.delay.ms.
        """
        start = evidence.start
        assert start is not None
        self.evidence, self.start, self.directory, self.later = evidence, start, directory, later
        self.pending_ms, self.delay_ms = pending_ms, delay_ms
        self.record = evidence.records[0] if evidence.records else None
        self.present: dict[str, None] = dict.fromkeys(previous_members)
        self.joined: set[str] = set()
        self.departed: set[str] = set()
        self.was_empty = not previous_members
        self.stimuli: list[Stimulus] = []
        self.join_end = evidence.first("JOIN_COMPLETE") or evidence.first("GROUP_EMPTY")
        self.joined_ms = self._joined_ms()
        settings = [directory.at(each, evidence.generation - 1) for each in previous_members]
        longest_ms = max((each.rebalance_timeout_ms for each in settings), default=0)
        self.join_deadline_ms = start.at_ms + longest_ms

    def _joined_ms(self) -> int:
        if self.record is not None:
            return self.record.joined_ms
        return self.join_end.at_ms if self.join_end is not None else self.evidence.ends_ms

    def is_known(self, member_id: str) -> bool:
        """Returns whether the id belongs to a current or former member: ids are never reused."""
        if member_id in self.present:
            return True
        return self.record is not None and self.directory.was_seen_before(member_id, self.record)

    def departed_during_join(self) -> bool:
        return any(e.event in DEPARTURES and e.seq > self.start.seq for e in self.evidence.events)

    def next_start(self, event: LogEvent) -> LogEvent | None:
        """The first start of a rebalance after an event."""
        starts = (each for each in self.evidence.events if each.event == "REBALANCE_START")
        return next((each for each in starts if each.seq > event.seq), None)

    def join_in_time(
        self, member_id: str, line: LogEvent, place: int = 0, *, at_once: bool = False
    ) -> None:
        """Add a join without a line of its own, at the latest when the join completed.

        ``place`` is the member's place among the new members; ``at_once`` means right after it
        received its id, like all new members except the member that completes the join.
        """
        last_ms = min(self.joined_ms, line.at_ms)
        earliest_ms = self.pending_ms.get(member_id, self.start.at_ms)
        if self.was_empty and member_id not in self.pending_ms:
            at_ms = min(self.start.at_ms + self._round_begins(place) + 1, last_ms)
        elif self.was_empty or at_once:
            at_ms = min(max(earliest_ms, self.start.at_ms) + 1, last_ms)
        else:
            at_ms = max(min(last_ms, self.join_deadline_ms - _IN_TIME_MS), self.start.at_ms)
        where = line.where if self.record is None else f"{self.record.where}, {line.where}"
        stimulus = Stimulus(
            kind=StimulusKind.REJOIN if self.is_known(member_id) else StimulusKind.JOIN,
            at_ms=at_ms,
            earliest_ms=earliest_ms,
            latest_ms=last_ms,
            evidence=where,
            basis=Basis.RECORD if self.record is not None else Basis.ASSUMED,
            generation=self.evidence.generation,
            member_id=member_id,
            instance_id=self.directory.at(member_id, self.evidence.generation).instance_id,
        )
        self.pending_ms.pop(member_id, None)
        self.stimuli.append(stimulus)

    def _round_begins(self, place: int) -> int:
        """A new group's initial delay is extended while members join: one joined in each round."""
        if not self.delay_ms:
            return 0
        rounds = round((self.joined_ms - self.start.at_ms) / self.delay_ms)
        return min(place, max(rounds - 2, 0)) * self.delay_ms

    def sync(self, leader: str, at_ms: int, where: str) -> None:
        generation = self.evidence.generation
        never_synced = self.later.never_synced.get(generation, frozenset())
        followers = [each for each in self.present if each != leader] if leader else []
        for member_id in [*followers, leader]:
            # SyncGroup renews the session: a member with an earlier last contact sent no SyncGroup.
            between_ms = (self.joined_ms + at_ms) / 2
            sent_none = self.later.last_contact_ms.get(member_id, at_ms) < between_ms
            if member_id in never_synced or (sent_none and member_id != leader):
                continue
            is_leader = member_id == leader
            self.stimuli.append(
                Stimulus(
                    kind=StimulusKind.SYNC,
                    at_ms=at_ms,
                    earliest_ms=at_ms - LOG_LAG_MS if is_leader else self.joined_ms,
                    latest_ms=at_ms,
                    evidence=where,
                    basis=Basis.LOG if is_leader else Basis.ASSUMED,
                    generation=generation,
                    member_id=member_id,
                    instance_id=self.directory.at(member_id, generation).instance_id,
                    assignments=self._recorded_assignments() if is_leader else None,
                )
            )

    def _recorded_assignments(self) -> dict[str, bytes]:
        if self.record is None:
            return {}
        return {member.member_id: member.assignment for member in self.record.members}

    def sync_without_record(self, line: LogEvent) -> None:
        """A leader's sync whose assignment was never stored, so its content is unknown."""
        leader = line.member_id or ""
        self.add(
            StimulusKind.SYNC,
            line.at_ms,
            line,
            leader,
            instance_id=self.directory.at(leader, self.evidence.generation).instance_id,
            assignments={},
            append_error=error_of_append(self.next_start(line)),
        )

    def join(
        self, member_id: str, at_ms: int, line: LogEvent, instance_id: str | None = None
    ) -> None:
        self.pending_ms.pop(member_id, None)
        self.joined.add(member_id)
        self.present[member_id] = None
        self.add(StimulusKind.JOIN, at_ms, line, member_id, instance_id=instance_id)

    def leave(self, line: LogEvent, leavers: tuple[str, ...], at_ms: int) -> None:
        for member_id in leavers:
            self.present.pop(member_id, None)
            self.pending_ms.pop(member_id, None)
        self.departed.update(leavers)
        self.add(StimulusKind.LEAVE, at_ms, line, leavers[0], leavers=leavers)

    def add(
        self,
        kind: StimulusKind,
        at_ms: int,
        line: LogEvent,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        changed: bool = False,
        leavers: tuple[str, ...] = (),
        assignments: Mapping[str, bytes] | None = None,
        append_error: Errors = Errors.NONE,
    ) -> None:
        self.stimuli.append(
            Stimulus(
                kind=kind,
                at_ms=at_ms,
                earliest_ms=at_ms - LOG_LAG_MS,
                latest_ms=at_ms,
                evidence=line.where,
                basis=Basis.LOG,
                generation=self.evidence.generation,
                member_id=member_id,
                instance_id=instance_id,
                changed=changed,
                leavers=leavers,
                assignments=assignments,
                append_error=append_error,
                reason=line.client_reason,
            )
        )
