"""Bytes of a log file: uncompressed, in UTF-8, in whole lines, in ranges for several tasks."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from jobs.sources.logs.dates import needs_context
from jobs.sources.logs.encodings import UTF_8, encoding_of, has_utf16, lines_by_encoding
from jobs.sources.logs.json_around import is_document
from jobs.sources.logs.order import sample_of

RANGE_BYTES = 64 << 20
LINE_BYTES = 16 << 20
"""Maximum length of a line; of a longer line, KEPT_OF_LINE bytes are quarantined."""
KEPT_OF_LINE = 64 << 10
_BLOCK_BYTES = 1 << 20
# Limits for compression bombs: logs inflate to 10 to 50 times their size, a bomb to 1032 times.
_MAX_RATIO, _ALLOWANCE = 200, 1 << 30
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The lines of a file that begin in ``start`` <= position < ``end``; ``end`` is None for the
    end of the file.
    """

    start: int = 0
    end: int | None = None


WHOLE_FILE = ByteRange()


class LongLine(NamedTuple):
    """A line of more than LINE_BYTES: its length with its end, and its first KEPT_OF_LINE bytes."""

    size: int
    beginning: bytes


def too_long(size: int, longest: int | None = None) -> str:
    """The reason of a line that is not read; ``longest``: see `chunks_of_lines`."""
    longest = LINE_BYTES if longest is None else longest
    return f"a line of {size} bytes, more than {longest >> 20} MiB"


def to_line_end(lines: Any, line: bytes) -> int:
    """The length of a line of which ``line`` was read; reads up to its end."""
    length = len(line)
    while line and not line.endswith(b"\n"):
        line = lines.readline(_BLOCK_BYTES)
        length += len(line)
    return length


# Bytes of one or several lines.  Every chunk except the last ends in a newline.
Chunk = bytes | LongLine


