"""Reads a broker's segment file: every batch that checks out, everything else quarantined.

The reader is our own, on cramjam's codecs, crc32c and zlib's CRC-32, because those at hand are made
for fetch responses. kafka-python's (2.0.2) raises at a zero-filled tail and at a wrong length, with
nothing to go on from: it keeps no byte positions. A wrong magic it reads all the same.
confluent-kafka lets nobody at librdkafka's parser.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Iterator
from typing import BinaryIO

from jobs.segments import message_set, record_batch
from jobs.segments.batch import BadBatch, Batch, Quarantined
from jobs.segments.compression import MAX_INFLATED
from jobs.segments.frames import Frame, Gap, frames

Data = bytes | bytearray | memoryview | mmap.mmap | BinaryIO

QUARANTINE_BYTES = 16 << 20  # a longer gap is handed out in pieces


def read_segment(
    data: Data, *, partition: int, file: str, max_inflated: int = MAX_INFLATED
) -> Iterator[Batch | Quarantined]:
    """Batches and quarantined stretches in file order.

    With the zeros at the end of a preallocated file they cover the segment exactly. ``data`` is a
    buffer or an open binary file; a file of the operating system is mapped, not loaded. A batch
    that inflates to more than ``max_inflated`` bytes is quarantined.
    """
    view = view_of(data)
    for found in frames(view):
        if isinstance(found, Gap):
            yield from quarantined(view, found, file=file)
        else:
            yield from read_frame(
                view, found, partition=partition, file=file, max_inflated=max_inflated
            )


def read_frame(
    view: memoryview, frame: Frame, *, partition: int, file: str, max_inflated: int
) -> Iterator[Batch | Quarantined]:
    """The frame's batch, or the frame quarantined when its content cannot be read."""
    try:
        yield read_batch(view, frame, partition=partition, file=file, max_inflated=max_inflated)
    except BadBatch as error:
        gap = Gap(frame.position, frame.size, str(error))
        yield from quarantined(view, gap, file=file)


def read_batch(
    view: memoryview,
    frame: Frame,
    *,
    partition: int,
    file: str,
    max_inflated: int = MAX_INFLATED,
) -> Batch:
    """One batch. Raises BadBatch when the frame checks out and its content cannot be read."""
    end = frame.position + frame.size
    if frame.magic < 2:
        message = bytes(view[frame.position : end])
        return message_set.read_message_batch(
            message,
            position=frame.position,
            partition=partition,
            file=file,
            max_inflated=max_inflated,
        )
    header = record_batch.read_header(view, frame.position)
    payload = bytes(view[frame.position + record_batch.HEADER_SIZE : end])
    return record_batch.read_record_batch(
        header,
        payload,
        position=frame.position,
        partition=partition,
        file=file,
        max_inflated=max_inflated,
    )


def quarantined(view: memoryview, gap: Gap, *, file: str) -> Iterator[Quarantined]:
    end = gap.position + gap.size
    for position in range(gap.position, end, QUARANTINE_BYTES):
        data = bytes(view[position : min(position + QUARANTINE_BYTES, end)])
        yield Quarantined(file, position, len(data), gap.reason, data)


def view_of(data: Data) -> memoryview:
    """The segment's bytes. What is no plain file on disk (a decompressing stream) is read whole."""
    if not hasattr(data, "read") or isinstance(data, mmap.mmap):
        return memoryview(data).cast("B")
    if isinstance(data, io.BufferedReader) and isinstance(data.raw, io.FileIO):
        if os.fstat(data.fileno()).st_size == 0:  # which cannot be mapped
            return memoryview(b"")
        return memoryview(mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ))
    return memoryview(data.read())
