"""Source `broker_log`: brokers' server.log files (rolled, packed, wrapped) -> coordinator lines.

A log file is identified by its beginning (`first_line_hash`), not by its name: a rolled, renamed or
compressed file stays the same log, so its lines are not ingested twice.  jobs.bronze.log_ids tells
logs with an equal first line apart.  If lines of several brokers are in one file, each line has the
broker that it, or the other lines of its source, name.

A large file is read in ranges, each by its own task.  The rows of all ranges together are the rows
of the file, except that each range has a row of counts, to be summed per path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.log_lines import ParsedEvent
from jobs.console.errors import internal_error
from jobs.lake.dates import DateRange
from jobs.lake.files import open_file
from jobs.sources.logs.dates import NO_DATE
from jobs.sources.logs.entries import LogCounts, LogEntry, Unreadable
from jobs.sources.logs.file_bytes import (
    RANGE_BYTES,
    WHOLE_FILE,
    Blocks,
    ByteRange,
    byte_ranges,
    is_compressed,
)
from jobs.sources.logs.files import read_log
from jobs.sources.rows import (
    BYTES_PER_BATCH,
    COUNTS,
    LEAST_STEP_MS,
    MOST_TASKS,
    ROWS_PER_BATCH,
    UNDERSTANDING,
    day_of,
)

FILES_LIKE = "*.log*"
_FIRST_LINE_LIMIT = 1 << 16
# A first line that many files share: the comment of the journal, or the beginning of a document.
_COMMON_LINE = re.compile(rb'-- .*|[\s\[{]*+(?:"\w+"\s*:\s*)?+[\s\[{]*+')
_DATE_OR_TIME = re.compile(rb"\d{4}-\d\d-\d\d|\d{10}|\d\d:\d\d:\d\d")
_MOST_PADDING = 64 << 20  # maximum number of zeros at the start of a file, before the first line

# Fields of ParsedEvent, with the same names.
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

# One row is an event, a quarantined line, or the counts of a range, which come last in the range.
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
        ("length", pa.int64()),
        *COUNTS,
        *UNDERSTANDING,
        ("start_ups", pa.string()),  # settings of each broker, as JSON
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
    ids: Mapping[str, str],
    range_bytes: int = RANGE_BYTES,
    since_ms: int | None = None,
) -> DataFrame:
    """ROWS of all ``files``, one task per range.  ``timezone`` is the zone of the brokers' clocks.
    ``ids`` are by path, as in `log_rows`; ``since_ms``: likewise.
    """

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.to_pylist():
                within = ByteRange(task["start"], task["end"])
                yield from log_rows(
                    task["file"], timezone, dates, within, task["file_id"], since_ms
                )

    tasks = [
        (file, each.start, each.end, ids.get(file))
        for file, each in ranges_of_files(files, range_bytes)
    ]
    frame = spark.createDataFrame(tasks, "file string, start long, end long, file_id string")
    spread = frame.repartition(min(len(tasks), MOST_TASKS), "file", "start")
    return spread.mapInArrow(read, from_arrow_schema(ROWS))


def ranges_of_files(
    files: list[str], range_bytes: int = RANGE_BYTES
) -> list[tuple[str, ByteRange]]:
    """The ranges of all files, of at most ``range_bytes`` bytes; a file that cannot be split is one
    range.
    """
    # Each file of an object store costs a request, so send several at once.
    with ThreadPoolExecutor() as pool:
        of_files = pool.map(lambda file: _ranges_of(file, range_bytes), files)
        return [
            (file, each) for file, of_file in zip(files, of_files, strict=True) for each in of_file
        ]


def _ranges_of(file: str, range_bytes: int) -> list[ByteRange]:
    try:
        with open_file(file) as stream:
            return byte_ranges(stream, range_bytes)
    except OSError:  # The task that reads the file reports the error.
        return [WHOLE_FILE]


def log_rows(
    path: str,
    timezone: str,
    dates: DateRange,
    within: ByteRange = WHOLE_FILE,
    file_id: str | None = None,
    since_ms: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file, or one of its ranges, in bounded memory.

    ``file_id`` is the id of the log; None means the id of its first line.  ``since_ms``: see
    `logs.dates.dates_of`.
    """
    with open_file(path) as stream:
        file_id = file_id or first_line_hash(stream)
        size = stream.seek(0, 2)
        log = _Log(
            path=path,
            file_id=file_id,
            size=size,
            timezone=timezone,
            dates=dates,
            within=within,
            since_ms=since_ms,
        )
        for item in read_log(
            stream, file=path, timezone=timezone, within=within, since_ms=since_ms
        ):
            log.add(item)
            if log.is_full:
                yield log.take()
    yield log.take()


