"""Decodes records again and compares them with the rows of their tables.

reads   offsets_records, and group_metadata, group_records or committed_offsets
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from coordinator_core.records import BadRecord
from jobs import committed_offsets, group_metadata, group_records
from jobs.bulk.decoder import Decoder, decode_batch

DECODERS: dict[str, tuple[tuple[int, ...], Decoder]] = {
    "group_metadata": ((group_metadata.KEY_TYPE,), group_metadata.DECODER),
    "group_records": (group_records.KEY_TYPES, group_records.DECODER),
    "committed_offsets": (committed_offsets.KEY_TYPES, committed_offsets.DECODER),
}
DECODED = frozenset(DECODERS)
RECORD = ("cluster_id", "topic_partition", "log_offset")
_BATCH = 10_000
# Index of a record in its batch.
_ROW = pa.field("__row", pa.int64())
# Columns that are not part of the record: its position, and the outcome of its transaction.
_NOT_IN_RECORD = {*RECORD, "event_date", "append_time", "outcome"}


def differing_rows(
    root: str, table: str, lake: duckdb.DuckDBPyConnection
) -> Iterator[tuple[Any, ...]]:
    """Returns (cluster_id, where, expected, found) for each value that differs from its record."""
    schema = pa.schema(DeltaTable(f"{root.rstrip('/')}/{table}").schema().to_arrow())
    schema = pa.schema([field for field in schema if field.name not in _NOT_IN_RECORD])
    key_types, decoder = DECODERS[table]
    with_reason = Decoder(partial(_row_or_reason, decoder.row), decoder.bulk)
    record = ", ".join(RECORD)
    pairs = lake.sql(f"""
        SELECT {record}, r.key, r.value, t.* EXCLUDE ({record})
        FROM offsets_records r JOIN {table} t USING ({record})
        WHERE r.key_type IN ({", ".join(map(str, key_types))})""")
    for batch in pairs.to_arrow_reader(_BATCH):
        decoded = decode_batch(_binary(batch), schema.append(_ROW), (_ROW.name,), with_reason)
        # Decoded rows are grouped by record type.
        yield from _differing(batch.take(decoded.column(_ROW.name)), decoded)


def _row_or_reason(
    row: Callable[[bytes, bytes | None], dict[str, Any]], key: bytes, value: bytes | None
) -> dict[str, Any]:
    """The decoded row; for a record that is no longer readable, its group id is the reason."""
    try:
        return row(key, value)
    except BadRecord as error:
        return {"group_id": f"unreadable: {error}"}


def _binary(batch: pa.RecordBatch) -> pa.RecordBatch:
    keys, values = (batch.column(name).cast(pa.binary()) for name in ("key", "value"))
    rows = pa.array(range(len(keys)), _ROW.type)
    return pa.RecordBatch.from_arrays([keys, values, rows], names=["key", "value", _ROW.name])


def _differing(batch: pa.RecordBatch, decoded: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    for name in (each for each in decoded.schema.names if each != _ROW.name):
        stored = batch.column(name).cast(decoded.schema.field(name).type)
        if stored.equals(decoded.column(name)):
            continue
        pairs = zip(_values(decoded.column(name)), _values(stored), strict=True)
        for row, (expected, actual) in enumerate(pairs):
            if expected != actual:
                cluster_id, partition, offset = (batch.column(n)[row].as_py() for n in RECORD)
                yield cluster_id, f"{name} of {partition} {offset}", str(expected), str(actual)


def _values(column: pa.Array) -> list[Any]:
    """Times as numbers: Python has none before year 1 or after 9999."""
    is_time = pa.types.is_timestamp(column.type)
    return list((column.cast(pa.int64()) if is_time else column).to_pylist())
