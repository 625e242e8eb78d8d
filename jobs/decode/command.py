"""``regroup decode``: segment files of ``__consumer_offsets`` as JSON Lines, one line per record.

reads   segment files
writes  JSON Lines to a text stream; see `decode`
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from binascii import b2a_base64
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from coordinator_core.records import BadRecord
from coordinator_core.records import decode as decode_record
from jobs.decode.commit_lines import CommitLines
from jobs.segments import BadBatch, EndMarkers, Quarantined, not_a_segment, partition_of
from jobs.segments.columns import Columns
from jobs.segments.control import control_type
from jobs.segments.extents import Extent, extents, stretch_at
from jobs.segments.frames import Frame, FrameGap, Run, frames
from jobs.segments.pieces import pieces_of, stretches
from jobs.segments.reader import quarantined, read_batch, view_of
from jobs.segments.record_batch import CONTROL, TRANSACTIONAL, read_header

Line = dict[str, Any]
Text = str | bytes | memoryview

# minimum bytes for which workers are used; for fewer bytes, forking takes longer than it saves
SIZE_FOR_WORKERS = 16 << 20
MOST_WORKERS = 8  # more workers would wait for this process, which finds the frames
MOST_OPEN = 100  # files

_SEGMENT_NAME = re.compile(r"\d{20}\.log")


class Segment(NamedTuple):
    """A segment file. Segments sort by partition, folder and offset."""

    partition: int
    folder: str
    name: str

    @property
    def log(self) -> tuple[int, str]:
        return self.partition, self.folder

    @property
    def path(self) -> str:
        return str(Path(self.folder, self.name))


class Position(NamedTuple):
    """The place of a record: ``position`` is the byte position of its batch."""

    partition: int
    file: str
    position: int


class BadPath(ValueError):
    """A path without segments, or a segment without a partition in its path."""


def decode(paths: list[str], out: TextIO) -> int:
    """Writes every record, marker and quarantined byte range; returns the exit code.

    A record's line has ``partition``, ``offset``, ``timestamp``, ``key`` and ``value`` in base64
    (value null for a tombstone), ``type`` and ``decoded``; a transactional record's also has
    ``transactional`` and ``committed`` (null if no end marker follows). A control record's has
    ``control``. An unreadable range's has ``quarantined`` (the reason), file and byte position.
    """
    try:
        segments = segments_of(paths)
    except BadPath as error:
        print(f"regroup decode: {error}", file=sys.stderr)
        return 2
    write = writer(out)
    with closing(texts(segments)) as lines:
        for text in lines:
            write(text)
    return 0


def writer(out: TextIO) -> Callable[[Text], object]:
    """A function that writes text, or ASCII bytes without decoding them."""
    raw = getattr(out, "buffer", None)
    if raw is None:
        return lambda text: out.write(text if isinstance(text, str) else str(text, "ascii"))
    out.flush()
    return lambda text: raw.write(as_bytes(text))


def as_bytes(text: Text) -> bytes | memoryview:
    return text.encode("ascii") if isinstance(text, str) else text


def segments_of(paths: Iterable[str]) -> list[Segment]:
    """Files in the order of ``paths``; a folder's segments in order of partition and offset.

    Raises BadPath.
    """
    return [segment for path in paths for match in _matches(path) for segment in _below(match)]


def _matches(path: str) -> list[str]:
    """The path, or what a glob matches; a glob may also match the indexes beside segments."""
    matches = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))
    if not matches:
        raise BadPath(f"{path}: no such file or folder, and no file matches it")
    segments = [each for each in matches if not_a_segment(each) is None]
    if not segments:
        raise BadPath(f"{path}: {not_a_segment(matches[0])}; give the .log file")
    return segments


def _below(path: str) -> list[Segment]:
    if not Path(path).is_dir():
        return [_segment(path)]
    names = (str(file) for file in Path(path).rglob("*.log") if _SEGMENT_NAME.fullmatch(file.name))
    segments = []
    for name in names:
        try:
            segments.append(_segment(name))
        except BadPath:  # The path is a segment of another topic in a broker's data folder.
            continue
    if not segments:
        raise BadPath(f"{path}: no segment of __consumer_offsets below this folder")
    return sorted(segments)


def _segment(path: str) -> Segment:
    try:
        partition = partition_of(Path(path).absolute())
    except ValueError as error:
        raise BadPath(str(error)) from None
    return Segment(partition, str(Path(path).parent), Path(path).name)


# Texts ----------------------------------------------------------------------------------------


def texts(segments: list[Segment]) -> Generator[Text, None, None]:
    """All lines of the segments in order; an item has one or more lines.

    The caller closes the generator.
    """
    logs = {
        log: DecodedLog([segment for segment in segments if segment.log == log])
        for log in {segment.log for segment in segments}
    }
    for first in range(0, len(segments), MOST_OPEN):
        files = [
            File(logs[segment.log], segment.path, view_of_file(segment.path))
            for segment in segments[first : first + MOST_OPEN]
        ]
        workers = workers_for(sum(len(file.view) for file in files))
        yield from texts_in_workers(files, workers) if workers > 1 else texts_in_this_process(files)


def workers_for(size: int) -> int:
    """The number of processes to fork for ``size`` bytes; 1 means no fork."""
    if size < SIZE_FOR_WORKERS or not hasattr(os, "sched_getaffinity"):
        return 1
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS)


class File(NamedTuple):
    """An open segment."""

    log: DecodedLog
    path: str
    view: memoryview

    def texts(self, stretch: Run | FrameGap) -> Iterator[Text]:
        return self.log.texts(self.view, self.path, stretch)


def texts_in_this_process(files: list[File]) -> Iterator[Text]:
    for file in files:
        for stretch in stretches(file.view):
            yield from file.texts(stretch)


def texts_in_workers(files: list[File], workers: int) -> Iterator[Text]:
    """This process finds the batches, and the workers read them.

    Workers are forked with the files open, because a broker may replace a file at any time.
    """
    from jobs.decode.in_workers import in_workers

    def work(task: tuple[int, list[Extent]]) -> Iterator[bytes | memoryview]:
        number, file_extents = task
        file = files[number]
        for extent in file_extents:
            yield from map(as_bytes, file.texts(stretch_at(file.view, extent)))

    tasks = ((number, each) for number, file in enumerate(files) for each in extents(file.view))
    with closing(in_workers(work, tasks, workers)) as results:
        yield from results


class DecodedLog:
    """The segments of one partition in one folder, and their lines."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._partition = segments[0].partition
        self._markers: EndMarkers | None = None
        self._commits = CommitLines(self._sample_line)

    def texts(self, view: memoryview, path: str, stretch: Run | FrameGap) -> Iterator[Text]:
        """The lines of a run or gap, one or many per item."""
        if isinstance(stretch, FrameGap):
            for item in quarantined(view, stretch, file=path):
                yield text_of(quarantined_line(item))
            return
        for piece in pieces_of(view, stretch):
            if isinstance(piece, Frame):
                yield from map(text_of, self.batch_lines(view, path, piece))
            else:
                yield from self._column_texts(piece, path)

    def batch_lines(self, view: memoryview, path: str, frame: Frame) -> Iterator[Line]:
        """The reference: one batch, record by record."""
        try:
            batch = read_batch(view, frame, partition=self._partition, file=path)
        except BadBatch as error:
            gap = FrameGap(frame.position, frame.size, str(error))
            yield from map(quarantined_line, quarantined(view, gap, file=path))
            return
        at = Position(self._partition, path, frame.position)
        transaction = {}
        if batch.is_transactional:
            transaction = self._transaction(batch.producer_id, batch.base_offset)
        for record in zip(batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True):
            if batch.control is None:
                yield record_line(at, *record) | transaction
            else:
                yield control_line(at, *record, batch.producer_id, batch.producer_epoch)

    def _column_texts(self, columns: Columns, path: str) -> Iterator[Text]:
        transactions, of_batch = self._transactions(columns)
        endings = [line_end(transaction) for transaction in transactions]
        rows, lines = self._commits.lines(columns, endings, of_batch)
        bounds = np.zeros(1, np.int32)
        text = memoryview(b"")
        if len(rows):
            bounds = np.frombuffer(lines.buffers()[1], np.int32)
            text = memoryview(lines.buffers()[2])
        others = np.delete(np.arange(len(columns.offsets)), rows)
        done = 0
        for row, upto in zip(others.tolist(), np.searchsorted(rows, others).tolist(), strict=True):
            if upto > done:
                yield text[bounds[done] : bounds[upto]]
                done = upto
            transaction = transactions[of_batch[columns.batch[row]]]
            tombstone = None if transaction else self._tombstone(columns, row)
            yield tombstone or text_of(self._row_line(columns, path, row, transaction))
        yield text[bounds[done] : bounds[len(rows)]]

    def _tombstone(self, columns: Columns, row: int) -> str | None:
        key = columns.key(row)
        if columns.value_length[row] >= 0 or key is None:
            return None
        if columns.headers["attributes"][columns.batch[row]] & CONTROL:
            return None
        return self._commits.tombstone(key, columns.offsets[row], columns.timestamps[row])

    def _row_line(self, columns: Columns, path: str, row: int, transaction: Line) -> Line:
        index = columns.batch[row]
        header = columns.headers[index]
        at = Position(self._partition, path, int(columns.positions[index]))
        offset, timestamp = int(columns.offsets[row]), int(columns.timestamps[row])
        record = offset, timestamp, columns.key(row), columns.value(row)
        if header["attributes"] & CONTROL:
            producer_id, producer_epoch = int(header["producer_id"]), int(header["producer_epoch"])
            return control_line(at, *record, producer_id, producer_epoch)
        return record_line(at, *record) | transaction

    def _transactions(self, columns: Columns) -> tuple[list[Line], np.ndarray]:
        """The distinct transaction fields of the batches, and the index of each batch's fields."""
        of_batch = np.zeros(len(columns.headers), np.int64)
        distinct: list[Line] = [{}]
        for index in np.flatnonzero(columns.headers["attributes"] & TRANSACTIONAL).tolist():
            header = columns.headers[index]
            line = self._transaction(int(header["producer_id"]), int(header["base_offset"]))
            if line not in distinct:
                distinct.append(line)
            of_batch[index] = distinct.index(line)
        return distinct, of_batch

    def _transaction(self, producer_id: int, offset: int) -> Line:
        # Read the markers lazily: few logs have markers, and reading them reads all segments.
        if self._markers is None:
            self._markers = end_markers(self._segments)
        return {"transactional": True, "committed": self._markers.committed(producer_id, offset)}

    def _sample_line(self, offset: int, timestamp: int, key: bytes, value: bytes | None) -> str:
        return text_of(record_line(Position(self._partition, "", 0), offset, timestamp, key, value))


