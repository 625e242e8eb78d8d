"""Broker log files (compressed, any encoding, in any wrapper) -> entries, in the order of lines.

Reads a stream of bytes, without Spark.  A large file can be read in ranges by several tasks, with
the same items.  A range has the lines that begin in it; the lines that belong to its last entry may
begin after it.

    file_bytes  the file's bytes, uncompressed and in UTF-8; its ranges
    chunks      these as chunks of lines, in the order of time
    search      the lines of a chunk that must be parsed
    layouts     a line without its wrapper
    reader      a range's lines, each counted once; those of each source apart
    dates       what a file shows of dates that are not complete
    entries     a line, with the lines that belong to it -> an entry
    clock       its time
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from jobs.console.errors import internal_error
from jobs.sources.logs.chunks import chunks_in_order
from jobs.sources.logs.dates import FileDates, dates_of
from jobs.sources.logs.entries import Entries, LogCounts, LogEntry, Unreadable
from jobs.sources.logs.file_bytes import WHOLE_FILE, Blocks, ByteRange, LongLine, lines_before
from jobs.sources.logs.reader import Reader


def read_log(
    stream: BinaryIO,
    *,
    file: str,
    timezone: str,
    within: ByteRange = WHOLE_FILE,
    since_ms: int | None = None,
) -> Iterator[LogEntry | Unreadable | LogCounts]:
    """Entries and unreadable lines in file order, then one LogCounts.

    ``stream`` may be gzip (detected by its first bytes); a damaged one is read up to the damage.
    ``timezone``: IANA name of the broker's wall clock, for dates without a zone.  A local time that
    occurs twice (end of summer time) is the first of the two until the file's dates step back, then
    the second; a skipped local time has the offset before the change.  ``within`` is one of
    `byte_ranges`.  The items and counts of all ranges together are those of the file.
    ``since_ms``: see `dates.dates_of`.  Raises zoneinfo.ZoneInfoNotFoundError.
    """

    def before(position: int) -> Entries:
        """The entries of the file up to a line."""
        here, reader = stream.tell(), Reader(LogCounts(file=file), timezone, dates)
        for _ in _items(reader, Blocks(stream), ByteRange(0, position)):
            pass
        stream.seek(here)
        return reader.entries

    dates = dates_of(Blocks(stream).beginning(), lambda: Blocks(stream), since_ms)
    reader = Reader(LogCounts(file=file), timezone, dates, before if within.start else None)
    # A range begins with its first line: at the start of the file, or after the first newline from
    # the preceding byte on.
    blocks = Blocks(stream, max(0, within.start - 1))
    done = 0
    try:
        for item in _items(reader, blocks, within):
            if dates.is_late and within == WHOLE_FILE:
                break
            done += 1
            yield item
        if dates.is_late and within == WHOLE_FILE:
            dates.require_context()
            reader, blocks = Reader(LogCounts(file=file), timezone, dates), Blocks(stream)
            yield from islice(_items(reader, blocks, within), done, None)
    except OSError:  # The error is of the file system, not of the content.
        raise
    except Exception as error:
        yield from reader.settle()
        yield reader.damage(internal_error(error), blocks.position)
    if within.start == 0 and _is_binary(reader, stream, within):
        yield reader.damage("not text: encrypted, or an unknown compression", 0)
    elif blocks.damage is not None:
        yield reader.damage(blocks.damage, blocks.position)
    yield reader.counts


def _items(reader: Reader, blocks: Blocks, within: ByteRange) -> Iterator[LogEntry | Unreadable]:
    """Entries and unreadable lines of a range, reading on to complete the last."""
    for position, chunk in chunks_in_order(blocks, within, reader.keep_sources_apart):
        if isinstance(chunk, LongLine):
            yield from reader.flush_all()
            if within.end is not None and position >= within.end:
                return
            yield reader.too_long(position, chunk)
            continue
        size = len(chunk) if within.end is None else lines_before(chunk, within.end - position)
        yield from reader.take(position, chunk[:size])
        if size == len(chunk):
            continue
        last = reader.complete(chunk[size:])
        if last is not None:
            yield last
        if not reader.is_pending:
            return
    yield from reader.flush_all(breaks_off=not blocks.ends_in_newline)


def _is_binary(reader: Reader, stream: BinaryIO, within: ByteRange) -> bool:
    """Returns whether no line of the file is a coordinator's, and most lines are not UTF-8.

    If the first range has no entry, the file is read up to its first entry.
    """
    if reader.counts.events:
        return False
    if within.end is None:
        return reader.is_binary
    whole = Reader(LogCounts(file=reader.counts.file), "UTC", FileDates())
    for item in _items(whole, Blocks(stream), WHOLE_FILE):
        if isinstance(item, LogEntry):
            return False
    return whole.is_binary
