"""Source `segments`: brokers' `__consumer_offsets-N/*.log` files -> records.

Workers read whole files and return Arrow batches; an unreadable batch or record becomes a
quarantine row with position, bytes and reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from jobs.bulk.arrow_buffers import number_array
from jobs.bulk.byte_rows import ByteRows
from jobs.bulk.times import times_of
from jobs.bulk.unreadable import unreadable_records
from jobs.console.errors import UsageError, internal_error
from jobs.lake.dates import DateRange
from jobs.lake.files import list_files, open_file
from jobs.segments import Quarantined, copied_topic, not_a_segment, partition_of
from jobs.segments.arrow_records import arrow_records
from jobs.segments.compression import MAX_INFLATED
from jobs.segments.reader import QUARANTINE_BYTES
from jobs.sources.rows import COUNTS, RowBuffer, SourceRows, counts_of_files, rows_of_files
from jobs.sources.topic.replicas import PartitionCopies, epochs_at, mapped

TOPIC = "__consumer_offsets"
FILES_LIKE = "*.log"
_TOPIC_ID = re.compile(rb"^topic_id: (\S+)", re.MULTILINE)
MAX_INFLATED_SETTING = "spark.regroup.segments.maxInflatedBytes"  # of one batch

# One row is a record, a quarantined batch or record, or the file's counts, which come last in the
# file.
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
        *COUNTS,
        ("unreadable_bytes", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
    ]
)


def segment_files(pattern: str) -> list[str]:
    """The segment files of the topic; a broker's data folder has segments of other topics, too.

    Raises UsageError if --segments matches no file of the topic.
    """
    matches = list_files(pattern, "--segments", name_like=FILES_LIKE)
    files = [file for file in matches if not_a_segment(file) is None]
    if not files:
        raise UsageError(f"--segments {pattern}: {not_a_segment(matches[0])}; give the .log file")
    of_topic = [file for file in files if _is_of_topic(file)]
    if not of_topic:
        copies = (topic for file in files if (topic := copied_topic(file)))
        why = (
            f"topic {copy} is a copy of another cluster's {TOPIC}; give that cluster's segments"
            if (copy := next(copies, None))
            else f"no file is in a folder named {TOPIC}-N"
        )
        raise UsageError(f"--segments {pattern}: {why}")
    topics = _topic_ids(of_topic)
    if len(topics) > 1:
        folders = ", ".join(f"{topic} in {folder}" for topic, folder in sorted(topics.items())[:2])
        raise UsageError(
            f"--segments {pattern}: {TOPIC} has several topic ids: {folders}; give each cluster a"
            " --cluster-id of its own"
        )
    return of_topic


def _topic_ids(files: list[str]) -> dict[str, str]:
    """The topic ids that brokers wrote beside copies of one partition, each with a folder."""
    folders: dict[int, set[str]] = {}
    for file in files:
        folders.setdefault(partition_of(file), set()).add(file.rpartition("/")[0])
    copies = (folder for each in folders.values() if len(each) > 1 for folder in sorted(each))
    return {topic: folder for folder in copies if (topic := _topic_id(folder))}


def _topic_id(folder: str) -> str | None:
    """The topic id in the folder's `partition.metadata`, or None without it, as before Kafka
    2.8.
    """
    try:
        with open_file(f"{folder}/partition.metadata") as stream:
            match = _TOPIC_ID.search(stream.read())
    except OSError:
        return None
    return match[1].decode() if match else None


def _is_of_topic(file: str) -> bool:
    try:
        partition_of(file)
    except ValueError:
        return False
    return True


# Copies by partition.
Replicas = Mapping[int, PartitionCopies]
_ALONE: Replicas = MappingProxyType({})


def segments_source(files: list[str], dates: DateRange, replicas: Replicas = _ALONE) -> SourceRows:
    """ROWS of all ``files``; ``replicas`` are of partitions of which several brokers
    have copies.
    """
    return SourceRows(
        ROWS,
        counts_of_files,
        lambda spark: read_segments(spark, files, dates, replicas),
        lambda session: _batches(files, dates, max_inflated_of(session), replicas),
        files=files,
    )


def read_segments(
    spark: SparkSession, files: list[str], dates: DateRange, replicas: Replicas = _ALONE
) -> DataFrame:
    """ROWS of all ``files``, one task per file."""
    max_inflated, of_partitions = max_inflated_of(spark), dict(replicas)
    return rows_of_files(
        spark, files, lambda file: segment_rows(file, dates, max_inflated, of_partitions), ROWS
    )


def _batches(
    files: list[str], dates: DateRange, max_inflated: int, replicas: Replicas
) -> Iterator[pa.RecordBatch]:
    for file in files:
        yield from segment_rows(file, dates, max_inflated, replicas)


def max_inflated_of(session: SparkSession) -> int:
    """The most bytes to which a batch may inflate."""
    return int(session.conf.get(MAX_INFLATED_SETTING, None) or MAX_INFLATED)


def segment_rows(
    file: str,
    dates: DateRange,
    max_inflated: int = MAX_INFLATED,
    replicas: Replicas = _ALONE,
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file."""
    partition = partition_of(file)
    copies = replicas.get(partition)
    counts = _Counts(file, f"{TOPIC}-{partition}")
    others = RowBuffer(ROWS)
    with open_file(file) as stream:
        data, counts.row["bytes"] = mapped(stream)
        items = arrow_records(
            memoryview(data), partition=partition, file=file, max_inflated=max_inflated
        )
        try:
            for item in items:
                if isinstance(item, pa.RecordBatch):
                    diverged = {} if copies is None else _diverged(item, data, file, copies)
                    yield _rows(item, counts, dates, diverged)
                    continue
                others.add(counts.quarantine_bytes(item))
                if others.is_full:
                    yield others.take()
        except OSError:  # The error is of the file system, not of the content.
            raise
        except Exception as error:
            others.add(counts.quarantine_bytes(counts.rest(memoryview(data), error)))
    others.add(counts.close())
    yield others.take()


