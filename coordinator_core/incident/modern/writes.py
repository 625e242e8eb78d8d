"""Cuts the records of a group into writes: what one request, or one timer, wrote together.

A coordinator writes the records of one heartbeat in a fixed order: member, regular expressions no
longer used, topology, topics, group epoch, targets, the member's current assignment, states of
share partitions.  Removals begin with tombstones.  Therefore the order of kinds, the member ids and
the time show where a write ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.incident.modern.stored import Stored
from coordinator_core.modern_history.evidence import RecordKind

AWAY = -2  # epoch of a static member that left temporarily
# Position of each record kind among the records of one heartbeat.
_STAGES = {
    RecordKind.MEMBER: 0,
    RecordKind.REGEX: 1,
    RecordKind.TOPOLOGY: 2,
    RecordKind.TOPICS: 3,
    RecordKind.GROUP: 4,
    RecordKind.TARGET_MEMBER: 6,
    RecordKind.TARGET: 7,
    RecordKind.CURRENT: 8,
    RecordKind.STATE_PARTITIONS: 9,
}
# stage in which a broker of 4.1 or later removes the record of an older broker
_FORGOTTEN_TOPICS = 5


class Wrote(Enum):
    """The cause of the records."""

    HEARTBEAT = "a heartbeat, or a join of a classic member"
    AWAY = "a static member left temporarily"
    REMOVAL = "members left or were removed"
    REGEX = "regular expressions were resolved"
    STATES = "states of share partitions were initialized or forgotten"
    DELETION = "the group was deleted"
    DOWNGRADE = "the group became a classic group"
    CLASSIC = "a classic group"


class Write(NamedTuple):
    """``member_ids``: who wrote, or who was removed; () if no record names a member.

    ``replaced`` is the static member that the member replaces; ``converts`` means that the group
    was classic before.
    """

    what: Wrote
    entries: tuple[Entry, ...]
    member_ids: tuple[str, ...] = ()
    replaced: str | None = None
    converts: bool = False

    @property
    def at_ms(self) -> int:
        return self.entries[0].at_ms

    @property
    def member_id(self) -> str:
        return self.member_ids[0] if self.member_ids else ""

    def of(self, kind: RecordKind) -> list[Entry]:
        return [each for each in self.entries if each.kind is kind]

    def last(self, kind: RecordKind) -> Entry | None:
        of_kind = [each for each in self.entries if each.kind is kind and not each.is_tombstone]
        return of_kind[-1] if of_kind else None


def writes(entries: Sequence[Entry], stored: Stored) -> Iterator[Write]:
    """``stored`` begins as before the first entry; it follows each write once the next is asked
    for.
    """
    at = 0
    while at < len(entries):
        write = _write(entries, at, stored)
        yield write
        stored.apply(write.entries)
        at += len(write.entries)


def _write(entries: Sequence[Entry], at: int, stored: Stored) -> Write:
    first = entries[at]
    same_time = _same_time(entries, at)
    if first.kind is RecordKind.CLASSIC:
        if (
            first.is_tombstone
            and len(same_time) > 1
            and same_time[1].kind is not RecordKind.CLASSIC
        ):
            return _conversion(same_time)
        return Write(Wrote.CLASSIC, (first,))
    if first.is_tombstone:
        return _tombstones(same_time)
    if first.kind is RecordKind.REGEX:
        return _resolution(same_time)
    if first.kind is RecordKind.STATE_PARTITIONS:
        return Write(Wrote.STATES, (first,))
    if first.kind is RecordKind.CURRENT and first.value and first.value["member_epoch"] == AWAY:
        return Write(Wrote.AWAY, (first,), (first.member_id,))
    return _heartbeat(same_time, 0)


def _same_time(entries: Sequence[Entry], at: int) -> Sequence[Entry]:
    """The records from here on that have the time of the first."""
    end = at + 1
    while end < len(entries) and entries[end].at_ms == entries[at].at_ms:
        end += 1
    return entries[at:end]


def _heartbeat(entries: Sequence[Entry], start: int, *, converts: bool = False) -> Write:
    """The records of a heartbeat from ``start`` on; the preceding records also belong to the
    heartbeat.
    """
    at, stage, member_id = start, -1, ""
    while at < len(entries):
        each = entries[at]
        repeats = each.kind in (RecordKind.TARGET_MEMBER, RecordKind.REGEX)
        place = _stage(each)
        if place < stage or (place == stage and not repeats):
            break
        if each.kind in (RecordKind.MEMBER, RecordKind.CURRENT):
            is_other = bool(member_id) and each.member_id != member_id
            if is_other or each.is_tombstone or (each.value or {}).get("member_epoch") == AWAY:
                break
            member_id = each.member_id
        elif each.is_tombstone is not _is_forgotten(each):
            break  # A heartbeat forgets regular expressions, but does not resolve them.
        stage, at = place, at + 1
    at = max(at, start + 1) if start < len(entries) else at
    return Write(
        Wrote.HEARTBEAT,
        tuple(entries[:at]),
        (member_id,) if member_id else (),
        converts=converts,
    )


def _stage(entry: Entry) -> int:
    if entry.kind is RecordKind.TOPICS and entry.is_tombstone:
        return _FORGOTTEN_TOPICS
    return _STAGES.get(entry.kind, 99)


def _is_forgotten(entry: Entry) -> bool:
    """Returns whether a heartbeat writes such a record as a tombstone."""
    is_topics = entry.kind is RecordKind.TOPICS
    return entry.kind is RecordKind.REGEX or (is_topics and entry.is_tombstone)


def _resolution(entries: Sequence[Entry]) -> Write:
    """Resolved regular expressions, and the epoch that they bump."""
    at = 0
    while (
        at < len(entries) and entries[at].kind is RecordKind.REGEX and not entries[at].is_tombstone
    ):
        at += 1
    for kind in (RecordKind.TOPICS, RecordKind.GROUP):
        if at < len(entries) and entries[at].kind is kind and not entries[at].is_tombstone:
            at += 1
    return Write(Wrote.REGEX, tuple(entries[:at]))


def _conversion(entries: Sequence[Entry]) -> Write:
    """The tombstone of the classic group, the records of its members, then the heartbeat's."""
    at = 1
    if _is_classic_member(entries[1]):
        while at < len(entries) and _is_classic_member(entries[at]):
            at += 1
        stage = _STAGES[RecordKind.TOPICS]
        while at < len(entries) and _STAGES.get(entries[at].kind, -1) >= stage:
            stage = _STAGES[entries[at].kind]
            at += 1
    return _heartbeat(entries, at, converts=True)


