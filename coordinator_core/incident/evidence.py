"""Production's evidence of an incarnation of a group: log events and group records, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.records import BadRecord, decode_assignment, encode_value

Row = Mapping[str, Any]


class LogEvent(NamedTuple):
    """A row of group_events.  ``where`` is the broker, log file and byte offset of the line."""

    seq: int
    at_ms: int
    event: str
    where: str
    generation: int | None = None
    member_id: str | None = None
    instance_id: str | None = None
    old_member_id: str | None = None
    step: str | None = None
    reason: str | None = None
    client_reason: str | None = None
    cause: str | None = None
    member_count: int | None = None
    members: tuple[str, ...] = ()

    @property
    def broker(self) -> str:
        return self.where.partition(" log ")[0]


class RecordedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class MetadataRecord:
    """A row of group_metadata that is not a tombstone."""

    def __init__(self, row: Row) -> None:
        self.topic_partition: str = row["topic_partition"]
        self.log_offset: int = row["log_offset"]
        self.version: int = row["value_version"]
        self.generation: int = row["generation"]
        self.protocol_type: str = row["protocol_type"]
        self.protocol: str | None = row["protocol"]
        self.leader: str | None = row["leader"]
        timestamp_ms: int | None = row["state_timestamp_ms"]
        self.state_timestamp_ms = -1 if timestamp_ms is None else timestamp_ms
        self.at_ms: int = self.state_timestamp_ms if row["at_ms"] is None else row["at_ms"]
        self.members = tuple([_member(each) for each in row["members"]])

    @cached_property
    def where(self) -> str:
        return f"{self.topic_partition}@{self.log_offset}"

    @cached_property
    def by_id(self) -> dict[str, RecordedMember]:
        return {member.member_id: member for member in self.members}

    @cached_property
    def assigned(self) -> tuple[tuple[str, TopicPartition], ...]:
        """(member id, partition); members whose assignment is not a consumer's have none."""
        assigned = []
        for member in self.members:
            try:
                topics = decode_assignment(member.assignment).partitions
            except BadRecord:
                continue
            assigned += [
                (member.member_id, (topic, number))
                for topic, numbers in topics
                for number in numbers
            ]
        return tuple(assigned)

    @property
    def joined_ms(self) -> int:
        """The record's state timestamp (when the join completed), else when it was written."""
        return self.state_timestamp_ms if self.state_timestamp_ms > 0 else self.at_ms

    @property
    def is_valid(self) -> bool:
        """Returns whether a coordinator could have written it: its leader is one of its members."""
        return self.leader in self.by_id if self.members else True

    def value(self, state_timestamp_ms: int) -> bytes:
        """The record's bytes, with this state timestamp."""
        members = [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "rebalance_timeout": member.rebalance_timeout_ms,
                "session_timeout": member.session_timeout_ms,
                "subscription": member.subscription,
                "assignment": member.assignment,
            }
            for member in self.members
        ]
        fields = {
            "protocol_type": self.protocol_type,
            "generation": self.generation,
            "protocol": self.protocol,
            "leader": self.leader,
            "current_state_timestamp": state_timestamp_ms,
            "members": members,
        }
        return encode_value("GroupMetadata", self.version, fields)


class Incarnation(NamedTuple):
    """A group from its creation to its deletion; events in log order, records by offset.

    ``begins_ms`` and ``ends_ms`` have the time in which it was classic, if it was also a modern
    group.
    """

    group_id: str
    number: int
    events: tuple[LogEvent, ...]
    records: tuple[MetadataRecord, ...]
    begins_ms: int = 0
    ends_ms: int = 1 << 62


def incarnations(group_id: str, events: Iterable[Row], records: Iterable[Row]) -> list[Incarnation]:
    """The group's incarnations in order.

    Rows of group_events and group_metadata, each with its ``incarnation`` and with ``at_ms``
    (event_time, append_time) in ms since the epoch.  Tombstones are skipped: the incarnation
    numbers already account for them.
    """
    by_number: dict[int, tuple[list[LogEvent], list[MetadataRecord]]] = {}
    for row in sorted(events, key=lambda each: each["event_seq"]):
        by_number.setdefault(row["incarnation"], ([], []))[0].append(_event(row))
    for row in sorted(records, key=lambda each: (each["topic_partition"], each["log_offset"])):
        if not row["tombstone"]:
            by_number.setdefault(row["incarnation"], ([], []))[1].append(MetadataRecord(row))
    return [
        Incarnation(group_id, number, tuple(_of_coordinators(log_events)), tuple(group_records))
        for number, (log_events, group_records) in sorted(by_number.items())
    ]


def _of_coordinators(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """The events except unloads of a broker that precede the next coordinator's load in time."""
    loaded_by = None
    for event in events:
        if event.event == "LOADED":
            loaded_by = event.broker
        if event.event != "UNLOADED" or loaded_by in (None, event.broker):
            yield event


def _event(row: Row) -> LogEvent:
    return LogEvent(
        seq=row["event_seq"],
        at_ms=row["at_ms"],
        event=row["event"],
        where=f"broker {row['broker_id']} log {row['file_id']}:{row['position']}",
        generation=row["generation"],
        member_id=row["member_id"],
        instance_id=row["instance_id"],
        old_member_id=row["old_member_id"],
        step=row["step"],
        reason=row["reason"],
        client_reason=row["client_reason"],
        cause=row["cause"],
        member_count=row["member_count"],
        members=tuple(row["members"] or ()),
    )


def _member(row: Row) -> RecordedMember:
    return RecordedMember(
        member_id=row["member_id"],
        instance_id=row["instance_id"],
        client_id=row["client_id"],
        client_host=row["client_host"],
        rebalance_timeout_ms=row["rebalance_timeout_ms"],
        session_timeout_ms=row["session_timeout_ms"],
        subscription=bytes(row["subscription"]),
        assignment=bytes(row["assignment"]),
    )
