"""Where the batches of a segment lie: frames whose checksum holds, and the gaps between them.

Reading goes on after damage with the next frame that checks out, wherever it begins. The work that
failed attempts may cost is kept in proportion to the bytes passed, so that a file full of wrong
lengths is still read in linear time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

import crc32c
import numpy as np

from jobs.segments import message_set, record_batch

PREFIX = Struct(">qiIb")  # offset, length, checksum or leader epoch, magic: common to all formats
PREFIX_SIZE = PREFIX.size
LAST_OFFSET_DELTA_AT = 23  # in a record batch, an int32
OVERHEAD = 12  # offset and length, which the length does not count
MAGICS = (0, 1, 2)
MIN_SIZE = OVERHEAD + message_set.MIN_LENGTH

PAGE = 4096
RUN_BYTES = 2 << 20
FIRST_SCAN_BYTES, SCAN_BYTES = 1 << 10, 1 << 20
INITIAL_CREDIT = 64 << 20  # bytes that checksums may be taken over in vain ...
CREDIT_PER_BYTE = 16  # ... and what every byte passed adds to it

_BATCH = Struct(">qi4xbI2xi")  # what `_record_batches` looks at
_UINT32 = Struct(">I")
_INT32 = Struct(">i")


class Frame(NamedTuple):
    """A batch that checks out. A message (magic 0, 1) has one offset, which is first and last."""

    position: int
    size: int
    magic: int
    first_offset: int
    last_offset: int


class Gap(NamedTuple):
    """A stretch that is none."""

    position: int
    size: int
    reason: str


Run = list[Frame]
"""Frames that follow each other without a gap, in order of offset, all of magic 2 or none."""


def frames(view: memoryview) -> Iterator[Frame | Gap]:
    """Frames and gaps cover ``view`` in order, but for zeros at its end (a preallocated file)."""
    for run in runs(view):
        if isinstance(run, Gap):
            yield run
        else:
            yield from run


def runs(view: memoryview) -> Iterator[Run | Gap]:
    """The same by runs, each of RUN_BYTES or not much more."""
    return _in_order(Framer(view).runs())


class Framer:
    """One pass over a segment."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._end = len(view)
        self._spent = 0  # bytes that checksums were taken over in vain
        self._data_end: int | None = None

    def runs(self) -> Iterator[Run | Gap]:
        position = 0
        while position < self._end:
            if run := self._record_batches(position):
                yield run
                position = run[-1].position + run[-1].size
                continue
            found = self._frame_at(position)
            if isinstance(found, Frame):
                yield [found]
                position += found.size
            elif position >= self._where_zeros_begin():
                return
            else:
                resume = self._resume(position)
                yield from self._gaps(position, resume, found)
                position = resume

    def _record_batches(self, position: int) -> Run:
        """`_frame_at` for as long as it finds record batches in order: nearly always."""
        view, end, run = self._view, self._end, []
        unpack, checksum_of, make = _BATCH.unpack_from, crc32c.crc32c, tuple.__new__
        last = min(position + RUN_BYTES, end - record_batch.HEADER_SIZE)
        before, allowed = -1, self._allowance(position)
        while position <= last:
            offset, length, magic, checksum, last_offset_delta = unpack(view, position)
            behind = position + OVERHEAD + length
            if (
                magic != 2
                or length < record_batch.MIN_LENGTH
                or behind > end
                or offset <= before
                or last_offset_delta < 0
                or length > allowed
            ):
                break
            if checksum_of(view[position + record_batch.CRC_START : behind]) != checksum:
                self._spent += length
                break
            before = offset + last_offset_delta
            run.append(make(Frame, (position, behind - position, 2, offset, before)))
            position = behind
        return run

    def _frame_at(self, position: int) -> Frame | str:
        """The frame, or why there is none."""
        view, left = self._view, self._end - position
        if left < PREFIX_SIZE:
            return f"truncated: {left} bytes are left, too few for a batch"
        offset, length, checksum, magic = PREFIX.unpack_from(view, position)
        if magic not in MAGICS:
            return f"unknown magic {magic}"
        if offset < 0:
            return f"offset {offset} is negative"
        size = OVERHEAD + length
        if size < (record_batch.HEADER_SIZE if magic == 2 else MIN_SIZE):
            return f"length {length} is too short for magic {magic}"
        if size > left:
            return f"truncated: the batch has {size} bytes, {left} are left"
        if size > self._allowance(position):
            return f"length {length} is not credible after so many wrong ones"
        if magic == 2:
            return self._record_batch_at(position, size, offset)
        computed = zlib.crc32(view[position + message_set.CRC_START : position + size])
        if computed != checksum:
            return self._failed(size, checksum, computed)
        return Frame(position, size, magic, offset, offset)

    def _record_batch_at(self, position: int, size: int, offset: int) -> Frame | str:
        view = self._view
        (checksum,) = _UINT32.unpack_from(view, position + record_batch.CRC_POSITION)
        computed = crc32c.crc32c(view[position + record_batch.CRC_START : position + size])
        if computed != checksum:
            return self._failed(size, checksum, computed)
        (last_offset_delta,) = _INT32.unpack_from(view, position + LAST_OFFSET_DELTA_AT)
        if last_offset_delta < 0:
            return f"the last offset is {-last_offset_delta} before the first"
        return Frame(position, size, 2, offset, offset + last_offset_delta)

    def _allowance(self, position: int) -> int:
        """The longest batch that may be tried: what was passed pays for what is tried in vain."""
        return INITIAL_CREDIT + CREDIT_PER_BYTE * position - self._spent

    def _failed(self, size: int, checksum: int, computed: int) -> str:
        self._spent += size
        return f"checksum: {checksum:08x} is stored, {computed:08x} computed"

    def _where_zeros_begin(self) -> int:
        if self._data_end is None:
            self._data_end = _without_trailing_zeros(self._view)
        return self._data_end

    def _resume(self, position: int) -> int:
        """Where the next frame begins, or the data ends."""
        behind = self._behind_compressed_message(position)
        if behind is not None:
            return behind
        for candidate in self._candidates(position + 1):
            if isinstance(self._frame_at(candidate), Frame):
                return candidate
        return self._end_of_data(position)

    def _end_of_data(self, position: int) -> int:
        """Where the last gap ends: fewer zeros than a page are its own, not a preallocated tail."""
        claimed = self._claimed_end(position)
        data_end = self._where_zeros_begin()
        if claimed is not None and data_end <= claimed < self._end - PREFIX_SIZE:
            return claimed
        return data_end if self._end - data_end >= PAGE else self._end

    def _behind_compressed_message(self, position: int) -> int | None:
        """The end of a damaged wrapper message, when a frame or nothing at all follows there.

        The messages inside can lie in it as they are and check out, with offsets not theirs.
        """
        end = self._claimed_end(position)
        if end is None or self._view[position + 16] == 2:
            return None
        if not self._view[position + 17] & message_set.CODEC_MASK:
            return None
        return end if end == self._end or isinstance(self._frame_at(end), Frame) else None

    def _claimed_end(self, position: int) -> int | None:
        """Where the frame would end by its own words, if these are possible at all."""
        if self._end - position < PREFIX_SIZE:
            return None
        _, length, _, magic = PREFIX.unpack_from(self._view, position)
        end = position + OVERHEAD + length
        possible = magic in MAGICS and length >= message_set.MIN_LENGTH and end <= self._end
        return end if possible else None

    def _candidates(self, start: int) -> Iterator[int]:
        """Positions from ``start`` on that could be a frame's, by the fields of its header."""
        low, size = start, FIRST_SCAN_BYTES  # the next frame is mostly near
        while low + MIN_SIZE <= self._end:
            block = np.frombuffer(self._view[low : low + size + PREFIX_SIZE - 1], np.uint8)
            for at in _plausible_prefixes(block, self._end - low):
                if _is_plausible(self._view, low + at):
                    yield low + at
            low, size = low + size, min(2 * size, SCAN_BYTES)

    def _gaps(self, position: int, end: int, reason: str) -> Iterator[Gap]:
        """The stretch, cut where damaged batches follow each other by their lengths."""
        cuts = [position]
        while (cut := self._claimed_end(cuts[-1])) is not None and cut < end:
            cuts.append(cut)
        if cut != end:
            cuts = [position]
        for start, stop in zip(cuts, [*cuts[1:], end], strict=True):
            found = reason if start == position else self._frame_at(start)
            yield Gap(start, stop - start, found if isinstance(found, str) else reason)


