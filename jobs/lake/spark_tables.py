"""Delta tables through Spark and delta-spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import unquote

import pyarrow as pa
from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)
from delta.tables import DeltaMergeBuilder, DeltaTable
from deltalake import DeltaTable as RustTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from jobs.engine.driver_jvm import is_local_master
from jobs.lake.arrow_tables import ArrowLake, dates_near, has_ascii_paths
from jobs.lake.commit_log import FileLogFolder, LogFolder
from jobs.lake.file_statistics import are_few, may_hold, rows_on_dates
from jobs.lake.literals import quoted, quoted_for_spark
from jobs.lake.tables import Changes, conform, schema_of, schema_with_comments
from schemas import table_key, table_partitioning
from schemas.renamed import PRESENT_VALUES

# The driver itself looks up at most this many named files.
_FEW_FILES = 32
# The driver itself writes rows if at most this many are expected.
_FEW_ROWS = 200_000
# Characters that Spark expands in the names of files.
_GLOB = re.compile(r"[*?\[\]{}\\]")
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class _Replacing:
    """Delta's setting whether conditions of replaced rows may name columns of data.

    If the setting allows it, Delta counts the table's files in a Spark job before each such write.
    Threads share the setting, which suits all of them while one of them needs it.
    """

    SETTING = "spark.databricks.delta.replaceWhere.dataColumns.enabled"

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_data = 0

    @contextmanager
    def by(self, spark: SparkSession, *, data_columns: bool) -> Iterator[None]:
        with self._lock:
            self._by_data += data_columns
            spark.conf.set(self.SETTING, "true" if self._by_data else "false")
        try:
            yield
        finally:
            with self._lock:
                self._by_data -= data_columns


_REPLACING = _Replacing()


def _words(condition: str) -> set[str]:
    """All words of an SQL condition, which are more than the names of its columns."""
    return {*re.findall(r"\w+", condition)}


@dataclass(frozen=True)
class SparkLake(ArrowLake):
    # List the exceptions one by one, because in Python the first is not a base class of the others.
    conflicts: ClassVar[tuple[type[Exception], ...]] = (
        DeltaConcurrentModificationException,
        ConcurrentAppendException,
        ConcurrentDeleteDeleteException,
        ConcurrentDeleteReadException,
        ConcurrentTransactionException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
        CommitFailedError,
    )

    @property
    def parallelism(self) -> int:
        return self.spark.sparkContext.defaultParallelism

    @property
    def _requires_lock(self) -> bool:
        return False  # Spark's settings may give access to the store without variables for delta-rs

    def cancel_jobs(self) -> None:
        self.spark.sparkContext.cancelAllJobs()

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        self.spark.conf.set(_USER_METADATA, label)
        try:
            yield
        except BaseException:
            with suppress(Exception):  # If the engine has died, keep the first error.
                self.spark.conf.unset(_USER_METADATA)
            raise
        self.spark.conf.unset(_USER_METADATA)

    def _labels_of_commits(self) -> dict[str, str]:
        label = self.spark.conf.get(_USER_METADATA, None)
        return {"userMetadata": label} if label else {}

    # Writing few rows with the driver

    @cached_property
    def writes_arrow(self) -> bool:
        """Returns whether delta-rs can change the cluster's tables: in local folders, from the only
        process of a session, and if conditions with its name read the same in both dialects of SQL.
        """
        is_plain = self.cluster_id.isascii() and self._literal(self.cluster_id) == quoted(
            self.cluster_id
        )
        return is_plain and "://" not in self.root and is_local_master(self.spark.sparkContext)

    def expect_few(self, few: bool) -> None:
        if self.writes_arrow:
            configured = self.spark.sparkContext.getConf().get(_SHUFFLE_PARTITIONS, "200")
            self.spark.conf.set(_SHUFFLE_PARTITIONS, "1" if few else configured)

    def append(self, table: str, df: DataFrame, *, few: bool = False) -> None:
        rows = self._few(table, df) if few else None
        if rows is None:
            super().append(table, df)
            return
        self.create(table)
        self._append_batches(table, rows)

    def upsert(
        self, table: str, df: DataFrame, *, if_: str | None = None, few: bool = False
    ) -> None:
        rows = self._few(table, df) if few else None
        if rows is None:
            super().upsert(table, df, if_=if_)
            return
        with self.fill_lock(table):
            self.create(table)
            if rows.num_rows:
                on = self._same_key(table_key(table), dates_near(rows))
                changes = Changes(update=None, update_if=if_)
                self._merge_batches(table, rows.to_reader, on, changes)

    def replace(self, table: str, df: DataFrame, *, where: str = "true", few: bool = False) -> None:
        rows = self._few(table, df) if few else None
        if rows is None:
            super().replace(table, df, where=where)
            return
        self.create(table)
        own = f"cluster_id = {quoted(self.cluster_id)} AND ({where})"
        self._replace_batches(table, lambda: rows, own)

    def _few(self, table: str, df: DataFrame) -> pa.Table | None:
        """The rows in this process, or None if Spark has to write them."""
        if not self.writes_arrow:
            return None
        if self.has(table) and not has_ascii_paths(self._rust(table)):
            return None
        rows = conform(df, table).limit(_FEW_ROWS + 1).toArrow()
        return rows if rows.num_rows <= _FEW_ROWS else None

    # Maintenance

    def delete_rows(self, table: str, where: str) -> int:
        before = self.version(table)
        self.retry_on_conflict(lambda: self._delta(table).delete(where))
        after = self.version(table)
        if after == before:  # Nothing matched, so Delta made no commit.
            return 0
        return self._log(table).metric(after, "numDeletedRows")

    def compact(self, table: str) -> tuple[int, int]:
        before = self._file_count(table)
        optimize = f"OPTIMIZE {self._identifier(table)}"
        self.retry_on_conflict(lambda: self.spark.sql(optimize))
        return before, self._file_count(table)

    def vacuum(self, table: str, hours: int) -> int:
        conf = self.spark.conf
        # Without this setting, VACUUM refuses retention below its default of 168 hours.
        conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
        # VACUUM lists folders in this many tasks; the default is 10,000, even for few folders.
        parallelism = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
        conf.set(parallelism, str(self.parallelism))
        self._delta(table).vacuum(hours)
        return self._log(table).metric(self.version(table), "numDeletedFiles")

    def _file_count(self, table: str) -> int:
        return int(self._delta(table).detail().select("numFiles").collect()[0][0])

    # Operations that differ between engines

    @staticmethod
    def _literal(text: str) -> str:
        return quoted_for_spark(text)

    def _is_written(self, table: str) -> bool:
        # Delta reads the log of a lake from the embedded engine in Spark jobs.
        if "://" not in self.root:
            return bool(RustTable.is_deltatable(self.path(table)))
        return bool(DeltaTable.isDeltaTable(self.spark, self.path(table)))

    def frame(self, table: str, rows: Iterable[Any]) -> DataFrame:
        return self._local(list(rows), schema_of(table))

    def _local(self, rows: list[Any], schema: StructType) -> DataFrame:
        # Rows from Arrow are part of the plan; rows from Python are read in a Spark job.
        local = to_arrow_schema(schema, timezone="UTC").empty_table()
        if rows:
            local = LocalDataToArrowConversion.convert(rows, schema, use_large_var_types=False)
        return self.spark.createDataFrame(local, schema)

    def _may_hold(self, table: str, column: str, text: str) -> bool:
        if "://" not in self.root:
            return may_hold(RustTable(self.path(table)), self.cluster_id, column, text)
        # Delta skips files by their minimum and maximum.
        return not self.read(table).where(F.col(column) == text).isEmpty()

    def _rows_on_dates(self, table: str, dates: list[date] | None) -> int | None:
        if "://" in self.root:
            return None
        return rows_on_dates(RustTable(self.path(table)), self.cluster_id, dates)

    def _are_few(self, table: str, dates: list[date] | None) -> bool:
        return self.writes_arrow and are_few(self._rust(table), self.cluster_id, dates)

    def _stored(self, table: str) -> DataFrame:
        snapshot = self._small_snapshot(table)
        if snapshot is None:
            return self.spark.read.format("delta").load(self.path(table))
        schema, files = snapshot
        if not files:
            return self._local([], schema)
        reader = self.spark.read.schema(schema).option("basePath", self.path(table))
        return reader.parquet(*files)

    def _small_snapshot(self, table: str) -> tuple[StructType, list[str]] | None:
        """Schema and files of the newest version of a table of few files in local folders, else
        None.  Delta lists files by Spark jobs, which take longer than reading a small number of
        files.
        """
        path = self.path(table)
        if "://" in path or _GLOB.search(path):
            return None
        delta = RustTable(path)
        files = delta.file_uris()
        if len(files) > _FEW_FILES or delta.protocol().min_reader_version > 1:
            return None
        if not all(unquote(file).isascii() for file in files):
            return None  # In a path, Spark takes each byte of a name's UTF-8 for a character.
        # delta-rs percent-encodes the table's folder, but not the rest of the path.
        names = [file.rsplit(f"/{table}/", 1)[1] for file in files]
        schema = StructType.fromJson(json.loads(delta.schema().to_json()))
        return schema, [f"{path}/{name}" for name in names]

    def _append(self, table: str, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(self.path(table))

    def _replace(self, table: str, rows: DataFrame, where: str) -> None:
        writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", where)
        data_columns = {*schema_of(table).names} - {*table_partitioning(table)}
        with _REPLACING.by(self.spark, data_columns=not data_columns.isdisjoint(_words(where))):
            self.retry_on_conflict(lambda: writer.save(self.path(table)))

    def _execute_merge(self, table: str, rows: DataFrame, on: str, changes: Changes) -> None:
        def merge() -> None:
            target = self._delta(table).alias("t")
            _with_clauses(target.merge(rows.alias("n"), on), changes).execute()

        self.retry_on_conflict(merge)

    def _create_empty(self, table: str) -> None:
        if self.writes_arrow:
            self._create_by_rust(table)
            return
        builder = DeltaTable.createIfNotExists(self.spark).tableName(self._identifier(table))
        columns = builder.location(self.path(table)).addColumns(schema_with_comments(table))
        for name, value in PRESENT_VALUES.items():
            columns = columns.property(name, value)
        columns.partitionedBy(*table_partitioning(table)).execute()

    def _add_columns(self, table: str, columns: list[StructField]) -> None:
        added = ", ".join(
            f"`{column.name}` {column.dataType.simpleString()}"
            f" COMMENT {self._literal(column.metadata['comment'])}"
            for column in columns
        )
        self.spark.sql(f"ALTER TABLE {self._identifier(table)} ADD COLUMNS ({added})")

    def _rename_columns(self, table: str, names: dict[str, str]) -> None:
        if self.writes_arrow:
            super()._rename_columns(table, names)
            return
        # When Delta overwrites a schema it makes each column nullable, which cannot be undone, so
        # the table no longer refuses nulls.
        stored = self.spark.read.format("delta").load(self.path(table))
        writer = stored.withColumnsRenamed(names).write.format("delta").mode("overwrite")
        writer = writer.option("overwriteSchema", "true").partitionBy(*table_partitioning(table))
        writer.save(self.path(table))

    def _properties(self, table: str) -> Mapping[str, str | None]:
        if "://" not in self.root:
            return super()._properties(table)
        properties: dict[str, str] = self._delta(table).detail().collect()[0]["properties"]
        return properties

    def _update_values(self, table: str, updates: dict[str, str], where: str) -> None:
        if self.writes_arrow:
            super()._update_values(table, updates, where)
            return
        columns: dict[str, str | Column] = {**updates}
        self.retry_on_conflict(lambda: self._delta(table).update(where, columns))
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in PRESENT_VALUES.items())
        self.spark.sql(f"ALTER TABLE {self._identifier(table)} SET TBLPROPERTIES ({listed})")

    def _identifier(self, table: str) -> str:
        """In SQL. Delta's own functions for this purpose do not escape backquotes in the path."""
        return "delta.`" + self.path(table).replace("`", "``") + "`"

    def _log_folder(self, table: str) -> LogFolder:
        if "://" in self.root:
            return HadoopLogFolder(self.spark, f"{self.path(table)}/_delta_log")
        return FileLogFolder(f"{self.path(table)}/_delta_log")

    def _delta(self, table: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, self.path(table))