def end_markers(segments: list[Segment]) -> EndMarkers:
    markers = EndMarkers()
    for segment in segments:
        view = view_of_file(segment.path)
        for frame in frames(view):
            if isinstance(frame, Frame) and is_control(view, frame):
                _add_marker(markers, view, frame, segment)
    return markers


def _add_marker(markers: EndMarkers, view: memoryview, frame: Frame, segment: Segment) -> None:
    try:
        batch = read_batch(view, frame, partition=segment.partition, file=segment.path)
    except BadBatch:  # `batch_lines` quarantines it
        return
    markers.add(batch.producer_id, batch.base_offset, str(batch.control))


def is_control(view: memoryview, frame: Frame) -> bool:
    return frame.magic == 2 and bool(read_header(view, frame.position).attributes & CONTROL)


def view_of_file(path: str) -> memoryview:
    with open(path, "rb") as file:
        return view_of(file)


# Lines ----------------------------------------------------------------------------------------


def text_of(line: Line) -> str:
    return _encode(line) + "\n"


def line_end(transaction: Line) -> str:
    """The end of a record's line with the fields of its transaction."""
    return text_of(transaction).replace("{", ",") if transaction else "}\n"


def quarantined_line(item: Quarantined) -> Line:
    return {
        "quarantined": item.reason,
        "file": item.file,
        "position": item.position,
        "length": item.length,
        "bytes": base64(item.data),
    }


def control_line(
    at: Position,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    producer_id: int,
    producer_epoch: int,
) -> Line:
    return {
        "partition": at.partition,
        "offset": offset,
        "timestamp": timestamp,
        "control": control_type([key]),
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
    }


def record_line(
    at: Position, offset: int, timestamp: int, key: bytes | None, value: bytes | None
) -> Line:
    """A record with its decoded content, or with the reason why it is unreadable."""
    line = {
        "partition": at.partition,
        "offset": offset,
        "timestamp": timestamp,
        "key": base64(key),
        "value": base64(value),
    }
    try:
        record = decode_record(key, value)
    except BadRecord as error:
        return {"quarantined": str(error), "file": at.file, "position": at.position} | line
    decoded = {"key": record.key, "version": record.version, "value": record.value}
    return line | {"type": record.name, "decoded": decoded}


def base64(data: bytes | None) -> str | None:
    return None if data is None else b2a_base64(data, newline=False).decode("ascii")


# Bytes are encoded in base64; lines have no cycles.
_encode = json.JSONEncoder(separators=(",", ":"), default=base64, check_circular=False).encode
