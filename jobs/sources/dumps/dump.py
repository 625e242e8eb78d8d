"""Source `dump`: an export of `__consumer_offsets` as Parquet, Delta, JSON Lines, Avro, or as
Kafka's tools print it.

The format is detected from a file's first bytes, the columns from their names
(jobs.sources.dumps.columns).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.console.errors import UsageError
from jobs.lake.files import list_files, open_file
from jobs.sources.dumps.columns import Columns, columns_of
from jobs.sources.dumps.row_files import (
    AVRO,
    DAMAGE,
    PARQUET,
    avro_columns,
    avro_rows,
    json_columns,
    json_rows,
    uncompressed,
)
from jobs.sources.dumps.tables import all_raw_rows, delta_batches, parquet_batches
from jobs.sources.dumps.tool_output import (
    DUMP_LOG,
    FORMATTER,
    dump_log_rows,
    formatter_rows,
    tool_of,
)
from jobs.sources.logs.kinds import kind_of_dump
from jobs.sources.rows import RowBuffer, rows_of_files
from jobs.sources.topic.raw_records import RAW

UNREADABLE, REASON = "unreadable", "reason"


def _unreadable_rows(file: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """One row that has the reason instead of the columns."""
    yield {"position": 0, "key": b"", "unread_bytes": 0, "reason": columns[REASON][0]}


READERS: dict[str, Callable[[str, Columns], Iterator[dict[str, Any]]]] = {
    UNREADABLE: _unreadable_rows,
    "json": json_rows,
    "avro": avro_rows,
    DUMP_LOG: dump_log_rows,
    FORMATTER: formatter_rows,
}
_BEGINNING = 1 << 16


class Dump:
    """The argument of ``--dump``: a Delta table, or files of one or several formats.

    A file that is not a dump is one row, with the reason.  UsageError if there are no other files.
    """

    def __init__(self, pattern: str) -> None:
        self.delta = pattern.rstrip("/") if _is_delta(pattern) else None
        # format and columns -> paths of files
        self.files: dict[tuple[str, tuple[Any, ...]], list[str]] = defaultdict(list)
        if self.delta:
            self._columns = columns_of(_delta_names(self.delta), self.delta)
        else:
            self._add_files(pattern)

    def _add_files(self, pattern: str) -> None:
        refused: dict[str, UsageError] = {}
        for file in filter(_is_data, list_files(pattern, "--dump", name_like="*")):
            try:
                self._add(file)
            except UsageError as error:
                refused[file] = error
        if not self.files:
            empty = f"--dump {pattern}: all files are empty or hidden; give an export"
            raise next(iter(refused.values()), UsageError(empty))
        for file, refusal in refused.items():
            why = str(refusal).removeprefix(f"--dump {file}: ").removeprefix(f"{file}: ")
            self.files[UNREADABLE, ((REASON, (why,)),)].append(file)

    def _add(self, file: str) -> None:
        with open_file(file) as stream:
            start = stream.read(4)
        if not start:
            return
        format_ = "parquet" if start == PARQUET else "avro" if start == AVRO else _text_format(file)
        columns = {} if format_ in (DUMP_LOG, FORMATTER) else _columns(format_, file)
        self.files[format_, tuple(sorted(columns.items()))].append(file)

    def rows(self, spark: SparkSession) -> DataFrame:
        """RAW of all records, by Spark's tasks."""
        if self.delta:
            table = spark.read.format("delta").load(self.delta)
            return _tabular(table, self._columns, F.lit(None).cast("long"))
        frames = [
            frame
            for (format_, columns), files in self.files.items()
            for frame in (
                _parquet(spark, files, dict(columns))
                if format_ == "parquet"
                else [_read_by_python(spark, files, format_, dict(columns))]
            )
        ]
        return reduce(DataFrame.unionByName, frames)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """RAW of all records, read in this process."""
        if self.delta:
            yield from delta_batches(self.delta, self._columns)
        for (format_, columns), files in self.files.items():
            for file in files:
                if format_ == "parquet":
                    yield from parquet_batches(file, dict(columns))
                else:
                    yield from file_rows(file, format_, dict(columns))


