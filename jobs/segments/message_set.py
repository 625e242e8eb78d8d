"""Message sets of brokers before 0.11 (magic 0, and 1 with timestamps, KIP-32).

A compressed message wraps a message set. The set's own offset is the offset of the last message in
it.  The inner offsets are absolute in magic 0 and relative to the set's first message in magic 1
(KIP-31).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from jobs.segments.batch import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BadBatch,
    Batch,
    TimestampType,
)
from jobs.segments.compression import CODECS, MAX_INFLATED, decompress

MIN_LENGTH = 14  # length of checksum, magic, attributes and two lengths
CRC_POSITION, CRC_START = 12, 16
CODEC_MASK, LOG_APPEND = 0x07, 0x08

_FRAME = Struct(">qiIbB")
_INT64 = Struct(">q")
_INT32 = Struct(">i")


class Message(NamedTuple):
    """One message; ``timestamp_ms`` is -1 in magic 0."""

    offset: int
    size: int
    magic: int
    attributes: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def read_message_batch(
    data: bytes, *, position: int, partition: int, file: str, max_inflated: int = MAX_INFLATED
) -> Batch:
    """The batch of a frame with a valid checksum. Raises BadBatch for unreadable content."""
    outer = _read_message(data, 0)
    codec = outer.attributes & CODEC_MASK
    messages = [outer] if codec == 0 else _unwrap(outer, max_inflated)
    return Batch(
        base_offset=messages[0].offset,
        last_offset=messages[-1].offset,
        position=position,
        size=outer.size,
        magic=outer.magic,
        compression=CODECS[codec],
        timestamp_type=_timestamp_type(outer),
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        is_transactional=False,
        control=None,
        leader_epoch=NO_LEADER_EPOCH,
        delete_horizon_ms=None,
        partition=partition,
        file=file,
        offsets=[message.offset for message in messages],
        timestamps=[message.timestamp_ms for message in messages],
        keys=[message.key for message in messages],
        values=[message.value for message in messages],
    )


def _timestamp_type(message: Message) -> TimestampType | None:
    if message.magic == 0:
        return None
    return LOG_APPEND_TIME if message.attributes & LOG_APPEND else CREATE_TIME


def _read_message(data: bytes, position: int) -> Message:
    offset, length, _, magic, attributes = _FRAME.unpack_from(data, position)
    end = position + 12 + length
    at = position + _FRAME.size
    timestamp_ms = NO_TIMESTAMP
    if magic == 1:
        if end - at < 16:
            raise BadBatch(f"a message of {length} bytes is too short for its magic")
        (timestamp_ms,) = _INT64.unpack_from(data, at)
        at += 8
    key, at = _bytes(data, at, end)
    value, at = _bytes(data, at, end)
    if at != end:
        raise BadBatch(f"{end - at} bytes are left after a message's value")
    return Message(
        offset=offset,
        size=12 + length,
        magic=magic,
        attributes=attributes,
        timestamp_ms=timestamp_ms,
        key=key,
        value=value,
    )


def _bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    if end - position < 4:
        raise BadBatch("a message ends before a length")
    (length,) = _INT32.unpack_from(data, position)
    position += 4
    if length < 0:
        return None, position
    if length > end - position:
        raise BadBatch(f"a key or value of {length} bytes, but only {end - position} are left")
    return data[position : position + length], position + length


def _int64(offset: int) -> int:
    if not -(1 << 63) <= offset < 1 << 63:
        raise BadBatch("an offset needs more than 64 bits")
    return offset


def _unwrap(outer: Message, max_inflated: int) -> list[Message]:
    codec = outer.attributes & CODEC_MASK
    if codec >= len(CODECS):
        raise BadBatch(f"unknown compression codec {codec}")
    if outer.value is None:
        raise BadBatch("a compressed message without a value")
    content = decompress(CODECS[codec], outer.value, outer.magic, max_inflated)
    messages = list(_inner_messages(content))
    if not messages:
        raise BadBatch("a compressed message contains no messages")
    base = _inner_base(outer, messages[-1]) if outer.magic == 1 else 0
    stamped = outer.magic == 1 and outer.attributes & LOG_APPEND
    return [
        message._replace(
            offset=_int64(base + message.offset),
            timestamp_ms=outer.timestamp_ms
            if stamped and message.magic == 1
            else message.timestamp_ms,
        )
        for message in messages
    ]


def _inner_base(outer: Message, last: Message) -> int:
    if outer.offset == 0:  # Some librdkafka versions leave the wrapper's offset at 0.
        return 0
    if outer.offset < last.offset:
        raise BadBatch(
            f"the outer offset {outer.offset} is smaller than {last.offset}, the "
            "offset of the last inner message"
        )
    return outer.offset - last.offset


def _inner_messages(data: bytes) -> Iterator[Message]:
    """Skips a partial message at the end, as Kafka's reader does."""
    position = 0
    while position + 12 <= len(data):
        (length,) = _INT32.unpack_from(data, position + 8)
        end = position + 12 + length
        if length < MIN_LENGTH:
            raise BadBatch(f"an inner message has {length} bytes")
        if end > len(data):
            return
        yield _checked(data, position, end)
        position = end


def _checked(data: bytes, position: int, end: int) -> Message:
    _, _, crc, magic, attributes = _FRAME.unpack_from(data, position)
    if zlib.crc32(memoryview(data)[position + CRC_START : end]) != crc:
        raise BadBatch("an inner message fails its checksum")
    if magic not in (0, 1):
        raise BadBatch(f"an inner message has magic {magic}")
    if attributes & CODEC_MASK:
        raise BadBatch("a compressed message contains another compressed message")
    return _read_message(data, position)