def _diverged(
    records: pa.RecordBatch, data: Any, file: str, copies: PartitionCopies
) -> dict[int, str]:
    """The reasons why records are from a diverged replica, by their place."""
    epochs = epochs_at(data, records.column("position").to_numpy())
    return copies.reasons(file, epochs, records.column("log_offset").to_numpy())


def _rows(
    records: pa.RecordBatch, counts: _Counts, dates: DateRange, diverged: Mapping[int, str]
) -> pa.RecordBatch:
    """One row per record that is in ``dates`` or quarantined."""
    is_data = records.column("control").is_null()
    reasons = _reasons(records, is_data, diverged)
    is_bad = reasons.is_valid()
    times = times_of(records.column("time_ms"))
    days = days_of(times)
    counts.see(
        records.column("position"),
        records.column("log_offset"),
        days.filter(pc.invert(is_bad)),
        reasons,
    )
    is_plain = pc.and_not(is_data, is_bad)
    columns = {name: records.column(name) for name in records.schema.names if name in _AS_READ}
    columns |= {name: pa.repeat(pa.scalar(counts.row[name]), len(days)) for name in _OF_FILE}
    columns |= {
        "kind": pc.if_else(is_bad, "quarantined", "record"),
        "append_time": times,
        "key_type": pc.if_else(is_plain, key_types(records.column("key")), None),
        "reason": reasons,
        "length": pc.if_else(is_bad, _lengths(records), None),
    }
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(len(days), field.type)
        for field in ROWS
    ]
    rows = pa.RecordBatch.from_arrays(arrays, schema=ROWS)
    return rows.filter(pc.or_(is_bad, are_in(dates, days)))


_OF_FILE = ("file", "topic_partition")
_OF_BATCH = ("magic", "is_transactional", "producer_id", "control")
_AS_READ = ("position", "log_offset", "key", "value", *_OF_BATCH)


def _reasons(
    records: pa.RecordBatch, is_data: pa.BooleanArray, diverged: Mapping[int, str]
) -> pa.StringArray:
    """The reason why a record cannot be decoded or is ``diverged``, or null.

    Only data records are decoded.
    """
    rows = pc.indices_nonzero(is_data)
    data = records if len(rows) == records.num_rows else records.take(rows)
    reasons: list[str | None] = [None] * records.num_rows
    for index, reason in unreadable_records(data.column("key"), data.column("value")).items():
        reasons[rows[index].as_py()] = reason
    for place, reason in diverged.items():
        reasons[place] = reason
    return pa.array(reasons, pa.string())


