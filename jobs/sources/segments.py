"""Source `segments`: brokers' `__consumer_offsets-N/*.log` files -> records, as they lie on disk.

Every worker reads whole files and gives Arrow batches; what cannot be read, as a batch or as a
record, comes out as quarantine rows with position, bytes and reason.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.records import BadRecord, decode
from jobs.segments import Batch, Quarantined, partition_of, read_segment
from jobs.segments.compression import MAX_INFLATED
from jobs.sources.files import open_file
from jobs.sources.rows import DateRange, RowBuffer, day_of

TOPIC = "__consumer_offsets"
FILES_LIKE = "*.log"
MAX_INFLATED_SETTING = "spark.regroup.segments.maxInflatedBytes"  # of one batch

# One row is a record, something quarantined, or (last of each file) the file's counts.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("topic_partition", pa.string()),
        ("log_offset", pa.int64()),
        ("append_time", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("key_type", pa.int32()),
        ("magic", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("producer_id", pa.int64()),
        ("control", pa.string()),
        ("reason", pa.string()),
        ("length", pa.int64()),
        ("bytes", pa.int64()),
        ("inputs", pa.int64()),
        ("kept_by_date", pa.map_(pa.date32(), pa.int64())),
        ("quarantined", pa.int64()),
        ("unreadable_bytes", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
    ]
)


def read_segments(spark: SparkSession, files: list[str], dates: DateRange) -> DataFrame:
    """ROWS of all ``files``, one task a file."""
    max_inflated = int(spark.conf.get(MAX_INFLATED_SETTING, str(MAX_INFLATED)))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.column("file").to_pylist():
                yield from segment_rows(file, dates, max_inflated)

    paths = spark.createDataFrame([(file,) for file in files], "file string")
    spread = paths.repartition(min(len(files), 10_000), "file")
    return spread.mapInArrow(read, from_arrow_schema(ROWS))


def segment_rows(
    file: str, dates: DateRange, max_inflated: int = MAX_INFLATED
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file."""
    partition = partition_of(file)
    counts = _Counts(file, f"{TOPIC}-{partition}")
    buffer = RowBuffer(ROWS)
    with open_file(file) as stream:
        data, counts.row["bytes"] = _mapped(stream)
        found_in = read_segment(data, partition=partition, file=file, max_inflated=max_inflated)
        for found in found_in:
            if isinstance(found, Quarantined):
                buffer.add(counts.quarantine_bytes(found))
            else:
                for row in _record_rows(found, counts, dates):
                    buffer.add(row)
            if buffer.is_full:
                yield buffer.take()
    buffer.add(counts.close())
    yield buffer.take()


def _mapped(stream: Any) -> tuple[Any, int]:
    """The file's bytes without reading them all into memory where the file system allows it."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if size == 0:
        return b"", 0
    try:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), size
    except (OSError, AttributeError, ValueError):  # an object store's stream has no descriptor
        return stream.read(), size


def _record_rows(batch: Batch, counts: _Counts, dates: DateRange) -> Iterator[dict[str, Any]]:
    common = {
        "kind": "record",
        "file": batch.file,
        "position": batch.position,
        "topic_partition": counts.row["topic_partition"],
        "magic": batch.magic,
        "is_transactional": batch.is_transactional,
        "producer_id": batch.producer_id,
        "control": batch.control,
    }
    columns = (batch.offsets, batch.timestamps, batch.keys, batch.values)
    for offset, timestamp, key, value in zip(*columns, strict=True):
        time_us = timestamp * 1000 if timestamp >= 0 else None
        counts.see(offset)
        row = common | {"log_offset": offset, "append_time": time_us, "key": key, "value": value}
        reason = None if batch.control else unreadable(key, value)
        if reason is None:
            day = counts.keep(timestamp)
            if dates.has(day):
                key_type = None if batch.control else int.from_bytes(key[:2], "big", signed=True)
                yield row | {"key_type": key_type}
        else:
            counts.row["quarantined"] += 1
            length = len(key or b"") + len(value or b"")
            yield row | {"kind": "quarantined", "reason": reason, "length": length}


def unreadable(key: bytes | None, value: bytes | None) -> str | None:
    """Why the record cannot be understood, or None."""
    if key is None:
        return "a record of __consumer_offsets without a key"
    try:
        decode(key, value)
    except BadRecord as error:
        return str(error)
    return None


class _Counts:
    """What one file held; its row closes the file's rows."""

    def __init__(self, file: str, topic_partition: str) -> None:
        names = ("inputs", "quarantined", "unreadable_bytes")
        self.row: dict[str, Any] = {"kind": "file", "file": file, **dict.fromkeys(names, 0)}
        self.row["topic_partition"] = topic_partition
        self._kept_by_date: Counter[int] = Counter()

    def see(self, offset: int) -> None:
        self.row["inputs"] += 1
        self.row.setdefault("first_offset", offset)
        self.row["last_offset"] = offset

    def keep(self, time_ms: int) -> int:
        """Count a readable record; the day it belongs to comes back."""
        day = day_of(time_ms)
        self._kept_by_date[day] += 1
        return day

    def close(self) -> dict[str, Any]:
        return self.row | {"kept_by_date": sorted(self._kept_by_date.items())}

    def quarantine_bytes(self, found: Quarantined) -> dict[str, Any]:
        self.row["unreadable_bytes"] += found.length
        return {
            "kind": "quarantined",
            "file": found.file,
            "position": found.position,
            "topic_partition": self.row["topic_partition"],
            "log_offset": -1,
            "key": found.data,
            "reason": found.reason,
            "length": found.length,
        }
