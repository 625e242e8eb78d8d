"""Decoding records in Python workers, a whole Arrow batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.tables import schema_of

DecodeRow = Callable[[bytes, bytes | None], dict[str, Any]]


def decode_into(
    table: str, records: DataFrame, carried: Sequence[str], row: DecodeRow
) -> DataFrame:
    """``records`` (key, value and the ``carried`` columns) as rows of ``table``.

    ``row(key, value)`` gives the table's other columns by name; a missing one is null.
    """
    schema = schema_of(table)
    arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (decode_batch(batch, arrow_schema, carried, row) for batch in batches)

    return records.select(*carried, "key", "value").mapInArrow(decoded, schema)


def decode_batch(
    batch: pa.RecordBatch, schema: pa.Schema, carried: Sequence[str], row: DecodeRow
) -> pa.RecordBatch:
    pairs = zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
    rows = [row(key, value) for key, value in pairs]
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in carried
        else pa.array([r.get(field.name) for r in rows], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
