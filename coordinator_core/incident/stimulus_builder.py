"""What the members of a group did, as far as one chapter tells; inference reads lines into it."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.incident.evidence import LogEvent
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.later_evidence import LaterEvidence, error_of_append
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.protocol.errors import Errors

# A line is written after what it tells of.
LOG_LAG_MS = 10
# Who rejoins in time does so this long before the time is over, lest the engine's clock win.
_IN_TIME_MS = 20
DEPARTURES = ("LEFT", "HEARTBEAT_EXPIRED")


class StimulusBuilder:
    """``present``: who is in the group by now; ``stimuli``: what they did, as it is found out."""

    def __init__(
        self,
        chapter: GenerationEvidence,
        before: tuple[str, ...],
        asked: dict[str, int],
        members: MemberDirectory,
        later: LaterEvidence,
        delay_ms: int,
    ) -> None:
        """``asked``: who was given an id and has not joined, and when; it is kept up to date.

        ``delay_ms``: group.initial.rebalance.delay.ms.
        """
        start = chapter.start
        assert start is not None
        self.chapter, self.start, self.known, self.later = chapter, start, members, later
        self.asked, self.delay_ms = asked, delay_ms
        self.record = chapter.records[0] if chapter.records else None
        self.present: dict[str, None] = dict.fromkeys(before)
        self.waiting: set[str] = set()  # who has joined since the start
        self.gone: set[str] = set()
        self.was_empty = not before
        self.stimuli: list[Stimulus] = []
        done = chapter.first("JOIN_COMPLETE") or chapter.first("GROUP_EMPTY")
        self.done = done
        self.joined_ms = self._joined_ms()
        self.timeout_ms = start.at_ms + max(
            (members.at(each, chapter.generation - 1).rebalance_timeout_ms for each in before),
            default=0,
        )

    def _joined_ms(self) -> int:
        if self.record is not None:
            return self.record.joined_ms
        return self.done.at_ms if self.done is not None else self.chapter.ends_ms

    def is_known(self, member_id: str) -> bool:
        """Of this group, now or before: no id is given out twice."""
        if member_id in self.present:
            return True
        return self.record is not None and self.known.was_seen_before(member_id, self.record)

    def ended_by_departure(self) -> bool:
        return any(e.event in DEPARTURES and e.seq > self.start.seq for e in self.chapter.events)

    def next_start(self, event: LogEvent) -> LogEvent | None:
        """The rebalance that a line before its start leads to."""
        starts = (each for each in self.chapter.events if each.event == "REBALANCE_START")
        return next((each for each in starts if each.seq > event.seq), None)

    def come_in_time(
        self, member_id: str, line: LogEvent, place: int = 0, *, at_once: bool = False
    ) -> None:
        """Known members rejoin, at the latest when the join ended; of those with a new id, who
        joined right after they were given it, ``place`` counts.
        """
        last_ms = min(self.joined_ms, line.at_ms)
        earliest_ms = self.asked.get(member_id, self.start.at_ms)
        if self.was_empty and member_id not in self.asked:
            at_ms = min(self.start.at_ms + self._round_begins(place) + 1, last_ms)
        elif self.was_empty or at_once:
            at_ms = min(max(earliest_ms, self.start.at_ms) + 1, last_ms)
        else:
            at_ms = max(min(last_ms, self.timeout_ms - _IN_TIME_MS), self.start.at_ms)
        where = line.where if self.record is None else f"{self.record.where}, {line.where}"
        is_known = self.is_known(member_id)
        stimulus = Stimulus(
            StimulusKind.REJOIN if is_known else StimulusKind.JOIN,
            at_ms,
            earliest_ms,
            last_ms,
            where,
            Basis.RECORD if self.record is not None else Basis.ASSUMED,
            self.chapter.generation,
            member_id,
            self.known.at(member_id, self.chapter.generation).instance_id,
        )
        self.asked.pop(member_id, None)
        self.stimuli.append(stimulus)

    def _round_begins(self, place: int) -> int:
        """A new group waits on, round by round, while members come: in each round one came."""
        if not self.delay_ms:
            return 0
        rounds = round((self.joined_ms - self.start.at_ms) / self.delay_ms)
        return min(place, max(rounds - 2, 0)) * self.delay_ms

    def sync(self, leader: str, at_ms: int, where: str) -> None:
        generation = self.chapter.generation
        record = self.record
        late = self.later.never_synced.get(generation, frozenset())
        followers = [each for each in self.present if each != leader] if leader else []
        for member_id in [*followers, leader]:
            # Whoever is answered its sync is heard of then: who expired earlier did not ask.
            between_ms = (self.joined_ms + at_ms) / 2
            fell_silent = self.later.last_contact_ms.get(member_id, at_ms) < between_ms
            if member_id in late or (fell_silent and member_id != leader):
                continue
            given = None
            if member_id == leader:
                given = {m.member_id: m.assignment for m in record.members} if record else {}
            self.stimuli.append(
                Stimulus(
                    StimulusKind.SYNC,
                    at_ms,
                    at_ms - LOG_LAG_MS if member_id == leader else self.joined_ms,
                    at_ms,
                    where,
                    Basis.LOG if member_id == leader else Basis.ASSUMED,
                    generation,
                    member_id,
                    self.known.at(member_id, generation).instance_id,
                    assignments=given,
                )
            )

    def sync_in_vain(self, line: LogEvent) -> None:
        """The leader's assignment that was never stored, whatever it was; all had synced or not."""
        leader = line.member_id or ""
        self.add(
            StimulusKind.SYNC,
            line.at_ms,
            line,
            leader,
            instance_id=self.known.at(leader, self.chapter.generation).instance_id,
            assignments={},
            append_error=error_of_append(self.next_start(line)),
        )

    def join(
        self, member_id: str, at_ms: int, line: LogEvent, instance_id: str | None = None
    ) -> None:
        self.asked.pop(member_id, None)
        self.waiting.add(member_id)
        self.present[member_id] = None
        self.add(StimulusKind.JOIN, at_ms, line, member_id, instance_id=instance_id)

    def leave(self, line: LogEvent, leavers: tuple[str, ...], at_ms: int) -> None:
        for member_id in leavers:
            self.present.pop(member_id, None)
            self.asked.pop(member_id, None)
        self.gone.update(leavers)
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
                kind,
                at_ms,
                at_ms - LOG_LAG_MS,
                at_ms,
                line.where,
                Basis.LOG,
                self.chapter.generation,
                member_id,
                instance_id,
                changed,
                leavers,
                assignments,
                append_error,
                line.client_reason,
            )
        )
