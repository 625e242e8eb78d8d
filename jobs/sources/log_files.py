"""Broker log files (compressed, any encoding, in any wrapper) -> entries, in the order of lines.

Reads a stream of bytes, without Spark.

Where each line names its source (a pod, a host, a stream of a log store), the lines of each source
are read as a log of their own: stack traces, wrapped lines and lines without a date belong to the
last line of the same source.

Most lines of a broker's log are of other loggers.  The reader searches each chunk of bytes for the
next line that has a word of the coordinator or is not in Kafka's own layout, parses that line, and
only counts the lines up to it.

A large file can be read in ranges by several tasks, with the same items.  A range has the lines
that begin in it; the lines that belong to its last entry may begin after it.  What an entry takes
from earlier lines (a date, the second pass of a repeated hour) is looked up from the start of the
file when an entry needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import BinaryIO, NamedTuple
from zoneinfo import ZoneInfo

from coordinator_core.log_lines import LogLine, parse_line
from coordinator_core.log_lines.calendar import printed
from coordinator_core.log_lines.lines import is_coordinator_logger, unframed
from jobs.console.errors import internal_error
from jobs.sources.log_bytes import (
    LINE_BYTES,
    WHOLE_FILE,
    Blocks,
    ByteRange,
    Chunk,
    LongLine,
    chunks_of_lines,
    lines_before,
    too_long,
)
from jobs.sources.log_json import DOCUMENT_BYTES, document_lines, is_document
from jobs.sources.log_layouts import (
    PLAIN_HEAD,
    TRACE_LINE,
    Unwrapped,
    has_head,
    line_of,
    may_have_date,
    unwrapped,
)
from jobs.sources.log_order import (
    ORDERED_BYTES,
    documents_in_order,
    lines_in_order,
    sample_of,
)

_MOST_WRAPS = 3
_STEP_BACK_MS = 30 * 60 * 1000
# Local times that are a time of years 1970 to 9999 in any zone.
_FIRST_LOCAL_MS, _LAST_LOCAL_MS = 86_400_000, 253_402_300_800_000 - 86_400_000
_DATES = "1970-01-02 and 9999-12-30"

# Another logger's line about a group's configuration.
_GROUP_CONFIG = b"] Updating group "
# Every line that is read has one of these words in its prefix, logger or message.
_WORDS = (b"oordinator", b"Metadata", _GROUP_CONFIG)
_BEFORE_OTHER_HEAD = re.compile(rb"\n(?!\[\d{4}-)")
_DEFAULT_LAYOUT = re.compile(
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
)
# Stack frames and listed settings: what follows the indent cannot be a head.
_INDENTED_LINES = re.compile(
    rb"(?:[\t ][\t \d/:.,-]{0,40}+(?:[^\s\d/:.,\-\[{TDIWEF\x1b][^\n\x1b]*+)?+\n)++"
)
_CLASS = re.compile(rb"[\w$]*\.[\w.$]*")
_MOST_SOURCES = 1000  # whose lines are kept apart; all others are read as one


class LogEntry(NamedTuple):
    """One parsed coordinator line.

    ``position``: offset of the line's first byte in the uncompressed stream.  ``time_ms``: UTC; a
    line without a date has the time of the last dated coordinator line before it, or None.
    ``stack_trace``: the lines after it that belong to it.
    """

    file: str
    position: int
    line_number: int  # from 1, within the range
    time_ms: int | None
    line: LogLine
    text: str  # the decoded line without its end, and the lines that it was wrapped into
    stack_trace: str | None = None
    source: str | None = None  # what the line's wrapper names: a pod, host or stream


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One line of a coordinator's logger with an unknown wording, or the place of file damage.

    ``length``: of the line, if not all of its bytes are kept.
    """

    file: str
    position: int
    line_number: int
    reason: str
    bytes: bytes
    length: int | None = None


@dataclass(slots=True)
class LogCounts:
    """The last item of a range: lines == events + unreadable + skipped + continuations."""

    file: str
    lines: int = 0
    events: int = 0
    unreadable: int = 0
    skipped: int = 0
    continuations: int = 0