def days_of(times: pa.TimestampArray) -> pa.Int32Array:
    """Days since the epoch in UTC; 0 without a time."""
    return pc.fill_null(times.cast(pa.date32()).cast(pa.int32()), 0)


def are_in(dates: DateRange, days: pa.Int32Array) -> pa.BooleanArray:
    included = [day for day in days.unique().to_pylist() if dates.has(day)]
    return pc.is_in(days, pa.array(included, pa.int32()))


def key_types(keys: pa.BinaryArray) -> pa.Int32Array:
    """The keys' first two bytes as a number; readable keys have at least two."""
    return number_array(ByteRows(keys).headers())


def _lengths(records: pa.RecordBatch) -> pa.Int32Array:
    key, value = (pc.fill_null(pc.binary_length(records.column(n)), 0) for n in ("key", "value"))
    return pc.add(key, value)


class _Offsets:
    """The offsets of a file's readable records, of which concatenated segments may repeat some."""

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []
        self._greatest = -1

    def are_new(self, offsets: pa.Array) -> np.ndarray:
        """For each offset: is this its first occurrence in this and earlier batches?"""
        new = offsets.to_numpy()
        is_new = np.ones(len(new), bool)
        if not len(new):
            return is_new
        if new[0] <= self._greatest or (np.diff(new) <= 0).any():
            is_new[:] = False
            is_new[np.unique(new, return_index=True)[1]] = True
            for seen in self._seen:
                is_new &= ~np.isin(new, seen)
        self._seen.append(new)
        self._greatest = max(self._greatest, int(new.max()))
        return is_new


class _Counts:
    """Counts of one file: the last of its rows."""

    def __init__(self, file: str, topic_partition: str) -> None:
        names = ("inputs", "quarantined", "skipped", "unreadable_bytes")
        self.row: dict[str, Any] = {"kind": "file", "file": file, **dict.fromkeys(names, 0)}
        self.row["topic_partition"] = topic_partition
        self._kept_by_date: Counter[int] = Counter()
        self._offsets = _Offsets()
        self._position = 0  # offset of the last batch that was read

    def see(
        self, positions: pa.Array, offsets: pa.Array, kept_days: pa.Array, reasons: pa.Array
    ) -> None:
        """``kept_days`` has the day of each readable record."""
        if not len(offsets):
            return
        self.row["inputs"] += len(offsets)
        keys = np.stack([positions.to_numpy(), offsets.to_numpy()])[
            :, reasons.is_valid().to_numpy(False)
        ]
        quarantined = len(np.unique(keys, axis=1).T)  # A batch may use an offset twice.
        self.row["quarantined"] += quarantined
        self.row["skipped"] += keys.shape[1] - quarantined
        self._position = positions[-1].as_py()
        is_new = self._offsets.are_new(offsets.filter(reasons.is_null()))
        self.row["skipped"] += len(is_new) - int(np.count_nonzero(is_new))
        first, last = pc.min_max(offsets).values()
        self.row["first_offset"] = min(self.row.get("first_offset", first.as_py()), first.as_py())
        self.row["last_offset"] = max(self.row.get("last_offset", last.as_py()), last.as_py())
        for entry in kept_days.filter(pa.array(is_new)).value_counts().to_pylist():
            self._kept_by_date[entry["values"]] += entry["counts"]

    def close(self) -> dict[str, Any]:
        return self.row | {"kept_by_date": sorted(self._kept_by_date.items())}

    def rest(self, data: memoryview, error: Exception) -> Quarantined:
        """The bytes from the last batch on, which an exception left unread."""
        at = self._position
        kept = bytes(data[at : at + QUARANTINE_BYTES])
        return Quarantined(self.row["file"], at, len(data) - at, internal_error(error), kept)

    def quarantine_bytes(self, unreadable: Quarantined) -> dict[str, Any]:
        self.row["unreadable_bytes"] += unreadable.length
        return {
            "kind": "quarantined",
            "file": unreadable.file,
            "position": unreadable.position,
            "topic_partition": self.row["topic_partition"],
            "log_offset": -1,
            "key": unreadable.data,
            "reason": unreadable.reason,
            "length": unreadable.length,
        }