def _text_format(file: str) -> str:
    """Raise UsageError for a file of another kind; the message names the option to use."""
    with open_file(file) as stream:
        try:
            beginning = uncompressed(stream).read(_BEGINNING)
        except DAMAGE:
            beginning = b""
    tool = tool_of(beginning, file)
    kind = None if tool else kind_of_dump(beginning)
    if kind:
        raise UsageError(f"--dump {file}: {kind.sentence}")
    return tool or "json"


def _columns(format_: str, file: str) -> Columns:
    try:
        if format_ == "parquet":
            with open_file(file) as stream:
                return columns_of(_parquet_names(pq.read_schema(stream)), file)
        return avro_columns(file) if format_ == "avro" else json_columns(file)
    except UsageError:
        raise
    except Exception as error:  # A damaged header makes readers raise any class of exception.
        why = str(error).split("\n")[0]
        raise UsageError(f"--dump {file}: cannot be read as {format_}: {why}") from None


def _is_delta(path: str) -> bool:
    try:
        return DeltaTable.is_deltatable(path)
    # The path is a file, a glob, or in a store that only pyarrow supports.
    except (DeltaError, OSError):
        return False


def _is_data(file: str) -> bool:
    """Leaves out Spark's markers and checksums and other hidden files."""
    return not file.rsplit("/", 1)[-1].startswith(("_", ".")) and "/_delta_log/" not in file


def _parquet_names(schema: pa.Schema) -> Iterator[tuple[str, ...]]:
    for field in schema:
        yield (field.name,)
        if pa.types.is_struct(field.type):
            yield from ((field.name, inner.name) for inner in field.type)


def _delta_names(root: str) -> Iterator[tuple[str, ...]]:
    try:
        fields = DeltaTable(root).schema().fields
    except (DeltaError, OSError) as error:
        why = str(error).split("\n")[0]
        raise UsageError(f"--dump {root}: unreadable Delta table: {why}") from None
    for field in fields:
        yield (field.name,)
        yield from ((field.name, inner.name) for inner in getattr(field.type, "fields", ()))


def _parquet(spark: SparkSession, files: list[str], columns: Columns) -> Iterator[DataFrame]:
    """RAW per group of files with equal types:

    Spark reads files of other types as if they had the types of the first file.
    """
    of_types: dict[str, list[str]] = defaultdict(list)
    for file in files:
        with open_file(file) as stream:
            of_types[str(pq.read_schema(stream).remove_metadata())].append(file)
    for group in of_types.values():
        table = spark.read.parquet(*group)
        yield _tabular(table, columns, F.col("_metadata.row_index"))


def _tabular(df: DataFrame, columns: Columns, row_index: Column) -> DataFrame:
    """RAW of a frame whose rows have Spark's `_metadata`."""
    fields = {name: _field(df, path).alias(name) for name, path in columns.items()}
    selected = df.select(
        *fields.values(),
        "_metadata.file_path",
        "_metadata.file_size",
        row_index.alias("row_index"),
    )
    return selected.mapInArrow(all_raw_rows, from_arrow_schema(RAW))


def _field(df: DataFrame, path: tuple[str, ...]) -> Column:
    column = df[f"`{path[0]}`"]
    for name in path[1:]:
        column = column.getField(name)
    return column


def _read_by_python(
    spark: SparkSession, files: list[str], format_: str, columns: Mapping[str, Any]
) -> DataFrame:
    return rows_of_files(spark, files, lambda file: file_rows(file, format_, columns), RAW)


def file_rows(file: str, format_: str, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Arrow batches of RAW for one file."""
    buffer = RowBuffer(RAW)
    with open_file(file) as stream:
        common = {"file": file, "bytes": stream.seek(0, 2)}
    for row in READERS[format_](file, columns):
        buffer.add(common | row)
        if buffer.is_full:
            yield buffer.take()
    yield buffer.take()