def read_log(
    stream: BinaryIO, *, file: str, timezone: str, within: ByteRange = WHOLE_FILE
) -> Iterator[LogEntry | Unreadable | LogCounts]:
    """Entries and unreadable lines in file order, then one LogCounts.

    ``stream`` may be gzip (detected by its first bytes); a damaged one is read up to the damage.
    ``timezone``: IANA name of the broker's wall clock, for dates without a zone.  A local time that
    occurs twice (end of summer time) is the first of the two until the file's dates step back, then
    the second; a skipped local time has the offset before the change.  ``within``: one of
    `byte_ranges`; the items and counts of all ranges are those of the file.  Raises
    zoneinfo.ZoneInfoNotFoundError.
    """

    def before(position: int) -> _Reader:
        """A reader that has read the file up to a line."""
        here, reader = stream.tell(), _Reader(LogCounts(file), timezone)
        for _ in _items(reader, Blocks(stream), ByteRange(0, position)):
            pass
        stream.seek(here)
        return reader

    reader = _Reader(LogCounts(file), timezone, before if within.start else None)
    # A range begins with its first line: at the start, or after a newline from the byte before on.
    blocks = Blocks(stream, max(0, within.start - 1))
    try:
        yield from _items(reader, blocks, within)
    except OSError:  # the file system's, not the content's
        raise
    except Exception as error:
        yield from reader.settle()
        yield reader.damage(internal_error(error), blocks.position)
    if within.start == 0 and _is_binary(reader, stream, within):
        yield reader.damage("not text: encrypted, or an unknown compression", 0)
    elif blocks.damage is not None:
        yield reader.damage(blocks.damage, blocks.position)
    yield reader.counts


def _items(reader: _Reader, blocks: Blocks, within: ByteRange) -> Iterator[LogEntry | Unreadable]:
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


def chunks_in_order(
    blocks: Blocks, within: ByteRange, keep_sources_apart: Callable[[], None]
) -> Iterator[tuple[int, Chunk]]:
    """Whole lines; of JSON documents, each record as a line at its own position.

    Records and lines in another order than that of time have positions in the ordered text.
    ``keep_sources_apart`` is called before them if the lines may name their sources.
    """
    beginning = blocks.beginning() if within == WHOLE_FILE else b""
    sample = sample_of(beginning)
    if is_document(beginning):
        keep_sources_apart()
        what = f"a JSON document of more than {DOCUMENT_BYTES >> 20} MiB: split it"
        yield from documents_in_order(document_lines(_at_most(blocks, DOCUMENT_BYTES, what)))
        return
    if sample.has_sources:
        keep_sources_apart()
    if sample.is_disordered:
        most = ORDERED_BYTES >> 20
        what = f"not in the order of time, and more than {most} MiB: sort it, oldest line first"
        yield 0, lines_in_order(_at_most(blocks, ORDERED_BYTES, what))
    else:
        yield from chunks_of_lines(blocks, within)


def _at_most(blocks: Blocks, most: int, what: str) -> bytes:
    """All bytes; none, and the reason as damage, if they are too many."""
    text = bytearray()
    for block in blocks:
        text += block
        if len(text) > most:
            blocks.damage = what
            return b""
    return bytes(text)


def _is_binary(reader: _Reader, stream: BinaryIO, within: ByteRange) -> bool:
    """Whether no line of the file is a coordinator's, and most lines are not UTF-8.

    If the first range has no entry, the file is read up to its first entry.
    """
    if reader.counts.events:
        return False
    if within.end is None:
        return reader.is_binary
    whole = _Reader(LogCounts(reader.counts.file), "UTC")
    for item in _items(whole, Blocks(stream), WHOLE_FILE):
        if isinstance(item, LogEntry):
            return False
    return whole.is_binary


class WallClock:
    """A broker's local times -> UTC, in the order of one file."""

    def __init__(self, timezone: str) -> None:
        self._zone = ZoneInfo(timezone)
        self._offsets: dict[tuple[int, int], int] = {}
        self._latest_ms = -(1 << 62)
        self._second_pass = 0

    def utc_ms(self, local_ms: int) -> int:
        """UTC of a local time; see read_log for times that occur twice."""
        if local_ms < self._latest_ms - _STEP_BACK_MS:
            self._second_pass = 1
            self._latest_ms = local_ms
        self._latest_ms = max(self._latest_ms, local_ms)
        return local_ms - self._offset_ms(local_ms, self._second_pass)

    def depends_on_order(self, local_ms: int) -> bool:
        """Whether the time occurs twice or not at all, so that earlier dates decide."""
        return self._offset_ms(local_ms, 0) != self._offset_ms(local_ms, 1)

    def _offset_ms(self, local_ms: int, fold: int) -> int:
        quarter = local_ms // 900_000  # zones change on quarters of an hour
        if (quarter, fold) not in self._offsets:
            self._offsets[quarter, fold] = self._look_up(quarter * 900_000, fold)
        return self._offsets[quarter, fold]

    def _look_up(self, local_ms: int, fold: int) -> int:
        local = datetime(1970, 1, 1, tzinfo=self._zone, fold=fold) + timedelta(
            milliseconds=local_ms
        )
        offset = local.replace(fold=fold).utcoffset()
        assert offset is not None  # every ZoneInfo has one
        return int(offset.total_seconds() * 1000)


