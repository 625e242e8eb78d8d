"""Source `end_offsets`: files with log end offsets -> rows of end_offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from jobs.console.errors import UsageError
from jobs.lake.dates import DateRange
from jobs.lake.files import open_file
from jobs.sources.end_offsets.reader import Unit, file_id_of, units
from jobs.sources.end_offsets.sightings import NO_TIME, Sighting
from jobs.sources.logs.file_bytes import KEPT_OF_LINE, beginning_of
from jobs.sources.logs.kinds import kind_of_dump
from jobs.sources.rows import (
    COUNTS,
    RowBuffer,
    SourceRows,
    counts_of_files,
    day_of,
    rows_of_files,
)

FILES_LIKE = "*"
GIVE = "give lines of JSON with time, topic, partition and log_end_offset, or see docs/sources.md"
_SNIFFED_BYTES = 4 << 20

# One row is a sighting, an unreadable line or document, or the file's counts, which come last in
# the file.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("file_id", pa.string()),
        ("position", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("log_end_offset", pa.int64()),
        ("seen_time", pa.timestamp("us", tz="UTC")),
        ("format", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
        ("length", pa.int64()),
        *COUNTS,
    ]
)


def end_offsets_source(files: list[str], timezone: str, dates: DateRange) -> SourceRows:
    """ROWS of all ``files``.  ``timezone`` applies to dates without a zone."""

    def rows(path: str) -> Iterator[pa.RecordBatch]:
        return end_offset_rows(path, timezone, dates)

    return SourceRows(
        ROWS,
        counts_of_files,
        lambda spark: rows_of_files(spark, files, rows, ROWS),
        lambda _: chain.from_iterable(map(rows, files)),
        files=files,
    )


def end_offset_rows(path: str, timezone: str, dates: DateRange) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file, in bounded memory."""
    buffer = RowBuffer(ROWS)
    with open_file(path) as stream:
        common = {"path": path, "file_id": file_id_of(stream, timezone)}
        size = stream.seek(0, 2)
        stream.seek(0)
        file = _File(dates)
        for row in chain(file.rows(units(stream, timezone)), [{"kind": "file", "bytes": size}]):
            if row["kind"] == "file":
                row |= file.counts()
            buffer.add(row | common)
            if buffer.is_full:
                yield buffer.take()
    yield buffer.take()


class _Seen(NamedTuple):
    """A sighting; ``position`` is its number in the file."""

    position: int
    format: str
    sighting: Sighting

    @property
    def day(self) -> int:
        return day_of(self.sighting.time_ms)

    def goes_on(self, later: _Seen) -> bool:
        """Returns whether a later sighting of the partition is of the same offset on the same
        date.
        """
        is_same = self.sighting.offset == later.sighting.offset and self.day == later.day
        return is_same and self.sighting.time_ms <= later.sighting.time_ms


class _File:
    """Counts each sighting once, as kept on its date or as skipped, and each unreadable unit."""

    def __init__(self, dates: DateRange) -> None:
        self._range = dates
        # By topic and partition: the last sighting, and whether this sighting is kept.
        self._last: dict[tuple[str, int], tuple[_Seen, bool]] = {}
        self._seen = self._quarantined = self._others = 0
        self._kept_by_date: Counter[int] = Counter()

    def rows(self, units_of_file: Iterator[Unit]) -> Iterator[dict[str, Any]]:
        for unit in units_of_file:
            self._others += unit.others
            for format_, sighting in unit.sightings:
                seen = _Seen(self._seen, format_, sighting)
                self._seen += 1
                yield from self._kept(seen)
            if unit.reasons:
                self._quarantined += 1
                yield _unreadable(unit)
        for last, is_kept in self._last.values():
            if not is_kept:
                yield from self._row(last)

    def _kept(self, seen: _Seen) -> Iterator[dict[str, Any]]:
        """The rows of the first sighting of an offset, and of the last one of the previous."""
        key = (seen.sighting.topic, seen.sighting.partition)
        last, is_kept = self._last.get(key, (None, True))
        if last is not None and last.goes_on(seen):
            if seen.sighting.time_ms > last.sighting.time_ms:
                self._last[key] = seen, False
            return
        if last is not None and not is_kept:
            yield from self._row(last)
        self._last[key] = seen, True
        yield from self._row(seen)

    def _row(self, seen: _Seen) -> Iterator[dict[str, Any]]:
        self._kept_by_date[seen.day] += 1
        if self._range.has(seen.day):
            yield {
                "kind": "event",
                "position": seen.position,
                "topic": seen.sighting.topic,
                "partition": seen.sighting.partition,
                "log_end_offset": seen.sighting.offset,
                "seen_time": seen.sighting.time_ms * 1000,
                "format": seen.format,
            }

    def counts(self) -> dict[str, Any]:
        return {
            "inputs": self._seen + self._others + self._quarantined,
            "kept_by_date": sorted(self._kept_by_date.items()),
            "quarantined": self._quarantined,
            "skipped": self._seen + self._others - self._kept_by_date.total(),
        }


def _unreadable(unit: Unit) -> dict[str, Any]:
    more = f" (and {len(unit.reasons) - 1} more)" if len(unit.reasons) > 1 else ""
    raw = unit.raw
    return {
        "kind": "quarantined",
        "position": unit.position,
        "reason": unit.reasons[0] + more,
        "raw": raw[:KEPT_OF_LINE],
        "length": len(raw) if unit.size is None else unit.size,
    }


def require_end_offsets(files: list[str], timezone: str) -> None:
    """Raises UsageError for a file whose beginning has no log end offset.  An empty file may
    grow.
    """
    for file in files:
        with open_file(file) as stream:
            problem = problem_of(stream, timezone)
        if problem is not None:
            raise UsageError(f"--end-offsets {file}: {problem}")


def problem_of(stream: BinaryIO, timezone: str) -> str | None:
    """The problem of a file that has no log end offset in its first _SNIFFED_BYTES."""
    reason, is_empty = None, True
    for unit in units(stream, timezone):
        if unit.sightings:
            return None
        is_empty = is_empty and not unit.raw.strip()
        reason = reason or next(iter(unit.reasons), None)
        if unit.position > _SNIFFED_BYTES:
            break
    if is_empty and reason is None:
        return None
    if reason == NO_TIME:
        return reason
    stream.seek(0)
    kind = kind_of_dump(beginning_of(stream, _SNIFFED_BYTES))
    return kind.sentence if kind else f"{reason or 'the file has no log end offsets'}; {GIVE}"
