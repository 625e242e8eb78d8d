"""Writes the bronze table of a generated day (fleet.py), as `regroup ingest` does."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, date, datetime

import pyarrow as pa
from deltalake import write_deltalake

from bench.scale.fleet import FleetPartition, Row, partitions
from schemas import table_partitioning

CLUSTER = "bench"
ROWS_PER_FILE = 500_000
SCHEMA = pa.schema(
    [
        ("cluster_id", pa.string()), ("topic_partition", pa.string()), ("log_offset", pa.int64()),
        ("event_date", pa.date32()), ("append_time", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()), ("value", pa.binary()), ("key_type", pa.int32()),
        ("magic", pa.int32()), ("is_transactional", pa.bool_()), ("producer_id", pa.int64()),
        ("control", pa.string()), ("source", pa.string()), ("file", pa.string()),
        ("position", pa.int64()),
    ]
)  # fmt: skip


def write_bronze(root: str, scale: float, *, skewed: bool) -> None:
    waiting: list[pa.RecordBatch] = []
    with multiprocessing.Pool() as pool:
        for batches in pool.imap(_batches, partitions(scale, skewed=skewed)):
            waiting += batches
            if sum(batch.num_rows for batch in waiting) >= ROWS_PER_FILE:
                _append(root, waiting)
                waiting = []
    _append(root, waiting)


def _append(root: str, batches: list[pa.RecordBatch]) -> None:
    if batches:
        table = pa.Table.from_batches(batches)
        partitioning = table_partitioning("offsets_records")
        write_deltalake(f"{root}/offsets_records", table, mode="append", partition_by=partitioning)


def _batches(partition: FleetPartition) -> list[pa.RecordBatch]:
    rows = partition.rows()
    return [
        _batch(partition.number, start, rows[start : start + ROWS_PER_FILE])
        for start in range(0, len(rows), ROWS_PER_FILE)
    ]


def _batch(partition: int, first_offset: int, rows: list[Row]) -> pa.RecordBatch:
    times, keys, values, types = zip(*rows, strict=True)
    count, name = len(rows), f"__consumer_offsets-{partition}"
    columns = {
        "cluster_id": [CLUSTER] * count,
        "topic_partition": [name] * count,
        "log_offset": range(first_offset, first_offset + count),
        "event_date": [_date(at) for at in times],
        "append_time": [at * 1000 for at in times],
        "key": keys,
        "value": values,
        "key_type": types,
        "magic": [2] * count,
        "is_transactional": [False] * count,
        "producer_id": [-1] * count,
        "control": [None] * count,
        "source": ["segments"] * count,
        "file": [f"{name}/00000000000000000000.log"] * count,
        "position": [0] * count,
    }
    arrays = [pa.array(columns[field.name], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _date(time_ms: int) -> date:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date()
