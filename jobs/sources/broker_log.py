"""Source `broker_log`: brokers' server.log files (plain, gzip, rolled) -> coordinator lines.

A log file is identified by a hash of its first line, not by its name: a rolled, renamed or
compressed file stays the same log, so its lines are not ingested twice.

A large file is read in ranges, each a task of its own; the rows of all ranges are those of the
file, except that each range has a row of counts, to be summed per path.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from typing import Any, BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.log_lines import ParsedEvent
from jobs.sources.files import open_file
from jobs.sources.log_bytes import RANGE_BYTES, WHOLE_FILE, ByteRange, byte_ranges
from jobs.sources.log_files import LogCounts, LogEntry, Unreadable, read_log
from jobs.sources.rows import MOST_TASKS, ROWS_PER_BATCH, DateRange, day_of

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

# One row is an event, a quarantined line, or (last of each range) the range's counts.
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


Row = tuple[Any, ...]
_PLACES = {name: place for place, name in enumerate(ROWS.names)}
_BROKER_ID = _PLACES["broker_id"]
_NOT_OF_EVENTS = (None,) * (len(ROWS) - _PLACES["reason_unreadable"])
_event_values = itemgetter(
    *(ParsedEvent._fields.index(name) for name in EVENT_FIELDS if name not in ("members", "groups"))
)
_NO_BROKER_ID = -1


def read_broker_logs(
    spark: SparkSession,
    files: list[str],
    timezone: str,
    dates: DateRange,
    range_bytes: int = RANGE_BYTES,
) -> DataFrame:
    """ROWS of all ``files``, one task per range.  ``timezone``: zone of the brokers' clocks."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.to_pylist():
                within = ByteRange(task["start"], task["end"])
                yield from log_rows(task["file"], timezone, dates, within)

    tasks = [(file, each.start, each.end) for file, each in ranges_of_files(files, range_bytes)]
    frame = spark.createDataFrame(tasks, "file string, start long, end long")
    spread = frame.repartition(min(len(tasks), MOST_TASKS), "file", "start")
    return spread.mapInArrow(read, from_arrow_schema(ROWS))


def ranges_of_files(
    files: list[str], range_bytes: int = RANGE_BYTES
) -> list[tuple[str, ByteRange]]:
    """All files' ranges of at most ``range_bytes`` bytes; a file that cannot be split is one."""
    with ThreadPoolExecutor() as pool:  # a request per file of an object store
        of_files = pool.map(lambda file: _ranges_of(file, range_bytes), files)
        return [
            (file, each) for file, of_file in zip(files, of_files, strict=True) for each in of_file
        ]


def _ranges_of(file: str, range_bytes: int) -> list[ByteRange]:
    try:
        with open_file(file) as stream:
            return byte_ranges(stream, range_bytes)
    except OSError:  # the task reports it
        return [WHOLE_FILE]


