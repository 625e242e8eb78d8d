"""What the coordinator writes to `__consumer_offsets`, byte for byte, in the era's versions.

These are the hot paths of records/, which knows every type and version; a test holds them equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct

from coordinator_core.coordinator.classic.group import Group
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import Record, TopicPartition

_SHORT = Struct(">h").pack
_INT = Struct(">i").pack
_TWO_INTS = Struct(">ii").pack
_TIMESTAMP_AND_COUNT = Struct(">qi").pack
_OFFSET = Struct(">hq").pack
_OFFSET_AND_EPOCH = Struct(">hqi").pack
_LONG = Struct(">q").pack
_NULL_STRING = b"\xff\xff"
_GROUP_KEY = b"\x00\x02"
_OFFSET_KEY = b"\x00\x01"
_NO_LEADER_EPOCH = -1


@lru_cache(maxsize=4096)
def _string(text: str) -> bytes:
    data = text.encode()
    return _SHORT(len(data)) + data


def _nullable(text: str | None) -> bytes:
    return _NULL_STRING if text is None else _string(text)


def _bytes(data: bytes) -> bytes:
    return _INT(len(data)) + data


def group_key(group_id: str) -> bytes:
    return _GROUP_KEY + _string(group_id)


def group_tombstone(group_id: str) -> Record:
    return group_key(group_id), None


def group_record(era: Era, group: Group, assignments: Mapping[str, bytes]) -> Record:
    """The group as it is now, with these assignments; members in the order of the hash map."""
    version = era.group_value_version
    parts = [
        _SHORT(version),
        _string(group.protocol_type or ""),
        _INT(group.generation),
        _nullable(group.protocol),
        _nullable(group.leader),
    ]
    if version >= 2:
        parts.append(_TIMESTAMP_AND_COUNT(group.state_timestamp_ms, len(group.members)))
    else:
        parts.append(_INT(len(group.members)))
    for member in group.in_order():
        assignment = assignments.get(member.member_id)
        if assignment is None or group.protocol is None:
            raise UnexpectedState(f"nothing to write of {member.member_id}")
        parts.append(_string(member.member_id))
        if version >= 3:
            parts.append(_nullable(member.instance_id))
        parts += (_string(member.client_id), _string(member.client_host))
        if version >= 1:
            parts.append(_TWO_INTS(member.rebalance_timeout_ms, member.session_timeout_ms))
        else:
            parts.append(_INT(member.session_timeout_ms))
        parts += (_bytes(member.metadata(group.protocol)), _bytes(assignment))
    return group_key(group.group_id), b"".join(parts)


def new_group_record(group: Group) -> Record:
    """The empty group that the new coordinator (KIP-848) writes when it makes one, in version 3."""
    value = b"\x00\x03\x00\x00" + _INT(0) + _NULL_STRING * 2
    return group_key(group.group_id), value + _TIMESTAMP_AND_COUNT(group.state_timestamp_ms, 0)


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    return _OFFSET_KEY + _string(group_id) + _string(partition[0]) + _INT(partition[1])


def offset_tombstone(group_id: str, partition: TopicPartition) -> Record:
    return offset_key(group_id, partition), None


def offset_record(
    era: Era, group_id: str, partition: TopicPartition, committed: CommittedOffset
) -> Record:
    """A committed offset; one with a retention of its own is written in version 1."""
    key, timestamp_ms = offset_key(group_id, partition), committed.commit_timestamp_ms
    expire_ms = committed.expire_timestamp_ms
    if era.offset_value_version == 1 or expire_ms is not None:
        value = _OFFSET(1, committed.offset) + _string(committed.metadata) + _LONG(timestamp_ms)
        return key, value + _LONG(-1 if expire_ms is None else expire_ms)
    head = _OFFSET_AND_EPOCH(era.offset_value_version, committed.offset, _NO_LEADER_EPOCH)
    if era.offset_value_version == 3:
        return key, head + _string(committed.metadata) + _LONG(timestamp_ms)
    metadata = committed.metadata.encode()  # version 4 is flexible: a compact string, no tags
    return key, head + _varint(len(metadata) + 1) + metadata + _LONG(timestamp_ms) + b"\x00"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
