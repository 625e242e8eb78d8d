"""Dumps in columns (Parquet, Delta) as rows of RAW; both engines use `raw_rows`.

Numbers and times may be text, keys and values base64: then values are converted one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from jobs.console.errors import UsageError
from jobs.lake.files import open_file
from jobs.sources.dumps.columns import SPELLINGS, Columns
from jobs.sources.dumps.row_files import decoded_base64
from jobs.sources.rows import ROWS_PER_BATCH
from jobs.sources.topic.raw_records import RAW

# The file that a row is in. `row_index` is null in formats without row numbers.
FILE_COLUMNS = ("file_path", "file_size", "row_index")
_SHOWN = 80
_PARTITIONS = 1 << 31


def parquet_batches(file: str, columns: Columns) -> Iterator[pa.RecordBatch]:
    """RAW of one file.  The rest of a damaged row group is one row; the next group is read."""
    end = 0
    with open_file(file) as stream:
        size = stream.seek(0, 2)
        parquet = pq.ParquetFile(stream)
        for group in range(parquet.num_row_groups):
            first, end = end, end + parquet.metadata.row_group(group).num_rows
            batches = parquet.iter_batches(
                ROWS_PER_BATCH, row_groups=[group], columns=_top_level(columns)
            )
            try:
                for batch in batches:
                    rows = np.arange(first, first + batch.num_rows)
                    yield raw_rows(_fields(batch, columns, file, size, pa.array(rows)))
                    first += batch.num_rows
            except (OSError, pa.ArrowException) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # This is an error of the file system.
                why = f"rows {first} to {end - 1} are damaged: {str(error).splitlines()[0]}"
                yield _unreadable(file, size, first, why)


def _unreadable(file: str, size: int, position: int, reason: str) -> pa.RecordBatch:
    row = {"file": file, "bytes": size, "position": position, "key": b"", "reason": reason}
    return pa.RecordBatch.from_pylist([row | {"unread_bytes": 0}], schema=RAW)


def delta_batches(root: str, columns: Columns) -> Iterator[pa.RecordBatch]:
    """RAW of a Delta table.  Raises UsageError if it has a feature that delta-rs cannot read."""
    try:
        table = DeltaTable(root)
        dataset = table.to_pyarrow_dataset()
        adds = pa.table(table.get_add_actions())
    except DeltaError as error:
        why = str(error).split("\n")[0]
        raise UsageError(f"--dump {root}: {why}; use --engine spark") from None
    sizes = dict(zip(adds["path"].to_pylist(), adds["size_bytes"].to_pylist(), strict=True))
    for fragment in dataset.get_fragments():
        file, size = f"{root}/{unquote(fragment.path)}", sizes[fragment.path]
        for batch in fragment.to_batches(
            schema=dataset.schema, columns=_top_level(columns), batch_size=ROWS_PER_BATCH
        ):
            no_number = pa.nulls(batch.num_rows, pa.int64())
            yield raw_rows(_fields(batch, columns, file, size, no_number))


def _top_level(columns: Columns) -> list[str]:
    return list(dict.fromkeys(path[0] for path in columns.values()))


def _fields(
    batch: pa.RecordBatch, columns: Columns, file: str, size: int, rows: pa.Array
) -> pa.RecordBatch:
    """The columns by their names in SPELLINGS, and FILE_COLUMNS."""
    fields = {name: _field(batch, path) for name, path in columns.items()}
    fields["file_path"] = pa.repeat(file, batch.num_rows)
    fields["file_size"] = pa.repeat(pa.scalar(size, pa.int64()), batch.num_rows)
    return pa.RecordBatch.from_pydict(fields | {"row_index": rows})


def _field(batch: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    column = batch.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def all_raw_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(raw_rows, batches)


def raw_rows(fields: pa.RecordBatch) -> pa.RecordBatch:
    """RAW of rows with the columns of SPELLINGS (topic is optional) and FILE_COLUMNS."""
    own = {name: _plain(fields.column(name)) for name in SPELLINGS if name in fields.schema.names}
    keys, values = _bytes(own["key"]), _bytes(own["value"])
    contents = (("key", keys), ("value", values))
    partitions, offsets = _numbers(own["partition"]), _numbers(own["offset"])
    times = _times_ms(own["timestamp"])
    topics = _texts(own["topic"]) if "topic" in own else pa.nulls(fields.num_rows, pa.string())
    is_partition = _is_between(partitions, 0, _PARTITIONS - 1)
    is_offset = _is_between(offsets, 0, None)
    time = own["timestamp"]
    checks: list[tuple[pa.BooleanArray, Callable[[int], str]]] = [
        (
            _is_converted(own.get("topic", topics), topics),
            lambda row: f"topic {_shown(own['topic'], row)}",
        ),
        (is_partition, lambda row: f"partition {_shown(own['partition'], row)}"),
        (is_offset, lambda row: f"offset {_shown(own['offset'], row)}"),
        (_is_converted(time, times), lambda row: f"timestamp {_shown(time, row)}"),
        *((_is_converted(own[name], read), _not_bytes(own[name], name)) for name, read in contents),
    ]
    count = fields.num_rows
    columns = {
        "file": _local_paths(fields.column("file_path")),
        "bytes": fields.column("file_size"),
        "position": _positions(fields.column("row_index"), is_offset, own),
        "topic": topics,
        "partition": pc.if_else(is_partition, partitions, None),
        "log_offset": pc.if_else(is_offset, offsets, None),
        "time_ms": times,
        "key": keys,
        "value": values,
        "reason": _reasons(count, checks),
    }
    arrays = [columns.get(f.name, pa.nulls(count)).cast(f.type) for f in RAW]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def _plain(column: pa.Array) -> pa.Array:
    """The column without dictionary encoding and views."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def _values(column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    """The value; of a time or duration that Python has no type for, a text that names its type."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return f"a {scalar.type} out of range"


