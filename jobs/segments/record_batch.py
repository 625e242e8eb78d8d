"""Record batches (magic 2, KIP-98): the header, and the records as varint-coded deltas.

The checksum (CRC-32C) covers everything from the attributes on, but not the base offset, the
length, the leader epoch and the magic byte before them.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from jobs.segments.batch import CREATE_TIME, LOG_APPEND_TIME, BadBatch, Batch
from jobs.segments.compression import CODECS, MAX_INFLATED, decompress
from jobs.segments.control import control_type

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size  # 61
MIN_LENGTH = HEADER_SIZE - 12  # the length counts only the bytes that follow it
CRC_POSITION, CRC_START = 17, 21
# length, attributes, two deltas, two lengths and a header count, of one byte each
MIN_RECORD_SIZE = 7

CODEC_MASK, LOG_APPEND, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40


class Header(NamedTuple):
    """The fixed part of a record batch, in file order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def read_header(view: memoryview, position: int) -> Header:
    return Header._make(HEADER.unpack_from(view, position))


def records_of(header: Header, payload: bytes, max_inflated: int = MAX_INFLATED) -> bytes:
    """The records' bytes, decompressed. Raises BadBatch if they are too short for the record
    count.
    """
    codec = header.attributes & CODEC_MASK
    if codec >= len(CODECS):
        raise BadBatch(f"unknown compression codec {codec}")
    data = payload
    if codec and header.record_count:
        data = decompress(CODECS[codec], payload, 2, max_inflated)
    if not 0 <= header.record_count * MIN_RECORD_SIZE <= len(data):
        raise BadBatch(f"{len(data)} bytes cannot hold {header.record_count} records")
    return data


def read_record_batch(
    header: Header,
    payload: bytes,
    *,
    position: int,
    partition: int,
    file: str,
    max_inflated: int = MAX_INFLATED,
) -> Batch:
    """The batch of a frame with a valid checksum. Raises BadBatch for unreadable content."""
    offsets, timestamps, keys, values = read_records(
        header, records_of(header, payload, max_inflated)
    )
    is_control = bool(header.attributes & CONTROL)
    return Batch(
        base_offset=header.base_offset,
        last_offset=header.base_offset + header.last_offset_delta,
        position=position,
        size=12 + header.length,
        magic=2,
        compression=CODECS[header.attributes & CODEC_MASK],
        timestamp_type=LOG_APPEND_TIME if header.attributes & LOG_APPEND else CREATE_TIME,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=bool(header.attributes & TRANSACTIONAL),
        control=control_type(keys) if is_control else None,
        leader_epoch=header.leader_epoch,
        delete_horizon_ms=header.base_timestamp if header.attributes & DELETE_HORIZON else None,
        partition=partition,
        file=file,
        offsets=offsets,
        timestamps=timestamps,
        keys=keys,
        values=values,
    )


Columns = tuple[list[int], list[int], list[bytes | None], list[bytes | None]]


def read_records(header: Header, data: bytes) -> Columns:
    """Offsets, timestamps, keys and values; record headers are checked and skipped."""
    offsets: list[int] = []
    timestamps: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    position = 0
    try:
        for _ in range(header.record_count):
            length, start = varint(data, position)
            position = start + length
            if length < 0 or position > len(data):
                raise BadBatch(
                    f"a record of {length} bytes in a batch with {len(data) - start} bytes left"
                )
            timestamp_delta, at = varint(data, start + 1)
            offset_delta, at = varint(data, at)
            key, at = _bytes(data, at, position)
            value, at = _bytes(data, at, position)
            if (at := _skip_headers(data, at, position)) != position:
                raise BadBatch(f"a record of {length} bytes whose content has {at - start} bytes")
            offsets.append(header.base_offset + offset_delta)
            timestamps.append(header.base_timestamp + timestamp_delta)
            keys.append(key)
            values.append(value)
    except IndexError:
        raise BadBatch("the last record is cut off") from None
    if position != len(data):
        raise BadBatch(f"{len(data) - position} bytes after the last record")
    if header.attributes & LOG_APPEND:
        timestamps = [header.max_timestamp] * len(offsets)
    _require_int64(offsets, "an offset")
    _require_int64(timestamps, "a timestamp")
    return offsets, timestamps, keys, values


def _require_int64(numbers: list[int], what: str) -> None:
    """A damaged or forged delta may lead beyond it."""
    if numbers and not -(1 << 63) <= min(numbers) <= max(numbers) < 1 << 63:
        raise BadBatch(f"{what} needs more than 64 bits")


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag-coded integer and the position after it."""
    byte = data[position]
    if byte < 0x80:
        return byte >> 1 ^ -(byte & 1), position + 1
    value = byte & 0x7F
    for shift in range(7, 70, 7):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), position + 1
    raise BadBatch("a variable-length integer of more than ten bytes")


def _bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = varint(data, position)
    if length < 0:
        return None, position
    if length > end - position:
        raise BadBatch(f"a key or value of {length} bytes, but only {end - position} are left")
    return data[position : position + length], position + length


def _skip_headers(data: bytes, position: int, end: int) -> int:
    count, position = varint(data, position)
    if not 0 <= count <= end - position:
        raise BadBatch(f"{count} record headers in {end - position} bytes")
    for _ in range(count):
        name, position = _bytes(data, position, end)
        if name is None:
            raise BadBatch("a record header without a name")
        _, position = _bytes(data, position, end)
    return position
