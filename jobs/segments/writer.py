"""Write record batches (magic 2) and segment files as a broker's group coordinator does.

Each append is one uncompressed batch without a producer, and all records have the batch's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from typing import BinaryIO

import crc32c

from jobs.segments.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from jobs.segments.record_batch import CRC_START

_BEFORE_CHECKSUM = Struct(">qiibI")
_COVERED = Struct(">hiqqqhii")
_MAGIC = 2
NO_PRODUCER = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
_ONE_BYTE = [bytes([number]) for number in range(0x80)]

Pair = tuple[bytes | None, bytes | None]


def record_batch(
    base_offset: int,
    leader_epoch: int,
    time_ms: int,
    records: Sequence[Pair],
    base_sequence: int = 0,
) -> bytes:
    """The batch's bytes; ``records`` have the key and value, the value None for a tombstone."""
    payload, count = records_bytes(records), len(records)
    return framed(base_offset, leader_epoch, time_ms, payload, count, base_sequence)


def records_bytes(records: Sequence[Pair]) -> bytes:
    """The bytes after a batch's header."""
    return b"".join([_record(index, *record) for index, record in enumerate(records)])


def framed(
    base_offset: int,
    leader_epoch: int,
    time_ms: int,
    payload: bytes,
    count: int,
    base_sequence: int = 0,
    attributes: int = 0,
    producer: tuple[int, int] = NO_PRODUCER,
) -> bytes:
    """``payload`` of ``count`` records with a header; ``attributes`` has the compression,
    transactional and control bits; ``producer`` is the id and epoch.
    """
    covered = (
        _COVERED.pack(
            attributes,
            count - 1,
            time_ms,
            time_ms,
            *producer,
            base_sequence,
            count,
        )
        + payload
    )
    length = CRC_START - 12 + len(covered)
    checksum = crc32c.crc32c(covered)
    return _BEFORE_CHECKSUM.pack(base_offset, length, leader_epoch, _MAGIC, checksum) + covered


def _record(index: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\x00\x00" + varint(index) + _sized(key) + _sized(value) + b"\x00"
    return varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def varint(number: int) -> bytes:
    """Zigzag coding, seven bits per byte, the lowest first."""
    left = number << 1 ^ number >> 31
    if 0 <= left < 0x80:
        return _ONE_BYTE[left]
    coded = bytearray()
    while left > 0x7F:
        coded.append(left & 0x7F | 0x80)
        left >>= 7
    coded.append(left)
    return bytes(coded)


class SegmentWriter:
    """The log of one partition under ``folder``: FOLDER/TOPIC-N/OFFSET.log, rolled by size.

    The caller closes it.
    """

    def __init__(self, folder: Path, topic_partition: str, segment_bytes: int) -> None:
        self._folder = folder / topic_partition
        self._folder.mkdir(parents=True, exist_ok=True)
        self._segment_bytes = segment_bytes
        self._stream: BinaryIO | None = None
        self._size = 0

    def append(self, base_offset: int, batch: bytes) -> None:
        if self._stream is None or self._size + len(batch) > self._segment_bytes:
            self.close()
            self._stream = (self._folder / f"{base_offset:020}.log").open("wb")
            self._size = 0
        self._stream.write(batch)
        self._size += len(batch)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