def byte_ranges(stream: BinaryIO, range_bytes: int = RANGE_BYTES) -> list[ByteRange]:
    """Ranges of a file for tasks of their own.

    Compressed files, UTF-16, lines that end in a carriage return alone, JSON documents, lines that
    name their source, and lines that are not in the order of time can only be read from the start.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    sample = stream.read(_BLOCK_BYTES)
    if size <= range_bytes or is_compressed(sample) or encoding_of(sample)[0] != UTF_8:
        return [WHOLE_FILE]
    if _ends_lines_in_cr(sample):
        return [WHOLE_FILE]
    if is_document(sample) or sample_of(sample).is_read_as_a_whole or needs_context(sample):
        return [WHOLE_FILE]
    starts = range(0, size, range_bytes)
    return [ByteRange(start, min(start + range_bytes, size)) for start in starts]


def is_compressed(beginning: bytes) -> bool:
    """Returns whether a file is gzip or zstd."""
    return beginning.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))


def beginning_of(stream: BinaryIO, size: int) -> bytes:
    """The first bytes of a stream, uncompressed, as far as undamaged."""
    taken = bytearray()
    for block in Blocks(stream):
        taken += block
        if len(taken) >= size:
            break
    return bytes(taken[:size])


class Blocks:
    """A stream's bytes from ``start`` on; ``damage`` is set if the stream turns out to be damaged.

    From position 0 on, gzip and zstd are uncompressed, and positions are positions in the
    uncompressed bytes.
    """

    def __init__(self, stream: BinaryIO, start: int = 0) -> None:
        self._stream = stream
        self.position = start
        self.ends_in_newline = True
        self.damage: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        self._stream.seek(self.position)
        first = self._stream.read(_BLOCK_BYTES)
        ends_in_cr: bool | None = None  # whether lines end in CR, as in some captures of terminals
        for block in self._uncompressed(first) if self.position == 0 else self._following(first):
            if ends_in_cr is None:
                ends_in_cr = _ends_lines_in_cr(block)
            if ends_in_cr:
                block = block.replace(b"\r", b"\n")
            self.position += len(block)
            self.ends_in_newline = block[-2:].rstrip(b"\0").endswith(b"\n")
            yield block

    def _uncompressed(self, first: bytes) -> Iterator[bytes]:
        if first.startswith(_GZIP_MAGIC):
            return self._inflated(first)
        if first.startswith(_ZSTD_MAGIC):
            return self._of_zstd(first)
        return self._following(first)

    def beginning(self) -> bytes:
        """The first block in UTF-8; the iteration yields the block again, as it is."""
        return in_utf8(next(iter(Blocks(self._stream, self.position)), b""))

    def _following(self, block: bytes) -> Iterator[bytes]:
        while block:
            yield block
            block = self._stream.read(_BLOCK_BYTES)

    def _inflated(self, first: bytes) -> Iterator[bytes]:
        """All gzip members in order, in blocks of at most _BLOCK_BYTES."""
        gzip, within_member = zlib.decompressobj(31), False
        read = inflated = 0
        for packed in self._following(first):
            read += len(packed)
            while packed:
                if self._is_bomb("gzip", read, inflated):
                    return
                before, within_member = gzip.copy(), True
                try:
                    block = gzip.decompress(packed, _BLOCK_BYTES)
                except zlib.error as error:
                    self.damage = f"gzip stream damaged: {error}"
                    yield _up_to_damage(before, packed)
                    return
                inflated += len(block)
                yield block
                packed = gzip.unconsumed_tail
                if gzip.eof:
                    packed = gzip.unused_data.lstrip(b"\0")  # tar and tapes pad with zeros.
                    gzip, within_member = zlib.decompressobj(31), False
        if within_member:
            self.damage = "gzip stream ends early"

    def _of_zstd(self, first: bytes) -> Iterator[bytes]:
        """All zstd frames in order, in blocks of at most _BLOCK_BYTES."""
        packed = _Counted(self._following(first))
        unpacked = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")
        inflated = 0
        while not self._is_bomb("zstd", packed.read_bytes, inflated):
            try:
                block = unpacked.read(_BLOCK_BYTES)
            except OSError as error:
                if packed.error is not None:  # the file system's
                    raise packed.error from error
                self.damage = f"zstd stream damaged: {error}"
                return
            if not block:
                return
            inflated += len(block)
            yield block

    def _is_bomb(self, name: str, packed: int, inflated: int) -> bool:
        if inflated > _ALLOWANCE + _MAX_RATIO * packed:
            self.damage = f"{name}: {packed} bytes inflate to more than {inflated}"
        return self.damage is not None


class _Counted:
    """Blocks as a file for pyarrow, which counts what was read and keeps the error of a read."""

    closed = False

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""
        self.read_bytes = 0
        self.error: OSError | None = None

    def read(self, size: int) -> bytes:
        try:
            self._rest = self._rest or next(self._blocks, b"")
        except OSError as error:
            self.error = error
            raise
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.read_bytes += len(taken)
        return taken

    def close(self) -> None:
        """The caller closes the file."""


def _up_to_damage(gzip: Any, packed: bytes) -> bytes:
    """The bytes before the damage, one by one, because a failing call returns none."""
    out = []
    with contextlib.suppress(zlib.error):
        for byte in packed:
            out.append(gzip.decompress(bytes((byte,))))
    return b"".join(out)


def chunks_of_lines(
    blocks: Blocks, within: ByteRange = WHOLE_FILE, longest: int | None = None
) -> Iterator[tuple[int, Chunk]]:
    """Position of a line's first byte in the stream, and whole lines from there on in UTF-8.

    ``longest`` is the size of the longest line that is read; None: LINE_BYTES.  A line that
    ``within`` begins in the middle of is left out.  From the first line in UTF-16 on, each line is
    a chunk.  A line that begins with much zero padding (a sparse file) is a chunk without the
    padding.
    """
    position, source = blocks.position, iter(blocks)
    longest = LINE_BYTES if longest is None else longest
    if within.start > 0:
        yield from _after_first_newline(source, position, within.end, longest)
        return
    first = next(source, b"")
    encoding, skip = encoding_of(first)
    following = _chain(first[skip:], source)
    if encoding == UTF_8:
        yield from _whole_lines(following, skip, longest)
    else:
        yield from _by_encoding(following, skip, encoding, longest)


def lines_before(chunk: bytes, size: int) -> int:
    """The length of the lines of a chunk that begin in its first ``size`` bytes."""
    if size <= 0:
        return 0
    return chunk.find(b"\n", size - 1) + 1 or len(chunk)


def _whole_lines(
    blocks: Iterator[bytes], position: int, longest: int
) -> Iterator[tuple[int, Chunk]]:
    line = _Line(longest)
    for block in blocks:
        if has_utf16(block) and not line.is_unusual:
            of_line = b"".join([*line.parts, block])
            yield from _by_encoding(_chain(of_line, blocks), position, UTF_8, longest)
            return
        end = block.rfind(b"\n") + 1
        if end == 0:
            line.add(block)
            continue
        first = block.find(b"\n") + 1
        if line.is_unusual or line.size + first > longest:
            line.add(block[:first])
            yield position, line.take()
            position += line.size
            chunk = block[first:end]
        else:
            chunk = b"".join([*line.parts, memoryview(block)[:end]])
        if chunk:
            yield position, chunk
        position += len(chunk)
        line = _Line(longest, block[end:])
    if line.size:
        yield position, line.take()


class _Line:
    """A line that began in an earlier block, with the kept bytes and its size."""

    def __init__(self, longest: int, beginning: bytes = b"") -> None:
        self._longest = longest
        self.parts: list[bytes] = [beginning] if beginning else []
        self.size = len(beginning)
        self._kept = len(beginning)

    @property
    def is_unusual(self) -> bool:
        """Returns whether not all of its bytes are kept."""
        return self._kept < self.size

    def add(self, block: bytes) -> None:
        self.size += len(block)
        if not self._kept:
            block = block.lstrip(b"\0") if block.startswith(bytes(1024)) else block
        part = block[: max(0, self._longest + 1 - self._kept)]
        self.parts.append(part)
        self._kept += len(part)

    def take(self) -> Chunk:
        kept = b"".join(self.parts)
        return kept if len(kept) <= self._longest else LongLine(self.size, kept[:KEPT_OF_LINE])


def _after_first_newline(
    blocks: Iterator[bytes], position: int, end: int | None, longest: int
) -> Iterator[tuple[int, Chunk]]:
    """Nothing if no line begins before ``end``: the blocks after it are not read."""
    for block in blocks:
        first = block.find(b"\n") + 1
        if first:
            yield from _whole_lines(_chain(block[first:], blocks), position + first, longest)
            return
        position += len(block)
        if end is not None and position >= end:
            return


def _ends_lines_in_cr(beginning: bytes) -> bool:
    """Returns whether each line of a text ends in a carriage return alone."""
    return b"\r" in beginning and b"\n" not in beginning


def in_utf8(text: bytes) -> bytes:
    """The beginning of a text, or the whole text, without byte order marks if parts are UTF-16."""
    encoding, skip = encoding_of(text)
    if encoding == UTF_8 and not has_utf16(text):
        return text
    lines = lines_by_encoding([text[skip:]], skip, encoding, 2 * len(text), 0)
    return b"".join(line.text or b"" for line in lines)


def _chain(first: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from source


def _by_encoding(
    blocks: Iterable[bytes], position: int, encoding: str, longest: int
) -> Iterator[tuple[int, Chunk]]:
    for line in lines_by_encoding(blocks, position, encoding, longest, KEPT_OF_LINE):
        yield line.position, line.text or LongLine(line.size, line.beginning)