def _with_clauses(merge: DeltaMergeBuilder, changes: Changes) -> DeltaMergeBuilder:
    if changes.update is None:
        merge = merge.whenMatchedUpdateAll(changes.update_if)
    elif changes.update:
        values: dict[str, str | Column] = {column: f"n.{column}" for column in changes.update}
        merge = merge.whenMatchedUpdate(changes.update_if, values)
    return merge.whenNotMatchedInsertAll() if changes.insert else merge


@dataclass(frozen=True)
class HadoopLogFolder:
    """A log folder in any file system that Spark can reach, with Spark's own credentials."""

    spark: SparkSession
    uri: str

    def names(self) -> list[str]:
        folder, files = self._path(self.uri), self._files()
        if not files.exists(folder):
            return []
        return [str(status.getPath().getName()) for status in files.listStatus(folder)]

    def text(self, name: str) -> str:
        stream = self._files().open(self._path(f"{self.uri}/{name}"))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def is_parquet(self, name: str) -> bool:
        # An object store keeps only whole files, so the ends of files need no check.
        return bool(self._files().getFileStatus(self._path(f"{self.uri}/{name}")).getLen())

    def fault_of_file(self, path: str, size: int) -> str | None:
        return None

    def _files(self) -> Any:
        hadoop = self.spark.sparkContext._jsc.hadoopConfiguration()
        return self._path(self.uri).getFileSystem(hadoop)

    def _path(self, uri: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    @property
    def _jvm(self) -> Any:
        return self.spark.sparkContext._jvm
