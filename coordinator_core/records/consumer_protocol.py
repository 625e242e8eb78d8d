"""Client data inside group records: subscriptions, assignments, the sticky assignors' user data.

The coordinator forwards these bytes without decoding them; clients write and read them.  Like
Kafka's client, it reads a version above the newest known version as the newest known version.
Bytes after the last field are ignored, because a newer version may have added fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coordinator_core.records.client_versions import every_version, read_known_version
from coordinator_core.records.compiler import MessageCodec
from coordinator_core.records.errors import BadRecord
from coordinator_core.records.primitives import number_writer

TopicPartitions = list[tuple[str, list[int]]]
"""Topics and their partitions in the order of the bytes; a topic may occur twice."""

_write_int16 = number_writer("int16")


@dataclass(frozen=True, slots=True)
class Subscription:
    """``version`` is the version in the bytes; fields that it lacks have Kafka's defaults."""

    version: int
    topics: list[str]
    user_data: bytes | None = None
    owned_partitions: TopicPartitions = field(default_factory=list)
    generation_id: int = -1
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``version`` is the version in the bytes."""

    version: int
    partitions: TopicPartitions
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """``generation`` is None in version 0, which lacks the field."""

    partitions: TopicPartitions
    generation: int | None = None


_SUBSCRIPTION = every_version("ConsumerProtocolSubscription")
_ASSIGNMENT = every_version("ConsumerProtocolAssignment")
_STICKY = every_version("StickyAssignorUserData")
_COOPERATIVE_STICKY = every_version("CooperativeStickyAssignorUserData")[0]


def decode_subscription(data: bytes) -> Subscription:
    """Raises BadRecord, also for a version below 0."""
    version, fields = read_known_version(_SUBSCRIPTION, data)
    owned = _pairs(fields.get("owned_partitions", ()))
    generation_id, rack_id = fields.get("generation_id", -1), fields.get("rack_id")
    topics, user_data = fields["topics"], fields["user_data"]
    return Subscription(version, topics, user_data, owned, generation_id, rack_id)


def encode_subscription(subscription: Subscription) -> bytes:
    """Writes topics and partitions in the order given; the client sorts them before."""
    fields = {
        "topics": subscription.topics,
        "user_data": subscription.user_data,
        "owned_partitions": _structs(subscription.owned_partitions),
        "generation_id": subscription.generation_id,
        "rack_id": subscription.rack_id,
    }
    return _write(_SUBSCRIPTION, subscription.version, fields)


def decode_assignment(data: bytes) -> Assignment:
    """Raises BadRecord, also for empty bytes (a member that has no assignment yet)."""
    version, fields = read_known_version(_ASSIGNMENT, data)
    return Assignment(version, _pairs(fields["assigned_partitions"]), fields["user_data"])


def encode_assignment(assignment: Assignment) -> bytes:
    """Writes topics and partitions in the order given."""
    structs = _structs(assignment.partitions)
    fields = {"assigned_partitions": structs, "user_data": assignment.user_data}
    return _write(_ASSIGNMENT, assignment.version, fields)


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Reads as version 1, else as version 0: the bytes have no version field; raises BadRecord."""
    try:
        fields, _ = _STICKY[1].read(data, 0)
    except BadRecord:
        fields, _ = _STICKY[0].read(data, 0)
    return StickyUserData(_pairs(fields["previous_assignment"], "topic"), fields.get("generation"))


def encode_sticky_user_data(user_data: StickyUserData) -> bytes:
    """Writes version 0 if ``generation`` is None, else version 1."""
    fields: dict[str, Any] = {"previous_assignment": _structs(user_data.partitions)}
    if user_data.generation is None:
        return _written(_STICKY[0], bytearray(), fields)
    fields["generation"] = user_data.generation
    return _written(_STICKY[1], bytearray(), fields)


def decode_cooperative_sticky_user_data(data: bytes) -> int:
    """Returns the generation; raises BadRecord."""
    generation: int = _COOPERATIVE_STICKY.read(data, 0)[0]["generation"]
    return generation


def encode_cooperative_sticky_user_data(generation: int) -> bytes:
    return _written(_COOPERATIVE_STICKY, bytearray(), {"generation": generation})


def _write(messages: list[MessageCodec], version: int, fields: Mapping[str, Any]) -> bytes:
    """Writes a version above the newest known one as the newest known one, header included."""
    version = min(version, len(messages) - 1)
    out = bytearray()
    _write_int16(out, version)
    return _written(messages[version], out, fields)


def _written(message: MessageCodec, out: bytearray, fields: Mapping[str, Any]) -> bytes:
    message.write(out, fields)
    return bytes(out)


def _pairs(structs: Iterable[Mapping[str, Any]], topic: str = "topic") -> TopicPartitions:
    return [(struct[topic], struct["partitions"]) for struct in structs]


def _structs(pairs: TopicPartitions) -> list[dict[str, Any]]:
    return [{"topic": topic, "partitions": partitions} for topic, partitions in pairs]
