"""Records of committed offsets, in the versions of the era; all group types write the same."""

from __future__ import annotations

from struct import Struct

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.offsets import CommittedOffset
from coordinator_core.coordinator.record_bytes import compact_string, int32, int64, string, uuid
from coordinator_core.protocol.messages import Record, TopicPartition

_VERSION_AND_OFFSET = Struct(">hq").pack
_VERSION_OFFSET_AND_EPOCH = Struct(">hqi").pack
_KEY_TYPE = b"\x00\x01"
_NO_LEADER_EPOCH = -1
_TOPIC_ID_TAG = b"\x01\x00\x10"  # Bytes of one tagged field: tag 0, then 16 bytes.


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    return _KEY_TYPE + string(group_id) + string(partition[0]) + int32(partition[1])


def offset_tombstone(group_id: str, partition: TopicPartition) -> Record:
    return offset_key(group_id, partition), None


def offset_record(
    era: Era, group_id: str, partition: TopicPartition, committed: CommittedOffset
) -> Record:
    """A committed offset; one with its own retention is written in version 1."""
    key, timestamp_ms = offset_key(group_id, partition), committed.commit_timestamp_ms
    expire_ms = committed.expire_timestamp_ms
    if era.offset_value_version == 1 or expire_ms is not None:
        value = _VERSION_AND_OFFSET(1, committed.offset) + string(committed.metadata)
        return key, value + int64(timestamp_ms) + int64(-1 if expire_ms is None else expire_ms)
    version = era.offset_value_version
    head = _VERSION_OFFSET_AND_EPOCH(version, committed.offset, _NO_LEADER_EPOCH)
    if version == 3:
        return key, head + string(committed.metadata) + int64(timestamp_ms)
    # In version 4, which is flexible, strings are compact and the topic id is a tagged field.
    tags = b"\x00" if committed.topic_id is None else _TOPIC_ID_TAG + uuid(committed.topic_id)
    return key, head + compact_string(committed.metadata) + int64(timestamp_ms) + tags
