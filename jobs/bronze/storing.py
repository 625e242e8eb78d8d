"""Write a source's rows to their tables, and return what the source counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from jobs.bronze.source_names import DUMP, KAFKA, SEGMENTS
from jobs.bronze.table_rows import TableRows, arrow_schema, records, unreadable_records
from jobs.engine.choice import bytes_of
from jobs.engine.embedded import is_embedded
from jobs.engine.keeping import frame_of_batches, kept
from jobs.lake.tables import Lake
from jobs.sources.rows import SourceRows

if TYPE_CHECKING:
    from jobs.lake.arrow_tables import ArrowLake

# If files are larger than this in total, Spark reads them in several tasks.
SMALL_BYTES = 16 << 20
# Size of rows that this process holds in memory per table, and writes in one commit.
CHUNK_BYTES = 128 << 20


@contextmanager
def stored(lake: Lake, source: SourceRows, tables: Sequence[TableRows]) -> Iterator[DataFrame]:
    """Store the rows of all ``tables``; returns the rows that the source's counts are computed
    from (Spark: all rows)."""
    if is_embedded(lake.spark) or (lake.writes_arrow and _is_small(source)):
        yield _stored_in_chunks(cast("ArrowLake", lake), source, tables)
        return
    with kept(source.frame(lake.spark)) as rows:
        for each in tables:
            _store_frame(lake, each, rows)
        yield rows


def _is_small(source: SourceRows) -> bool:
    """Returns whether this process reads the files sooner than Spark begins to."""
    return bool(source.files) and bytes_of(source.files) <= SMALL_BYTES


def _store_frame(lake: Lake, table: TableRows, rows: DataFrame) -> None:
    # Two files may have the same record or line, with the same key.
    new = table.frame(rows, lake.cluster_id).dropDuplicates(table.key)
    lake.insert_new(table.table, new, replaces=table.replaces, timed_by=table.timed_by)


def _stored_in_chunks(
    lake: ArrowLake, source: SourceRows, tables: Sequence[TableRows]
) -> DataFrame:
    chunks = [_Chunks(lake, table) for table in tables]

    def counted() -> Iterator[pa.RecordBatch]:
        for rows in source.batches(lake.spark):
            for each in chunks:
                each.add(rows)
            yield source.counted(rows)
        for each in chunks:
            each.write()

    schema = source.counted(pa.RecordBatch.from_pylist([], source.schema)).schema
    return frame_of_batches(lake.spark, counted(), schema)


class _Chunks:
    """Rows of one table, written whenever they have CHUNK_BYTES."""

    def __init__(self, lake: ArrowLake, table: TableRows) -> None:
        self._lake, self._table = lake, table
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, rows: pa.RecordBatch) -> None:
        batch = self._table.batch(rows, self._lake.cluster_id)
        if not batch.num_rows:
            return
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= CHUNK_BYTES:
            self.write()

    def write(self) -> None:
        held, self._held, self._bytes = self._held, [], 0
        self._lake.add_new(
            self._table.table,
            pa.Table.from_batches(held, arrow_schema(self._table.table)),
            replaces=self._table.replaces,
            timed_by=self._table.timed_by,
        )


def record_tables(lake: Lake, source: str) -> list[TableRows]:
    """The tables of a source's records, and how to store them beside other sources' records."""
    # A record has the same time at every broker, but an exporter may round the time or change its
    # zone.
    time = None if source == DUMP or _may_hold(lake, DUMP) else "append_time"
    # A segment has more details of a record than a consumer or an export.
    is_richer = source == SEGMENTS and (time is None or _may_hold(lake, KAFKA))
    # Where a segment comes from a diverged replica, the live topic has the right records.
    is_right = source == KAFKA and _may_hold(lake, SEGMENTS)
    if is_right:
        return [records(source, replaces="value"), unreadable_records(source)]
    replaces = "source" if is_richer else None
    return [records(source, replaces=replaces, timed_by=time), unreadable_records(source)]


def _may_hold(lake: Lake, source: str) -> bool:
    """Returns whether the table may have records from ``source``, also of a run that was killed
    before it wrote its counts.
    """
    return lake.may_hold("offsets_records", "source", source)
