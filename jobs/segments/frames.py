"""Find the batches of a segment: frames with a valid checksum, and the gaps between them.

After damage, reading continues with the next valid frame at any position. The cost of failed
attempts is limited in proportion to the bytes passed, so a file full of wrong lengths is read in
linear time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

import crc32c
import numpy as np

from jobs.segments import message_set, record_batch
from jobs.segments.mapping import KEPT_BYTES, release

PREFIX = Struct(">qiIb")  # offset, length, checksum or leader epoch, magic: common to all formats
PREFIX_SIZE = PREFIX.size
LAST_OFFSET_DELTA_AT = 23  # this field is an int32 in a record batch
OVERHEAD = 12  # offset and length, not included in the length
MAGICS = (0, 1, 2)
MIN_SIZE = OVERHEAD + message_set.MIN_LENGTH

PAGE = 4096
RUN_BYTES = 2 << 20
FIRST_SCAN_BYTES, SCAN_BYTES = 1 << 10, 1 << 20
INITIAL_CREDIT = 64 << 20  # limit of bytes read for failed checksums, to which CREDIT_PER_BYTE adds
CREDIT_PER_BYTE = 16  # per byte passed

_BATCH = Struct(">qi4xbI2xi")  # fields that `_record_batches` checks
_UINT32 = Struct(">I")
_INT32 = Struct(">i")


class Frame(NamedTuple):
    """A batch with a valid checksum.

    For a message (magic 0, 1), the first and the last offset are equal.
    """

    position: int
    size: int
    magic: int
    first_offset: int
    last_offset: int


class FrameGap(NamedTuple):
    """A byte range without a valid frame."""

    position: int
    size: int
    reason: str


Run = list[Frame]
"""Consecutive frames without a gap, in order of offset, all of magic 2 or all of 0 and 1."""


def frames(view: memoryview) -> Iterator[Frame | FrameGap]:
    """Frames and gaps in order; they cover ``view`` except zeros at the end (preallocated file)."""
    for run in runs(view):
        if isinstance(run, FrameGap):
            yield run
        else:
            yield from run


def runs(view: memoryview) -> Iterator[Run | FrameGap]:
    """Like `frames`, but with frames joined to runs of about RUN_BYTES."""
    return _in_order(Framer(view).runs())


class Framer:
    """One pass over a segment."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._end = len(view)
        self._released = 0  # position up to which bytes are not needed soon
        self._spent = 0  # number of bytes of batches with failed checksums
        self._data_end: int | None = None

    def runs(self) -> Iterator[Run | FrameGap]:
        position = 0
        while position < self._end:
            if position - self._released >= KEPT_BYTES:
                release(self._view, self._released, position)
                self._released = position
            if run := self._record_batches(position):
                yield run
                position = run[-1].position + run[-1].size
                continue
            frame = self._frame_at(position)
            if isinstance(frame, Frame):
                yield [frame]
                position += frame.size
            elif position >= self._zeros_start():
                return
            else:
                resume = self._resume(position)
                yield from self._gaps(position, resume, reason=frame)
                position = resume

    def _record_batches(self, position: int) -> Run:
        """`_frame_at` for consecutive record batches in order, the usual case."""
        view, end, run = self._view, self._end, []
        unpack, checksum_of, make = _BATCH.unpack_from, crc32c.crc32c, tuple.__new__
        last = min(position + RUN_BYTES, end - record_batch.HEADER_SIZE)
        previous, allowed = -1, self._allowance(position)
        while position <= last:
            offset, length, magic, checksum, last_offset_delta = unpack(view, position)
            behind = position + OVERHEAD + length
            if (
                magic != 2
                or length < record_batch.MIN_LENGTH
                or behind > end
                or offset <= previous
                or last_offset_delta < 0
                or length > min(allowed, KEPT_BYTES)
            ):
                break
            if checksum_of(view[position + record_batch.CRC_START : behind]) != checksum:
                self._spent += length
                break
            previous = offset + last_offset_delta
            run.append(make(Frame, (position, behind - position, 2, offset, previous)))
            position = behind
        return run

    def _frame_at(self, position: int) -> Frame | str:
        """The frame, or the reason why it is invalid."""
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
            return f"length {length} is implausible after many wrong lengths"
        if magic == 2:
            return self._record_batch_at(position, size, offset)
        start = position + message_set.CRC_START
        computed = _checksum(zlib.crc32, view, start, position + size)
        if computed != checksum:
            return self._failed(size, checksum, computed)
        return Frame(position, size, magic, offset, offset)

    def _record_batch_at(self, position: int, size: int, offset: int) -> Frame | str:
        view = self._view
        (checksum,) = _UINT32.unpack_from(view, position + record_batch.CRC_POSITION)
        start = position + record_batch.CRC_START
        computed = _checksum(crc32c.crc32c, view, start, position + size)
        if computed != checksum:
            return self._failed(size, checksum, computed)
        (last_offset_delta,) = _INT32.unpack_from(view, position + LAST_OFFSET_DELTA_AT)
        if last_offset_delta < 0:
            return f"the last offset is {-last_offset_delta} before the first"
        return Frame(position, size, 2, offset, offset + last_offset_delta)

    def _allowance(self, position: int) -> int:
        """The longest batch to try: passed bytes add credit, failed attempts use it."""
        return INITIAL_CREDIT + CREDIT_PER_BYTE * position - self._spent

    def _failed(self, size: int, checksum: int, computed: int) -> str:
        self._spent += size
        return f"checksum: {checksum:08x} is stored, {computed:08x} computed"

    def _zeros_start(self) -> int:
        if self._data_end is None:
            self._data_end = self._without_trailing_zeros()
        return self._data_end

    def _without_trailing_zeros(self) -> int:
        end = self._end
        while end > 0:
            start = max(0, end - SCAN_BYTES)
            used = np.flatnonzero(np.frombuffer(self._view[start:end], np.uint8))
            if len(used):
                return start + int(used[-1]) + 1
            release(self._view, start, end)
            end = start
        return 0

    def _resume(self, position: int) -> int:
        """The start of the next valid frame, or the end of the data."""
        behind = self._behind_compressed_message(position)
        if behind is not None:
            return behind
        for candidate in self._candidates(position + 1):
            if isinstance(self._frame_at(candidate), Frame):
                return candidate
        return self._end_of_data(position)

    def _end_of_data(self, position: int) -> int:
        """The end of the last gap, which includes trailing zeros if they are less than a page."""
        claimed = self._claimed_end(position)
        data_end = self._zeros_start()
        if claimed is not None and data_end <= claimed < self._end - PREFIX_SIZE:
            return claimed
        return data_end if self._end - data_end >= PAGE else self._end

    def _behind_compressed_message(self, position: int) -> int | None:
        """The end of a damaged wrapper message, if a valid frame or the file's end follows.

        Messages inside it may look like valid frames, but their offsets are relative.
        """
        end = self._claimed_end(position)
        if end is None or self._view[position + 16] == 2:
            return None
        if not self._view[position + 17] & message_set.CODEC_MASK:
            return None
        return end if end == self._end or isinstance(self._frame_at(end), Frame) else None

    def _claimed_end(self, position: int) -> int | None:
        """The end of the frame by its own length, None if its header is impossible."""
        if self._end - position < PREFIX_SIZE:
            return None
        _, length, _, magic = PREFIX.unpack_from(self._view, position)
        end = position + OVERHEAD + length
        possible = magic in MAGICS and length >= message_set.MIN_LENGTH and end <= self._end
        return end if possible else None

    def _candidates(self, start: int) -> Iterator[int]:
        """Positions from ``start`` on with a plausible frame header."""
        low, size = start, FIRST_SCAN_BYTES  # The next frame is usually near.
        released = start
        while low + MIN_SIZE <= self._end:
            block = np.frombuffer(self._view[low : low + size + PREFIX_SIZE - 1], np.uint8)
            for at in _plausible_prefixes(block, self._end - low):
                if _is_plausible(self._view, low + at):
                    yield low + at
            low, size = low + size, min(2 * size, SCAN_BYTES)
            if low - released >= 4 * SCAN_BYTES:  # Damaged lengths point anywhere in the file.
                release(self._view, 0, self._end)
                released = low

    def _gaps(self, position: int, end: int, reason: str) -> Iterator[FrameGap]:
        """The byte range as one gap per damaged batch, if their lengths lead to its end."""
        cuts = [position]
        while (cut := self._claimed_end(cuts[-1])) is not None and cut < end:
            cuts.append(cut)
        if cut != end:
            cuts = [position]
        for start, stop in zip(cuts, [*cuts[1:], end], strict=True):
            own_reason = reason if start == position else self._frame_at(start)
            yield FrameGap(
                start, stop - start, own_reason if isinstance(own_reason, str) else reason
            )


