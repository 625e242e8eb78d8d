"""Read a broker's segment file: valid batches, and everything else quarantined.

Parsers of Kafka clients are made for fetch responses, so Regroup has its own, with cramjam's
codecs, crc32c and zlib's CRC-32. The parser of kafka-python (2.0.2) raises at a zero-filled tail or
a wrong length without a byte position to continue from, and accepts a wrong magic. confluent-kafka
does not expose librdkafka's parser.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Iterator
from typing import BinaryIO

from jobs.console.errors import internal_error
from jobs.segments import message_set, record_batch
from jobs.segments.batch import BadBatch, Batch, Quarantined
from jobs.segments.compression import MAX_INFLATED
from jobs.segments.frames import Frame, FrameGap, frames
from jobs.segments.mapping import release

Data = bytes | bytearray | memoryview | mmap.mmap | BinaryIO

# A longer gap is split: Spark's writer holds a hundred rows before it checks their size.
QUARANTINE_BYTES = 1 << 20


def read_segment(
    data: Data, *, partition: int, file: str, max_inflated: int = MAX_INFLATED
) -> Iterator[Batch | Quarantined]:
    """Batches and quarantined byte ranges in file order.

    The items cover the segment, except zeros at the end of a preallocated file. ``data`` is a
    buffer or an open binary file; a file on disk is memory-mapped. A batch that inflates to more
    than ``max_inflated`` bytes is quarantined.
    """
    view = view_of(data)
    for item in frames(view):
        if isinstance(item, FrameGap):
            yield from quarantined(view, item, file=file)
        else:
            yield from read_frame(
                view, item, partition=partition, file=file, max_inflated=max_inflated
            )


def read_frame(
    view: memoryview, frame: Frame, *, partition: int, file: str, max_inflated: int
) -> Iterator[Batch | Quarantined]:
    """The frame's batch, or the quarantined frame if its content is unreadable."""
    try:
        batch = read_batch(view, frame, partition=partition, file=file, max_inflated=max_inflated)
    except Exception as error:
        reason = str(error) if isinstance(error, BadBatch) else internal_error(error)
        gap = FrameGap(frame.position, frame.size, reason)
        yield from quarantined(view, gap, file=file)
    else:
        yield batch


def read_batch(
    view: memoryview,
    frame: Frame,
    *,
    partition: int,
    file: str,
    max_inflated: int = MAX_INFLATED,
) -> Batch:
    """One batch. Raises BadBatch if the content is unreadable."""
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


def quarantined(view: memoryview, gap: FrameGap, *, file: str) -> Iterator[Quarantined]:
    end = gap.position + gap.size
    for position in range(gap.position, end, QUARANTINE_BYTES):
        data = bytes(view[position : min(position + QUARANTINE_BYTES, end)])
        release(view, position, position + len(data))
        yield Quarantined(file, position, len(data), gap.reason, data)


def view_of(data: Data) -> memoryview:
    """The segment's bytes. A stream that is not a file on disk is read completely."""
    if not hasattr(data, "read") or isinstance(data, mmap.mmap):
        return memoryview(data).cast("B")
    if isinstance(data, io.BufferedReader) and isinstance(data.raw, io.FileIO):
        if os.fstat(data.fileno()).st_size == 0:  # An empty file cannot be mapped.
            return memoryview(b"")
        return memoryview(mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ))
    return memoryview(data.read())
