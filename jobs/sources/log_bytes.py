"""Bytes of a log file: uncompressed, in UTF-8, in whole lines, in ranges for several tasks."""

from __future__ import annotations

import codecs
import contextlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from jobs.sources.log_json import is_document

RANGE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The lines of a file that begin in ``start`` <= position < ``end``; None: up to its end."""

    start: int = 0
    end: int | None = None


WHOLE_FILE = ByteRange()


def byte_ranges(stream: BinaryIO, range_bytes: int = RANGE_BYTES) -> list[ByteRange]:
    """Ranges of a file for tasks of their own; gzip, UTF-16 and JSON documents can be read from the
    start only.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    sample = stream.read(_BLOCK_BYTES)
    if size <= range_bytes or sample[:2] == _GZIP_MAGIC or _encoding(sample)[0] != "utf-8":
        return [WHOLE_FILE]
    if is_document(sample):
        return [WHOLE_FILE]
    starts = range(0, size, range_bytes)
    return [ByteRange(start, min(start + range_bytes, size)) for start in starts]


class Blocks:
    """A stream's bytes from ``start`` on; ``damage`` is set if the stream turns out to be damaged.

    From 0 on, gzip is uncompressed, and positions are those of the uncompressed bytes.
    """

    def __init__(self, stream: BinaryIO, start: int = 0) -> None:
        self._stream = stream
        self.position = start
        self.ends_in_newline = True
        self.damage: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        self._stream.seek(self.position)
        first = self._stream.read(_BLOCK_BYTES)
        is_gzip = self.position == 0 and first[:2] == _GZIP_MAGIC
        blocks = self._inflated(first) if is_gzip else self._following(first)
        for block in blocks:
            self.position += len(block)
            self.ends_in_newline = block[-2:].rstrip(b"\0").endswith(b"\n")
            yield block

    def beginning(self) -> bytes:
        """The first block, which the iteration yields again."""
        return next(iter(Blocks(self._stream, self.position)), b"")

    def _following(self, block: bytes) -> Iterator[bytes]:
        while block:
            yield block
            block = self._stream.read(_BLOCK_BYTES)

    def _inflated(self, first: bytes) -> Iterator[bytes]:
        """All gzip members in order, in blocks of at most _BLOCK_BYTES."""
        gzip, within_member = zlib.decompressobj(31), False
        for packed in self._following(first):
            while packed:
                before, within_member = gzip.copy(), True
                try:
                    block = gzip.decompress(packed, _BLOCK_BYTES)
                except zlib.error as error:
                    self.damage = f"gzip stream damaged: {error}"
                    yield _up_to_damage(before, packed)
                    return
                yield block
                packed = gzip.unconsumed_tail
                if gzip.eof:
                    packed = gzip.unused_data.lstrip(b"\0")  # tar and tapes pad with zeros
                    gzip, within_member = zlib.decompressobj(31), False
        if within_member:
            self.damage = "gzip stream ends early"


def _up_to_damage(gzip: Any, packed: bytes) -> bytes:
    """The bytes before the damage, one by one, because a failing call returns none."""
    out = []
    with contextlib.suppress(zlib.error):
        for byte in packed:
            out.append(gzip.decompress(bytes((byte,))))
    return b"".join(out)


def chunks_of_lines(blocks: Blocks, *, within_line: bool = False) -> Iterator[tuple[int, bytes]]:
    """Position of a line's first byte in the stream, and whole lines from there on in UTF-8.

    Each chunk but the last ends in a newline.  Of UTF-16, each line is a chunk.  ``within_line``:
    the blocks may begin within a line of UTF-8, which is left out.
    """
    position, source = blocks.position, iter(blocks)
    first = next(source, b"")
    if within_line:
        yield from _after_first_newline(_whole_lines(_chain(first, source), position))
        return
    encoding, skip = _encoding(first)
    following = _chain(first[skip:], source)
    if encoding == "utf-8":
        yield from _whole_lines(following, skip)
    else:
        yield from _utf16_lines(following, skip, encoding)


def lines_before(chunk: bytes, size: int) -> int:
    """The length of the lines of a chunk that begin in its first ``size`` bytes."""
    if size <= 0:
        return 0
    return chunk.find(b"\n", size - 1) + 1 or len(chunk)


def _whole_lines(blocks: Iterable[bytes], position: int) -> Iterator[tuple[int, bytes]]:
    rest: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest.append(block)
            continue
        chunk = b"".join([*rest, block[:end]])
        rest = [block[end:]]
        yield position, chunk
        position += len(chunk)
    last = b"".join(rest)
    if last:
        yield position, last


def _after_first_newline(chunks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    position, chunk = next(chunks, (0, b""))
    end = chunk.find(b"\n") + 1
    if 0 < end < len(chunk):
        yield position + end, chunk[end:]
    yield from chunks


def _encoding(first: bytes) -> tuple[str, int]:
    """Encoding of a text and the length of its byte order mark."""
    if first.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if first.startswith(mark):
            return encoding, 2
    sample = first[:1000]
    if sample[1::2].count(0) > len(sample) // 4:
        return "utf-16-le", 0
    if sample[::2].count(0) > len(sample) // 4:
        return "utf-16-be", 0
    return "utf-8", 0


def _chain(first: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from source


def _utf16_lines(
    blocks: Iterable[bytes], position: int, encoding: str
) -> Iterator[tuple[int, bytes]]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest = ""
    for block in blocks:
        *lines, rest = (rest + decoder.decode(block)).split("\n")
        for line in lines:
            yield position, line.encode("utf-8", "replace") + b"\n"
            position += len(line.encode(encoding, "replace")) + 2
    rest += decoder.decode(b"", final=True)
    if rest:
        yield position, rest.encode("utf-8", "replace")
