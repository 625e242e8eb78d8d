"""Delta tables: paths, schemas, reads, writes, locks and table history, whatever the engine.

Only this package depends on the paths of tables and on how Delta changes tables.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.console.errors import RunFailed, UsageError
from jobs.engine.embedded import with_schema
from jobs.lake.column_types import struct_type
from jobs.lake.commit_log import CommitLog, LogFolder
from jobs.lake.compatibility import unknown_column, wrong_type
from jobs.lake.store_lock import StoreLock, is_lockable, is_s3, store_lock
from schemas import table_key, table_names, table_partitioning
from schemas.columns import columns
from schemas.renamed import (
    RENAMED,
    RENAMED_VALUES,
    renamed_in,
    renamed_values,
    with_present_value,
)

# Number of attempts of a write while other runs commit to the same table.
ATTEMPTS = 5
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Changes:
    """What a merge does with the new rows ``n`` and the stored rows ``t``.

    ``update`` has the columns to overwrite in stored rows with the same key if the SQL condition
    ``update_if`` holds; None means all columns, and an empty list none.  ``insert`` says whether
    rows with new keys are added.
    """

    update: tuple[str, ...] | None = ()
    update_if: str | None = None
    insert: bool = True


@dataclass(frozen=True)
class Lake(ABC):
    """The tables below one folder, as one cluster's runs see them.

    Every table begins with ``cluster_id``; `read` and all writes touch this cluster's rows only.
    `delete_rows`, `compact` and `vacuum` are maintenance and cover all clusters.  SQL conditions
    are in the dialect that all engines share.
    """

    spark: SparkSession
    root: str
    cluster_id: str
    # Names of existing tables: asking Delta is slow, and an existing table is never dropped.
    _existing: set[str] = field(default_factory=set, compare=False, repr=False, kw_only=True)
    # Names of tables that have all columns, as found by this run.
    _complete: set[str] = field(default_factory=set, compare=False, repr=False, kw_only=True)
    # Errors that mean that another run committed to the same table, so the write is tried again.
    conflicts: ClassVar[tuple[type[Exception], ...]] = ()

    def path(self, table: str) -> str:
        """The table's folder or URI; a local path is absolute, as Delta requires."""
        root = self.root if "://" in self.root else os.path.abspath(self.root)
        return f"{root.rstrip('/')}/{table}"

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """The number of tasks that the engine runs at once."""

    @abstractmethod
    def cancel_jobs(self) -> None:
        """Cancel what the engine is running, so that waiting threads end with an error."""

    @property
    def writes_arrow(self) -> bool:
        """Returns whether rows of this process can be written without the engine
        (`ArrowLake.add_new`).
        """
        return False

    @property
    def engine_is_in_process(self) -> bool:
        return False

    @contextmanager
    def lock(self, work: str) -> Iterator[None]:
        """Hold the lake's lock for this kind of work; other processes wait for it.

        In an object store, all kinds of work share `_store_lock`; other file systems have no lock.
        """
        if "://" in self.root:
            with self._store_lock().held(work) if is_lockable(self.root) else nullcontext():
                yield
            return
        name = sha256(work.encode()).hexdigest()[:16]
        os.makedirs(self.root, exist_ok=True)
        with open(os.path.join(self.root, f".{name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # The kernel releases this lock, even after SIGKILL.
            yield

    def run_lock(self) -> AbstractContextManager[None]:
        """A lock for a whole run: in an object store each lock costs commits, so a run takes only
        one.
        """
        return self.lock(f"run {self.cluster_id}") if "://" in self.root else nullcontext()

    def _store_lock(self) -> StoreLock:
        # Delta's commits from Spark to S3 are unconditional puts, so a second writer on either
        # engine loses commits, even in the tables of another cluster.
        scope = "lake" if is_s3(self.root) else f"cluster {self.cluster_id}"
        return store_lock(self.root, scope, is_required=self._requires_lock)

    @property
    def _requires_lock(self) -> bool:
        """Returns whether a lock that cannot be reached is an error."""
        return True

    def derivation_lock(self) -> AbstractContextManager[None]:
        """The lock for deriving tables: rows depend on earlier dates, so runs of one cluster are
        serialized."""
        return self.lock(f"derive {self.cluster_id}")

    def fill_lock(self, table: str) -> AbstractContextManager[None]:
        """The lock for adding this cluster's rows by key: an engine may append rows whose keys it
        did not find, which no transaction checks."""
        return self.lock(f"fill {table} {self.cluster_id}")

    # Reading

    def has(self, table: str) -> bool:
        """Returns whether the table was ever written."""
        if table not in self._existing and self._is_written(table):
            self._existing.add(table)
        return table in self._existing

    def existing_tables(self) -> list[str]:
        return [table for table in table_names() if self.has(table)]

    def read(self, table: str) -> DataFrame:
        """This cluster's rows; an empty frame with the table's schema if the table was never
        written.
        """
        if not self.has(table):
            return self.frame(table, [])
        stored = self._stored(table)
        rows = stored if table in self._complete else self._with_all_columns(stored, table)
        own = rows.where(F.col("cluster_id") == self.cluster_id)
        return with_schema(own.select(*schema_of(table).names), nullable_schema_of(table))

    def _with_all_columns(self, rows: DataFrame, table: str) -> DataFrame:
        """Present names of the columns and values of an older version, and nulls for the columns
        that it lacks."""
        if renamed := renamed_in(table, rows.columns):
            rows = rows.withColumnsRenamed(renamed)
        if missing := self._missing_columns(rows.schema, table):
            nulls = {each.name: F.lit(None).cast(each.dataType) for each in missing}
            rows = rows.withColumns(nulls)
        values = RENAMED_VALUES.get(table, {})
        present = {name: F.expr(with_present_value(name, of)) for name, of in values.items()}
        return rows.withColumns(present) if present else rows

    @abstractmethod
    def frame(self, table: str, rows: Iterable[Any]) -> DataFrame:
        """``rows``, with a value per column of the table, as a frame of the table's schema."""

    def may_hold(self, table: str, column: str, text: str) -> bool:
        """Returns whether a row of this cluster may have ``text`` in ``column``; False is
        certain.
        """
        return self.has(table) and self._may_hold(table, column, text)

    def rows_on_dates(self, table: str, dates: Iterable[date] | None) -> int | None:
        """The number of this cluster's rows on these dates (None: on all dates), from the table's
        Delta log. Returns None if the log does not show the number.
        """
        listed = None if dates is None else list(dates)
        return self._rows_on_dates(table, listed) if self.has(table) else 0

    def are_few(self, tables: Iterable[str], dates: Iterable[date] | None) -> bool:
        """Returns whether this cluster's rows of these dates (None: of all) are so few in all these
        tables that the driver should write what a run derives from them.
        """
        listed = None if dates is None else list(dates)
        return all(self._are_few(table, listed) for table in tables if self.has(table))

    def expect_few(self, few: bool) -> None:  # noqa: B027  # embedded plans do not differ
        """Plan the run's further steps for few rows, or as configured."""

    # Writing

    def insert_new(
        self,
        table: str,
        df: DataFrame,
        *,
        replaces: str | None = None,
        timed_by: str | None = None,
    ) -> None:
        """Add the rows whose key the table does not have: input read twice is written once.

        ``replaces`` is a column; a row whose stored row has another value there replaces that row.
        ``timed_by`` is a time column that depends only on the key; only files whose times overlap
        those of ``df`` are read.
        """
        with self.fill_lock(table):
            if not self.has(table):
                self.create(table)
                self._append(table, conform(df, table))
            elif "event_date" in table_partitioning(table):
                self._merge_new(table, df, replaces, timed_by)
            elif not df.isEmpty():
                on = self._same_key(table_key(table), None)
                self._execute_merge(table, conform(df, table), on, Changes())

    def append(self, table: str, df: DataFrame, *, few: bool = False) -> None:
        """Add rows whose keys the table cannot have yet.

        ``few``, of all writes: whether the rows are probably few, so that the driver writes them.
        """
        self.create(table)
        self._append(table, conform(df, table))

    def upsert(
        self, table: str, df: DataFrame, *, if_: str | None = None, few: bool = False
    ) -> None:
        """Add rows with new keys, and overwrite rows with existing keys if the condition ``if_``
        holds: SQL over ``t``, the stored row, and ``n``, the new one.
        """
        with self.fill_lock(table):
            self.create(table)
            is_dated = "event_date" in table_partitioning(table)
            dates = _dates_and_times(df, None)[0] if is_dated else None
            if dates == [] or (dates is None and df.isEmpty()):
                return  # Merging an empty frame would take as long as merging a full frame.
            on = self._same_key(table_key(table), dates)
            changes = Changes(update=None, update_if=if_)
            self._execute_merge(table, conform(df, table), on, changes)

    def replace(self, table: str, df: DataFrame, *, where: str = "true", few: bool = False) -> None:
        """Replace this cluster's rows that meet ``where`` by ``df``, in one transaction.

        An error of the engine if a row of ``df`` does not meet it.
        """
        self.create(table)
        own = f"cluster_id = {self._literal(self.cluster_id)} AND ({where})"
        self._replace(table, conform(df, table), own)

    def update_column(
        self, table: str, df: DataFrame, column: str, *, day: date, key: list[str]
    ) -> None:
        """Set ``column`` of this date's rows that have a key of ``df`` to the value in ``df``."""
        on = self._same_key(key, [day])
        self._execute_merge(table, df, on, Changes(update=(column,), insert=False))

    def _merge_new(
        self, table: str, df: DataFrame, replaces: str | None, timed_by: str | None
    ) -> None:
        """`insert_new` into a table that has rows, reading only the dates and times that may match.

        Rows that are already stored do not go into a merge that updates, because the merge would
        write each file that has one of the keys again, and the next jobs would consider its rows
        new.
        """
        dates, times = _dates_and_times(df, timed_by)
        if not dates:
            return
        key = table_key(table)
        on = self._same_key(key, dates, times)
        if replaces is None:
            self._execute_merge(table, conform(df, table), on, Changes())
            return
        is_other = f"NOT t.{replaces} <=> n.{replaces}"
        stored = self.read(table).withColumn("is_stored", F.lit(True)).alias("t")
        near = stored.where(" AND ".join([_on_dates(dates), *times]))
        both = df.alias("n").join(near, on=F.expr(_equal_keys(key)), how="left")
        news = both.agg(
            F.count(F.when(F.col("t.is_stored").isNull(), 1)).alias("new"),
            F.count(F.when(F.col("t.is_stored") & F.expr(is_other), 1)).alias("other"),
        ).collect()[0]
        if news.new:
            self._execute_merge(table, conform(df, table), on, Changes())
        if news.other:
            other = conform(both.where(F.col("t.is_stored")).where(is_other).select("n.*"), table)
            changes = Changes(update=None, update_if=is_other, insert=False)
            self._execute_merge(table, other, on, changes)

    def _same_key(self, key: list[str], dates: list[date] | None, times: Iterable[str] = ()) -> str:
        """The merge's condition.

        Literals for the stored rows' cluster, dates and times let Delta skip all other files.
        """
        on = [f"t.cluster_id = {self._literal(self.cluster_id)}", *times]
        on += [] if dates is None else [_on_dates(dates)]
        return " AND ".join([*on, *([_equal_keys(key)] if key else [])])

    def retry_on_conflict(self, act: Callable[[], object]) -> None:
        """Call ``act``, again if another run committed to the same table meanwhile."""
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                act()
                return
            except self.conflicts:
                if not attempts_left:
                    raise

    # History

    def version(self, table: str) -> int:
        """The table's newest version."""
        return self._log(table).versions()[-1]

    def commits(self, table: str, *, after: int, up_to: int) -> list[tuple[int, date]] | None:
        """See `CommitLog.days_with_new_rows`."""
        return self._log(table).days_with_new_rows(self.cluster_id, after=after, up_to=up_to)

    def rows_written(self, table: str, label: str) -> int | None:
        """Rows that the newest commits with this label wrote, or None without such a commit."""
        return self._log(table).rows_written(label) if self.has(table) else None

    @abstractmethod
    def labelled(self, label: str) -> AbstractContextManager[None]:
        """Store ``label`` in every commit that is made meanwhile; `rows_written` finds them."""

    # Maintenance

    @abstractmethod
    def delete_rows(self, table: str, where: str) -> int:
        """Delete the rows of all clusters that meet ``where``; returns the number of deleted
        rows.
        """

    @abstractmethod
    def compact(self, table: str) -> tuple[int, int]:
        """Combine small files; returns the number of files before and after."""

    @abstractmethod
    def vacuum(self, table: str, hours: int) -> int:
        """Delete files that no version of the last ``hours`` needs; returns how many."""

    # Creating tables, and adding columns to tables of older versions

    def create(self, table: str) -> None:
        """Create the table without rows.  A table that exists gets the columns that it lacks."""
        if self.has(table):
            self._complete_columns(table)
            return
        with self.lock("create"):
            self._remove_empty_log(table)
            self._create_empty(table)

    def rename_old_names(self) -> None:
        """Rename what another version named otherwise, in all tables: a frame that was read by old
        names cannot be computed after a write of the same run has renamed them."""
        for table in {*RENAMED, *RENAMED_VALUES}.intersection(table_names()):
            if self.has(table):
                self._complete_columns(table)

    def _complete_columns(self, table: str) -> None:
        """Rename columns and values of a table of an older version, and add the columns that it
        lacks; its rows have null there."""
        if table in self._complete:
            return
        stored = self._stored_schema(table)
        if renamed := renamed_in(table, stored.names):
            with self.lock("create"):
                self._rename_columns(table, renamed)
            stored = self._stored_schema(table)
        if missing := self._missing_columns(stored, table):
            self._add_columns(table, missing)
        if table in RENAMED_VALUES:
            with self.lock("create"):
                self._complete_values(table)
        self._complete.add(table)

    def _complete_values(self, table: str) -> None:
        if values := renamed_values(table, self._properties(table)):
            updates = {name: with_present_value(name, of) for name, of in values.items()}
            listed = {name: ", ".join(f"'{old}'" for old in of) for name, of in values.items()}
            where = " OR ".join(f"{name} IN ({old})" for name, old in listed.items())
            self._update_values(table, updates, where)

    def _remove_empty_log(self, table: str) -> None:
        """Remove a log folder without commits, left by a killed run: Delta can neither read nor
        create a table there."""
        log = Path(self.path(table), "_delta_log")
        if "://" not in self.root and log.is_dir() and not any(log.glob("*.json")):
            shutil.rmtree(log)

    def _missing_columns(self, stored: StructType, table: str) -> list[StructField]:
        """Columns of schemas/ that the stored table lacks.

        Raises RunFailed if the table has a column of another type, or one that schemas/ does not
        have.
        """
        expected = {column.name: column for column in schema_with_comments(table)}
        for column in stored:
            if column.name not in expected:
                raise RunFailed(unknown_column(self.path(table), column.name))
            type_ = expected[column.name].dataType.simpleString()
            if column.dataType.simpleString() != type_:
                stored_type = column.dataType.simpleString()
                raise RunFailed(wrong_type(self.path(table), column.name, stored_type, type_))
        return [column for name, column in expected.items() if name not in stored.names]

    # Operations that differ between engines

    @staticmethod
    @abstractmethod
    def _literal(text: str) -> str:
        """An SQL string in the conditions of `_replace` and `_execute_merge`."""

    @abstractmethod
    def _is_written(self, table: str) -> bool: ...

    @abstractmethod
    def _stored(self, table: str) -> DataFrame:
        """The rows of all clusters, with the columns that the table has."""

    def _stored_schema(self, table: str) -> StructType:
        return self._stored(table).schema

    @abstractmethod
    def _may_hold(self, table: str, column: str, text: str) -> bool: ...

    @abstractmethod
    def _rows_on_dates(self, table: str, dates: list[date] | None) -> int | None: ...

    def _are_few(self, table: str, dates: list[date] | None) -> bool:
        return False

    @abstractmethod
    def _append(self, table: str, rows: DataFrame) -> None: ...

    @abstractmethod
    def _replace(self, table: str, rows: DataFrame, where: str) -> None: ...

    @abstractmethod
    def _execute_merge(self, table: str, rows: DataFrame, on: str, changes: Changes) -> None: ...

    @abstractmethod
    def _create_empty(self, table: str) -> None:
        """Create the table unless another run just did."""

    @abstractmethod
    def _add_columns(self, table: str, columns: list[StructField]) -> None: ...

    @abstractmethod
    def _rename_columns(self, table: str, names: dict[str, str]) -> None:
        """Write all clusters' rows again, with new names by old name."""

    @abstractmethod
    def _properties(self, table: str) -> Mapping[str, str | None]: ...

    @abstractmethod
    def _update_values(self, table: str, updates: dict[str, str], where: str) -> None:
        """Set columns to SQL expressions in the rows of all clusters that meet ``where``, then set
        the property PRESENT_VALUES.
        """

    @abstractmethod
    def _log_folder(self, table: str) -> LogFolder: ...

    def require_whole(self) -> None:
        """Raises UsageError if a table's newest commits are damaged: Delta would read and write it
        without their rows.  The error names table, file and remedy.
        """
        with ThreadPoolExecutor() as pool:  # Each of these calls is a request to an object store.
            damages = pool.map(lambda table: self._log(table).damage(), table_names())
            for table, damage in zip(table_names(), damages, strict=True):
                if damage is not None:
                    raise UsageError(f"--lake {self.root}: table {table}: {damage}")

    def _log(self, table: str) -> CommitLog:
        return CommitLog(self._log_folder(table))


def _on_dates(dates: Iterable[date]) -> str:
    return f"t.event_date IN {dates_in(dates)}"


def _equal_keys(key: Iterable[str]) -> str:
    return " AND ".join(f"t.{column} <=> n.{column}" for column in key)


def dates_in(dates: Iterable[date]) -> str:
    """The list after SQL's IN."""
    return "(" + ", ".join(f"DATE'{day}'" for day in sorted(dates)) + ")"


def _dates_and_times(df: DataFrame, timed_by: str | None) -> tuple[list[date], list[str]]:
    """Dates and time conditions that stored rows with a key of ``df`` meet.

    The dates include the next and the previous date: a log that is read again in another time zone
    has the same lines, but some of them on another date.
    """
    time = F.lit(None).cast("timestamp") if timed_by is None else F.col(timed_by)
    ends = [F.unix_micros(f(time)).alias(name) for f, name in ((F.min, "first"), (F.max, "last"))]
    days = df.groupBy("event_date").agg(*ends).collect()
    dates = with_neighbors(row.event_date for row in days)
    if timed_by is None:
        return dates, []
    timed = [row for row in days if row.first is not None]
    first = min((row.first for row in timed), default=None)
    return dates, [times_between(timed_by, first, max((row.last for row in timed), default=None))]


def with_neighbors(dates: Iterable[date]) -> list[date]:
    """The dates and the dates beside them, sorted."""
    return sorted({day + timedelta(days=by) for day in dates for by in (-1, 0, 1)})


def times_between(column: str, first: int | None, last: int | None) -> str:
    """The condition that a stored row's time is null or between these, in microseconds since the
    epoch. If both are None, the time must be null."""
    times = [f"t.{column} IS NULL"]
    if first is not None and last is not None:
        between = f"{_timestamp(first)} AND t.{column} <= {_timestamp(last)}"
        times.append(f"t.{column} >= {between}")
    return f"({' OR '.join(times)})"


def _timestamp(micros: int) -> str:
    """A literal, in UTC: Delta skips files by literals only."""
    return f"TIMESTAMP'{_EPOCH + timedelta(microseconds=micros)}Z'"


@cache
def schema_of(table: str) -> StructType:
    return struct_type(columns(table))


def nullable_schema_of(table: str) -> StructType:
    return StructType([StructField(field.name, field.dataType) for field in schema_of(table)])


@cache
def schema_with_comments(table: str) -> StructType:
    """The schema that a table is created with."""
    return struct_type(columns(table), with_comments=True)


def conform(df: DataFrame, table: str) -> DataFrame:
    """The table's columns, in its order and of its types; AnalysisException if one is missing.

    Delta checks NOT NULL against the rows that it writes.  Spark would check it against the plan,
    in which the result of every ``lag`` and every outer join is nullable.
    """
    schema = nullable_schema_of(table)
    rows = df.select(*schema.names).to(schema)  # `to` alone would fill a missing column with nulls.
    return with_schema(rows, schema)
