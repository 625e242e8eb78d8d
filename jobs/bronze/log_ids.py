"""The ids of log files: copies of one log have the same id, and different logs have different ids.

A log's id is the id of its first line, so the id stays the same when the file grows, is rolled,
renamed or compressed.  Another log with an equal beginning gets another id.  ingested_files has
digests of the copies that were read.  Files that earlier versions ingested have no digests; a file
is a copy of such a log if it has the stored lines at the stored positions.

A file that is byte-equal to a log, as far as the log was read, is a copy of the log.  If the two
files differ later, the file at the last read path stays the log with this id.  The other file
becomes a log of its own, with all its lines.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, count, takewhile
from typing import Any, BinaryIO

import pyarrow as pa
from pyspark.sql import functions as F

from jobs.bronze.counts import TABLE
from jobs.lake.tables import Lake, schema_of
from jobs.sources.logs.copies import LogFile, is_same_log, kept, length_of, lengths_of_texts

# Number of events at the end of a file that are compared with stored rows; up to twice as many
# events from the whole file are also compared.
_SAMPLED = 16
# One query compares this many pairs of a file and a log.
_COMPARED_AT_ONCE = 50


@dataclass(frozen=True)
class LogSource:
    """A kind of log.

    ``name`` is its source in ingested_files.  ``table`` is the table of its events.
    ``beginning_id`` returns the id of a stream's first line.  ``rows`` reads the rows of a path,
    of all dates.
    """

    name: str
    table: str
    beginning_id: Callable[[BinaryIO], str]
    rows: Callable[[str], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class LogIds:
    """``of_paths`` has the id of each readable file. ``copies`` are digests to store, by id."""

    of_paths: dict[str, str]
    copies: dict[str, list[str]]


@dataclass(eq=False)
class _Log:
    """``path`` and ``copies`` are from earlier runs, if ``is_stored``.  ``files`` are read in this
    run.
    """

    file_id: str
    path: str | None = None
    copies: list[str] = field(default_factory=list)
    is_stored: bool = False
    files: list[LogFile] = field(default_factory=list)

    def digests(self) -> list[str]:
        return kept([*self.copies, *(each.whole for each in self.files)])


_Pair = tuple[LogFile, _Log]


@dataclass
class _Alike:
    """Files with an equal beginning.

    ``logs`` are the logs with this beginning; the logs of earlier runs come first.  ``verdicts``
    say whether the file is a copy of the log, by file and log of an earlier run, or None if
    undecided.
    """

    files: list[LogFile]
    logs: list[_Log]
    verdicts: dict[_Pair, bool | None]


def log_ids(lake: Lake, source: LogSource, paths: list[str]) -> LogIds:
    """The ids of all files.

    New ids are stored before any row has them, so that neither a killed run nor another run gives
    the same id to another log.
    """
    with lake.lock(f"log ids {lake.cluster_id}"):
        return _stored_ids(lake, source, paths)


def _stored_ids(lake: Lake, source: LogSource, paths: list[str]) -> LogIds:
    groups = _groups(lake, source, paths)
    unknown = [
        pair for each in groups for pair, is_copy in each.verdicts.items() if is_copy is None
    ]
    agreeing = _agreeing(lake, source, unknown)
    for each in groups:
        _place(source, each, agreeing)
    logs = [log for each in groups for log in each.logs if log.files]
    new = [_without_counts(lake, source, log) for log in logs if not log.is_stored]
    if new:
        lake.upsert(TABLE, lake.frame(TABLE, new), if_="n.inputs >= t.inputs", few=True)
    return LogIds(
        {file.path: log.file_id for log in logs for file in log.files},
        {log.file_id: log.digests() for log in logs},
    )


def _groups(lake: Lake, source: LogSource, paths: list[str]) -> list[_Alike]:
    """All files, compared with stored logs by digests."""
    # Each request to an object store takes time, so send several at once.
    with ThreadPoolExecutor() as pool:
        opened = pool.map(lambda path: _opened(source, path), paths)
        by_beginning: defaultdict[str, list[LogFile]] = defaultdict(list)
        for each in filter(None, opened):
            by_beginning[each.beginning_id].append(each)
    stored = _stored(lake, source)
    groups = []
    for beginning_id, files in by_beginning.items():
        ids = (_id(beginning_id, number) for number in count(1))
        logs = [stored[each] for each in takewhile(stored.__contains__, ids)]
        if not logs and len(files) > 1 and lake.has(source.table):
            # The rows may be from a run that was killed before it counted them.
            logs = [_Log(beginning_id)]
        verdicts = {}
        for each in files:
            own_log = _unchanged_or_grown(each, logs)
            for log in logs:
                verdicts[each, log] = log is own_log if own_log else _continues(each, log)
        groups.append(_Alike(files, logs, verdicts))
    return groups


def _unchanged_or_grown(file: LogFile, logs: list[_Log]) -> _Log | None:
    """The log of a file if one comparison decides, as for most files."""
    at_path = [log for log in logs if log.path == file.path]
    unchanged = (log for log in [*at_path, *logs] if file.whole in log.copies)
    grown = (log for log in at_path if _continues(file, log))
    return next(chain(unchanged, grown), None)


def _opened(source: LogSource, path: str) -> LogFile | None:
    try:
        return LogFile(path, source.beginning_id)
    except OSError:  # The task that reads the file reports the error.
        return None


def _stored(lake: Lake, source: LogSource) -> dict[str, _Log]:
    rows = lake.read(TABLE).where(F.col("source") == source.name).select("file", "path", "copies")
    return {
        row.file: _Log(row.file, row.path, list(row.copies or ()), is_stored=True)
        for row in rows.collect()
    }


def _id(beginning_id: str, number: int) -> str:
    """The id of the first, second, ... log with this beginning."""
    if number == 1:
        return beginning_id
    return hashlib.sha256(f"{beginning_id} {number}".encode()).hexdigest()[:16]


def _continues(file: LogFile, log: _Log) -> bool | None:
    """Returns whether the file is the log and at least as long. Returns None if digests cannot
    decide.
    """
    lengths = lengths_of_texts(log.copies)
    longest = file.longest_digest(lengths)
    if longest is None:
        return None
    if longest not in log.copies:
        return None if file.is_document else False
    return True if length_of(longest) == lengths[-1] else None


def _place(source: LogSource, alike: _Alike, agreeing: set[_Pair]) -> None:
    """Add each file to the first log that it is a copy of, or to a new one."""
    files, logs, verdicts = alike.files, alike.logs, alike.verdicts
    earlier, paths = list(logs), {log.path for log in logs}
    if len(files) > 1:
        files = sorted(files, key=lambda each: (each.path not in paths, -each.length, each.path))
    for each in files:
        own = [log for log in earlier if verdicts[each, log] or (each, log) in agreeing]
        own.sort(key=lambda log: log.path != each.path)
        new = [log for log in logs if log not in earlier]
        log = next((log for log in [*own, *new] if _fits(source, each, log)), None)
        if log is None:
            log = _Log(_id(each.beginning_id, len(logs) + 1))
            logs.append(log)
        log.files.append(each)


def _fits(source: LogSource, file: LogFile, log: _Log) -> bool:
    """Returns whether the file is a copy of this run's files of the log."""
    if not log.files:
        return True
    longest = max(log.files, key=lambda each: each.length)
    if is_same_log(file, longest):
        return True
    return file.is_document and longest.is_document and _is_same_document(source, file, longest)


