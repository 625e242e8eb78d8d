"""The peer of `bench.scale`: the main tables of the pipeline, written by hand in DuckDB's SQL.

    group_metadata, committed_offsets   the pipeline's own decoder, over batches of Arrow
    the other tables                    one SQL statement per file
    writes                              delta-rs

The peer is a lower bound of what the tables cost.  It reads records only: the generated day has no
broker log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from jobs import committed_offsets, group_metadata
from jobs.bulk.decoder import chunks, decode_batch
from jobs.lake.tables import schema_of
from schemas import table_partitioning

FOLDER = Path(__file__).parent
# The tables that each statement reads.
READS = {
    "group_metadata": ("offsets_records",),
    "committed_offsets": ("offsets_records",),
    "timeline": ("group_metadata",),
    "generations": ("timeline", "group_metadata"),
    "generation_members": ("timeline", "group_metadata"),
    "assignments": ("timeline", "group_metadata", "generation_members"),
    "rebalance_latency": ("generations", "assignments"),
}
TABLES = tuple(READS)
DECODERS = {"group_metadata": group_metadata, "committed_offsets": committed_offsets}


def run(root: str, table: str) -> None:
    """Write one table of the lake at ``root`` from the tables that it reads."""
    schema = to_arrow_schema(schema_of(table), timezone="UTC")
    with duckdb.connect() as connection:
        for name in READS[table]:
            files = DeltaTable(f"{root}/{name}").file_uris()
            connection.read_parquet(files, hive_partitioning=True).create_view(name)
        selected = connection.sql((FOLDER / f"{table}.sql").read_text()).to_arrow_reader()
        rows = _decoded(table, selected, schema) if table in DECODERS else selected
        reader = pa.RecordBatchReader.from_batches(schema, (_conform(b, schema) for b in rows))
        partitioning = table_partitioning(table)
        write_deltalake(f"{root}/{table}", reader, mode="overwrite", partition_by=partitioning)


def _decoded(
    table: str, records: Iterable[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    job = DECODERS[table]
    for batch in records:
        for chunk in chunks(batch):
            yield decode_batch(chunk, schema, job.CARRIED, job.DECODER)


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The table's columns; null where the statement does not select one (facts of the log)."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
