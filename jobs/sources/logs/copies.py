"""Finds log files that are copies of one log: a log grows at its end, so the shorter of two copies
is the beginning of the longer copy.

A digest covers the first and the last WINDOW bytes of a text of some length.  Lines have times and
member ids, so two logs that differ anywhere before a position also differ right before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from functools import cached_property
from typing import BinaryIO

from jobs.lake.files import open_file
from jobs.sources.logs.file_bytes import Blocks, beginning_of, is_compressed
from jobs.sources.logs.json_around import is_document

WINDOW = 1 << 16
# Text after the last record of a JSON document, which a later export of the same log does not have
# there.
_END = b" \t\r\n\0]}"
# Lengths at which digests are kept: texts that differ before one of these lengths need not be read
# again.
_MARKS = (1 << 10, 1 << 12, 1 << 14, 1 << 16)
# Number of digests kept per log for the longest texts, and again for the newest compressed files.
_MOST_COPIES = 16
_PACKED = "packed"


class LogFile:
    """A log file as it is now.  ``whole`` is the digest of its bytes on disk, without what `_END`
    removes.  ``beginning_id`` is the id of the file's first line, as the source computes it.

    Raises OSError.
    """

    def __init__(self, path: str, beginning_id: Callable[[BinaryIO], str]) -> None:
        self.path = path
        with open_file(path) as stream:
            beginning = stream.read(WINDOW)
            self.is_packed = is_compressed(beginning)
            self.is_document = is_document(beginning)
            size = stream.seek(0, 2)
            if not self.is_packed:
                last = _window(stream, size)
                size -= len(last) - len(last.rstrip(_END))
            text = beginning_of(stream, WINDOW) if self.is_packed else beginning[:size]
            self.marks = [hash(text[:length]) for length in _MARKS if length <= len(text)]
            self._size = size
            self.whole = _digest(size, beginning[:size], _window(stream, size))
            if self.is_packed:
                self.whole += f" {_PACKED}"
            stream.seek(0)
            self.beginning_id = beginning_id(stream)

    @cached_property
    def length(self) -> int:
        """Length of the text in bytes; reads a compressed file."""
        return self._unpacked(())[0] if self.is_packed else self._size

    def longest_digest(self, lengths: Collection[int]) -> str | None:
        """The digest of the text up to the longest of these lengths within the text."""
        if self.is_packed:
            return max(self._unpacked(lengths)[1], key=length_of, default=None)
        length = max((each for each in lengths if each <= self._size), default=None)
        return None if length is None else self._digest(length)

    def _digest(self, length: int) -> str:
        with open_file(self.path) as stream:
            return _digest(length, stream.read(WINDOW)[:length], _window(stream, length))

    def _unpacked(self, lengths: Collection[int]) -> tuple[int, set[str]]:
        """Length and digests of the uncompressed text."""
        digests = set()
        beginning = last = b""
        position = length = 0
        wanted = sorted(lengths)
        with open_file(self.path) as stream:
            for block in Blocks(stream):
                beginning += block[: WINDOW - len(beginning)]
                text = last + block
                start, end = position - len(last), position + len(block)
                while wanted and wanted[0] <= end:
                    upto = wanted.pop(0)
                    tail = text[max(0, upto - WINDOW - start) : upto - start]
                    digests.add(_digest(upto, beginning[:upto], tail))
                if content := block.rstrip(_END):
                    length = position + len(content)
                position, last = end, text[-WINDOW:]
        return length, {digest for digest in digests if length_of(digest) <= length}


def is_same_log(one: LogFile, other: LogFile) -> bool:
    """Returns whether one text is the beginning of the other."""
    if one.whole == other.whole:
        return True
    if any(mine != its for mine, its in zip(one.marks, other.marks, strict=False)):
        return False
    length = min(one.length, other.length)
    return one.longest_digest([length]) == other.longest_digest([length])


def length_of(digest: str) -> int:
    return int(digest.split(" ", 1)[0])


def lengths_of_texts(digests: Collection[str]) -> list[int]:
    """Lengths of the copies that were not compressed, shortest first."""
    return sorted(length_of(each) for each in digests if not each.endswith(_PACKED))


def kept(digests: list[str]) -> list[str]:
    """The digests to store; ``digests`` are sorted from old to new."""
    each = list(dict.fromkeys(digests))
    texts = sorted((d for d in each if not d.endswith(_PACKED)), key=length_of)
    packed = [d for d in each if d.endswith(_PACKED)]
    return [*texts[-_MOST_COPIES:], *packed[-_MOST_COPIES:]]


def _window(stream: BinaryIO, end: int) -> bytes:
    """The WINDOW bytes before a position."""
    start = max(0, end - WINDOW)
    stream.seek(start)
    return stream.read(end - start)


def _digest(length: int, beginning: bytes, end: bytes) -> str:
    return f"{length} {hashlib.sha256(beginning + end).hexdigest()[:16]}"