def first_line_hash(stream: BinaryIO) -> str:
    """Sixteen hex digits that identify the log; rewinds the stream."""
    is_packed = is_compressed(stream.read(4))
    beginning = _after_padding(stream) if is_packed else b""
    if not beginning:  # the file is not compressed, or is damaged from its first byte on
        stream.seek(_padding(stream))
        beginning = stream.read(_FIRST_LINE_LIMIT)
    stream.seek(0)
    return hashlib.sha256(_first_line(beginning).rstrip(b"\r\n")).hexdigest()[:16]


def _after_padding(stream: BinaryIO) -> bytes:
    """The beginning of a compressed file without the zeros that `_padding` skips."""
    text, blocks = bytearray(), Blocks(stream)
    for block in blocks:
        text += block if text else block.lstrip(b"\0")
        if len(text) >= _FIRST_LINE_LIMIT or blocks.position > _MOST_PADDING:
            break
    return bytes(text[:_FIRST_LINE_LIMIT])


def _first_line(beginning: bytes) -> bytes:
    """The first line; for files that share their first line, the lines up to the first date."""
    first = beginning[: beginning.find(b"\n") + 1] or beginning
    if not _COMMON_LINE.fullmatch(first.rstrip(b"\r\n")):
        return first
    dated = _DATE_OR_TIME.search(beginning, len(first))
    end = beginning.find(b"\n", dated.end()) if dated else -1
    return beginning if end < 0 else beginning[:end]


def _padding(stream: BinaryIO) -> int:
    """The zeros at the start of a file, such as a log that was truncated while the broker wrote."""
    stream.seek(0)
    if stream.read(1) != b"\0":
        return 0
    try:
        start = stream.seek(0, os.SEEK_DATA)
    # The file is one hole, is in an object store, or is on macOS.
    except (OSError, ValueError, AttributeError):
        start = 0
    stream.seek(start)
    end = start + _MOST_PADDING
    while (block := stream.read(1 << 20)) and start < end:
        rest = block.lstrip(b"\0")
        start += len(block) - len(rest)
        if rest:
            break
    return start


@dataclass(slots=True)
class _Source:
    """The state of the lines of one source, or of all lines of a file without sources."""

    broker_id: int | None = None
    time_ms: int = 0
    # Events before the first line that names the broker.
    waiting: list[Row] = field(default_factory=list)


