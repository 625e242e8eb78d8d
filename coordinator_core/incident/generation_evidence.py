"""An incarnation's evidence cut into generations: log events and records of each."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.incident.evidence import Incarnation, LogEvent, MetadataRecord

# Events that may be logged right before the rebalance that they cause.
_CAUSES = frozenset(
    {"HEARTBEAT_EXPIRED", "LEFT", "STATIC_NEW", "STATIC_REPLACED", "STATIC_NO_REBALANCE"}
)
_SAME_CALL_MS = 10
_JOIN_STEPS = frozenset({"pending", "direct", "static"})


@dataclass(frozen=True)
class GenerationEvidence:
    """``events`` are from the cause of the rebalance up to the cause of the next rebalance.

    ``start`` is the line with which the rebalance started, or None if no log has it.
    """

    generation: int
    events: tuple[LogEvent, ...]
    records: tuple[MetadataRecord, ...]

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
        """Position of the last record, else of the last log line."""
        return self.records[-1].where if self.records else self.events[-1].where

    def _times(self) -> list[int]:
        return [each.at_ms for each in self.events] + [each.at_ms for each in self.records]


def by_generation(incarnation: Incarnation) -> list[GenerationEvidence]:
    """Evidence is in the order of generations.  Events before the first start belong to the
    generation that the rebalance ended; generation 0 has the events before an incarnation's first
    rebalance.
    """
    events = _events_by_generation(_of_one_history(incarnation.events))
    records: dict[int, list[MetadataRecord]] = {}
    for record in incarnation.records:
        records.setdefault(record.generation, []).append(record)
    return [
        GenerationEvidence(number, tuple(events.get(number, ())), tuple(records.get(number, ())))
        for number in sorted({*events, *records})
    ]


def _of_one_history(events: tuple[LogEvent, ...]) -> tuple[LogEvent, ...]:
    """Events without lost generations, which a coordinator had not stored when another coordinator
    loaded the group: the next coordinator uses their numbers again.
    """
    kept: list[LogEvent] = []
    # generation -> position of the rebalance start that ended the generation
    begins: dict[int, int] = {}
    has_loaded = False
    for event in events:
        if event.event == "LOADED":
            has_loaded = True
        if event.event == "REBALANCE_START" and event.generation is not None:
            lost = begins.get(event.generation)
            if has_loaded and lost is not None:
                begin = _first_cause(tuple(kept), lost)
                load = max(n for n, each in enumerate(kept) if each.event == "LOADED")
                # A load is the first line of a coordinator, so include it.
                while load > begin and kept[load - 1].event in ("LOADED", "UNLOADED"):
                    load -= 1
                kept[begin:load] = []
                begins = {number: at for number, at in begins.items() if at < begin}
            begins[event.generation] = len(kept)
            has_loaded = False
        kept.append(event)
    return tuple(kept)


def _events_by_generation(events: tuple[LogEvent, ...]) -> dict[int, list[LogEvent]]:
    starts = [
        place
        for place, each in enumerate(events)
        if each.event == "REBALANCE_START" and each.generation is not None
    ]
    if not starts:
        numbers = [each.generation for each in events if each.generation is not None]
        return {max(numbers, default=0): list(events)} if events else {}
    begins = [_first_cause(events, place) for place in starts]
    previous = [events[place].generation or 0 for place in starts]
    by_number: dict[int, list[LogEvent]] = {}
    if begins[0] > 0:
        by_number[previous[0]] = list(events[: begins[0]])
    for begin, end, number in zip(begins, [*begins[1:], len(events)], previous, strict=True):
        by_number.setdefault(number + 1, []).extend(events[begin:end])
    return by_number


def _first_cause(events: tuple[LogEvent, ...], start: int) -> int:
    """The first of the lines right before the start that caused the rebalance."""
    line = events[start]
    place = start if line.cause != "STORE_ERROR" else _lost_assignment(events, start)
    while place > 0 and _is_cause_of(events[place - 1], line):
        place -= 1
    return place


def _lost_assignment(events: tuple[LogEvent, ...], start: int) -> int:
    """The line in which the leader sent the assignment that could not be stored."""
    generation = events[start].generation
    for place in range(start - 1, -1, -1):
        event = events[place]
        if event.event == "ASSIGNMENT_RECEIVED" and event.generation == generation:
            return place
        if event.event == "REBALANCE_START":
            break
    return start


def _is_cause_of(event: LogEvent, start: LogEvent) -> bool:
    is_cause = event.event in _CAUSES or (
        event.event == "MEMBER_JOIN" and event.step in _JOIN_STEPS
    )
    concerned = {start.member_id, start.instance_id, *start.members} - {None}
    if not concerned:  # Up to 2.0 the line of a rebalance start has no reason and names no member.
        return is_cause and start.at_ms - event.at_ms <= _SAME_CALL_MS
    return is_cause and not concerned.isdisjoint({event.member_id, event.instance_id})