def _plausible_prefixes(block: np.ndarray, left: int) -> list[int]:
    """Positions in ``block`` of offset >= 0, a known magic and a length that fits what is left."""
    count = len(block) - PREFIX_SIZE + 1
    at = np.flatnonzero(
        (block[16:] <= MAGICS[-1]) & (block[:count] < 0x80) & (block[8 : 8 + count] < 0x80)
    )
    length = np.zeros(len(at), np.int64)
    for byte in range(8, 12):
        length = length << 8 | block[at + byte]
    fits = (length >= message_set.MIN_LENGTH) & (at + OVERHEAD + length <= left)
    return [int(position) for position in at[fits]]


def _is_plausible(view: memoryview, position: int) -> bool:
    if view[position + 16] != 2:
        return _is_plausible_message(view, position)
    if len(view) - position < record_batch.HEADER_SIZE:
        return False
    header = record_batch.read_header(view, position)
    return bool(
        header.length >= record_batch.MIN_LENGTH
        and 0 <= header.record_count <= header.last_offset_delta + 1
    )


def _is_plausible_message(view: memoryview, position: int) -> bool:
    """A message's two lengths must come out at its end exactly."""
    length: int
    _, length, _, magic = PREFIX.unpack_from(view, position)
    end = position + OVERHEAD + length
    at = position + (26 if magic == 1 else 18)
    for _ in ("key", "value"):
        if at + 4 > end:
            return False
        (size,) = _INT32.unpack_from(view, at)
        at += 4 + max(size, 0)
    return at == end