def log_rows(
    path: str, timezone: str, dates: DateRange, within: ByteRange = WHOLE_FILE
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file, or one of its ranges, in bounded memory."""
    with open_file(path) as stream:
        file_id, size = first_line_hash(stream), stream.seek(0, 2)
        log = _Log(path, file_id, size, timezone, dates, within)
        for item in read_log(stream, file=path, timezone=timezone, within=within):
            log.add(item)
            if log.is_full:
                yield log.take()
    yield log.take()


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
    """Rows of a range: a line without a date or broker id takes those of its neighbors."""

    def __init__(
        self,
        path: str,
        file_id: str,
        size: int,
        timezone: str,
        dates: DateRange,
        within: ByteRange,
    ) -> None:
        self._path = path
        self._file_id = file_id
        self._bytes = (size if within.end is None else within.end) - within.start
        self._timezone = timezone
        self._dates = dates
        self._within = within
        self._rows: list[Row] = []
        self._broker_id: int | None = None
        # Events before the first line that names the broker.
        self._waiting: list[Row] = []
        self._time_ms: int | None = None
        self._day: int | None = None
        self._is_wanted = False  # of the day
        self._kept_by_date: Counter[int] = Counter()
        self._undated = 0

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= ROWS_PER_BATCH

    def take(self) -> pa.RecordBatch:
        """The rows since the last call."""
        rows, self._rows = self._rows, []
        values = zip(*rows, strict=True) if rows else ([] for _ in ROWS)
        columns = [pa.array(column, f.type) for column, f in zip(values, ROWS, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=ROWS)

    def add(self, item: LogEntry | Unreadable | LogCounts) -> None:
        if isinstance(item, LogEntry):
            self._add_event(item)
        elif isinstance(item, Unreadable):
            self._quarantine(item.position, item.reason, item.bytes)
        else:
            self._add_counts(item)

    def _add_event(self, entry: LogEntry) -> None:
        # A line without a date has the time of the previous line.
        self._time_ms = self._time_ms if entry.time_ms is None else entry.time_ms
        if self._time_ms is None:
            self._undated += 1
            self._quarantine(entry.position, "no date on or before it", entry.text.encode())
            return
        day = day_of(self._time_ms)
        self._kept_by_date[day] += 1
        if day != self._day:
            self._day, self._is_wanted = day, self._dates.has(day)
        if not self._is_wanted:
            return
        broker_id = entry.line.broker_id
        if broker_id is not None and broker_id != self._broker_id:
            self._release(broker_id)
        row = self._event_row(entry, self._time_ms)
        if self._broker_id is not None:
            self._rows.append(row)
            return
        self._waiting.append(row)
        if self._within.start > 0 or len(self._waiting) >= ROWS_PER_BATCH:
            self._release(self._neighbors_broker_id())

    def _event_row(self, entry: LogEntry, time_ms: int) -> Row:
        line = entry.line
        event = line.event
        assert event is not None  # read_log returns Unreadable for lines of unknown wording
        return (
            "event",
            self._path,
            self._file_id,
            entry.position,
            self._broker_id,
            time_ms * 1000,
            line.level,
            line.logger,
            line.topic_partition,
            *_event_values(event),
            event.members or None,
            event.groups or None,
            entry.text,
            entry.stack_trace,
            *_NOT_OF_EVENTS,
        )

    def _release(self, broker_id: int) -> None:
        """From here on, lines are of this broker, and those that wait for one."""
        self._broker_id = broker_id
        self._rows += [_with_broker_id(row, broker_id) for row in self._waiting]
        self._waiting.clear()

    def _neighbors_broker_id(self) -> int:
        position = self._waiting[0][_PLACES["position"]]
        return broker_id_around(self._path, self._timezone, self._dates, position)

    def _quarantine(self, position: int, reason: str, raw: bytes) -> None:
        self._add(kind="quarantined", position=position, reason_unreadable=reason, raw=raw)

    def _add_counts(self, counts: LogCounts) -> None:
        if self._waiting:
            is_whole = self._within.end is None
            self._release(_NO_BROKER_ID if is_whole else self._neighbors_broker_id())
        self._add(
            kind="file",
            bytes=self._bytes,
            inputs=counts.lines,
            kept_by_date=sorted(self._kept_by_date.items()),
            quarantined=counts.unreadable + self._undated,
            skipped=counts.skipped + counts.continuations,
        )

    def _add(self, **fields: Any) -> None:
        row: list[Any] = [None] * len(ROWS)
        for name, value in (fields | {"path": self._path, "file_id": self._file_id}).items():
            row[_PLACES[name]] = value
        self._rows.append(tuple(row))


def _with_broker_id(row: Row, broker_id: int) -> Row:
    return (*row[:_BROKER_ID], broker_id, *row[_BROKER_ID + 1 :])


def broker_id_around(path: str, timezone: str, dates: DateRange, position: int) -> int:
    """The broker of the last line before a position that names it, else of the first line after.

    Lines of other dates do not count.  -1 if no line names the broker.
    """
    before = _NO_BROKER_ID
    with open_file(path) as stream:
        for item in read_log(stream, file=path, timezone=timezone):
            if not isinstance(item, LogEntry) or item.line.broker_id is None:
                continue
            if item.time_ms is None or not dates.has(day_of(item.time_ms)):
                continue
            if item.position > position:
                return item.line.broker_id if before == _NO_BROKER_ID else before
            before = item.line.broker_id
    return before
