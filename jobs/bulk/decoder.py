"""Decodes records into a table's rows in Python workers, a whole Arrow batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.bulk.few import are_few
from jobs.lake.tables import schema_of

# size of the values of a chunk: their positions should fit into the processor's caches
CHUNK_BYTES = 8 << 20

ColumnArrays = dict[str, pa.Array]
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Decoder:
    """Decodes the columns of a table, except carried columns; a missing column is null.

    ``row(key, value)`` is the reference.  ``bulk(keys, values)`` decodes many rows: it returns
    row numbers in any order and the columns of these rows, without the rows that it cannot read.
    """

    row: Callable[[bytes, bytes | None], dict[str, Any]]
    bulk: Callable[[pa.Array, pa.Array], tuple[np.ndarray, ColumnArrays]]


def decode_into(
    table: str, records: DataFrame, carried: Sequence[str], decoder: Decoder
) -> DataFrame:
    """Decodes ``records`` (key, value and the ``carried`` columns) into rows of ``table``."""
    schema = schema_of(table)
    arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in chunks(batch):
                yield decode_batch(chunk, arrow_schema, carried, decoder)

    return records.select(*carried, "key", "value").mapInArrow(decoded, schema)


def chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of at most CHUNK_BYTES of values, or of one larger record."""
    values = batch.column("value")
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    bounds = np.frombuffer(values.buffers()[1], width)[values.offset :]
    first = 0
    while first < batch.num_rows:
        last = int(np.searchsorted(bounds, bounds[first] + CHUNK_BYTES, "right")) - 1
        last = min(max(last, first + 1), batch.num_rows)
        yield batch.slice(first, last - first)
        first = last


def decode_batch(
    batch: pa.RecordBatch, schema: pa.Schema, carried: Sequence[str], decoder: Decoder
) -> pa.RecordBatch:
    keys, values = batch.column("key"), batch.column("value")
    fields = [field for field in schema if field.name not in carried]
    rows, arrays = (_NO_ROWS, {}) if are_few(keys, values) else decoder.bulk(keys, values)
    decoded = _typed(arrays, fields, len(rows))
    if len(rows) < len(keys):
        other_rows = np.setdiff1d(np.arange(len(keys)), rows)
        others = _by_row(keys, values, other_rows.tolist(), fields, decoder)
        decoded = {name: pa.concat_arrays([array, others[name]]) for name, array in decoded.items()}
        rows = np.concatenate([rows, other_rows])
    is_in_order = bool((np.diff(rows) > 0).all())
    own = batch.select(list(carried))
    own = own if is_in_order else own.take(pa.array(rows))
    columns = [
        own.column(field.name).cast(field.type) if field.name in carried else decoded[field.name]
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _typed(arrays: ColumnArrays, fields: list[pa.Field], size: int) -> ColumnArrays:
    return {
        field.name: arrays[field.name].cast(field.type)
        if field.name in arrays
        else pa.nulls(size, field.type)
        for field in fields
    }


def _by_row(
    keys: pa.Array, values: pa.Array, rows: list[int], fields: list[pa.Field], decoder: Decoder
) -> ColumnArrays:
    decoded = [decoder.row(keys[row].as_py(), values[row].as_py()) for row in rows]
    return {f.name: pa.array([row.get(f.name) for row in decoded], f.type) for f in fields}
