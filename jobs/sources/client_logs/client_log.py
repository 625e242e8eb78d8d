"""Source `client_log`: consumers' logs in any shape of logs.files -> what they say of membership.

An application's log has other lines, too: a line of no consumer, and a consumer's line about
something else, is counted as skipped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from coordinator_core.log_lines.client_lines import (
    JAVA,
    OTHER,
    ClientEvent,
    ClientLine,
    find_client_message,
    parse_client_line,
)
from jobs.console.errors import internal_error
from jobs.lake.dates import DateRange
from jobs.lake.files import open_file
from jobs.sources.broker_logs.broker_log import first_line_hash
from jobs.sources.logs.chunks import chunks_in_order
from jobs.sources.logs.clock import WallClock, beyond_dates
from jobs.sources.logs.dates import NO_DATE, FileDates, LineDates, LocalTime, dates_of
from jobs.sources.logs.entries import LONGEST_EXAMPLE, MOST_EXAMPLES
from jobs.sources.logs.file_bytes import (
    LINE_BYTES,
    WHOLE_FILE,
    Blocks,
    LongLine,
    beginning_of,
    too_long,
)
from jobs.sources.logs.layouts import (
    PLAIN_HEAD,
    TRACE_LINE,
    Unwrapped,
    is_head_alone,
    line_of,
    text_of,
    unwrapped,
    with_head,
)
from jobs.sources.logs.pauses import pause_before
from jobs.sources.logs.search import MarkedLines, find
from jobs.sources.rows import (
    COUNTS,
    LEAST_STEP_MS,
    UNDERSTANDING,
    RowBuffer,
    SourceRows,
    counts_of_files,
    day_of,
    rows_of_files,
    software_in,
)
from schemas.log_lines import client_libraries, client_library

FILES_LIKE = "*.log*"
# The first line with one of these words identifies a log.  A change of these words changes the ids.
_WORDS = (b"Consumer ", b"#consumer-", b"kafka.co", b"group: ", b"balanced; plan: ")
# The words of _WORDS as keys and values of slog or zap.
_PAIRS = (b'"group":', b" group=", b'"balanced"', b"msg=balanced")
# Loggers of consumers; their lines without a known message are counted as not understood.
_NAMES = (
    *(b"clients.consumer.internals", b".c.c.internals.", b"consumergroup/", b"[ConsumerGroup]"),
    *(b"librdkafka", b"kafka.coordinator", b"kafka.consumer"),
)
_PARTS = (b" stdout P ", b" stderr P ")
# Events that a removed member logs.  The preceding log shows whether its process ran.
_FAILURES = ("COMMIT_FAILED", "FENCED", "HEARTBEAT_FAILED", "MEMBER_RESET", "SYNC_FAILED")
_IDENTIFYING_BYTES = 1 << 20  # bytes in which the first line of a consumer is searched
_MOST_SOURCES = 1000

EVENT_FIELDS = {
    "event": pa.string(),
    "group_id": pa.string(),
    "member_id": pa.string(),
    "generation": pa.int32(),
    "epoch": pa.int32(),
    "assignor": pa.string(),
    "state": pa.string(),
    "previous_state": pa.string(),
    "reason": pa.string(),
    "duration_ms": pa.int64(),
    "partitions": pa.list_(pa.string()),
    "offsets": pa.list_(pa.int64()),
    "topics": pa.list_(pa.string()),
    "count": pa.int64(),
}
# One row is an event, a quarantined line, or the file's counts, which come last in the file.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("file_id", pa.string()),
        ("position", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("library", pa.string()),
        ("client_id", pa.string()),
        ("instance_id", pa.string()),
        ("source", pa.string()),
        ("level", pa.string()),
        ("logger", pa.string()),
        *EVENT_FIELDS.items(),
        ("line", pa.string()),
        ("reason_unreadable", pa.string()),
        ("raw", pa.binary()),
        ("length", pa.int64()),
        *COUNTS,
        *UNDERSTANDING,
    ]
)


def client_logs_source(
    files: list[str],
    timezone: str,
    dates: DateRange,
    ids: Mapping[str, str],
    since_ms: int | None = None,
) -> SourceRows:
    """ROWS of all ``files``.  ``timezone`` applies to dates without a zone.  ``ids`` are by path,
    as in `client_rows`; ``since_ms``: likewise.
    """

    def rows(path: str) -> Iterator[pa.RecordBatch]:
        return client_rows(path, timezone, dates, ids.get(path), since_ms)

    return SourceRows(
        ROWS,
        counts_of_files,
        lambda spark: rows_of_files(spark, files, rows, ROWS),
        lambda _: chain.from_iterable(map(rows, files)),
        files=files,
    )


def client_rows(
    path: str,
    timezone: str,
    dates: DateRange,
    file_id: str | None = None,
    since_ms: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file, in bounded memory.

    ``file_id`` is the id of the log; None: `client_file_id`.  ``since_ms``: see
    `logs.dates.dates_of`.
    """
    with open_file(path) as stream:
        yield from rows_of_stream(stream, path, timezone, dates, file_id, since_ms)


