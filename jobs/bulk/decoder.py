"""Decoding records in Python workers, a whole Arrow batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.lake.tables import schema_of

CHUNK_BYTES = 8 << 20  # of values: what the arrays are made of should fit the processor's caches

Columns = dict[str, pa.Array]


@dataclass(frozen=True)
class Decoder:
    """The table's columns by name, but for the carried ones; a missing one is null.

    ``row(key, value)`` is the reference.  ``bulk(keys, values)`` gives the same of many rows at
    once: row numbers, ascending, and their columns.  It leaves out what it cannot read.
    """

    row: Callable[[bytes, bytes | None], dict[str, Any]]
    bulk: Callable[[pa.Array, pa.Array], tuple[np.ndarray, Columns]]


def decode_into(
    table: str, records: DataFrame, carried: Sequence[str], decoder: Decoder
) -> DataFrame:
    """``records`` (key, value and the ``carried`` columns) as rows of ``table``."""
    schema = schema_of(table)
    arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in chunks(batch):
                yield decode_batch(chunk, arrow_schema, carried, decoder)

    return records.select(*carried, "key", "value").mapInArrow(decoded, schema)


def chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices with CHUNK_BYTES of values, or one record that has more."""
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
    wanted = [field for field in schema if field.name not in carried]
    rows, found = decoder.bulk(keys, values)
    decoded = _typed(found, wanted, len(rows))
    if len(rows) < len(keys):
        rest = np.setdiff1d(np.arange(len(keys)), rows)
        left = _by_row(keys, values, rest.tolist(), wanted, decoder)
        decoded = _in_order((rows, decoded), (rest, left))
    columns = [
        batch.column(field.name).cast(field.type) if field.name in carried else decoded[field.name]
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _typed(found: Columns, wanted: list[pa.Field], size: int) -> Columns:
    return {
        field.name: found[field.name].cast(field.type)
        if field.name in found
        else pa.nulls(size, field.type)
        for field in wanted
    }


def _by_row(
    keys: pa.Array, values: pa.Array, rows: list[int], wanted: list[pa.Field], decoder: Decoder
) -> Columns:
    found = [decoder.row(keys[row].as_py(), values[row].as_py()) for row in rows]
    return {f.name: pa.array([row.get(f.name) for row in found], f.type) for f in wanted}


def _in_order(some: tuple[np.ndarray, Columns], rest: tuple[np.ndarray, Columns]) -> Columns:
    order = pa.array(np.argsort(np.concatenate([some[0], rest[0]])))
    return {
        name: pa.concat_arrays([array, rest[1][name]]).take(order)
        for name, array in some[1].items()
    }