def _without_trailing_zeros(view: memoryview) -> int:
    end = len(view)
    while end > 0:
        start = max(0, end - SCAN_BYTES)
        used = np.flatnonzero(np.frombuffer(view[start:end], np.uint8))
        if len(used):
            return start + int(used[-1]) + 1
        end = start
    return 0


def _in_order(items: Iterator[Run | Gap]) -> Iterator[Run | Gap]:
    """Turns a frame whose offset overlaps its neighbour's into a gap, if it is the wrong one.

    No checksum covers a batch's offset. Numbers that start again and go on from there are no
    damage: such a file is several strung together.
    """
    before = -1  # the last offset in front of `held`
    held: Run = []
    gaps: list[Gap] = []  # those after `held`
    ahead: list[Run | Gap] = []  # next one last
    while (item := ahead.pop() if ahead else next(items, None)) is not None:
        if isinstance(item, Gap):
            gaps.append(item)
            continue
        if held and item[0].first_offset <= held[-1].last_offset:
            after = item[1] if len(item) > 1 else _next_frame(items, ahead)
            in_front = held[-2].last_offset if len(held) > 1 else before
            wrong = _wrong_one(in_front, held[-1], item[0], after)
            if wrong is item[0]:
                gaps.append(_misplaced(wrong, held[-1].last_offset, after))
                if item[1:]:
                    ahead.append(item[1:])
                continue
            if wrong is held[-1]:
                gaps.insert(0, _misplaced(held.pop(), in_front, item[0]))
        if held:
            before = held[-1].last_offset
            yield held
        yield from gaps
        held, gaps = item, []
    if held:
        yield held
    yield from gaps


def _next_frame(items: Iterator[Run | Gap], ahead: list[Run | Gap]) -> Frame | None:
    """The frame that comes next; what is taken from ``items`` to see it is put ``ahead``."""
    for item in reversed(ahead):
        if not isinstance(item, Gap):
            return item[0]
    for item in items:
        ahead.insert(0, item)
        if not isinstance(item, Gap):
            return item[0]
    return None


def _wrong_one(before: int, one: Frame, other: Frame, after: Frame | None) -> Frame | None:
    """Which of two overlapping neighbours is misplaced; None when the numbers start again."""
    other_fits = before < other.first_offset
    one_fits = after is None or one.last_offset < after.first_offset
    if other_fits and one_fits:  # the offsets of a log follow each other, where not compacted
        return other if one.first_offset == before + 1 else one
    if other_fits:
        return one
    return other if one_fits else None


def _misplaced(frame: Frame, before: int, after: Frame | None) -> Gap:
    following = "the end" if after is None else after.first_offset
    reason = f"offset {frame.first_offset} does not lie between {before} and {following}"
    return Gap(frame.position, frame.size, reason)
