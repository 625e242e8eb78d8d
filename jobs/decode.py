"""``regroup decode``: segment files of ``__consumer_offsets`` as JSON Lines, a record a line.

reads   segment files
writes  JSON Lines to a text stream; see `decode`
"""

from __future__ import annotations

import glob
import json
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from coordinator_core.records import BadRecord, jsonable
from coordinator_core.records import decode as decode_record
from jobs.segments import Batch, EndMarkers, Quarantined, partition_of, read_segment

Line = dict[str, Any]

_SEGMENT_NAME = re.compile(r"\d{20}\.log")


class Segment(NamedTuple):
    """A segment file. They sort by partition, and there by offset, folder by folder."""

    partition: int
    folder: str
    name: str

    @property
    def path(self) -> str:
        return str(Path(self.folder, self.name))


class BadPath(ValueError):
    """A path that leads to no segment, or to one whose partition cannot be told."""


def decode(paths: list[str], out: TextIO) -> int:
    """Writes every record, marker and quarantined stretch of the segments; returns the exit code.

    A record's line has ``partition``, ``offset``, ``timestamp``, ``key`` and ``value`` in base64
    (value null for a tombstone), ``type`` and ``decoded``; one of a transaction also has
    ``transactional`` and ``committed`` (null while no end marker follows). A control record's has
    ``control``. What cannot be read has ``quarantined``, the reason, with file and byte position.
    """
    try:
        segments = segments_of(paths)
    except BadPath as error:
        print(f"regroup decode: {error}", file=sys.stderr)
        return 2
    markers: dict[tuple[str, int], EndMarkers] = {}
    for segment in segments:
        add_markers(markers.setdefault((segment.folder, segment.partition), EndMarkers()), segment)
    for segment in segments:
        for line in lines_of(segment, markers[segment.folder, segment.partition]):
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
    return 0


def segments_of(paths: Iterable[str]) -> list[Segment]:
    """Files as given; of folders, the segments below in order of partition and offset.

    Raises BadPath.
    """
    return [segment for path in paths for place in _places(path) for segment in _under(place)]


def _places(path: str) -> list[str]:
    if Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise BadPath(f"{path}: no such file or folder, and no file matches it")
    return found


def _under(place: str) -> list[Segment]:
    if not Path(place).is_dir():
        return [_segment(place)]
    names = (str(path) for path in Path(place).rglob("*.log") if _SEGMENT_NAME.fullmatch(path.name))
    found = []
    for name in names:
        try:
            found.append(_segment(name))
        except BadPath:  # a broker's data folder holds other topics too
            continue
    if not found:
        raise BadPath(f"{place}: no segment of __consumer_offsets below this folder")
    return sorted(found)


def _segment(path: str) -> Segment:
    try:
        partition = partition_of(Path(path).absolute())
    except ValueError as error:
        raise BadPath(str(error)) from None
    return Segment(partition, str(Path(path).parent), Path(path).name)


def items_of(segment: Segment) -> Iterator[Batch | Quarantined]:
    with open(segment.path, "rb") as file:
        yield from read_segment(file, partition=segment.partition, file=segment.path)


def add_markers(markers: EndMarkers, segment: Segment) -> None:
    for item in items_of(segment):
        if isinstance(item, Batch) and item.control is not None:
            markers.add(item.producer_id, item.base_offset, item.control)


def lines_of(segment: Segment, markers: EndMarkers) -> Iterator[Line]:
    for item in items_of(segment):
        if isinstance(item, Quarantined):
            yield quarantined_line(item)
        elif item.control is not None:
            yield from control_lines(item)
        else:
            yield from record_lines(item, markers)


def quarantined_line(item: Quarantined) -> Line:
    return {
        "quarantined": item.reason,
        "file": item.file,
        "position": item.position,
        "length": item.length,
        "bytes": base64(item.data),
    }


def control_lines(batch: Batch) -> Iterator[Line]:
    for offset, timestamp in zip(batch.offsets, batch.timestamps, strict=True):
        yield {
            "partition": batch.partition,
            "offset": offset,
            "timestamp": timestamp,
            "control": batch.control,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
        }


def record_lines(batch: Batch, markers: EndMarkers) -> Iterator[Line]:
    transaction: Line = {}
    if batch.is_transactional:
        committed = markers.committed(batch.producer_id, batch.last_offset)
        transaction = {"transactional": True, "committed": committed}
    for offset, timestamp, key, value in zip(
        batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True
    ):
        line = {
            "partition": batch.partition,
            "offset": offset,
            "timestamp": timestamp,
            "key": base64(key),
            "value": base64(value),
        }
        yield meaning(batch, line, key, value) | transaction


def meaning(batch: Batch, line: Line, key: bytes | None, value: bytes | None) -> Line:
    """The line with what the record says, or why it cannot be read."""
    if key is None:
        return _unreadable(batch, line, "a record without a key")
    try:
        record = decode_record(key, value)
    except BadRecord as error:
        return _unreadable(batch, line, str(error))
    said = jsonable(record)
    decoded = {"key": said["key"], "version": said["version"], "value": said["value"]}
    return line | {"type": record.name, "decoded": decoded}


def _unreadable(batch: Batch, line: Line, reason: str) -> Line:
    return {"quarantined": reason, "file": batch.file, "position": batch.position} | line


def base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
