"""The evidence of one incarnation: records as written, lines of the log, and names of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import MODERN_TYPES
from coordinator_core.modern_history.evidence import RecordKind
from coordinator_core.protocol.messages import Record
from coordinator_core.records import decode

CLASSIC_RECORD = "GroupMetadata"
_KINDS = {f"{each.record_prefix}{kind.value}": kind for each in MODERN_TYPES for kind in RecordKind}
_KINDS[CLASSIC_RECORD] = RecordKind.CLASSIC


class Entry(NamedTuple):
    """A record of the group.  ``record``: its bytes; ``place``: log@offset; ``value`` None: a
    tombstone.
    """

    at_ms: int
    place: str
    record: Record
    name: str
    kind: RecordKind
    group_type: GroupType
    member_id: str
    key: Mapping[str, Any]
    value: Mapping[str, Any] | None

    @property
    def is_tombstone(self) -> bool:
        return self.value is None


class GroupLine(NamedTuple):
    """A line of the log about the group; fields as in group_events.  ``place``: log:position."""

    at_ms: int
    place: str
    event: str
    member_id: str = ""
    instance_id: str | None = None
    old_member_id: str | None = None
    step: str | None = None
    reason: str | None = None
    client_reason: str | None = None


@dataclass(frozen=True)
class ModernIncarnation:
    """``entries`` are in the order of the log; ``lines`` are in order of time."""

    group_id: str
    number: int
    entries: tuple[Entry, ...]
    lines: tuple[GroupLine, ...]


def entry(at_ms: int, place: str, key: bytes, value: bytes | None) -> Entry:
    """Raises BadRecord for unreadable bytes."""
    record = decode(key, value)
    of_record = (
        each for each in MODERN_TYPES if record.name.startswith(f"{each.record_prefix}Group")
    )
    return Entry(
        at_ms=at_ms,
        place=place,
        record=(key, value),
        name=record.name,
        kind=_KINDS.get(record.name, RecordKind.OTHER),
        group_type=next(of_record, CLASSIC),
        member_id=record.key.get("member_id") or "",
        key=record.key,
        value=record.value,
    )


def in_order(lines: Iterable[GroupLine]) -> tuple[GroupLine, ...]:
    """Lines in order of time; lines of the same millisecond keep their order."""
    return tuple(sorted(lines, key=lambda line: line.at_ms))
