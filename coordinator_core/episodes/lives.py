"""The lives of processes by their actions, for groups that are not, or not always, classic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coordinator_core.episodes.activities import activities
from coordinator_core.episodes.evidence import Cause, Rebalance
from coordinator_core.episodes.process_changes import (
    LONGEST_SESSION_MS,
    ProcessChange,
    What,
    at,
    process_changes,
)
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import (
    ConsumerProcess,
    Freeze,
    ProcessLife,
    Silences,
    SlowPoll,
    TimeEstimate,
    with_silence,
)

# A process that returns with its member id, or continues to poll, did not end.
_CONTINUES = (What.SLOW_POLL, What.FROZEN, What.SESSION_LOST)
_KILLED = (What.KILLED, What.EXPIRED)
# Largest difference between the time of a line about a departure and the time of its record.
_SAME_DEPARTURE_MS = 1000

LastPolls = Mapping[tuple[str, int], int]
"""By member id and time of departure: time of the last poll of a slow application, in ms."""


def process_lives(
    rebalances: Iterable[Rebalance],
    causes: Iterable[Cause],
    silences: Silences | None = None,
    last_polls: LastPolls | None = None,
) -> list[ConsumerProcess]:
    """The processes of a group, by their first start."""
    lives = _Lives(silences or {}, last_polls or {})
    for activity in activities(rebalances, causes):
        for change in process_changes(activity):
            lives.apply(change)
    return lives.processes()


@dataclass(kw_only=True)
class _Life:
    first: Cause
    started_ms: int
    predates_evidence: bool
    member_ids: list[str]
    evidence: list[str]
    confidence: float = 1.0
    ended: TimeEstimate | None = None
    killed: bool = False
    slow_polls: list[SlowPoll] = field(default_factory=list)
    freezes: list[Freeze] = field(default_factory=list)
    last_generation: int = 0


class _Lives:
    def __init__(self, silences: Silences, last_polls: LastPolls) -> None:
        self._silences = silences
        self._last_polls = last_polls
        self._lives: dict[str, list[_Life]] = {}
        self._old_names: dict[str, str] = {}

    def apply(self, change: ProcessChange) -> None:
        if change.what is What.TAKEOVER:
            return
        name = self._old_names.get(change.process, change.process)
        if change.by is not None:
            self._old_names[change.by] = name
        lives = self._lives.setdefault(name, [])
        if change.what in _CONTINUES and change.arrival is not None:
            self._continue(self._open(lives, change), change, change.arrival)
            return
        if change.departure is not None or change.what in (What.KILLED, What.RESTARTED):
            self._end(self._open(lives, change), change)
        if change.arrival is not None:
            lives.append(_started(change.arrival, change.confidence))

    def _open(self, lives: list[_Life], change: ProcessChange) -> _Life:
        """The life that the change is about; one without a start began before the evidence."""
        if not lives or lives[-1].ended is not None:
            first = change.departure or change.causes[0]
            lives.append(_started(first, change.confidence, predates_evidence=True))
        return lives[-1]

    def _continue(self, life: _Life, change: ProcessChange, arrival: Cause) -> None:
        life.confidence = min(life.confidence, change.confidence)
        life.evidence += map(_named, change.causes)
        life.last_generation = max(life.last_generation, arrival.generation)
        if arrival.member_id and arrival.member_id not in life.member_ids:
            life.member_ids.append(arrival.member_id)
        polled_ms = self._polled_ms(change)
        if change.what is What.SLOW_POLL or polled_ms is not None:
            since_ms = change.since_ms if polled_ms is None else polled_ms
            began, back = TimeEstimate.exactly(since_ms), TimeEstimate.exactly(at(arrival))
            life.slow_polls.append(SlowPoll(began, back, change.confidence, _named(arrival)))
        elif change.what is What.FROZEN and change.departure is not None:
            life.freezes.append(Freeze(self._ended(change), TimeEstimate.exactly(at(arrival))))

    def _polled_ms(self, change: ProcessChange) -> int | None:
        departure = change.departure
        if departure is None or change.what is What.SESSION_LOST:
            return None
        polls = (
            polled_ms
            for (member_id, departed_ms), polled_ms in self._last_polls.items()
            if member_id == departure.member_id
            and abs(departed_ms - at(departure)) <= _SAME_DEPARTURE_MS
        )
        return next(polls, None)

    def _end(self, life: _Life, change: ProcessChange) -> None:
        life.confidence = min(life.confidence, change.confidence)
        departure = change.departure
        if departure is not None:
            life.evidence.append(_named(departure))
            life.last_generation = max(life.last_generation, _last_generation(departure))
        life.killed = change.what in _KILLED
        life.ended = self._ended(change)
        if change.what is What.SLOW_POLL and departure is not None:
            began = TimeEstimate.exactly(change.since_ms)
            life.slow_polls.append(SlowPoll(began, None, change.confidence, _named(departure)))

    def _ended(self, change: ProcessChange) -> TimeEstimate:
        """For an expired session, the end is before the expiry, and before the process returned."""
        departure, arrival = change.departure, change.arrival
        if departure is None or not departure.is_expiry:
            return TimeEstimate.exactly(change.from_ms if departure is None else at(departure))
        latest_ms = at(departure) if arrival is None else min(at(departure), at(arrival))
        session_ms = departure.session_timeout_ms or LONGEST_SESSION_MS
        earliest_ms = min(at(departure) - session_ms, latest_ms)
        likely_ms = earliest_ms if departure.session_timeout_ms else latest_ms
        ended = TimeEstimate(likely_ms, earliest_ms, latest_ms)
        return with_silence(ended, at(departure), self._silences, [departure.process or ""])

    def processes(self) -> list[ConsumerProcess]:
        named = [
            ConsumerProcess(name, lives[-1].first.instance_id, tuple(map(_process_life, lives)))
            for name, lives in self._lives.items()
            if lives
        ]
        return sorted(named, key=lambda each: (each.lives[0].started.at_ms, each.name))


def _started(first: Cause, confidence: float, *, predates_evidence: bool = False) -> _Life:
    member_ids = [first.member_id] if first.member_id else []
    life = _Life(
        first=first,
        started_ms=at(first),
        predates_evidence=predates_evidence,
        member_ids=member_ids,
        evidence=[_named(first)],
        confidence=confidence,
    )
    life.last_generation = first.generation
    return life


def _last_generation(departure: Cause) -> int:
    """The departure of a member led to a later generation, unless that was never made."""
    return departure.generation if departure.role == "absorbed" else departure.generation - 1


def _named(cause: Cause) -> str:
    return f"{cause.cause} of generation {cause.incarnation}.{cause.generation} ({cause.evidence})"


def _process_life(life: _Life) -> ProcessLife:
    first = life.first
    member = RecordedMember(
        member_id=first.member_id or "",
        instance_id=first.instance_id,
        client_id=first.client,
        client_host=first.client_host or "",
        rebalance_timeout_ms=first.rebalance_timeout_ms,
        session_timeout_ms=first.session_timeout_ms,
        subscription=b"",
        assignment=b"",
    )
    return ProcessLife(
        client_id=first.client,
        client_host=first.client_host or "",
        member=member,
        member_ids=tuple(life.member_ids),
        started=TimeEstimate.exactly(life.started_ms),
        predates_evidence=life.predates_evidence,
        ended=life.ended,
        killed=life.killed,
        slow_polls=tuple(life.slow_polls),
        first_generation=first.generation,
        last_generation=max(first.generation, life.last_generation),
        confidence=life.confidence,
        evidence="; ".join(life.evidence),
        freezes=tuple(life.freezes),
    )
