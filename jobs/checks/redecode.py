"""Records read once more, and held against what their tables say.

reads   offsets_records, and group_metadata or committed_offsets
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from coordinator_core.records import BadRecord
from jobs import committed_offsets, group_metadata
from jobs.bulk.arrow import Decoder, decode_batch

DECODERS: dict[str, tuple[tuple[int, ...], Decoder]] = {
    "group_metadata": ((group_metadata.KEY_TYPE,), group_metadata.DECODER),
    "committed_offsets": (committed_offsets.KEY_TYPES, committed_offsets.DECODER),
}
DECODED = frozenset(DECODERS)
PLACE = ("cluster_id", "topic_partition", "log_offset")
_BATCH = 10_000
# Where a record lies, and whether its transaction came to count, it does not say itself.
_NOT_SAID = {*PLACE, "event_date", "append_time", "outcome"}


def decoded_otherwise(
    root: str, table: str, lake: duckdb.DuckDBPyConnection
) -> Iterator[tuple[Any, ...]]:
    """(cluster_id, where, expected, found) of each record that its table has otherwise."""
    schema = pa.schema(DeltaTable(f"{root.rstrip('/')}/{table}").schema().to_arrow())
    schema = pa.schema([field for field in schema if field.name not in _NOT_SAID])
    key_types, decoder = DECODERS[table]
    told = Decoder(partial(_row_or_reason, decoder.row), decoder.bulk)
    place = ", ".join(PLACE)
    pairs = lake.sql(f"""
        SELECT {place}, r.key, r.value, t.* EXCLUDE ({place})
        FROM offsets_records r JOIN {table} t USING ({place})
        WHERE r.key_type IN ({", ".join(map(str, key_types))})""")
    for batch in pairs.to_arrow_reader(_BATCH):
        said = decode_batch(_binary(batch), schema, (), told)
        yield from _differing(batch, said)


def _row_or_reason(
    row: Callable[[bytes, bytes | None], dict[str, Any]], key: bytes, value: bytes | None
) -> dict[str, Any]:
    """A record that was readable once and is no more says so in place of its group."""
    try:
        return row(key, value)
    except BadRecord as error:
        return {"group_id": f"unreadable: {error}"}


def _binary(batch: pa.RecordBatch) -> pa.RecordBatch:
    keys, values = (batch.column(name).cast(pa.binary()) for name in ("key", "value"))
    return pa.RecordBatch.from_arrays([keys, values], names=["key", "value"])


def _differing(batch: pa.RecordBatch, said: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    for name in said.schema.names:
        stored = batch.column(name).cast(said.schema.field(name).type)
        if stored.equals(said.column(name)):
            continue
        pairs = zip(said.column(name).to_pylist(), stored.to_pylist(), strict=True)
        for row, (expected, found) in enumerate(pairs):
            if expected != found:
                cluster_id, partition, offset = (batch.column(n)[row].as_py() for n in PLACE)
                yield cluster_id, f"{name} of {partition} {offset}", str(expected), str(found)
