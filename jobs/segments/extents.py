"""Byte ranges of a segment, small enough to send to a worker that has the file open, too."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from jobs.segments.frames import (
    LAST_OFFSET_DELTA_AT,
    OVERHEAD,
    PREFIX,
    RUN_BYTES,
    Frame,
    FrameGap,
    Run,
)
from jobs.segments.pieces import stretches

MOST_AT_A_TIME = 100  # a damaged file has only small ranges

_INT32 = Struct(">i")


class Extent(NamedTuple):
    """A run; with a ``reason``, a gap."""

    position: int
    size: int
    reason: str | None


def extents(view: memoryview) -> Iterator[list[Extent]]:
    """All extents in file order, in lists of about RUN_BYTES."""
    held: list[Extent] = []
    for extent in map(_extent, stretches(view)):
        held.append(extent)
        size = extent.position + extent.size - held[0].position
        if size >= RUN_BYTES or len(held) == MOST_AT_A_TIME:
            yield held
            held = []
    if held:
        yield held


def stretch_at(view: memoryview, extent: Extent) -> Run | FrameGap:
    """The run or gap of an extent, without checking checksums again."""
    if extent.reason is not None:
        return FrameGap(extent.position, extent.size, extent.reason)
    return _run(view, extent.position, extent.position + extent.size)


def _extent(stretch: Run | FrameGap) -> Extent:
    if isinstance(stretch, FrameGap):
        return Extent(*stretch)
    start = stretch[0].position
    return Extent(start, stretch[-1].position + stretch[-1].size - start, None)


def _run(view: memoryview, position: int, end: int) -> Run:
    run = []
    while position < end:
        offset, length, _, magic = PREFIX.unpack_from(view, position)
        last = offset
        if magic == 2:
            last += _INT32.unpack_from(view, position + LAST_OFFSET_DELTA_AT)[0]
        run.append(Frame(position, OVERHEAD + length, magic, offset, last))
        position += OVERHEAD + length
    return run
