"""Source `dump`: an export of `__consumer_offsets` as Parquet, Delta, JSON Lines or Avro.

The format is detected from a file's first bytes, the columns from their names
(jobs.sources.dump_columns).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.console.errors import UsageError
from jobs.sources.dump_columns import Columns, columns_of
from jobs.sources.dump_files import (
    AVRO,
    PARQUET,
    avro_columns,
    avro_rows,
    json_columns,
    json_rows,
)
from jobs.sources.files import list_files, open_file
from jobs.sources.raw_records import RAW
from jobs.sources.rows import RowBuffer, rows_of_files

READERS: dict[str, Callable[[str, Columns], Iterator[dict[str, Any]]]] = {
    "json": json_rows,
    "avro": avro_rows,
}


class Dump:
    """The argument of ``--dump``: a Delta table, or files of one or several formats.

    UsageError if there are no files, or a file is not a dump.
    """

    def __init__(self, pattern: str) -> None:
        self.delta = pattern.rstrip("/") if _is_delta(pattern) else None
        # format and columns -> files
        self.files: dict[tuple[str, tuple[Any, ...]], list[str]] = defaultdict(list)
        if self.delta:
            self._columns = columns_of(_delta_names(self.delta), self.delta)
        else:
            for file in filter(_is_data, list_files(pattern, "--dump", name_like="*")):
                self._add(file)
            if not self.files:
                raise UsageError(f"--dump {pattern}: all files are empty or hidden; give an export")

    def _add(self, file: str) -> None:
        with open_file(file) as stream:
            start = stream.read(4)
        if not start:
            return
        format_ = "parquet" if start == PARQUET else "avro" if start == AVRO else "json"
        columns = _columns(format_, file)
        self.files[format_, tuple(sorted(columns.items()))].append(file)

    def rows(self, spark: SparkSession) -> DataFrame:
        """RAW of all records."""
        if self.delta:
            table = spark.read.format("delta").load(self.delta)
            return _tabular(table, self._columns, _content_hash_without_offset)
        frames = [
            _parquet(spark, files, dict(columns))
            if format_ == "parquet"
            else _read_by_python(spark, files, format_, dict(columns))
            for (format_, columns), files in self.files.items()
        ]
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame)
        return rows


def _columns(format_: str, file: str) -> Columns:
    try:
        if format_ == "parquet":
            with open_file(file) as stream:
                return columns_of(_parquet_names(pq.read_schema(stream)), file)
        return avro_columns(file) if format_ == "avro" else json_columns(file)
    except UsageError:
        raise
    except Exception as error:  # a damaged header makes readers raise any class
        why = str(error).split("\n")[0]
        raise UsageError(f"--dump {file}: cannot be read as {format_}: {why}") from None


def _is_delta(path: str) -> bool:
    try:
        return DeltaTable.is_deltatable(path)
    except (DeltaError, OSError):  # a file, a glob, or a store that only pyarrow supports
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


def _parquet(spark: SparkSession, files: list[str], columns: Columns) -> DataFrame:
    return _tabular(spark.read.parquet(*files), columns, lambda _: F.col("_metadata.row_index"))


def _content_hash_without_offset(fields: Mapping[str, Column]) -> Column:
    """A position for rows without a valid offset: Delta has no row numbers, so a content hash."""
    content = F.pmod(F.xxhash64(*fields.values()), F.lit(1 << 62))
    return F.when(fields["offset"].try_cast("long") >= 0, -1).otherwise(content)


def _tabular(
    df: DataFrame, columns: Columns, position: Callable[[Mapping[str, Column]], Column]
) -> DataFrame:
    fields = {name: _field(df, path) for name, path in columns.items()}
    times = _time_ms(fields["timestamp"], _type(df, columns["timestamp"]))
    keys, values = (_binary(fields[n], _type(df, columns[n])) for n in ("key", "value"))
    partition, offset = (fields[n].try_cast("long") for n in ("partition", "offset"))
    reasons = F.coalesce(
        _unless(partition.between(0, (1 << 31) - 1), "partition", fields["partition"]),
        _unless(offset >= 0, "offset", fields["offset"]),
        _unless(times.isNotNull() | fields["timestamp"].isNull(), "timestamp", fields["timestamp"]),
        F.when(fields["key"].isNotNull() & keys.isNull(), "key is not base64"),
        F.when(fields["value"].isNotNull() & values.isNull(), "value is not base64"),
    )
    path = F.col("_metadata.file_path")
    row = {
        "file": _local(path),
        "bytes": F.col("_metadata.file_size"),
        "position": position(fields),
        "topic": fields["topic"].cast("string") if "topic" in fields else F.lit(None),
        "partition": F.when(partition.between(0, (1 << 31) - 1), partition),
        "log_offset": F.when(offset >= 0, offset),
        "time_ms": times,
        "key": keys,
        "value": values,
        "aborted": F.lit(None),
        "reason": reasons,
        "unread_bytes": F.lit(None),
    }
    types = {field.name: field.dataType for field in from_arrow_schema(RAW)}
    return df.select(*(value.cast(types[name]).alias(name) for name, value in row.items()))


def _field(df: DataFrame, path: tuple[str, ...]) -> Column:
    column = df[f"`{path[0]}`"]
    for name in path[1:]:
        column = column.getField(name)
    return column


def _type(df: DataFrame, path: tuple[str, ...]) -> T.DataType:
    data_type: Any = df.schema
    for name in path:
        data_type = data_type[name].dataType
    return data_type  # type: ignore[no-any-return]  # indexing a StructType is untyped


def _time_ms(time: Column, data_type: T.DataType) -> Column:
    if isinstance(data_type, T.TimestampType | T.TimestampNTZType):
        return F.unix_millis(time.cast("timestamp"))
    number = time.try_cast("long")
    if isinstance(data_type, T.StringType):
        return F.coalesce(number, F.unix_millis(time.try_cast("timestamp")))
    return number


def _binary(field: Column, data_type: T.DataType) -> Column:
    if isinstance(data_type, T.BinaryType):
        return field
    return F.try_to_binary(field.cast("string"), F.lit("base64"))


def _unless(is_valid: Column, name: str, field: Column) -> Column:
    shown = F.coalesce(F.left(field.cast("string"), F.lit(80)), F.lit("None"))
    return F.when(~F.coalesce(is_valid, F.lit(False)), F.concat(F.lit(f"{name} "), shown))


def _local(uri: Column) -> Column:
    """The path as in other tables: local files without scheme and percent-encoding."""
    path = F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))
    return F.when(uri.startswith("file:"), F.regexp_replace(path, "^file:/+", "/")).otherwise(uri)


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