def _is_same_document(source: LogSource, one: LogFile, other: LogFile) -> bool:
    """Returns whether the records of one export begin with the records of the other export; only
    their ends may differ.
    """
    ours, others = ({e[0]: e[2] for e in _events(source, file)} for file in (one, other))
    end = min(max(ours, default=-1), max(others, default=-1))
    positions = {position for position in ours.keys() | others.keys() if position <= end}
    return bool(positions) and all(ours.get(p) == others.get(p) for p in positions)


def _agreeing(lake: Lake, source: LogSource, pairs: list[_Pair]) -> set[_Pair]:
    """The pairs whose file has the stored lines of the log, as far as both the file and the stored
    lines reach.

    Lines are compared at sampled positions, on dates that were stored.
    """
    agreeing = set()
    for first in range(0, len(pairs), _COMPARED_AT_ONCE):
        some = pairs[first : first + _COMPARED_AT_ONCE]
        ids = sorted({log.file_id for _, log in some})
        rows = lake.read(source.table).where(F.col("file_id").isin(ids))
        ends = rows.groupBy("file_id").agg(
            F.max("position").alias("end"), F.collect_set("event_date").alias("dates")
        )
        extents = {row.file_id: (row.end, set(row.dates)) for row in ends.collect()}
        samples = {
            (file, log): _sample(_events(source, file), *extents.get(log.file_id, (-1, set())))
            for file, log in some
        }
        positions = sorted({position for sample in samples.values() for position in sample})
        lines = rows.where(F.col("position").isin(positions))
        stored = {
            (row.file_id, row.position): row.line
            for row in lines.select("file_id", "position", "line").collect()
        }
        agreeing |= {
            (file, log)
            for (file, log), sample in samples.items()
            if all(stored.get((log.file_id, place)) == line for place, line in sample.items())
        }
    return agreeing


def _sample(events: Iterable[tuple[int, date, str]], end: int, dates: set[date]) -> dict[int, str]:
    """Line by position, of the last events up to ``end`` and of some before."""
    spread: list[tuple[int, str]] = []
    last: deque[tuple[int, str]] = deque(maxlen=_SAMPLED)
    step, number = 1, 0
    for position, day, line in events:
        if position > end or day not in dates:
            continue
        last.append((position, line))
        if number % step == 0:
            spread.append((position, line))
            if len(spread) > 2 * _SAMPLED:
                spread, step = spread[::2], 2 * step
        number += 1
    return dict([*spread, *last])


def _events(source: LogSource, file: LogFile) -> Iterator[tuple[int, date, str]]:
    """Position, date and line of each event, in order of lines."""
    for batch in source.rows(file.path):
        for kind, position, time, line in zip(
            *(
                batch.column(name).to_pylist()
                for name in ("kind", "position", "event_time", "line")
            ),
            strict=True,
        ):
            if kind == "event":
                yield position, time.date(), line


def _without_counts(lake: Lake, source: LogSource, log: _Log) -> list[Any]:
    """The row of ingested_files of a log whose lines are not stored yet."""
    values = {
        "cluster_id": lake.cluster_id,
        "source": source.name,
        "file": log.file_id,
        "path": log.files[0].path,
        "kept_by_date": {},
        "copies": log.digests(),
    } | dict.fromkeys(("bytes", "inputs", "quarantined", "skipped", "unreadable_bytes"), 0)
    return [values.get(name) for name in schema_of(TABLE).names]
