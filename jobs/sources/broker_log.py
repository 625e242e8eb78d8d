"""Source `broker_log`: brokers' server.log files (plain, gzip, rolled) -> coordinator lines.

A log file is identified by a hash of its first line, not by its name: a rolled, renamed or
compressed file stays the same log, so its lines are not ingested twice.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.sources.files import open_file
from jobs.sources.log_files import LogCounts, LogEntry, Unreadable, read_log
from jobs.sources.rows import DateRange, RowBuffer, day_of, rows_of_files

FILES_LIKE = "*.log*"
_GZIP = b"\x1f\x8b"
_FIRST_LINE_LIMIT = 1 << 16

# Fields of ParsedEvent, by the same names.
EVENT_FIELDS = {
    "event": pa.string(),
    "group_id": pa.string(),
    "generation": pa.int32(),
    "member_id": pa.string(),
    "instance_id": pa.string(),
    "old_member_id": pa.string(),
    "new_leader_id": pa.string(),
    "client_id": pa.string(),
    "client_host": pa.string(),
    "state": pa.string(),
    "step": pa.string(),
    "reason": pa.string(),
    "client_reason": pa.string(),
    "cause": pa.string(),
    "client_cause": pa.string(),
    "member_count": pa.int32(),
    "duration_ms": pa.int64(),
    "count": pa.int64(),
    "members": pa.list_(pa.string()),
    "groups": pa.list_(pa.string()),
}

# One row is an event, a quarantined line, or (last of each file) the file's counts.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("file_id", pa.string()),
        ("position", pa.int64()),
        ("broker_id", pa.int32()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("level", pa.string()),
        ("logger", pa.string()),
        ("topic_partition", pa.string()),
        *EVENT_FIELDS.items(),
        ("line", pa.string()),
        ("continuation", pa.string()),
        ("reason_unreadable", pa.string()),
        ("raw", pa.binary()),
        ("bytes", pa.int64()),
        ("inputs", pa.int64()),
        ("kept_by_date", pa.map_(pa.date32(), pa.int64())),
        ("quarantined", pa.int64()),
        ("skipped", pa.int64()),
    ]
)


def read_broker_logs(
    spark: SparkSession, files: list[str], timezone: str, dates: DateRange
) -> DataFrame:
    """ROWS of all ``files``, one task per file.  ``timezone``: zone of the brokers' clocks."""
    return rows_of_files(spark, files, lambda path: log_rows(path, timezone, dates), ROWS)


def log_rows(path: str, timezone: str, dates: DateRange) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file."""
    buffer = RowBuffer(ROWS)
    with open_file(path) as stream:
        log = _Log(path, first_line_hash(stream), stream.seek(0, 2), dates)
        stream.seek(0)
        for item in read_log(stream, file=path, timezone=timezone):
            for row in log.rows(item):
                buffer.add(row)
            if buffer.is_full:
                yield buffer.take()
    yield buffer.take()


def first_line_hash(stream: BinaryIO) -> str:
    """Sixteen hex digits that identify the log; rewinds the stream."""
    is_gzip = stream.read(2) == _GZIP
    stream.seek(0)
    lines = gzip.open(stream) if is_gzip else stream  # noqa: SIM115 - the caller closes it
    try:
        first = lines.readline(_FIRST_LINE_LIMIT)
    except (EOFError, OSError, zlib.error):  # damaged before its first line ends
        stream.seek(0)
        first = stream.read(_FIRST_LINE_LIMIT)
    stream.seek(0)
    return hashlib.sha256(first.rstrip(b"\r\n")).hexdigest()[:16]


class _Log:
    """Rows of one file: a line without a date or broker id takes those of its neighbors."""

    def __init__(self, path: str, file_id: str, size: int, dates: DateRange) -> None:
        self._common = {"path": path, "file_id": file_id}
        self._bytes = size
        self._dates = dates
        self._broker_id: int | None = None
        # Events before the first line that names the broker.
        self._waiting: list[dict[str, Any]] = []
        self._time_ms: int | None = None
        self._kept_by_date: Counter[int] = Counter()
        self._undated = 0

    def rows(self, item: LogEntry | Unreadable | LogCounts) -> Iterator[dict[str, Any]]:
        if isinstance(item, LogEntry):
            yield from self._event(item)
        elif isinstance(item, Unreadable):
            yield self._quarantined(item.position, item.reason, item.bytes)
        else:
            yield from self._release(-1)
            yield self._counts(item)

    def _event(self, entry: LogEntry) -> Iterator[dict[str, Any]]:
        # A line without a date has the time of the previous line.
        self._time_ms = self._time_ms if entry.time_ms is None else entry.time_ms
        if self._time_ms is None:
            self._undated += 1
            yield self._quarantined(entry.position, "no date on or before it", entry.text.encode())
            return
        day = day_of(self._time_ms)
        self._kept_by_date[day] += 1
        if not self._dates.has(day):
            return
        self._waiting.append(self._common | _event_row(entry, self._time_ms))
        if entry.line.broker_id is not None:
            self._broker_id = entry.line.broker_id
        if self._broker_id is not None:
            yield from self._release(self._broker_id)

    def _release(self, broker_id: int) -> Iterator[dict[str, Any]]:
        rows, self._waiting = self._waiting, []
        for row in rows:
            yield row | {"broker_id": broker_id}

    def _quarantined(self, position: int, reason: str, raw: bytes) -> dict[str, Any]:
        unreadable = {"kind": "quarantined", "position": position, "reason_unreadable": reason}
        return self._common | unreadable | {"raw": raw}

    def _counts(self, counts: LogCounts) -> dict[str, Any]:
        return self._common | {
            "kind": "file",
            "bytes": self._bytes,
            "inputs": counts.lines,
            "kept_by_date": sorted(self._kept_by_date.items()),
            "quarantined": counts.unreadable + self._undated,
            "skipped": counts.skipped + counts.continuations,
        }


def _event_row(entry: LogEntry, time_ms: int) -> dict[str, Any]:
    line = entry.line
    assert line.event is not None  # read_log returns Unreadable for lines of unknown wording
    return {
        "kind": "event",
        "position": entry.position,
        "event_time": time_ms * 1000,
        "level": line.level,
        "logger": line.logger,
        "topic_partition": line.topic_partition,
        **{name: _or_null(getattr(line.event, name)) for name in EVENT_FIELDS},
        "line": entry.text,
        "continuation": entry.stack_trace,
    }


def _or_null(value: Any) -> Any:
    """A tuple becomes a list, an empty one null."""
    return (list(value) or None) if isinstance(value, tuple) else value