class _Pending:
    """A line that may be a coordinator's, and the lines without a head after it."""

    __slots__ = (
        *("beyond", "error", "following", "following_size", "is_trace", "number", "position"),
        *("raw", "text"),
    )

    def __init__(self, number: int, position: int, raw: bytes, text: str) -> None:
        self.number = number
        self.position = position
        self.raw = raw
        self.text = text  # without wrapper
        self.following: list[str] = []
        self.following_size = 0  # in bytes
        self.is_trace: list[bool] = []  # False: perhaps a wrapped part of the line
        self.beyond = 0  # following lines of the next range, which counts them
        self.error: str | None = None  # why the line cannot be parsed

    def full_text(self, wraps: int) -> str:
        """The line, and the next ``wraps`` lines that it was wrapped into."""
        first = self.text if PLAIN_HEAD.match(self.raw) else text_of(self.raw)
        return "\n".join([first, *self.following[:wraps]]) if wraps else first

    def trace(self, wraps: int) -> str | None:
        lines = zip(self.following[wraps:], self.is_trace[wraps:], strict=True)
        return "\n".join(text for text, is_trace in lines if is_trace) or None


class _Reader:
    """Counts each line of a range once: as event, unreadable, skipped or continuation."""

    def __init__(
        self,
        counts: LogCounts,
        timezone: str,
        before: Callable[[int], _Reader] | None = None,
        source: str | None = None,
    ) -> None:
        """``before``: reads the file up to a position; None from the start of the file on.

        ``source``: whose lines alone it reads; it counts them with those of the others.
        """
        self.counts = counts
        self._source = source
        self._timezone = timezone
        self._of_sources: dict[str, _Reader] | None = None  # None: all lines are of one source
        self._pods: set[bytes] = set()
        self._parts: list[bytes] = []  # of a line that a container's runtime split
        self._parts_position = self._parts_size = 0
        self._clock = WallClock(timezone)
        self._before = before
        self._pending: _Pending | None = None
        self._had_head = False
        self._had_logger = False
        self._time_ms: int | None = None
        self._unreadable_text = 0

    @property
    def is_binary(self) -> bool:
        """Whether no line is a coordinator's, and most lines are not UTF-8."""
        is_coordinators = self.counts.events or self.counts.unreadable
        return not is_coordinators and 2 * self._unreadable_text > self.counts.lines

    @property
    def is_pending(self) -> bool:
        """Whether the next line may belong to the last entry."""
        return self._pending is not None

    def keep_sources_apart(self) -> None:
        """Read the lines of each source as a log of their own."""
        self._of_sources = {}

    def _reader_of(self, source: str | None) -> _Reader:
        if self._of_sources is None or source is None:
            return self
        if source not in self._of_sources:
            if len(self._of_sources) >= _MOST_SOURCES:
                return self
            reader = _Reader(self.counts, self._timezone, source=source)
            self._of_sources[source] = reader
        return self._of_sources[source]

    def take(self, position: int, chunk: bytes) -> Iterator[LogEntry | Unreadable]:
        """Items that are complete with the lines of a chunk; ``position``: of its first byte."""
        size, at = len(chunk), 0
        words = [-1] * len(_WORDS)
        other_head = _other_layout_from(chunk, 0)
        while at < size:
            for number, place in enumerate(words):
                if place < at:
                    words[number] = _find(chunk, _WORDS[number], at)
            word = min(words)
            start = other_head if other_head <= word else max(at, chunk.rfind(b"\n", at, word) + 1)
            if self._pending is not None and other_head > at:
                completed = self.flush()
                if completed is not None:
                    yield completed
            if start > at:
                breaks_off = start == size and not chunk.endswith(b"\n")
                self._skip(chunk.count(b"\n", at, start) + breaks_off)
                if start == size:
                    return
            end = _find(chunk, b"\n", start)
            if start == other_head and self._pending is None:
                at = self._skip_indented(chunk, start)
                if at > start:
                    other_head = _other_layout_from(chunk, at)
                    continue
            raw, at = chunk[start:end], end + 1
            self.counts.lines += 1
            if start == other_head:
                other_head = _other_layout_from(chunk, at)
                yield from self._other_layout(position + start, raw)
                continue
            is_complete = at < size and other_head > at
            item = self._plain(position + start, raw, is_complete=is_complete)
            if item is not None:
                yield item

    def complete(self, chunk: bytes) -> LogEntry | Unreadable | None:
        """The pending line as an item, if the next range's first lines complete it."""
        at = 0
        while self._pending is not None and at < len(chunk):
            end = _find(chunk, b"\n", at)
            raw, at = chunk[at:end], end + 1
            try:
                body = line_of(unwrapped(raw))
                is_next = PLAIN_HEAD.match(raw) or has_head(body)
            except Exception:  # the next range's reader reports it
                is_next = True
            if is_next:
                return self.flush()
            self._pending.beyond += self._attach(self._pending, body)
        return None

    def _skip(self, lines: int) -> None:
        """Lines of other loggers, in Kafka's own layout."""
        self._had_head = True
        self.counts.lines += lines
        self.counts.skipped += lines

    def _skip_indented(self, chunk: bytes, start: int) -> int:
        """Counts the indented lines of another logger; returns where the next line begins."""
        indented = _INDENTED_LINES.match(chunk, start)
        if indented is None or may_have_date(indented[0]):
            return start
        if not self.counts.events and not _is_utf8(indented[0]):
            return start
        lines = chunk.count(b"\n", start, indented.end())
        self.counts.lines += lines
        if self._had_head:
            self.counts.continuations += lines
        else:
            self.counts.skipped += lines
        return indented.end()

    def _plain(
        self, position: int, raw: bytes, *, is_complete: bool
    ) -> LogEntry | Unreadable | None:
        """A line in Kafka's own layout; ``is_complete``: no line follows that may belong to it."""
        self._had_head = True
        if _is_of_other_logger(raw):
            self.counts.skipped += 1
            return None
        self._pending = _Pending(self.counts.lines, position, raw, text_of(raw))
        return self.flush() if is_complete else None

    def _other_layout(self, position: int, raw: bytes) -> Iterator[LogEntry | Unreadable]:
        """A line with a prefix, a bare one, or one without a head; may complete the pending one."""
        try:
            line = unwrapped(raw, self._pods)
        except Exception as error:
            yield from self._without_body(position, raw, internal_error(error))
            return
        yield from self._reader_of(line.source)._unwrapped_line(position, raw, line)

    def _unwrapped_line(
        self, position: int, raw: bytes, line: Unwrapped
    ) -> Iterator[LogEntry | Unreadable]:
        if line.unknown is not None:
            yield from self._without_body(position, raw, line.unknown)
            return
        if line.goes_on or self._parts:
            whole = self._joined_parts(position, line)
            if whole is None:
                return
            position, line, raw = self._parts_position, line._replace(body=whole), whole
        first, *others = line_of(line).split(b"\n")
        yield from _items_of(self._body(position, raw, first))
        # A record's further lines have the next positions: each takes a byte of the record.
        for number, other in enumerate(others, 1):
            self.counts.lines += 1
            yield from _items_of(self._body(position + number, other, other))

    def _joined_parts(self, position: int, line: Unwrapped) -> bytes | None:
        """The line that ends with this part; None if it goes on."""
        if not self._parts:
            self._parts_position, self._parts_size = position, 0
        self._parts.append(line.body)
        self._parts_size += len(line.body)
        most = LINE_BYTES if self._source is None else LINE_BYTES // 16
        if line.goes_on and self._parts_size < most:
            self.counts.continuations += 1
            return None
        whole, self._parts = b"".join(self._parts), []
        return whole

    def _without_body(
        self, position: int, raw: bytes, reason: str
    ) -> Iterator[LogEntry | Unreadable]:
        yield from _items_of(self.flush())
        self._pending = _Pending(self.counts.lines, position, raw, "")
        self._pending.error = reason

    def _body(self, position: int, raw: bytes, body: bytes) -> LogEntry | Unreadable | None:
        """A line without its wrapper; may complete the pending one."""
        try:
            is_head = has_head(body)
        except Exception as error:
            completed = self.flush()
            self._pending = _Pending(self.counts.lines, position, raw, "")
            self._pending.error = internal_error(error)
            return completed
        if not is_head:
            self._follow(body)
            return None
        completed = self.flush()
        self._had_head = True
        if any(word in body for word in _WORDS):
            self._pending = _Pending(self.counts.lines, position, raw, text_of(body))
        else:
            self.counts.skipped += 1
        return completed

    def _follow(self, body: bytes) -> None:
        """A line without a head: a part of the pending line, or skipped."""
        if not self.counts.events and not _is_utf8(body):
            self._unreadable_text += 1
        if self._pending is not None and self._attach(self._pending, body):
            return
        if self._had_head and TRACE_LINE.match(body):
            self.counts.continuations += 1
        else:
            self.counts.skipped += 1

    def _attach(self, pending: _Pending, body: bytes) -> bool:
        """Whether the line may be a part of the pending one."""
        is_trace = TRACE_LINE.match(body) is not None
        if not is_trace and len(pending.following) >= _MOST_WRAPS:
            return False
        pending.following_size += len(body)
        if pending.following_size > LINE_BYTES:
            return False
        pending.following.append(text_of(body))
        pending.is_trace.append(is_trace)
        return True

    def flush_all(self, *, breaks_off: bool = False) -> Iterator[LogEntry | Unreadable]:
        """The pending lines of all sources, and lines of which a part is missing."""
        for reader in (self, *(self._of_sources or {}).values()):
            if reader._parts:
                whole, reader._parts = b"".join(reader._parts), []
                reader.counts.continuations -= 1  # its last part counts as the line
                yield from _items_of(reader._body(reader._parts_position, whole, whole))
            yield from _items_of(reader.flush(breaks_off=breaks_off))

    def flush(self, *, breaks_off: bool = False) -> LogEntry | Unreadable | None:
        """The pending line as an item; None if it is not a coordinator's.

        ``breaks_off``: the file ends without a newline, perhaps in the middle of a number.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return None
        if pending.error is not None:
            self._count_following(pending, 0)
            return self._unreadable(pending, pending.error)
        wraps = 0
        try:
            line, wraps = _joined(pending)
            is_broken = breaks_off and not pending.following
            item = self._item(pending, line, wraps, is_broken=is_broken)
        except OSError:  # reading the lines before it
            raise
        except Exception as error:
            item, wraps = self._unreadable(pending, internal_error(error)), 0
        if pending.following:
            self._count_following(pending, wraps)
        return item

    def _item(
        self, pending: _Pending, line: LogLine | None, wraps: int = 0, *, is_broken: bool = False
    ) -> LogEntry | Unreadable | None:
        if line is None:
            self.counts.skipped += 1
            return None
        if line.event is None:
            reason = f"unknown wording of {line.logger or 'a coordinator'}"
            return self._unreadable(pending, reason)
        if is_broken and line.logger is None and self._is_with_loggers(pending.position):
            return self._unreadable(pending, "line breaks off at the end of the file")
        if line.local_ms is not None and (beyond := beyond_dates(line.local_ms)) is not None:
            return self._unreadable(pending, beyond)
        if (too_large := _beyond_its_type(line)) is not None:
            return self._unreadable(pending, too_large)
        self._had_logger = self._had_logger or line.logger is not None
        return self._entry(pending, line, wraps)

    def _is_with_loggers(self, position: int) -> bool:
        """Whether an entry before a position names its logger."""
        if not self._had_logger:
            self._look_back(position)
        return self._had_logger

    def _count_following(self, pending: _Pending, wraps: int) -> None:
        own = len(pending.following) - pending.beyond
        traces = sum(pending.is_trace[wraps:own])
        self.counts.continuations += min(wraps, own) + traces
        self.counts.skipped += max(0, own - wraps) - traces

    def _entry(self, pending: _Pending, line: LogLine, wraps: int) -> LogEntry:
        entry = LogEntry(
            self.counts.file,
            pending.position,
            pending.number,
            self._utc_ms(line, pending.position),
            line,
            pending.full_text(wraps),
            pending.trace(wraps) if pending.following else None,
            self._source,
        )
        self.counts.events += 1
        return entry

    def _utc_ms(self, line: LogLine, position: int) -> int | None:
        """The line's time, which becomes that of the next lines without a date."""
        local_ms = line.local_ms
        if local_ms is None:
            if self._time_ms is None:
                self._look_back(position)
        elif line.utc_offset_minutes is not None:
            self._time_ms = local_ms - line.utc_offset_minutes * 60_000
        else:
            if self._before is not None and self._clock.depends_on_order(local_ms):
                self._look_back(position)
            self._time_ms = self._clock.utc_ms(local_ms)
        return self._time_ms

    def _look_back(self, position: int) -> None:
        """Take over what the lines before a position decide; from then on this reader decides."""
        if self._before is None:
            return
        past, self._before = self._before(position), None
        self._clock = past._clock
        self._time_ms = past._time_ms
        self._had_logger = self._had_logger or past._had_logger

    def _unreadable(self, pending: _Pending, reason: str) -> Unreadable:
        self.counts.unreadable += 1
        return Unreadable(self.counts.file, pending.position, pending.number, reason, pending.raw)

    def too_long(self, position: int, line: LongLine) -> Unreadable:
        """The line counts, and nothing else of it is read."""
        self.counts.lines += 1
        self.counts.unreadable += 1
        reason = too_long(line.size)
        number = self.counts.lines
        return Unreadable(self.counts.file, position, number, reason, line.beginning, line.size)

    def settle(self) -> Iterator[LogEntry | Unreadable]:
        """After an exception: the pending lines' items; a line that was not counted is skipped."""
        yield from self.flush_all()
        counts = self.counts
        counted = counts.events + counts.unreadable + counts.skipped + counts.continuations
        counts.skipped += counts.lines - counted

    def damage(self, damage: str, position: int) -> Unreadable:
        """The place of the damage counts as a line."""
        self.counts.lines += 1
        self.counts.unreadable += 1
        return Unreadable(self.counts.file, position, self.counts.lines, damage, b"")


