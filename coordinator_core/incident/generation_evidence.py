"""A life cut into chapters: one per generation, with the evidence of how it came about."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.incident.evidence import GroupRecord, Incarnation, LogEvent

# What may stand in the log right before the start of the rebalance that it makes.
_CAUSES = frozenset(
    {"HEARTBEAT_EXPIRED", "LEFT", "STATIC_NEW", "STATIC_REPLACED", "STATIC_NO_REBALANCE"}
)
_SAME_CALL_MS = 10
_STEPS_OF_JOINS = frozenset({"pending", "direct", "static"})


@dataclass(frozen=True)
class GenerationEvidence:
    """``events``: from what made the generation up to what made the next; ``records``: its own.

    ``start`` is the line that began the rebalance, None where no log has it.
    """

    generation: int
    events: tuple[LogEvent, ...]
    records: tuple[GroupRecord, ...]

    @property
    def start(self) -> LogEvent | None:
        return self.first("REBALANCE_START")

    def first(self, event: str) -> LogEvent | None:
        return next((each for each in self.events if each.event == event), None)

    @property
    def begins_ms(self) -> int:
        return min(self._times())

    @property
    def ends_ms(self) -> int:
        return max(self._times())

    @property
    def last_where(self) -> str:
        """Where its last evidence stands."""
        return self.records[-1].where if self.records else self.events[-1].where

    def _times(self) -> list[int]:
        return [each.at_ms for each in self.events] + [each.at_ms for each in self.records]


def chapters(life: Incarnation) -> list[GenerationEvidence]:
    """In the order of generations; what precedes the first start goes to the generation before.

    Generation 0 has what was before the first rebalance of a life.
    """
    events = _by_generation(life.events)
    records: dict[int, list[GroupRecord]] = {}
    for record in life.records:
        records.setdefault(record.generation, []).append(record)
    return [
        GenerationEvidence(number, tuple(events.get(number, ())), tuple(records.get(number, ())))
        for number in sorted({*events, *records})
    ]


def _by_generation(events: tuple[LogEvent, ...]) -> dict[int, list[LogEvent]]:
    starts = [
        place
        for place, each in enumerate(events)
        if each.event == "REBALANCE_START" and each.generation is not None
    ]
    found: dict[int, list[LogEvent]] = {}
    if not starts:
        levels = [each.generation for each in events if each.generation is not None]
        return {max(levels, default=0): list(events)} if events else {}
    begins = [_begin(events, place) for place in starts]
    old = [events[place].generation or 0 for place in starts]
    if begins[0] > 0:
        found[old[0]] = list(events[: begins[0]])
    for begin, end, generation in zip(begins, [*begins[1:], len(events)], old, strict=True):
        found.setdefault(generation + 1, []).extend(events[begin:end])
    return found


def _begin(events: tuple[LogEvent, ...], start: int) -> int:
    """The first of the lines that led to the start: of the same call, about the same members."""
    line = events[start]
    place = start if line.cause != "STORE_ERROR" else _lost_assignment(events, start)
    while place > 0 and _leads_to(events[place - 1], line):
        place -= 1
    return place


def _lost_assignment(events: tuple[LogEvent, ...], start: int) -> int:
    """Where the leader brought the assignment that could not be stored."""
    generation = events[start].generation
    for place in range(start - 1, -1, -1):
        event = events[place]
        if event.event == "ASSIGNMENT_RECEIVED" and event.generation == generation:
            return place
        if event.event == "REBALANCE_START":
            break
    return start


def _leads_to(event: LogEvent, start: LogEvent) -> bool:
    is_cause = event.event in _CAUSES or (
        event.event == "MEMBER_JOIN" and event.step in _STEPS_OF_JOINS
    )
    concerned = {start.member_id, start.instance_id, *start.members} - {None}
    if not concerned:  # up to 2.0 a start does not say why
        return is_cause and start.at_ms - event.at_ms <= _SAME_CALL_MS
    return is_cause and not concerned.isdisjoint({event.member_id, event.instance_id})