def rows_of_stream(
    stream: BinaryIO,
    path: str,
    timezone: str,
    dates: DateRange,
    file_id: str | None = None,
    since_ms: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of `client_rows`, for a stream that can seek."""
    file = dates_of(Blocks(stream).beginning(), lambda: Blocks(stream), since_ms)
    buffer = RowBuffer(ROWS)
    common = {"path": path, "file_id": file_id or client_file_id(stream)}
    size = stream.seek(0, 2)
    stream.seek(0)
    for row in _rows_and_counts(stream, timezone, dates, file, size):
        buffer.add(row | common)
        if buffer.is_full:
            yield buffer.take()
    yield buffer.take()


def _rows_and_counts(
    stream: BinaryIO, timezone: str, dates: DateRange, file: FileDates, size: int
) -> Iterator[dict[str, Any]]:
    """Rows, and the file's counts as the last one."""
    log, done = _ClientLog(timezone, dates, file), 0
    for row in log.rows(Blocks(stream)):
        if file.is_late:
            break
        done += 1
        yield row
    if file.is_late:
        file.require_context()
        log = _ClientLog(timezone, dates, file)
        yield from islice(log.rows(Blocks(stream)), done, None)
    yield log.counts() | {"kind": "file", "bytes": size}


def client_file_id(stream: Any) -> str:
    """Sixteen hex digits: a hash of the first line and the first line of a consumer.

    Clients that start together may have equal first lines; before the first line of a consumer a
    file has no events.  jobs.bronze.log_ids distinguishes logs with an equal beginning.
    """
    first = first_line_hash(stream)
    lines = beginning_of(stream, _IDENTIFYING_BYTES).splitlines()
    stream.seek(0)
    own = next(filter(_may_be, lines), b"")
    return hashlib.sha256(first.encode() + own).hexdigest()[:16]


@dataclass(slots=True)
class _Parts:
    """The beginning of a line, in parts."""

    position: int
    bodies: list[bytes] = field(default_factory=list)
    size: int = 0


class _ClientLog:
    """Counts each line once: kept by its date, quarantined or skipped."""

    def __init__(self, timezone: str, dates: DateRange, file: FileDates) -> None:
        self._range = dates
        self._file = file
        self._clocks: defaultdict[str | None, WallClock] = defaultdict(lambda: WallClock(timezone))
        self._dates: dict[str | None, LineDates] = {}
        self._has_sources = False
        self._pods: set[bytes] = set()
        # The group by source and client id or library. None if the client has several groups.
        self._groups: dict[tuple[str | None, str], str | None] = {}
        # The parts, by source, of a line that a container's runtime split.
        self._parts: dict[str | None, _Parts] = {}
        self._kept_by_date: Counter[int] = Counter()
        self._lines = self._quarantined = 0
        self._line_before = b""
        self._not_understood = self._undated = self._steps_back = 0
        self._examples: list[str] = []
        self._software: set[str] = set()
        self._times: dict[str | None, int] = {}  # time of each source's last event

    def rows(self, blocks: Blocks) -> Iterator[dict[str, Any]]:
        for position, chunk in chunks_in_order(blocks, WHOLE_FILE, self._keep_sources_apart):
            if isinstance(chunk, LongLine):
                self._lines += 1
                yield self._unreadable(position, too_long(chunk.size), chunk.beginning, chunk.size)
            else:
                yield from self._of_chunk(position, chunk)
        for source in list(self._parts):  # The last parts of these lines are missing.
            parts = self._parts.pop(source)
            whole = Unwrapped(b"".join(parts.bodies), source)
            row = self._parsed(parts.position, whole.body, whole)
            if row is not None:
                yield row
        if blocks.damage is not None:
            self._lines += 1
            yield self._unreadable(blocks.position, blocks.damage, b"")

    def _keep_sources_apart(self) -> None:
        self._has_sources = True

    def _of_chunk(self, position: int, chunk: bytes) -> Iterator[dict[str, Any]]:
        self._lines += chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        self._software |= software_in(chunk)
        starts, at = iter(_marked_lines().starts(chunk)), 0
        marked = next(starts, len(chunk))
        while at < len(chunk):
            while marked < at:
                marked = next(starts, len(chunk))
            start = at if self._parts else marked
            if start > at:
                self._pass_over(chunk, at, start)
            if start == len(chunk):
                return
            end = find(chunk, b"\n", start)
            raw, at = chunk[start:end].rstrip(b"\r"), end + 1
            while (next_line := self._continuation(raw, chunk, at)) is not None:
                raw += b"\n" + next_line
                at = find(chunk, b"\n", at) + 1
            row = self._row(position + start, raw)
            self._line_before = raw
            if row is not None:
                if row.get("event") in _FAILURES and row["duration_ms"] is None:
                    row["duration_ms"] = pause_before(chunk, start, raw, row["source"])
                yield row

    def _continuation(self, raw: bytes, chunk: bytes, at: int) -> bytes | None:
        """The next line if the message of this line continues on it."""
        is_headline = _goes_on(raw)
        if at >= len(chunk) or not (is_headline or b"\n" in raw):
            return None
        body = unwrapped(chunk[at : find(chunk, b"\n", at)].rstrip(b"\r"), self._pods).body
        return body if is_headline or _is_listed(body) else None

    def _pass_over(self, chunk: bytes, at: int, start: int) -> None:
        """Skip lines without a mark.

        The last line may be the head of the next line, and each line may complete later dates.
        """
        last = chunk.rfind(b"\n", at, start - 1) + 1 or at
        self._line_before = chunk[max(at, last) : start].rstrip(b"\r\n")
        if not self._file.needs_context:
            return
        if not self._has_sources:
            self._dates_of(None).observe_lines(chunk[at:start])
            return
        for line in chunk[at:start].splitlines():
            inside = unwrapped(line, self._pods)
            self._dates_of(inside.source).observe_lines(inside.body)

    def _dates_of(self, source: str | None) -> LineDates:
        if source not in self._dates and len(self._dates) >= _MOST_SOURCES:
            source = None
        if source not in self._dates:
            self._dates[source] = LineDates(self._file, self._clocks[source])
        return self._dates[source]

    def counts(self) -> dict[str, Any]:
        kept = sum(self._kept_by_date.values())
        return {
            "inputs": self._lines,
            "kept_by_date": sorted(self._kept_by_date.items()),
            "quarantined": self._quarantined,
            "skipped": self._lines - kept - self._quarantined,
            "not_understood": self._not_understood,
            "undated": self._undated,
            "steps_back": self._steps_back,
            "examples": "\n".join(self._examples) or None,
            "software": "\n".join(sorted(self._software)) or None,
        }

    def _row(self, position: int, raw: bytes) -> dict[str, Any] | None:
        try:
            inside = Unwrapped(raw) if PLAIN_HEAD.match(raw) else unwrapped(raw, self._pods)
        except Exception as error:
            return self._unreadable(position, internal_error(error), raw)
        if not inside.goes_on and inside.source not in self._parts:
            return self._parsed(position, raw, inside)
        parts = self._with_part(position, inside)
        if inside.goes_on and parts.size < self._most_of_parts():
            return None
        del self._parts[inside.source]
        whole = b"".join(parts.bodies)
        return self._parsed(parts.position, whole, inside._replace(body=whole))

    def _with_part(self, position: int, part: Unwrapped) -> _Parts:
        """The line's parts so far."""
        parts = self._parts.setdefault(part.source, _Parts(position))
        parts.bodies.append(part.body)
        parts.size += len(part.body)
        return parts

    def _most_of_parts(self) -> int:
        """The maximum bytes of a line in parts, so that all such lines together take bounded
        memory.
        """
        return 2 * LINE_BYTES // (1 + len(self._parts))

    def _parsed(self, position: int, raw: bytes, inside: Unwrapped) -> dict[str, Any] | None:
        try:
            return self._event(position, raw, inside)
        except Exception as error:
            return self._unreadable(position, internal_error(error), raw)

    def _event(self, position: int, raw: bytes, inside: Unwrapped) -> dict[str, Any] | None:
        body = line_of(inside)
        first = body.split(b"\n", 1)[0] if b"\n" in body else body
        body = b" ".join(body.split()) if _goes_on(first) else first
        fields = {} if inside.record is None else inside.record.fields
        message = find_client_message(text_of(body), fields)
        if message is None or message.event is None:
            if message is not None or _names_a_consumer(raw):
                self._is_not_understood(raw)
            return None
        if message.event.event == OTHER:
            return None
        line, source = self._with_date(message.line(), body, fields), inside.source
        local_ms, offset_minutes, undated = self._local_time(line, source)
        if undated is None and local_ms is not None:
            undated = beyond_dates(local_ms)
        if undated is not None or local_ms is None:
            self._undated += local_ms is None
            return self._unreadable(position, undated or NO_DATE, raw)
        line = self._with_group(line, source)
        if line.event is not None and not _fits(line.event):
            return self._unreadable(position, "a number does not fit the column", raw)
        if offset_minutes is None:
            time_ms = self._clocks[source].utc_ms(local_ms)
        else:
            time_ms = local_ms - offset_minutes * 60_000
        self._steps_back += time_ms < self._times.get(source, 0) - LEAST_STEP_MS
        self._times[source] = time_ms
        row = self._event_row(position, text_of(raw), source, line, time_ms)
        self._kept_by_date[day_of(time_ms)] += 1
        return row if self._range.has(day_of(time_ms)) else None

    def _is_not_understood(self, raw: bytes) -> None:
        self._not_understood += 1
        if len(self._examples) < MOST_EXAMPLES:
            self._examples.append(text_of(raw[:LONGEST_EXAMPLE]))

    def _with_date(self, line: ClientLine, body: bytes, fields: Mapping[str, Any]) -> ClientLine:
        """The line; if it has no date, with the previous line if that is a head with its date."""
        if line.stamp is not None or line.time_ms is not None:
            return line
        before = unwrapped(self._line_before, self._pods).body
        if not is_head_alone(before):
            return line
        dated = parse_client_line(text_of(with_head(before, body)), fields)
        return line if dated is None or dated.event != line.event else dated

    def _local_time(self, line: ClientLine, source: str | None) -> LocalTime:
        if line.time_ms is not None:
            return LocalTime(line.time_ms, 0)
        return self._dates_of(source).of(line.stamp, line.outer)

    def _with_group(self, line: ClientLine, source: str | None) -> ClientLine:
        """A line that names no group is about the only group that the client's lines name."""
        client = (source, line.client_id or line.library)
        if line.group_id is None:
            is_alone = line.library == JAVA  # The line is from a consumer without a group.
            return line if is_alone else line._replace(group_id=self._groups.get(client))
        if client in self._groups or len(self._groups) < _MOST_SOURCES:
            is_only = self._groups.setdefault(client, line.group_id) == line.group_id
            self._groups[client] = line.group_id if is_only else None
        return line

    def _event_row(
        self, position: int, text: str, source: str | None, line: ClientLine, time_ms: int
    ) -> dict[str, Any]:
        assert line.event is not None
        return line.event._asdict() | {
            "kind": "event",
            "position": position,
            "event_time": time_ms * 1000,
            "group_id": line.group_id,
            "library": line.library,
            "client_id": line.client_id,
            "instance_id": line.instance_id,
            "source": source,
            "level": line.level,
            "logger": line.logger,
            "line": text,
        }

    def _unreadable(
        self, position: int, reason: str, raw: bytes, length: int | None = None
    ) -> dict[str, Any]:
        self._quarantined += 1
        return {
            "kind": "quarantined",
            "position": position,
            "reason_unreadable": reason,
            "raw": raw,
            "length": len(raw) if length is None else length,
        }


def _fits(event: ClientEvent) -> bool:
    """Returns whether each number fits its column."""
    return all(
        -limit <= number < limit
        for number, limit in (
            (event.generation, 1 << 31),
            (event.epoch, 1 << 31),
            (event.duration_ms, 1 << 63),
            (event.count, 1 << 63),
            *((offset, 1 << 63) for offset in event.offsets or ()),
        )
        if number is not None
    )


def _may_be(raw: bytes) -> bool:
    return any(word in raw for word in _WORDS) or any(word in raw for word in _PAIRS)


def _goes_on(line: bytes) -> bool:
    """Returns whether the message of this line continues on the next line."""
    headlines = _headlines()
    if not line.endswith(headlines.ends):
        return False
    return any(line.endswith(end) and mark in line for mark, end in headlines.marks)


class _Headlines(NamedTuple):
    """``marks`` are the marks of the libraries that log such lines, each with the end of the
    lines.
    """

    ends: tuple[bytes, ...]
    marks: tuple[tuple[bytes, bytes], ...]


def _is_listed(line: bytes) -> bool:
    """Returns whether a line is of a list that follows a message."""
    return any(pattern.fullmatch(line) for pattern in _listings())


@cache
def _listings() -> tuple[re.Pattern[bytes], ...]:
    libraries = map(client_library, client_libraries())
    return tuple(re.compile(each["listed"].encode()) for each in libraries if "listed" in each)


@cache
def _headlines() -> _Headlines:
    libraries = map(client_library, client_libraries())
    marks = tuple(
        (mark.encode(), library["headline_end"].encode())
        for library in libraries
        if "headline_end" in library
        for mark in library["marks"]
    )
    return _Headlines(tuple({end for _, end in marks}), marks)


@cache
def _marked_lines() -> MarkedLines:
    """Lines that may be a consumer's, or a part of a line (CRI)."""
    marks = (mark.encode() for name in client_libraries() for mark in client_library(name)["marks"])
    return MarkedLines([*marks, *_NAMES, *_PARTS])


def _names_a_consumer(raw: bytes) -> bool:
    """Returns whether a line is of a consumer's logger, and neither a stack frame nor a head
    alone.
    """
    is_other = TRACE_LINE.match(raw) or is_head_alone(raw)
    return not is_other and any(name in raw for name in _NAMES)