class _Log:
    """The rows of a range; a line without a broker id takes the id of the neighboring lines of its
    source.
    """

    def __init__(
        self,
        *,
        path: str,
        file_id: str,
        size: int,
        timezone: str,
        dates: DateRange,
        within: ByteRange,
        since_ms: int | None,
    ) -> None:
        self._path = path
        self._file_id = file_id
        self._bytes = (size if within.end is None else within.end) - within.start
        self._timezone = timezone
        self._dates = dates
        self._within = within
        self._since_ms = since_ms
        self._rows: list[Row] = []
        self._row_bytes = 0  # of quarantined lines
        self._sources: defaultdict[str | None, _Source] = defaultdict(_Source)
        self._day: int | None = None
        self._is_wanted = False  # of the day
        self._kept_by_date: Counter[int] = Counter()
        self._undated = self._steps_back = 0
        self._unkept = 0  # Entries that are not kept, or that cannot become a row.

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= ROWS_PER_BATCH or self._row_bytes >= BYTES_PER_BATCH

    def take(self) -> pa.RecordBatch:
        """The rows since the last call."""
        try:
            batch = _batch(self._rows)
        except Exception:
            self._quarantine_rows_without_a_type()
            batch = _batch(self._rows)
        self._rows, self._row_bytes = [], 0
        return batch

    def _quarantine_rows_without_a_type(self) -> None:
        rows, self._rows = self._rows, []
        for row in rows:
            try:
                _batch([row])
            except Exception as error:
                self._kept_by_date[day_of(row[_PLACES["event_time"]] // 1000)] -= 1
                self._quarantine_entry(row[_PLACES["position"]], row[_PLACES["line"]], error)
            else:
                self._rows.append(row)

    def _quarantine_entry(self, position: int, text: str, error: Exception) -> None:
        self._unkept += 1
        self._quarantine(position, internal_error(error), text.encode("utf-8", "surrogateescape"))

    def add(self, item: LogEntry | Unreadable | LogCounts) -> None:
        if isinstance(item, LogEntry):
            try:
                self._add_event(item)
            except OSError:  # The error occurred while reading the file for its neighbors.
                raise
            except Exception as error:
                self._quarantine_entry(item.position, item.text, error)
        elif isinstance(item, Unreadable):
            self._quarantine(item.position, item.reason, item.bytes, item.length)
        else:
            self._add_counts(item)

    def _add_event(self, entry: LogEntry) -> None:
        source = self._sources[entry.source]
        if entry.time_ms is None:
            self._unkept += 1
            self._undated += 1
            self._quarantine(entry.position, entry.undated or NO_DATE, entry.text.encode())
            return
        self._steps_back += entry.time_ms < source.time_ms - LEAST_STEP_MS
        source.time_ms = entry.time_ms
        day = day_of(entry.time_ms)
        if day != self._day:
            self._day, self._is_wanted = day, self._dates.has(day)
        if not self._is_wanted:
            self._kept_by_date[day] += 1
            return
        broker_id = entry.line.broker_id
        if broker_id is not None and broker_id != source.broker_id:
            self._release(source, broker_id)
        row = self._event_row(entry, entry.time_ms, source.broker_id)
        self._kept_by_date[day] += 1
        if source.broker_id is not None:
            self._rows.append(row)
            return
        source.waiting.append(row)
        most_waiting = ROWS_PER_BATCH // len(self._sources)
        if self._within.start > 0 or len(source.waiting) >= most_waiting:
            self._release(source, self._neighbors_broker_id(entry.source))

    def _event_row(self, entry: LogEntry, time_ms: int, broker_id: int | None) -> Row:
        line = entry.line
        event = line.event
        assert event is not None  # read_log returns Unreadable for lines of unknown wording.
        return (
            "event",
            self._path,
            self._file_id,
            entry.position,
            broker_id,
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

    def _release(self, source: _Source, broker_id: int) -> None:
        """From here on lines, and the lines that wait for a broker, belong to this broker."""
        source.broker_id = broker_id
        self._rows += [_with_broker_id(row, broker_id) for row in source.waiting]
        source.waiting.clear()

    def _neighbors_broker_id(self, name: str | None) -> int:
        position = self._sources[name].waiting[0][_PLACES["position"]]
        return broker_id_around(
            self._path, self._timezone, self._dates, position, name, self._since_ms
        )

    def _quarantine(
        self, position: int, reason: str, raw: bytes, length: int | None = None
    ) -> None:
        self._row_bytes += len(raw)
        self._add(
            kind="quarantined",
            position=position,
            reason_unreadable=reason,
            raw=raw,
            length=len(raw) if length is None else length,
        )

    def _add_counts(self, counts: LogCounts) -> None:
        is_whole = self._within.end is None
        for name, source in self._sources.items():
            if source.waiting:
                broker_id = _NO_BROKER_ID if is_whole else self._neighbors_broker_id(name)
                self._release(source, broker_id)
        try:
            _batch(self._rows)
        except Exception:
            self._quarantine_rows_without_a_type()  # This handles entries before they are counted.
        counts.start_ups.finish()
        start_ups = counts.start_ups.of_brokers
        self._add(
            kind="file",
            position=self._within.start,
            bytes=self._bytes,
            inputs=counts.lines,
            kept_by_date=sorted(self._kept_by_date.items()),
            quarantined=counts.unreadable + self._unkept,
            skipped=counts.skipped + counts.continuations,
            not_understood=counts.not_understood,
            undated=self._undated,
            steps_back=self._steps_back,
            examples="\n".join(counts.examples) or None,
            software="\n".join(sorted(counts.software)) or None,
            start_ups=json.dumps(start_ups) if start_ups else None,
        )

    def _add(self, **fields: Any) -> None:
        row: list[Any] = [None] * len(ROWS)
        for name, value in (fields | {"path": self._path, "file_id": self._file_id}).items():
            row[_PLACES[name]] = value
        self._rows.append(tuple(row))


def _batch(rows: list[Row]) -> pa.RecordBatch:
    values = zip(*rows, strict=True) if rows else ([] for _ in ROWS)
    columns = [pa.array(column, f.type) for column, f in zip(values, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)


def _with_broker_id(row: Row, broker_id: int) -> Row:
    return (*row[:_BROKER_ID], broker_id, *row[_BROKER_ID + 1 :])


def broker_id_around(
    path: str,
    timezone: str,
    dates: DateRange,
    position: int,
    source: str | None = None,
    since_ms: int | None = None,
) -> int:
    """The broker of the last line before a position that names it, else of the first line after.

    Lines of other sources and dates do not count.  -1 if no line names the broker.
    """
    before = _NO_BROKER_ID
    with open_file(path) as stream:
        for item in read_log(stream, file=path, timezone=timezone, since_ms=since_ms):
            if not isinstance(item, LogEntry) or item.line.broker_id is None:
                continue
            if item.source != source:
                continue
            if item.time_ms is None or not dates.has(day_of(item.time_ms)):
                continue
            if item.position > position:
                return item.line.broker_id if before == _NO_BROKER_ID else before
            before = item.line.broker_id
    return before