def _checksum(of: Callable[[memoryview, int], int], view: memoryview, start: int, end: int) -> int:
    """The checksum of a range, which may be as long as the file: a damaged length is any number."""
    checksum = 0
    for low in range(start, end, KEPT_BYTES):
        high = min(low + KEPT_BYTES, end)
        checksum = of(view[low:high], checksum)
        if high < end:
            release(view, low, high)
    return checksum


def _plausible_prefixes(block: np.ndarray, left: int) -> list[int]:
    """Positions in ``block`` of offset >= 0, a valid magic and a length of at most ``left``."""
    if not block.any():  # The block is a hole in a sparse file, because a length of 0 is invalid.
        return []
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
    """A message's two lengths must lead exactly to its end."""
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


def _in_order(items: Iterator[Run | FrameGap]) -> Iterator[Run | FrameGap]:
    """Turns a frame with a misplaced offset into a gap.

    No checksum covers a batch's offset. Offsets that start again and continue from there are not
    damage: such a file is a concatenation of several files.
    """
    previous = -1  # last offset before `held`
    held: Run = []
    gaps: list[FrameGap] = []  # after `held`
    # items that were read ahead; the next item is at the end of the list
    ahead: list[Run | FrameGap] = []
    while (item := ahead.pop() if ahead else next(items, None)) is not None:
        if isinstance(item, FrameGap):
            gaps.append(item)
            continue
        if held and item[0].first_offset <= held[-1].last_offset:
            after = item[1] if len(item) > 1 else _next_frame(items, ahead)
            before = held[-2].last_offset if len(held) > 1 else previous
            misplaced = _misplaced(before, held[-1], item[0], after)
            if misplaced is item[0]:
                gaps.append(_gap_of(misplaced, held[-1].last_offset, after))
                if item[1:]:
                    ahead.append(item[1:])
                continue
            if misplaced is held[-1]:
                gaps.insert(0, _gap_of(held.pop(), before, item[0]))
        if held:
            previous = held[-1].last_offset
            yield held
        yield from gaps
        held, gaps = item, []
    if held:
        yield held
    yield from gaps


def _next_frame(items: Iterator[Run | FrameGap], ahead: list[Run | FrameGap]) -> Frame | None:
    """The next frame; items read to find it are added to ``ahead``."""
    for item in reversed(ahead):
        if not isinstance(item, FrameGap):
            return item[0]
    for item in items:
        ahead.insert(0, item)
        if not isinstance(item, FrameGap):
            return item[0]
    return None


def _misplaced(before: int, first: Frame, second: Frame, after: Frame | None) -> Frame | None:
    """The misplaced one of two overlapping neighbors, or None if the offsets start again."""
    second_fits = before < second.first_offset
    first_fits = after is None or first.last_offset < after.first_offset
    if second_fits and first_fits:  # Offsets of a log are consecutive unless the log is compacted.
        return second if first.first_offset == before + 1 else first
    if second_fits:
        return first
    return second if first_fits else None


def _gap_of(frame: Frame, before: int, after: Frame | None) -> FrameGap:
    following = "the end" if after is None else after.first_offset
    reason = f"offset {frame.first_offset} does not lie between {before} and {following}"
    return FrameGap(frame.position, frame.size, reason)
