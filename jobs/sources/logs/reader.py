"""Read the lines of a log, or of a range of it, in order, and count each line once.

If each line names its source (a pod, a host, a stream of a log store), the lines of each source are
read as their own log: stack traces, wrapped lines and lines without a date belong to the last line
of the same source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jobs.console.errors import internal_error
from jobs.sources.logs.dates import FileDates
from jobs.sources.logs.entries import Entries, LogCounts, LogEntry, Pending, Unreadable
from jobs.sources.logs.file_bytes import LINE_BYTES, LongLine, too_long
from jobs.sources.logs.layouts import (
    PLAIN_HEAD,
    TRACE_LINE,
    Unwrapped,
    has_head,
    has_prefix,
    is_head_alone,
    is_utf8,
    line_of,
    text_of,
    unwrapped,
    with_head,
)
from jobs.sources.logs.search import Search, find, has_word, indented_lines, is_of_other_logger
from jobs.sources.rows import software_in

# maximum number of sources whose lines are kept apart; lines of all other sources are read as one
# source
_MOST_SOURCES = 1000


class Reader:
    """Counts each line of a range once: as event, unreadable, skipped or continuation."""

    def __init__(
        self,
        counts: LogCounts,
        timezone: str,
        dates: FileDates,
        before: Callable[[int], Entries] | None = None,
        source: str | None = None,
    ) -> None:
        """``before``: see `Entries`.  ``source`` is the source whose lines alone are read; they are
        counted together with the lines of other sources.
        """
        self.counts = counts
        self.entries = Entries(counts, timezone, dates, before, source)
        self._dates = dates
        self._head_line: bytes | None = None  # date on a line of its own, before its message
        self._source = source
        self._timezone = timezone
        self._of_sources: dict[str, Reader] | None = None  # if None, all lines are from one source
        self._pods: set[bytes] = set()
        self._parts: list[bytes] = []  # parts of a line that a container's runtime split
        self._parts_position = self._parts_size = 0
        self._pending: Pending | None = None
        self._had_head = False
        self._unreadable_text = 0

    @property
    def is_binary(self) -> bool:
        """Returns whether no line is a coordinator's, and most lines are not UTF-8."""
        is_coordinators = self.counts.events or self.counts.unreadable
        return not is_coordinators and 2 * self._unreadable_text > self.counts.lines

    @property
    def is_pending(self) -> bool:
        """Returns whether the next line may belong to the last entry."""
        return self._pending is not None

    def keep_sources_apart(self) -> None:
        """Read the lines of each source as a log of their own."""
        self._of_sources = {}

    def _reader_of(self, source: str | None) -> Reader:
        if self._of_sources is None or source is None:
            return self
        if source not in self._of_sources:
            if len(self._of_sources) >= _MOST_SOURCES:
                return self
            reader = Reader(self.counts, self._timezone, self._dates, source=source)
            self._of_sources[source] = reader
        return self._of_sources[source]

    def take(self, position: int, chunk: bytes) -> Iterator[LogEntry | Unreadable]:
        """Items that a chunk's lines complete; ``position`` is the position of the first byte of
        the chunk.
        """
        self.counts.software |= software_in(chunk)
        self.counts.start_ups.read(chunk)
        search, size, at = Search(chunk), len(chunk), 0
        while at < size:
            start = search.next_line(at)
            if self._pending is not None and search.other_layout > at:
                yield from _items_of(self.flush())
            if start > at:
                breaks_off = start == size and not chunk.endswith(b"\n")
                if self._dates.needs_context:
                    self.entries.dates.observe_lines(chunk[at:start])
                self._skip(chunk.count(b"\n", at, start) + breaks_off)
                if start == size:
                    return
            is_other = start == search.other_layout
            if is_other and self._pending is None:
                at = self._skip_indented(chunk, start)
                if at > start:
                    search.pass_other_layout(at)
                    continue
            end = find(chunk, b"\n", start)
            raw, at = chunk[start:end], end + 1
            self.counts.lines += 1
            if is_other:
                search.pass_other_layout(at)
                yield from self._other_layout(position + start, raw)
            else:
                is_complete = at < size and search.other_layout > at
                item = self._plain(position + start, raw, is_complete=is_complete)
                if item is not None:
                    yield item

    def complete(self, chunk: bytes) -> LogEntry | Unreadable | None:
        """The pending line as an item, if the next range's first lines complete it."""
        at = 0
        while self._pending is not None and at < len(chunk):
            end = find(chunk, b"\n", at)
            raw, at = chunk[at:end], end + 1
            try:
                body = line_of(unwrapped(raw))
                is_next = PLAIN_HEAD.match(raw) or has_head(body)
            except Exception:  # The reader of the next range reports the error.
                is_next = True
            if is_next:
                return self.flush()
            self._pending.beyond += self._pending.attach(body)
        return None

    def _skip(self, lines: int) -> None:
        """Lines of other loggers, in Kafka's own layout."""
        self._had_head = True
        self.counts.lines += lines
        self.counts.skipped += lines

    def _skip_indented(self, chunk: bytes, start: int) -> int:
        """Counts the indented lines of another logger; returns where the next line begins."""
        indented = indented_lines(chunk, start)
        if not indented or (not self.counts.events and not is_utf8(indented)):
            return start
        lines = indented.count(b"\n")
        self.counts.lines += lines
        if self._had_head:
            self.counts.continuations += lines
        else:
            self.counts.skipped += lines
        return start + len(indented)

    def _plain(
        self, position: int, raw: bytes, *, is_complete: bool
    ) -> LogEntry | Unreadable | None:
        """A line in Kafka's own layout; if ``is_complete``, no line follows that may
        belong to it.
        """
        self._had_head = True
        if is_of_other_logger(raw):
            self._observe(raw)
            self.counts.skipped += 1
            return None
        self._pending = Pending(self.counts.lines, position, raw, text_of(raw))
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
        # The other lines of a record have the next positions, so each line takes a byte of the
        # record.
        for number, other in enumerate(others, 1):
            self.counts.lines += 1
            yield from _items_of(self._body(position + number, other, other))

    def _joined_parts(self, position: int, line: Unwrapped) -> bytes | None:
        """The line that ends with this part, or None if it goes on."""
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
        self._pending = Pending(self.counts.lines, position, raw, "")
        self._pending.error = reason

    def _body(self, position: int, raw: bytes, body: bytes) -> LogEntry | Unreadable | None:
        """A line without its wrapper; may complete the pending one."""
        if is_head_alone(body):
            completed = self.flush()
            self._head_line = body
            self.counts.skipped += 1
            return completed
        if self._head_line is not None:
            body = with_head(self._head_line, body)
            self._head_line = None
        try:
            is_head = has_head(body) or has_prefix(body)
        except Exception as error:
            completed = self.flush()
            self._pending = Pending(self.counts.lines, position, raw, "")
            self._pending.error = internal_error(error)
            return completed
        if not is_head:
            self._follow(body)
            return None
        completed = self.flush()
        self._had_head = True
        if has_word(body):
            self._pending = Pending(self.counts.lines, position, raw, text_of(body))
        else:
            self._observe(body)
            self.counts.skipped += 1
        return completed

    def _follow(self, body: bytes) -> None:
        """A line without a head: a part of the pending line, or skipped."""
        if not self.counts.events and not is_utf8(body):
            self._unreadable_text += 1
        if self._pending is not None and self._pending.attach(body):
            return
        if self._had_head and TRACE_LINE.match(body):
            self.counts.continuations += 1
        else:
            self.counts.skipped += 1

    def _observe(self, line: bytes) -> None:
        """Note the dates of lines that are not read; later lines may need them."""
        if self._dates.needs_context:
            self.entries.dates.observe_lines(line)

    def flush_all(self, *, breaks_off: bool = False) -> Iterator[LogEntry | Unreadable]:
        """The pending lines of all sources, and lines of which a part is missing."""
        for reader in (self, *(self._of_sources or {}).values()):
            if reader._parts:
                whole, reader._parts = b"".join(reader._parts), []
                reader.counts.continuations -= 1  # The last part of the line counts as the line.
                yield from _items_of(reader._body(reader._parts_position, whole, whole))
            yield from _items_of(reader.flush(breaks_off=breaks_off))

    def flush(self, *, breaks_off: bool = False) -> LogEntry | Unreadable | None:
        """The pending line as an item, see `Entries.item_of`."""
        pending, self._pending = self._pending, None
        return None if pending is None else self.entries.item_of(pending, breaks_off=breaks_off)

    def too_long(self, position: int, line: LongLine) -> Unreadable:
        """The line counts, but nothing else of it is read."""
        self.counts.lines += 1
        self.counts.unreadable += 1
        reason = too_long(line.size)
        number = self.counts.lines
        return Unreadable(self.counts.file, position, number, reason, line.beginning, line.size)

    def settle(self) -> Iterator[LogEntry | Unreadable]:
        """Call this after an exception: it returns the items of pending lines, and a line that was
        not counted is skipped.
        """
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
