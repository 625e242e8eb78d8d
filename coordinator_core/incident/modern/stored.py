"""Production's records at a moment: the last value of each key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.modern_history.evidence import RecordKind
from coordinator_core.protocol.messages import Record
from coordinator_core.records import encode_value

Fields = Mapping[str, Any]
Ids = dict[str, set[int]]
"""Partitions by topic id, or by subtopology."""


class Stored:
    """The last entry of each key, by kind and by member or regular expression."""

    def __init__(self) -> None:
        self._entries: dict[bytes, Entry] = {}
        self._by_kind: dict[RecordKind, dict[str, Entry]] = {}

    def apply(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            key = entry.record[0]
            self._entries.pop(key, None)
            kind = self._by_kind.setdefault(entry.kind, {})
            kind.pop(_name(entry), None)
            if entry.is_tombstone and entry.kind is RecordKind.MEMBER:
                self._forget(entry.member_id)
            if not entry.is_tombstone:
                self._entries[key] = entry
                kind[_name(entry)] = entry

    def _forget(self, member_id: str) -> None:
        """A member without metadata is gone, even if a tombstone is missing."""
        for kind in (RecordKind.TARGET_MEMBER, RecordKind.CURRENT):
            left = self._by_kind.get(kind, {}).pop(member_id, None)
            if left is not None:
                self._entries.pop(left.record[0], None)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def of(self, kind: RecordKind, name: str = "") -> Fields | None:
        entry = self._by_kind.get(kind, {}).get(name)
        return None if entry is None else entry.value

    def all_of(self, kind: RecordKind) -> Iterator[tuple[str, Fields]]:
        for name, entry in self._by_kind.get(kind, {}).items():
            assert entry.value is not None
            yield name, entry.value

    @property
    def members(self) -> list[str]:
        return list(self._by_kind.get(RecordKind.MEMBER, {}))

    @property
    def epoch(self) -> int | None:
        value = self.of(RecordKind.GROUP)
        return None if value is None else value["epoch"]

    @property
    def target_epoch(self) -> int | None:
        value = self.of(RecordKind.TARGET)
        return None if value is None else value["assignment_epoch"]

    def static_member(self, instance_id: str) -> str | None:
        """The member with this instance id."""
        for member_id, value in self.all_of(RecordKind.MEMBER):
            if value.get("instance_id") == instance_id:
                return member_id
        return None

    def subscribed(self) -> set[str]:
        """The names of the topics that the group depends on."""
        names: set[str] = set()
        for _, value in self.all_of(RecordKind.MEMBER):
            names.update(value.get("subscribed_topic_names") or ())
        for _, value in self.all_of(RecordKind.REGEX):
            names.update(value["topics"])
        topology = self.of(RecordKind.TOPOLOGY)
        for each in (topology or {}).get("subtopologies", ()):
            names.update(each["source_topics"])
            internal = [*each["repartition_source_topics"], *each["state_changelog_topics"]]
            names.update(topic["name"] for topic in internal)
        return names

    def assigned(self) -> Ids:
        """The partitions of all targets together; active tasks by subtopology."""
        partitions: Ids = {}
        for _, value in self.all_of(RecordKind.TARGET_MEMBER):
            for row in value.get("topic_partitions") or ():
                partitions.setdefault(row["topic_id"], set()).update(row["partitions"])
            for row in value.get("active_tasks") or ():
                partitions.setdefault(row["subtopology_id"], set()).update(row["partitions"])
        return partitions

    def records(self, metadata_hash: int | None = None) -> list[Record]:
        """All records, to load a coordinator; with another hash of the topics if it is given."""
        return [_with_hash(each, metadata_hash) for each in self._entries.values()]


def _name(entry: Entry) -> str:
    return entry.key.get("regular_expression") or entry.member_id


def _with_hash(entry: Entry, metadata_hash: int | None) -> Record:
    if entry.kind is not RecordKind.GROUP or metadata_hash is None or entry.value is None:
        return entry.record
    value = {**entry.value, "metadata_hash": metadata_hash}
    version = int.from_bytes((entry.record[1] or b"")[:2], "big")
    return entry.record[0], encode_value(entry.name, version, value)
