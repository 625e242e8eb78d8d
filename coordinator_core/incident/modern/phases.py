"""The times in which a group was classic, with the part of its evidence that a replay of classic
groups uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.incident.evidence import Incarnation, LogEvent, MetadataRecord
from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.modern_history.evidence import RecordKind

_FROM_CLASSIC = ("to_consumer", "empty_to_consumer", "empty_to_streams")
_NEAR_MS = 1000
# A join that converts a group is logged up to this long before the conversion.
_JOIN_TO_CONVERSION_MS = 10
_FOREVER_MS = 1 << 62


class ProtocolPhase(NamedTuple):
    """``begins`` and ``ends`` are the records of the conversions; None means the time of the
    incarnation.
    """

    begins: Entry | None
    ends: Entry | None

    @property
    def begins_ms(self) -> int:
        return 0 if self.begins is None else self.begins.at_ms

    @property
    def ends_ms(self) -> int:
        return _FOREVER_MS if self.ends is None else self.ends.at_ms


def classic_phases(entries: Sequence[Entry]) -> list[ProtocolPhase]:
    """``entries`` are all records of the incarnation, in the order of the log."""
    phases: list[ProtocolPhase] = []
    is_classic, begins = bool(entries) and entries[0].kind is RecordKind.CLASSIC, None
    before: Entry | None = None
    for entry in entries:
        if entry.kind is RecordKind.CLASSIC:
            if not entry.is_tombstone and not is_classic:
                is_classic, begins = True, entry
        elif is_classic:
            phases.append(ProtocolPhase(begins, before))
            is_classic, begins = False, None
        before = entry
    return [*phases, ProtocolPhase(begins, None)] if is_classic else phases


def classic_evidence(
    incarnation: Incarnation, phases: Sequence[ProtocolPhase]
) -> list[Incarnation]:
    """The incarnation's classic lines and records, by phase."""
    return [_of_phase(incarnation, phase) for phase in phases]


def _of_phase(incarnation: Incarnation, phase: ProtocolPhase) -> Incarnation:
    events = [each for each in incarnation.events if _is_near(each.at_ms, phase)]
    records = tuple([each for each in incarnation.records if _is_of(each, phase)])
    if phase.begins is not None:
        events = events[_first(events, phase.begins_ms) :]
    if phase.ends is not None:
        events = events[: _end(events, phase.ends_ms)]
    return incarnation._replace(
        events=tuple(events), records=records, begins_ms=phase.begins_ms, ends_ms=phase.ends_ms
    )


def before_conversion(incarnation: Incarnation) -> Incarnation:
    """The lines of an incarnation that the next one, of another type, follows at once.

    Lines of its first join may have the time of the previous incarnation.
    """
    for place, each in enumerate(incarnation.events):
        if each.event == "CONVERT" and each.step in _FROM_CLASSIC:
            events = incarnation.events[: _without_join(incarnation.events, place)]
            return incarnation._replace(events=events, ends_ms=each.at_ms)
    return incarnation


def _without_join(events: Sequence[LogEvent], place: int) -> int:
    """The place before the joins right before the conversion."""
    while place and _is_join_near(events[place - 1], events[place]):
        place -= 1
    return place


def _is_join_near(event: LogEvent, following: LogEvent) -> bool:
    is_near = following.at_ms - event.at_ms <= _JOIN_TO_CONVERSION_MS
    return event.event == "MEMBER_JOIN" and event.step == "direct" and is_near


def _is_near(at_ms: int, phase: ProtocolPhase) -> bool:
    return phase.begins_ms - _NEAR_MS <= at_ms <= phase.ends_ms + _NEAR_MS


def _is_of(record: MetadataRecord, phase: ProtocolPhase) -> bool:
    return phase.begins_ms <= record.at_ms <= phase.ends_ms


def _first(events: Sequence[LogEvent], begins_ms: int) -> int:
    """The first classic line: of the rebalance of a downgrade, else after the conversion's."""
    for place, each in enumerate(events):
        if each.at_ms > begins_ms + _NEAR_MS:
            break
        if each.event == "REBALANCE_START" and each.cause == "CONVERT":
            return place
        if each.event == "CONVERT":
            return place + 1
    return next((n for n, each in enumerate(events) if each.at_ms >= begins_ms), len(events))


def _end(events: Sequence[LogEvent], ends_ms: int) -> int:
    """The line of the conversion, else the first line after its records."""
    for place, each in enumerate(events):
        is_conversion = each.event == "CONVERT" and each.step in _FROM_CLASSIC
        if is_conversion and each.at_ms >= ends_ms - _NEAR_MS:
            return _without_join(events, place)
    return next((n for n, each in enumerate(events) if each.at_ms > ends_ms), len(events))
