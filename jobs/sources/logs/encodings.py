"""The encoding of each line of a log: UTF-8, UTF-16 little-endian or big-endian.

A file may change its encoding: PowerShell appends UTF-16 to any file, and other programs append
UTF-8 to a file that PowerShell began.  Therefore the beginning of each line decides how the line is
read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

UTF_8, UTF_16_LE, UTF_16_BE = "utf-8", "utf-16-le", "utf-16-be"
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, UTF_16_LE),
    (codecs.BOM_UTF16_BE, UTF_16_BE),
)
_NEWLINES = {UTF_8: b"\n", UTF_16_LE: b"\n\0", UTF_16_BE: b"\0\n"}
_SAMPLE_BYTES, _BEGINNING_BYTES, _NEXT_BYTES = 1000, 64, 16
_WORDS = re.compile(rb"(?:[\t\r\n -~]\0){8}|(?:\0[\t\r\n -~]){8}")
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n\x1b"
_PAD_BYTES = 1024


def encoding_of(text: bytes) -> tuple[str, int]:
    """Encoding of the beginning of a text and the length of its byte order mark."""
    for mark, encoding in _MARKS:
        if text.startswith(mark):
            return encoding, len(mark)
    return _by_zeros(text[:_SAMPLE_BYTES]) or UTF_8, 0


def _by_zeros(sample: bytes) -> str | None:
    """The encoding that the places of the zeros show, or None if they show none."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if min(even, odd) > len(sample) // 8:  # Zeros are not text; the file is sparse.
        return UTF_8
    if odd > len(sample) // 4:
        return UTF_16_LE
    return UTF_16_BE if even > len(sample) // 4 else None


def has_utf16(block: bytes) -> bool:
    """Returns whether some words of a block are UTF-16."""
    # Each space in UTF-16 has these neighbors; the search of bytes is faster than the pattern.
    return b"\0 \0" in block and _WORDS.search(block) is not None


@dataclass(slots=True)
class EncodedLine:
    """``text`` is in UTF-8, with its newline, or None if the line is too long.  ``size`` is in
    bytes of the file.  ``beginning`` has the first bytes of ``text``, also of a line that is too
    long.
    """

    position: int
    size: int
    beginning: bytes
    text: bytes | None


def lines_by_encoding(
    blocks: Iterable[bytes], position: int, encoding: str, longest: int, kept: int
) -> Iterator[EncodedLine]:
    """Each line; ``encoding`` is the encoding of the first line, unless its bytes show another
    encoding.

    ``longest`` has bytes of the longest line that is returned; of a longer one ``kept`` bytes.
    """
    lines = _Lines(position=position, encoding=encoding, longest=longest, kept=kept)
    for block in blocks:
        yield from lines.take(block)
    yield from lines.take(b"", is_last=True)


@dataclass(slots=True, kw_only=True)
class _Lines:
    position: int  # position of the incomplete line
    encoding: str
    longest: int
    kept: int
    # bytes of the incomplete line, in the file's encoding
    rest: bytearray = field(default_factory=bytearray)
    dropped: int = 0  # number of bytes of this line that are not in ``rest``
    searched: int = 0
    is_begun: bool = False  # whether the encoding of the incomplete line is known

    def take(self, block: bytes, *, is_last: bool = False) -> Iterator[EncodedLine]:
        self.rest += block
        start = 0  # start of the line in ``rest``
        while self._begin(start, is_last=is_last):
            end = self._end(start, is_last=is_last)
            if end < 0:
                break
            yield self._line(bytes(self.rest[start:end]))
            start = end
        del self.rest[:start]
        if is_last and self.dropped + len(self.rest):
            yield self._line(bytes(self.rest))
        elif self.is_begun:
            self._drop()

    def _begin(self, start: int, *, is_last: bool) -> bool:
        """Decide the encoding of a line. Returns False if more bytes are needed."""
        if self.is_begun:
            return True
        sample = bytes(self.rest[start : start + _BEGINNING_BYTES])
        if not sample or (len(sample) < _BEGINNING_BYTES and not is_last):
            return False
        self.encoding = _encoding_of_line(sample, self.encoding)
        self.is_begun, self.searched = True, 0
        return True

    def _end(self, start: int, *, is_last: bool) -> int:
        """The end of the line in ``rest``; -1 if it has not ended."""
        newline, at = _NEWLINES[self.encoding], start + self.searched
        while (at := self.rest.find(b"\n", at)) >= 0:
            if len(self.rest) - at <= _NEXT_BYTES and not is_last:
                self.searched = at - start
                return -1
            first = at - newline.index(b"\n")  # of the newline
            is_whole = self.rest[first : first + len(newline)] == newline
            if is_whole and (first - start) % len(newline) == 0:
                return first + len(newline)
            # Within a line of UTF-16 that breaks off, UTF-8 may begin.
            if _is_8_bit(bytes(self.rest[at + 1 : at + 1 + _NEXT_BYTES])):
                return at + 1
            at += 1
        self.searched = len(self.rest) - start
        return -1

    def _line(self, raw: bytes) -> EncodedLine:
        text = in_utf8_of(raw, self.encoding)
        size = self.dropped + len(raw)
        line = EncodedLine(
            self.position, size, text[: self.kept], text if len(text) <= self.longest else None
        )
        self.position += size
        self.dropped, self.is_begun = 0, False
        return line

    def _drop(self) -> None:
        """Bytes that are not needed: padding, and what follows in a line that is too long."""
        if not self.rest.rstrip(b"\0") and len(self.rest) >= _PAD_BYTES:
            excess = len(self.rest) // 2 * 2
            del self.rest[:excess]
        else:
            most = 4 * self.longest + _PAD_BYTES  # a character has up to two bytes in UTF-16
            excess = max(0, len(self.rest) - most) // 2 * 2
            del self.rest[len(self.rest) - excess :]
        self.dropped += excess
        self.searched = max(0, self.searched - excess)


def _encoding_of_line(sample: bytes, current: str) -> str:
    """The encoding by the first bytes of a line, and by the encoding of the previous line."""
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    # A character of UTF-16 may contain the byte of a newline, so a few bytes before a newline prove
    # nothing.
    if sample.find(b"\n") >= _NEXT_BYTES // 2 and _is_8_bit(sample[: sample.find(b"\n")]):
        return UTF_8
    newline = sample.find(_NEWLINES[current])
    if newline == 0:
        return current  # an empty line
    line = sample if newline < 0 else sample[: newline + len(_NEWLINES[current])]
    return UTF_8 if _is_8_bit(line) else _by_zeros(line) or current


def _is_8_bit(line: bytes) -> bool:
    """Returns whether these are bytes of a text that is not UTF-16: no zero, and UTF-8 or mostly
    ASCII.
    """
    if not line or 0 in line:
        return False
    if 4 * len(line.translate(None, _PRINTABLE)) <= len(line):
        return True
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(line)  # The last character may be incomplete.
    except UnicodeDecodeError:
        return False
    return True


def in_utf8_of(raw: bytes, encoding: str) -> bytes:
    """A line of this encoding in UTF-8, without its byte order mark."""
    for mark, marked in _MARKS:
        if encoding == marked:
            raw = raw.removeprefix(mark)
    if encoding == UTF_8:
        return raw
    return raw.decode(encoding, "replace").encode("utf-8", "replace")
