"""Recorded generations of consumer groups, decoded for the assignors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from coordinator_core.assignors import Assignment, Member, TopicPartition
from coordinator_core.assignors.subscriptions import as_read
from coordinator_core.records import BadRecord, decode_assignment, decode_subscription

Row = dict[str, Any]

COOPERATIVE = "cooperative-sticky"


@dataclass(frozen=True, kw_only=True)
class RecordedGeneration:
    """One generation as recorded, with members in the order of its first record.

    ``identity`` (the same name across restarts), ``process`` and ``last_id`` are keyed by the
    member ids of the first record: a static member replaced later has another id in the last one.
    """

    number: int
    time_ms: int
    protocol: str
    members: list[Member]
    identity: dict[str, str]
    process: dict[str, str]
    last_id: dict[str, str]
    actual: Assignment
    led_by_java: bool
    led_by_librdkafka: bool

    @cached_property
    def topics(self) -> list[str]:
        return sorted({topic for member in self.members for topic in member.topics})

    @cached_property
    def claimed(self) -> list[tuple[TopicPartition, str]]:
        return [
            ((topic, partition), member.member_id)
            for member in self.members
            for topic, partitions in member.owned
            for partition in partitions
        ]

    def identified(self, lists: Assignment) -> Assignment:
        return {self.identity[member_id]: partitions for member_id, partitions in lists.items()}


def decode_generation(row: Row) -> RecordedGeneration:
    """Decodes a row of Rerun's frame; raises BadRecord for an unreadable subscription."""
    ids = list(row["member_id"])
    columns = (ids, row["subscription"], row["instance_id"])
    protocol = row["protocol"]
    process_of = processes(row)
    process = {member_id: process_of[member_id] for member_id in ids}
    stored = [_assignment(data) for data in row["assignment"]]
    return RecordedGeneration(
        number=int(row["generation"]),
        time_ms=int(row["time_ms"]),
        protocol=protocol,
        members=[as_read(protocol, *member) for member in zip(*columns, strict=True)],
        identity=identities(process),
        process=process,
        last_id=_last_ids(ids, row["last_ids"], process_of),
        actual={m: partitions for m, (partitions, _) in zip(ids, stored, strict=True)},
        led_by_java=any(by_java for _, by_java in stored),
        led_by_librdkafka=protocol == COOPERATIVE
        and all(map(_is_by_librdkafka, row["subscription"], row["assignment"])),
    )


def processes(row: Row) -> dict[str, str]:
    """The process of each member of any of the generation's records.

    A record that no broker writes may list a member twice: the first process by name counts.
    """
    pairs = [(each["member_id"], each["process"]) for each in row["processes"]]
    return dict(sorted(pairs, reverse=True)) if len(dict(pairs)) < len(pairs) else dict(pairs)


def identities(process: dict[str, str]) -> dict[str, str]:
    """Process names; the member ids for processes with several members at a time."""
    counts = Counter(process.values())
    if len(counts) == len(process):
        return process
    return {m: name if counts[name] == 1 else m for m, name in process.items()}


def _last_ids(
    ids: Sequence[str], last_ids: Sequence[str], process_of: Mapping[str, str]
) -> dict[str, str]:
    """The member's id in the last record: the same id, or the id that replaced it in its
    process.
    """
    remaining = set(last_ids)
    id_of_process = {process_of[member_id]: member_id for member_id in last_ids}
    return {m: m if m in remaining else id_of_process.get(process_of[m], m) for m in ids}


@lru_cache(maxsize=1 << 11)
def _assignment(data: bytes | None) -> tuple[list[TopicPartition], bool]:
    """Partitions, and whether Kafka's Java client wrote them; cached, since most repeat.

    The Java client (since 2.4) writes the newest version that it knows, with null user data for
    the built-in assignors; librdkafka and kafka-python write version 0, with non-null user data.
    """
    try:
        assignment = decode_assignment(data or b"")
    except BadRecord:
        return [], False
    partitions = [(topic, number) for topic, numbers in assignment.partitions for number in numbers]
    return partitions, assignment.version > 0 and assignment.user_data is None


@lru_cache(maxsize=1 << 11)
def _is_by_librdkafka(subscription: bytes, data: bytes | None) -> bool:
    """Returns whether librdkafka's cooperative-sticky wrote an assignment: it returns each member's
    user data, in version 0. kafka-python's subscriptions have version 0, too.
    """
    try:
        sent, assignment = decode_subscription(subscription), decode_assignment(data or b"")
    except BadRecord:
        return False
    return assignment.version == 0 < sent.version and assignment.user_data == sent.user_data