def _is_classic_member(entry: Entry) -> bool:
    return bool((entry.value or {}).get("classic_member_metadata"))


def _tombstones(entries: Sequence[Entry]) -> Write:
    end = next((n for n, each in enumerate(entries) if not each.is_tombstone), len(entries))
    deleted = next(
        (n for n in range(end) if entries[n].kind is RecordKind.GROUP),
        None,
    )
    members = tuple(
        dict.fromkeys([e.member_id for e in entries[:end] if e.kind is RecordKind.MEMBER])
    )
    if deleted is not None:
        following = entries[deleted + 1 : deleted + 2]
        if following and following[0].kind is RecordKind.CLASSIC and not following[0].is_tombstone:
            return Write(Wrote.DOWNGRADE, tuple(entries[: deleted + 2]), members)
        return Write(Wrote.DELETION, tuple(entries[:end]))
    replacing = entries[end : end + 1]
    if members and replacing and replacing[0].kind is RecordKind.MEMBER:
        return _replacement(entries, end, members[-1])
    at = end
    for kind in (RecordKind.TOPICS, RecordKind.GROUP, RecordKind.TOPICS):
        if at < len(entries) and entries[at].kind is kind:
            at += 1
    if at < len(entries) and _is_empty_target(entries[at]):
        at += 1
    return Write(Wrote.REMOVAL, tuple(entries[:at]), members)


def _is_empty_target(entry: Entry) -> bool:
    value = entry.value
    return (
        entry.kind is RecordKind.TARGET
        and value is not None
        and value.get("assignment_timestamp") == 0
    )


def _replacement(entries: Sequence[Entry], at: int, replaced: str) -> Write:
    """A static member returns: the records of its predecessor under its id, then a heartbeat's."""
    member_id = entries[at].member_id
    for kind in (RecordKind.MEMBER, RecordKind.TARGET_MEMBER, RecordKind.CURRENT):
        if at < len(entries) and entries[at].kind is kind and entries[at].member_id == member_id:
            at += 1
    write = _heartbeat(entries, at) if at < len(entries) else None
    if write is None or (write.member_ids and write.member_id != member_id):
        return Write(Wrote.HEARTBEAT, tuple(entries[:at]), (member_id,), replaced)
    return write._replace(member_ids=(member_id,), replaced=replaced)
