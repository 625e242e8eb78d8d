"""Rows that several plans use, computed once: Spark keeps them in its storage, the embedded engine,
which has none, in temporary Parquet files.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from jobs.engine.embedded import is_embedded, with_schema
from jobs.engine.scratch import scratch_folder


def keep(rows: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK) -> DataFrame:
    """The same rows, which later plans read instead of computing them again; see `release`."""
    return computed_in_turn([rows]) if is_embedded(rows.sparkSession) else rows.persist(level)


def release(rows: DataFrame) -> None:
    """Free Spark's storage of a frame that `keep` returned; files are deleted after the last use of
    the frame.
    """
    if not is_embedded(rows.sparkSession):
        rows.unpersist()


@contextmanager
def kept(rows: DataFrame, level: StorageLevel = StorageLevel.DISK_ONLY) -> Iterator[DataFrame]:
    """`keep` the rows while several tables are written from them."""
    same = keep(rows, level)
    try:
        yield same
    finally:
        release(same)


def computed(rows: DataFrame) -> DataFrame:
    """The same rows, computed now: later plans do not repeat how they were made."""
    return computed_in_turn([rows]) if is_embedded(rows.sparkSession) else rows.localCheckpoint()


def computed_in_turn(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames, which have one schema, on the embedded engine.

    Only the rows of one frame are in memory at a time, and later plans have one input instead of a
    union.
    """
    folder = scratch_folder() / uuid4().hex
    for rows in frames:
        rows.write.mode("append").parquet(str(folder))
    return _frame_of_files(rows.sparkSession, folder, _written_schema(folder) or rows.schema)


def computed_in_one_partition(rows: DataFrame) -> DataFrame:
    """`computed`, in one partition: later steps on few rows are one task without exchanges."""
    return computed(in_one_partition(rows))


def in_one_partition(rows: DataFrame) -> DataFrame:
    """The same rows in one task of Spark's; the embedded engine has no tasks."""
    return rows if is_embedded(rows.sparkSession) else rows.coalesce(1)


def by_key(rows: DataFrame, key: list[str]) -> DataFrame:
    """The same rows, so that the rows of each key are in one task of Spark; the embedded engine
    would put all keys into one thread.
    """
    return rows if is_embedded(rows.sparkSession) else rows.repartition(*key)


def frame_of_batches(
    session: SparkSession, batches: Iterable[pa.RecordBatch], schema: pa.Schema
) -> DataFrame:
    """The rows of all batches as a frame; holds one batch at a time."""
    folder = scratch_folder() / uuid4().hex
    folder.mkdir()
    with pq.ParquetWriter(folder / "0.parquet", schema) as file:
        for batch in batches:
            file.write_batch(batch)
    return _frame_of_files(session, folder, from_arrow_schema(schema))


def _written_schema(folder: Path) -> StructType | None:
    """The schema of the folder's files, or None if there were no rows."""
    file = next(folder.glob("*.parquet"), None)
    return None if file is None else from_arrow_schema(pq.read_schema(file))


def _frame_of_files(session: SparkSession, folder: Path, schema: StructType) -> DataFrame:
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)
    read = session.read.schema(columns).parquet(str(folder))
    if is_embedded(session):  # Spark's plans are in the JVM, so the folder stays until the end.
        # The plans of all frames derived from this frame refer to its plan.
        weakref.finalize(read._plan, shutil.rmtree, folder, ignore_errors=True)
    return with_schema(read, schema)