def _texts(column: pa.Array) -> pa.StringArray:
    """The text, or None for anything else, and for bytes that are not UTF-8."""
    if _is_text(column) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    return pa.array([_text(value) for value in _values(column)], pa.string())


def _text(value: Any) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return None


def _numbers(column: pa.Array) -> pa.Int64Array:
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        return column.cast(pa.int64())
    return pa.array([_number(value) for value in _values(column)], pa.int64())


def _number(value: Any) -> int | None:
    """The number, without its fraction, or None for anything else, and beyond 64 bits."""
    try:
        is_number = isinstance(value, int | float | Decimal | str | bytes)
        number = int(value) if is_number and not isinstance(value, bool) else None
    except (ValueError, TypeError, OverflowError, ArithmeticError):
        return None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def _times_ms(column: pa.Array) -> pa.Int64Array:
    """Milliseconds since the epoch, from times, numbers, or text that is either (UTC)."""
    if pa.types.is_timestamp(column.type):
        return (
            pc.floor_temporal(column, unit="millisecond")
            .cast(pa.timestamp("ms", column.type.tz))
            .cast(pa.int64())
        )
    if not _is_text(column):
        return _numbers(column)
    return pa.array([_time_ms(text) for text in column.to_pylist()], pa.int64())


def _time_ms(text: str | None) -> int | None:
    number = _number(text)
    if number is not None or text is None:
        return number
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _not_bytes(column: pa.Array, name: str) -> Callable[[int], str]:
    """The reason why a value of the column is unreadable."""
    why = "is not base64" if _is_text(column) else f"has the type {column.type}, not bytes"
    return lambda _: f"{name} {why}"


def _bytes(column: pa.Array) -> pa.BinaryArray:
    if not _is_text(column):
        is_binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        is_binary |= pa.types.is_fixed_size_binary(column.type) or pa.types.is_null(column.type)
        return column.cast(pa.binary()) if is_binary else pa.nulls(len(column), pa.binary())
    return pa.array([decoded_base64(text) for text in column.to_pylist()], pa.binary())


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_between(numbers: pa.Int64Array, low: int, high: int | None) -> pa.BooleanArray:
    is_in = pc.greater_equal(numbers, low)
    if high is not None:
        is_in = pc.and_(is_in, pc.less_equal(numbers, high))
    return pc.fill_null(is_in, False)


def _is_converted(column: pa.Array, converted: pa.Array) -> pa.BooleanArray:
    return pc.or_(column.is_null(), converted.is_valid())


def _reasons(
    count: int, checks: list[tuple[pa.BooleanArray, Callable[[int], str]]]
) -> pa.StringArray:
    """The reason of the first check that a row fails, per row."""
    reasons: list[str | None] = [None] * count
    for is_valid, reason in reversed(checks):
        for row in pc.indices_nonzero(pc.invert(is_valid)).to_pylist():
            reasons[row] = reason(row)
    return pa.array(reasons, pa.string())


def _shown(column: pa.Array, row: int) -> str:
    return str(_value(column[row]))[:_SHOWN]


def _positions(
    rows: pa.Array, is_offset: pa.BooleanArray, own: dict[str, pa.Array]
) -> pa.Int64Array:
    """The row number; without one, a hash of the content of a row that has no offset, else -1."""
    positions = pc.fill_null(rows, -1).to_numpy().copy()
    for row in pc.indices_nonzero(pc.and_(rows.is_null(), pc.invert(is_offset))).to_pylist():
        content = repr([_value(column[row]) for column in own.values()]).encode()
        positions[row] = int.from_bytes(hashlib.sha256(content).digest()[:8]) >> 2
    return pa.array(positions, pa.int64())


def _local_paths(paths: pa.Array) -> pa.StringArray:
    encoded = paths.dictionary_encode()
    names = pa.array([_local(path) for path in encoded.dictionary.to_pylist()], pa.string())
    return names.take(encoded.indices)


def _local(path: str) -> str:
    """A path as in other tables: local files have neither a scheme nor percent-encoding."""
    return (
        "/" + unquote(path.removeprefix("file:").lstrip("/")) if path.startswith("file:") else path
    )
