"""The record of a classic group, in the version of the era."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.record_bytes import (
    NULL_STRING,
    int16,
    int32,
    nullable_string,
    sized,
    string,
)
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import Record

_TWO_INTS = Struct(">ii").pack
_TIMESTAMP_AND_COUNT = Struct(">qi").pack
_KEY_TYPE = b"\x00\x02"


def group_key(group_id: str) -> bytes:
    return _KEY_TYPE + string(group_id)


def group_tombstone(group_id: str) -> Record:
    return group_key(group_id), None


def group_record(era: Era, group: ClassicGroup, assignments: Mapping[str, bytes]) -> Record:
    """The group as it is now, with these assignments; members in the order of the hash map."""
    version = era.group_value_version
    parts = [
        int16(version),
        string(group.protocol_type or ""),
        int32(group.generation),
        nullable_string(group.protocol),
        nullable_string(group.leader),
    ]
    if version >= 2:
        parts.append(_TIMESTAMP_AND_COUNT(group.state_timestamp_ms, len(group.members)))
    else:
        parts.append(int32(len(group.members)))
    for member in group.in_order():
        assignment = assignments.get(member.member_id)
        if assignment is None or group.protocol is None:
            raise UnexpectedState(f"no assignment or protocol to write for {member.member_id}")
        parts.append(string(member.member_id))
        if version >= 3:
            parts.append(nullable_string(member.instance_id))
        parts += (string(member.client_id), string(member.client_host))
        if version >= 1:
            parts.append(_TWO_INTS(member.rebalance_timeout_ms, member.session_timeout_ms))
        else:
            parts.append(int32(member.session_timeout_ms))
        parts += (sized(member.metadata(group.protocol)), sized(assignment))
    return group_key(group.group_id), b"".join(parts)


def new_group_record(group: ClassicGroup) -> Record:
    """The empty group of generation 0 that the Java coordinator writes first, in version 3."""
    value = b"\x00\x03\x00\x00" + int32(0) + NULL_STRING * 2
    return group_key(group.group_id), value + _TIMESTAMP_AND_COUNT(group.state_timestamp_ms, 0)
