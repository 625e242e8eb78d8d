"""Runs of record batches as columns: positions and numbers, without a Python object per record.

The content equals the content that the reference `read_batch` returns. All batches of a run are
decoded in step: first the first record of each batch, then the second, and so on. A record's
position is known only after the previous record's length, so each step costs a few array
operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jobs.segments.compression import MAX_INFLATED
from jobs.segments.frames import Frame
from jobs.segments.record_batch import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND,
    MIN_RECORD_SIZE,
    read_header,
    records_of,
)

HEADERS = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
MAX_VARINT_BYTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The records of a run in file order. A length of -1 is a null; starts are in ``data``.

    ``batch`` is a record's index in ``headers`` and ``positions``, the batches' byte positions in
    the file.
    """

    data: np.ndarray
    headers: np.ndarray
    positions: np.ndarray
    batch: np.ndarray
    offsets: np.ndarray
    timestamps: np.ndarray
    key_start: np.ndarray
    key_length: np.ndarray
    value_start: np.ndarray
    value_length: np.ndarray

    @property
    def is_inflated(self) -> bool:
        """Returns whether ``data`` was decompressed, and is not the file itself."""
        return bool((self.headers["attributes"] & CODEC_MASK).any())

    def key(self, row: int) -> bytes | None:
        return _bytes(self.data, self.key_start[row], self.key_length[row])

    def value(self, row: int) -> bytes | None:
        return _bytes(self.data, self.value_start[row], self.value_length[row])


def _bytes(data: np.ndarray, start: int, length: int) -> bytes | None:
    return None if length < 0 else data[start : start + length].tobytes()


def read_columns(
    view: memoryview, run: list[Frame], max_inflated: int = MAX_INFLATED
) -> Columns | None:
    """The records of consecutive frames of magic 2, or None if a record has headers or the
    reference would refuse it.

    Raises BadBatch for a batch that cannot be decompressed or inflates to more than
    ``max_inflated`` bytes, or if the run inflates to more than MAX_INFLATED.
    """
    positions = np.array([frame.position for frame in run], np.int64)
    ends = positions + np.array([frame.size for frame in run], np.int64)
    file = np.frombuffer(view, np.uint8)
    headers = at_any_byte(file, HEADERS)[positions]
    data, starts = file, positions + HEADER_SIZE
    if (headers["attributes"] & CODEC_MASK).any():
        data, starts, ends = _decompressed(view, run, max_inflated)
    counts = headers["record_count"].astype(np.int64)
    if (counts < 0).any() or (counts * MIN_RECORD_SIZE > ends - starts).any():
        return None
    batch = np.repeat(np.arange(len(run)), counts)
    bounds = _record_bounds(data, starts, ends, counts)
    return None if bounds is None else _fields(data, headers, positions, batch, *bounds)


def at_any_byte(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``data`` as overlapping items, one starting at every byte with enough bytes after it."""
    count = len(data) - dtype.itemsize + 1
    return np.ndarray((count,), dtype, buffer=data, strides=(1,))


def _decompressed(
    view: memoryview, run: list[Frame], max_inflated: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The records' bytes, concatenated, and each batch's start and end in them."""
    parts: list[bytes] = []
    # Limit for the whole run of batches; a run of compression bombs is read batch by batch.
    left = MAX_INFLATED
    for frame in run:
        payload = bytes(view[frame.position + HEADER_SIZE : frame.position + frame.size])
        limit = min(left, max_inflated)
        parts.append(records_of(read_header(view, frame.position), payload, limit))
        left -= len(parts[-1])
    ends = np.cumsum([len(part) for part in parts])
    data = np.frombuffer(b"".join(parts), np.uint8)
    return data, ends - [len(part) for part in parts], ends


def _record_bounds(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The start and end of each record's body, or None if a length does not fit its batch."""
    first = np.cumsum(counts) - counts
    body = np.empty(int(counts.sum()), np.int64)
    body_end = np.empty_like(body)
    order = np.argsort(-counts, kind="stable")  # Batches that have a next record come first.
    at, limit, row = starts[order], ends[order], first[order]
    left = np.searchsorted(-counts[order], -np.arange(int(counts.max(initial=0))), "left")
    for step, active in enumerate(left.tolist()):
        lengths, begin = varints(data, at[:active])
        end = begin + lengths
        if (lengths < 0).any() or (end > limit[:active]).any():
            return None
        body[row[:active] + step] = begin
        body_end[row[:active] + step] = end
        at[:active] = end
    return (body, body_end) if (at == limit).all() else None


def _fields(
    data: np.ndarray,
    headers: np.ndarray,
    positions: np.ndarray,
    batch: np.ndarray,
    body: np.ndarray,
    body_end: np.ndarray,
) -> Columns | None:
    timestamp_delta, at = varints(data, body + 1)
    offset_delta, at = varints(data, at)
    key_length, key_start = varints(data, at)
    value_length, value_start = varints(data, key_start + np.maximum(key_length, 0))
    after = value_start + np.maximum(value_length, 0)
    fits = (key_length <= body_end - key_start) & (value_length <= body_end - value_start)
    if not (fits & (after + 1 == body_end)).all() or data.take(after, mode="clip").any():
        return None  # the remaining bytes must be a header count of zero
    stamped = headers["attributes"] & LOG_APPEND != 0
    first_offset = headers["base_offset"].astype(np.int64)[batch]
    base = np.where(stamped, headers["max_timestamp"], headers["base_timestamp"])[batch]
    delta = np.where(stamped[batch], 0, timestamp_delta)
    if _overflows(first_offset, offset_delta) or _overflows(base, delta):
        return None
    return Columns(
        data=data,
        headers=headers,
        positions=positions,
        batch=batch,
        offsets=first_offset + offset_delta,
        timestamps=base + delta,
        key_start=key_start,
        key_length=np.maximum(key_length, -1),
        value_start=value_start,
        value_length=np.maximum(value_length, -1),
    )


def _overflows(base: np.ndarray, delta: np.ndarray) -> bool:
    """Returns whether a sum needs more than 64 bits: both numbers then have the other sign."""
    total = base + delta
    return bool((((base ^ total) & (delta ^ total)) < 0).any())


def varints(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zigzag-coded integers at the positions, and the positions after them.

    A position beyond the data reads its last byte, and an integer of more than ten bytes ends after
    ten; in both cases the record's end does not match, which the caller checks.
    """
    byte = data.take(at, mode="clip")
    value = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    longer = np.flatnonzero(byte >= 0x80)
    for size in range(1, MAX_VARINT_BYTES):
        if not len(longer):
            break
        byte = data.take(at[longer] + size, mode="clip")
        value[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * size)
        after[longer] += 1
        longer = longer[byte >= 0x80]
    signed = (value >> np.uint64(1)).view(np.int64)
    return signed ^ -(value & np.uint64(1)).view(np.int64), after
