"""Shared by the file sources: one task per file, rows in Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.log_lines.line_versions import BROKERS
from coordinator_core.log_lines.offered_versions import versions_offered
from coordinator_core.log_lines.version_ranges import text_of

ROWS_PER_BATCH = 10_000
# maximum size of quarantined byte ranges, which may be as long as the file
BYTES_PER_BATCH = 64 << 20
MOST_TASKS = 10_000
_DAY_MS = 86_400_000


def _read_by_the_other_engine(_: SparkSession) -> NoReturn:
    raise NotImplementedError


@dataclass(frozen=True)
class SourceRows:
    """The rows of one source, in ``schema``.

    ``counted`` has the rows and columns from which the source's counts are computed.  ``frame``
    has the rows by Spark's tasks.  ``batches`` are the same rows, read in this process; the
    session has settings.  A client of one engine has only one of these.  ``files`` say what
    ``batches`` reads; empty for sources that are no files.
    """

    schema: pa.Schema
    counted: Callable[[pa.RecordBatch], pa.RecordBatch]
    files: Sequence[str] = field(default=(), kw_only=True)
    frame: Callable[[SparkSession], DataFrame] = _read_by_the_other_engine
    batches: Callable[[SparkSession], Iterator[pa.RecordBatch]] = _read_by_the_other_engine


def counts_of_files(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in which a source counts what it read."""
    return rows.filter(pc.equal(rows.column("kind"), "file"))


def rows_of_files(
    spark: SparkSession,
    files: list[str],
    read_file: Callable[[str], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    most_tasks: int = MOST_TASKS,
) -> DataFrame:
    """The batches of ``schema`` that ``read_file`` yields per path, in at most ``most_tasks``."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.column("file").to_pylist():
                yield from read_file(file)

    paths = spark.createDataFrame([(file,) for file in files], "file string")
    spread = paths.repartition(min(len(files), most_tasks), "file")
    return spread.mapInArrow(read, from_arrow_schema(schema))


# Columns of each file's row of counts.
COUNTS = [
    ("bytes", pa.int64()),
    ("inputs", pa.int64()),
    ("kept_by_date", pa.map_(pa.date32(), pa.int64())),
    ("quarantined", pa.int64()),
    ("skipped", pa.int64()),
]
# Columns of a log file's row of counts besides its numbers of lines.
UNDERSTANDING = [
    ("not_understood", pa.int64()),
    ("undated", pa.int64()),
    ("steps_back", pa.int64()),
    ("examples", pa.string()),
    ("software", pa.string()),
]
# Start-up lines in which Kafka's classes and librdkafka log their version, and brokers the id of
# their cluster.
CLUSTER = "cluster"
_SOFTWARE = (
    ("java", b"Kafka version", rb"Kafka version ?: ?(\d{1,3}(?:\.\d{1,3}){1,3})"),
    ("librdkafka", b"librdkafka v", rb"librdkafka v(\d{1,3}(?:\.\d{1,3}){2})"),
    (CLUSTER, b"Cluster ID = ", rb"Cluster ID = ([\w-]{22})\b"),
    (CLUSTER, b" in cluster ", rb"of broker \d+ in cluster ([\w-]{22})\b"),
)
LEAST_STEP_MS = 5_000  # threads and agents write lines whose times are out of order by at most this


def software_in(chunk: bytes) -> set[str]:
    """Names and versions of software that lines name: ``java 3.9.1``, ``librdkafka 2.3.0``; and
    the broker's ``cluster ID``.

    Versions of brokers, if lines show the API versions or features that brokers offer:
    ``broker 4.1``, ``broker 3.9,4.4-``.
    """
    offered = versions_offered(chunk)
    brokers = set() if offered is None else {f"{BROKERS} {text_of(offered).replace(' ', '')}"}
    return brokers | {
        f"{name} {version.decode()}"
        for name, words, pattern in _SOFTWARE
        if words in chunk
        for version in re.findall(pattern, chunk)
    }


def day_of(time_ms: int) -> int:
    """Days since the epoch in UTC; 0 for a record without a time (-1)."""
    return max(time_ms, 0) // _DAY_MS


class RowBuffer:
    """Collects rows as dicts into Arrow batches of one schema; a missing name is null."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._binary = [field.name for field in schema if pa.types.is_binary(field.type)]
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        for name in self._binary:
            self._bytes += len(row.get(name) or b"")

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= ROWS_PER_BATCH or self._bytes >= BYTES_PER_BATCH

    def take(self) -> pa.RecordBatch:
        rows, self._rows, self._bytes = self._rows, [], 0
        columns = [_column([r.get(f.name) for r in rows], f.type) for f in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _column(values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], type_)


def _encodable(value: Any) -> Any:
    """JSON may escape halves of characters, which UTF-8 does not have: a question mark for each."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value