def _items_of(item: LogEntry | Unreadable | None) -> Iterator[LogEntry | Unreadable]:
    """None or one."""
    if item is not None:
        yield item


def beyond_dates(local_ms: int) -> str | None:
    """Why a line with this date is unreadable; None if it is not."""
    if _FIRST_LOCAL_MS <= local_ms <= _LAST_LOCAL_MS:
        return None
    return f"date {printed(local_ms)} is not between {_DATES}"


def _beyond_its_type(line: LogLine) -> str | None:
    """The field that does not fit its column; None if all do."""
    event = line.event
    if event is None:
        return None
    for name, value, limit in (
        ("broker id", line.broker_id, 1 << 31),
        ("generation", event.generation, (1 << 31) - 1),  # the next one must fit, too
        ("member count", event.member_count, 1 << 31),
        ("duration", event.duration_ms, 1 << 63),
        ("count", event.count, 1 << 63),
    ):
        if value is not None and not -limit <= value < limit:
            return f"{name} {value} does not fit {32 if limit <= 1 << 31 else 64} bits"
    return None


def _find(chunk: bytes, word: bytes, at: int) -> int:
    """The next occurrence from ``at`` on, or the end of the chunk."""
    position = chunk.find(word, at)
    return len(chunk) if position < 0 else position


