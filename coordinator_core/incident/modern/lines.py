"""The lines of the log compared with the events of the engine.

Lines and events of one request have nearly the same time, but a line may stand before or after the
records of its request; so each line needs an event of its kind, about its member, near its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coordinator_core.incident.comparison import Divergence
from coordinator_core.incident.modern.driver import Output
from coordinator_core.incident.modern.evidence import GroupLine

_OF_MEMBERS = ("MEMBER_JOIN", "STATIC_REPLACED", "STATIC_FENCED", "LEFT", "FENCED")
_OF_GROUPS = ("EPOCH_BUMP", "TARGET", "CONVERT")
NEAR_MS = 1000
# A busy coordinator writes the records of a join at most this long after the line.  A member of the
# classic protocol may have left at most this long before the upgrade of its group.
EARLY_LINE_MS = 10_000
EARLY_LINES = ("MEMBER_JOIN", "LEFT")
_Key = tuple[str, str]


class Unmatched(NamedTuple):
    at_ms: int
    divergence: Divergence


def compare_lines(lines: Sequence[GroupLine], outputs: Iterable[Output]) -> list[Unmatched]:
    """Lines without an event; then events without a line, in the time that the log covers."""
    compared = [(line, key) for line in lines if (key := _key_of_line(line)) is not None]
    if not compared:
        return []
    begin_ms, end_ms = compared[0][0].at_ms, compared[-1][0].at_ms
    events: dict[_Key, list[int]] = {}
    for output in outputs:
        key = _key_of_event(output)
        if key is not None:
            events.setdefault(key, []).append(output.at_ms)
    unmatched = []
    for line, key in compared:
        times_ms = events.get(key, [])
        late_ms = EARLY_LINE_MS if line.event in EARLY_LINES else NEAR_MS
        near = [each for each in times_ms if -NEAR_MS <= each - line.at_ms <= late_ms]
        near_ms = min(near, key=lambda at_ms: abs(at_ms - line.at_ms), default=None)
        if near_ms is None:
            divergence = Divergence(_what(key), "a line", "no event", line.place)
            unmatched.append(Unmatched(line.at_ms, divergence))
        else:
            times_ms.remove(near_ms)
    for key, times_ms in events.items():
        for at_ms in times_ms:
            if begin_ms <= at_ms <= end_ms:
                divergence = Divergence(_what(key), "no line", "an event", "")
                unmatched.append(Unmatched(at_ms, divergence))
    return unmatched


def _key_of_line(line: GroupLine) -> _Key | None:
    if line.event in _OF_GROUPS:
        return line.event, ""
    if line.event in _OF_MEMBERS and line.step not in ("id_required", "pending"):
        return line.event, line.member_id
    return None


def _key_of_event(output: Output) -> _Key | None:
    event = output.event
    if event is None:
        return None
    if event.kind in _OF_GROUPS:
        return event.kind, ""
    if event.kind in _OF_MEMBERS and event.fields.get("step") not in ("id_required", "pending"):
        return event.kind, event.fields.get("member_id") or ""
    return None


def _what(key: _Key) -> str:
    event, member_id = key
    return f"log line {event}{' of ' if member_id else ''}{member_id}"
