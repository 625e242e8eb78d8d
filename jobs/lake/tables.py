"""Delta tables through Spark: paths, schemas, reads, writes, locks and table history.

Only this package depends on the paths of tables and on how Delta changes tables.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

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
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.console.errors import RunFailed
from jobs.lake.compatibility import unknown_column, wrong_type
from schemas import table_ddl, table_key, table_names, table_partitioning

# How often a write is attempted when other runs commit to the same table meanwhile.
ATTEMPTS = 5
_EPOCH = datetime(1970, 1, 1)
# Listed one by one: in Python the first one is not a base class of the others.
CONFLICTS = (
    DeltaConcurrentModificationException,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
# Newest commits of a table that are searched for a label; a run makes a few commits per table.
_COMMITS_SEARCHED = 100
# `numOutputRows` of a merge also counts the rows that it only copied.
_MERGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_WRITE_METRICS = ("numOutputRows",)


Clauses = Callable[[DeltaMergeBuilder], DeltaMergeBuilder]


@dataclass(frozen=True)
class Lake:
    """The tables below one folder, as one cluster's runs see them.

    Every table begins with ``cluster_id``; `read` and all writes touch this cluster's rows only.
    `delete_rows`, `compact` and `vacuum` are maintenance and cover all clusters.
    """

    spark: SparkSession
    root: str
    cluster_id: str
    # Asking Delta is slow, and a table that exists is never dropped.
    _existing: set[str] = field(default_factory=set, compare=False, repr=False, kw_only=True)

    def path(self, table: str) -> str:
        """The table's folder or URI; a local path is absolute, as Delta requires."""
        root = self.root if "://" in self.root else os.path.abspath(self.root)
        return f"{root.rstrip('/')}/{table}"

    @property
    def parallelism(self) -> int:
        """How many tasks the engine runs at once."""
        return self.spark.sparkContext.defaultParallelism

    def cancel_jobs(self) -> None:
        self.spark.sparkContext.cancelAllJobs()

    @contextmanager
    def lock(self, work: str) -> Iterator[None]:
        """Hold the lake's lock for this kind of work; other processes wait for it.

        Does nothing in an object store, which has no locks.
        """
        if "://" in self.root:
            yield
            return
        name = sha256(work.encode()).hexdigest()[:16]
        os.makedirs(self.root, exist_ok=True)
        with open(os.path.join(self.root, f".{name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # released by the kernel, even after SIGKILL
            yield

    def derivation_lock(self) -> AbstractContextManager[None]:
        """The lock for deriving tables: rows depend on earlier dates, so runs of one cluster are
        serialized."""
        return self.lock(f"derive {self.cluster_id}")

    # Reading

    def has(self, table: str) -> bool:
        """Whether the table was ever written."""
        if table not in self._existing and DeltaTable.isDeltaTable(self.spark, self.path(table)):
            self._existing.add(table)
        return table in self._existing

    def existing_tables(self) -> list[str]:
        return [table for table in table_names() if self.has(table)]

    def read(self, table: str) -> DataFrame:
        """This cluster's rows; an empty frame of the table's schema if it was never written."""
        if not self.has(table):
            return self.frame(table, [])
        rows = self.spark.read.format("delta").load(self.path(table))
        missing = self._missing_columns(rows.schema, table)
        complete = rows.withColumns({f.name: F.lit(None).cast(f.dataType) for f in missing})
        own = complete.where(F.col("cluster_id") == self.cluster_id)
        return own.select(*schema_of(table).names)

    def frame(self, table: str, rows: Iterable[Any]) -> DataFrame:
        """``rows``, with a value per column of the table, as a frame of the table's schema."""
        return self.spark.createDataFrame(list(rows), schema_of(table))

    # Writing

    def insert_new(self, table: str, df: DataFrame, *, timed_by: str | None = None) -> None:
        """Add the rows whose key the table does not have: input read twice is written once.

        ``timed_by``: a time column that depends on the key alone; only files whose times overlap
        those of ``df`` are read.
        """
        with self.lock(f"fill {table}"):
            is_new = not self.has(table)
            if is_new:
                self._create(table)
                conform(df, table).write.format("delta").mode("append").save(self.path(table))
        if not is_new:
            self._merge(table, df, lambda merge: merge.whenNotMatchedInsertAll(), timed_by)

    def upsert(
        self, table: str, df: DataFrame, *, if_: str | None = None, timed_by: str | None = None
    ) -> None:
        """Add rows with new keys, and overwrite rows with existing keys if the condition ``if_``
        holds: SQL over ``t``, the stored row, and ``n``, the new one.  ``timed_by``: see
        `insert_new`.
        """
        self._create(table)
        self._merge(
            table,
            df,
            lambda merge: merge.whenMatchedUpdateAll(if_).whenNotMatchedInsertAll(),
            timed_by,
        )

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """Replace this cluster's rows that meet ``where`` by ``df``, in one transaction.

        AnalysisException if a row of ``df`` does not meet it.
        """
        self._create(table)
        rows = conform(df, table).write.format("delta").mode("overwrite")
        own = f"cluster_id = {_literal(self.cluster_id)} AND ({where})"
        retry_on_conflict(lambda: rows.option("replaceWhere", own).save(self.path(table)))

    def update_column(
        self, table: str, df: DataFrame, column: str, *, day: date, key: list[str]
    ) -> None:
        """Set ``column`` of this date's rows that have a key of ``df`` to the value in ``df``."""
        self._execute(
            table,
            df,
            lambda merge: merge.whenMatchedUpdate(set={column: f"n.{column}"}),
            [day],
            key,
        )

    def _merge(
        self, table: str, df: DataFrame, clauses: Clauses, timed_by: str | None = None
    ) -> None:
        """Merge by key, reading only the dates and times of the table that ``df`` may match."""
        is_dated = "event_date" in table_partitioning(table)
        dates, times = _dates_and_times(df, timed_by) if is_dated else (None, [])
        if dates == [] or (dates is None and df.isEmpty()):
            return  # merging an empty frame takes as long as merging a full one
        self._execute(table, conform(df, table), clauses, dates, table_key(table), times)

    def _execute(
        self,
        table: str,
        rows: DataFrame,
        clauses: Clauses,
        dates: list[date] | None,
        key: list[str],
        times: Iterable[str] = (),
    ) -> None:
        # Literals for the target's cluster, dates and times let Delta skip the other files.
        on = [f"t.cluster_id = {_literal(self.cluster_id)}", *times]
        on += [] if dates is None else [f"t.event_date IN {dates_in(dates)}"]
        on += [f"t.{column} <=> n.{column}" for column in key]

        def merge() -> None:
            target = self._delta(table).alias("t")
            clauses(target.merge(rows.alias("n"), " AND ".join(on))).execute()

        retry_on_conflict(merge)

    # History

    def version(self, table: str) -> int:
        """The table's newest version."""
        return int(self._last_commit(table).version)

    def commits(self, table: str, *, after: int, up_to: int) -> list[tuple[int, date]] | None:
        """(version, event_date) of each version in (``after``, ``up_to``] that added rows of this
        cluster on this date; None if the log no longer goes back to ``after``.
        """
        files = [
            f"{self.path(table)}/_delta_log/{version:020}.json"
            for version in range(after + 1, up_to + 1)
        ]
        if not files:
            return []
        # Reads additions only: a date with removed files only is one that retention deleted.
        added = "add STRUCT<dataChange: BOOLEAN, partitionValues: MAP<STRING, STRING>>"
        values = F.col("add.partitionValues")
        try:
            commits = (
                self.spark.read.schema(added)
                .json(files)
                .where(F.col("add.dataChange") & (values["cluster_id"] == self.cluster_id))
                .select(
                    F.substring_index("_metadata.file_name", ".", 1).cast("long").alias("version"),
                    F.to_date(values["event_date"]).alias("day"),
                )
                .distinct()
            )
            return [(row.version, row.day) for row in commits.collect()]
        except AnalysisException:  # no such file
            return None

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Store ``label`` in every commit that is made meanwhile; `rows_written` finds them."""
        self.spark.conf.set(_USER_METADATA, label)
        try:
            yield
        except BaseException:
            with suppress(Exception):  # keep the first error if the engine has died
                self.spark.conf.unset(_USER_METADATA)
            raise
        self.spark.conf.unset(_USER_METADATA)

    def rows_written(self, table: str, label: str) -> int | None:
        """Rows that the newest commits with this label wrote; None without such a commit."""
        if not self.has(table):
            return None
        history = self._delta(table).history(_COMMITS_SEARCHED)
        own = history.where(F.col("userMetadata") == label).select("operationMetrics")
        commits = [row.operationMetrics or {} for row in own.collect()]
        return sum(map(_rows_written, commits)) if commits else None

    # Maintenance

    def delete_rows(self, table: str, where: str) -> int:
        """Delete all clusters' rows that meet ``where``; returns how many there were."""
        before = self.version(table)
        retry_on_conflict(lambda: self._delta(table).delete(where))
        if self.version(table) == before:  # nothing matched, so Delta did not commit
            return 0
        return self._last_metric(table, "numDeletedRows")

    def compact(self, table: str) -> tuple[int, int]:
        """Combine small files; returns the number of files before and after."""
        before = self._file_count(table)
        retry_on_conflict(lambda: self._delta(table).optimize().executeCompaction())
        return before, self._file_count(table)

    def vacuum(self, table: str, hours: int) -> int:
        """Delete files that no version of the last ``hours`` needs; returns how many."""
        conf = self.spark.conf
        # Without this setting, VACUUM refuses retention below its default of 168 hours.
        conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
        # VACUUM lists folders in this many tasks, by default 10,000, however few folders exist.
        parallelism = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
        conf.set(parallelism, str(self.parallelism))
        self._delta(table).vacuum(hours)
        return self._last_metric(table, "numDeletedFiles")

    def _file_count(self, table: str) -> int:
        return int(self._delta(table).detail().select("numFiles").collect()[0][0])

    def _last_metric(self, table: str, name: str) -> int:
        return int(self._last_commit(table).operationMetrics.get(name, 0))

    def _last_commit(self, table: str) -> Row:
        return self._delta(table).history(1).select("version", "operationMetrics").collect()[0]

    def _delta(self, table: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, self.path(table))

    # Creating tables, and adding columns to tables of older versions

    def _create(self, table: str) -> None:
        if self.has(table):
            self._add_missing_columns(table)
            return
        with self.lock("create"):
            self._remove_empty_log(table)
            builder = DeltaTable.createIfNotExists(self.spark).location(self.path(table))
            columns = builder.addColumns(schema_of(table))
            columns.partitionedBy(*table_partitioning(table)).execute()

    def _remove_empty_log(self, table: str) -> None:
        """Remove a log folder without commits, left by a killed run: Delta can neither read nor
        create a table there."""
        log = Path(self.path(table), "_delta_log")
        if "://" not in self.root and log.is_dir() and not any(log.glob("*.json")):
            shutil.rmtree(log)

    def _add_missing_columns(self, table: str) -> None:
        """Add the columns that a table of an older version lacks; its rows have null there."""
        path = self.path(table).replace("`", "``")
        stored = self.spark.read.format("delta").load(self.path(table)).schema
        added = [
            f"`{field.name}` {field.dataType.simpleString()}"
            f" COMMENT {_literal(field.metadata['comment'])}"
            for field in self._missing_columns(stored, table)
        ]
        if added:
            self.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({', '.join(added)})")

    def _missing_columns(self, stored: StructType, table: str) -> list[StructField]:
        """Columns of schemas/ that the stored table lacks.

        RunFailed if the table has a column of another type, or one that schemas/ does not have.
        """
        expected = {column.name: column for column in schema_of(table)}
        for column in stored:
            if column.name not in expected:
                raise RunFailed(unknown_column(self.path(table), column.name))
            type_ = expected[column.name].dataType.simpleString()
            if column.dataType.simpleString() != type_:
                stored_type = column.dataType.simpleString()
                raise RunFailed(wrong_type(self.path(table), column.name, stored_type, type_))
        return [column for name, column in expected.items() if name not in stored.names]


def retry_on_conflict(act: Callable[[], object]) -> None:
    """Call ``act``, again if another run committed to the same table meanwhile."""
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            act()
            return
        except CONFLICTS:
            if not attempts_left:
                raise


def dates_in(dates: Iterable[date]) -> str:
    """The list after SQL's IN."""
    return "(" + ", ".join(f"DATE'{day}'" for day in sorted(dates)) + ")"


def _dates_and_times(df: DataFrame, timed_by: str | None) -> tuple[list[date], list[str]]:
    """Dates and time conditions that stored rows with a key of ``df`` meet.

    The dates include the next and the previous one: a log that is read again in another time zone
    has the same lines, some of them on another date.
    """
    time = F.lit(None).cast("timestamp") if timed_by is None else F.col(timed_by)
    ends = [F.unix_micros(f(time)).alias(name) for f, name in ((F.min, "first"), (F.max, "last"))]
    days = df.groupBy("event_date").agg(*ends).collect()
    dates = {row.event_date + timedelta(days=by) for row in days for by in (-1, 0, 1)}
    if timed_by is None:
        return sorted(dates), []
    times = [f"t.{timed_by} IS NULL"]
    if timed := [row for row in days if row.first is not None]:
        first, last = min(row.first for row in timed), max(row.last for row in timed)
        between = f"{_timestamp(first)} AND t.{timed_by} <= {_timestamp(last)}"
        times.append(f"t.{timed_by} >= {between}")
    return sorted(dates), [f"({' OR '.join(times)})"]


def _timestamp(micros: int) -> str:
    """A literal, in UTC: Delta skips files by literals only."""
    return f"TIMESTAMP'{_EPOCH + timedelta(microseconds=micros)}Z'"


def _rows_written(metrics: dict[str, str]) -> int:
    names = _MERGE_METRICS if _MERGE_METRICS[0] in metrics else _WRITE_METRICS
    return sum(int(metrics.get(name, 0)) for name in names)


@cache
def schema_of(table: str) -> StructType:
    return cast(StructType, StructType.fromDDL(table_ddl(table)))


def conform(df: DataFrame, table: str) -> DataFrame:
    """The table's columns, in its order and of its types; AnalysisException if one is missing.

    Delta checks NOT NULL against the rows that it writes.  Spark would check it against the plan,
    in which the result of every ``lag`` and every outer join is nullable.
    """
    schema = StructType([StructField(f.name, f.dataType) for f in schema_of(table)])
    return df.select(*schema.names).to(schema)  # `to` alone would fill a missing column with nulls


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