def _other_layout_from(chunk: bytes, at: int) -> int:
    """The next line from ``at`` on that is not in Kafka's own layout, or the end of the chunk."""
    if at == 0 and not PLAIN_HEAD.match(chunk):
        return 0
    before = _BEFORE_OTHER_HEAD.search(chunk, max(0, at - 1))
    return len(chunk) if before is None else before.end()


def _is_of_other_logger(raw: bytes) -> bool:
    """Whether a line in Kafka's own layout ends in the name of a class that is no coordinator's."""
    line = raw.rstrip(b"\r")
    opening = line.rfind(b" (")
    if opening < 0 or not line.endswith(b")") or not _is_other_class(line[opening + 2 : -1]):
        return False
    head = _DEFAULT_LAYOUT.match(line)
    return head is not None and head.end() <= opening and _GROUP_CONFIG not in line


@lru_cache(maxsize=1024)
def _is_other_class(name: bytes) -> bool:
    return _CLASS.fullmatch(name) is not None and not is_coordinator_logger(name.decode())


def _joined(pending: _Pending) -> tuple[LogLine | None, int]:
    """The parsed line, and how many of the lines after it are wrapped parts of it."""
    line = parse_line(pending.text)
    if line is None or (line.logger is not None and line.event is not None):
        return line, 0
    for wraps in range(1, min(_MOST_WRAPS, len(pending.following)) + 1):
        for glue in ("", " "):
            parts = [pending.text, *pending.following[:wraps]]
            joined = parse_line(glue.join(map(unframed, parts)))
            if joined is not None and joined.event is not None and joined.logger is not None:
                return joined, wraps
    return line, 0


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def text_of(body: bytes) -> str:
    """The line as text; bytes that are not UTF-8 are read as Latin-1, which keeps every byte."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    return text.rstrip("\r")
