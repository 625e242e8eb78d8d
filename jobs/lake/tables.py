"""Reading and writing Delta tables: the only place that knows paths and write modes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.console.errors import RunFailed
from schemas import table_ddl, table_key, table_partitioning

# Another run may commit to the same table meanwhile: then a write is done again on what that left.
TRIES = 5
_EPOCH = datetime(1970, 1, 1)
# By name: in Python the first of them is not what the others are.
OVERTAKEN = (
    DeltaConcurrentModificationException,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)


Clauses = Callable[[DeltaMergeBuilder], DeltaMergeBuilder]


@dataclass(frozen=True)
class Lake:
    """The tables under one folder, seen by one cluster's run.

    Every table begins with ``cluster_id``; a run reads and replaces its own cluster's rows only.
    """

    spark: SparkSession
    root: str
    cluster_id: str
    # Asking Delta costs more than it looks, and what is there stays.
    _there: set[str] = field(default_factory=set, compare=False, repr=False, kw_only=True)

    def path(self, table: str) -> str:
        """Where the table lies; a local one from the file system's root, as Delta wants it."""
        root = self.root if "://" in self.root else os.path.abspath(self.root)
        return f"{root.rstrip('/')}/{table}"

    @contextmanager
    def alone(self, work: str) -> Iterator[None]:
        """One at a time does the work on this lake; another process waits its turn.

        Only where the lake is a folder: an object store has no locks.
        """
        if "://" in self.root:
            yield
            return
        name = sha256(work.encode()).hexdigest()[:16]
        os.makedirs(self.root, exist_ok=True)
        with open(os.path.join(self.root, f".{name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it, however the process ends
            yield

    def turn(self) -> AbstractContextManager[None]:
        """To work tables out of others: what a date's rows are rests on the dates before, so a
        cluster's runs take turns."""
        return self.alone(f"derive {self.cluster_id}")

    def has(self, table: str) -> bool:
        """Whether anybody wrote the table."""
        if table not in self._there and DeltaTable.isDeltaTable(self.spark, self.path(table)):
            self._there.add(table)
        return table in self._there

    def read(self, table: str) -> DataFrame:
        """This cluster's rows; an empty frame of the table's schema where nothing was written."""
        if not self.has(table):
            return self.spark.createDataFrame([], schema_of(table))
        rows = self.spark.read.format("delta").load(self.path(table))
        missing = _missing(rows.schema, table)
        whole = rows.withColumns({f.name: F.lit(None).cast(f.dataType) for f in missing})
        return whole.where(F.col("cluster_id") == self.cluster_id).select(*schema_of(table).names)

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        """The rows of the dates a run is for, and so many days around them; here all."""
        return self.read(table)

    def read_recent(self, table: str) -> DataFrame:
        """As `read`, and each date's day before."""
        return self.read(table)

    def start(self) -> DataFrame | None:
        """Where each group's history is taken up: cluster_id, group_id, context_incarnation and
        context_seq, the place of its first event; here at the beginning."""
        return None

    def start_rows(self, table: str) -> DataFrame | None:
        """The table's rows of the generations with which histories are taken up."""
        return None

    def later(self) -> Lake | None:
        """The lake as a run for all dates after these would see it; none if there are none."""
        return None

    @property
    def begins_ms(self) -> int:
        """Midnight before the dates a run is for, in ms since the epoch; here the first of all."""
        return 0

    def carried(self, column: str) -> DataFrame | None:
        """What group_days keeps of the past that ``read`` leaves out, a row an entry.

        cluster_id, group_id, context_incarnation and the fields of the column's entries.
        """
        return None

    def insert_new(self, table: str, df: DataFrame, *, timed_by: str | None = None) -> None:
        """Add the rows whose key is not there yet: read twice, written once.

        ``timed_by``: a column in which rows of one key agree; only files with such times are read.
        """
        with self.alone(f"fill {table}"):
            is_new = not self.has(table)
            if is_new:
                self._create(table)
                conform(df, table).write.format("delta").mode("append").save(self.path(table))
        if not is_new:
            self._merge(table, df, lambda merge: merge.whenNotMatchedInsertAll(), timed_by)

    def upsert(
        self, table: str, df: DataFrame, *, if_: str | None = None, timed_by: str | None = None
    ) -> None:
        """Add new keys, overwrite known ones: ``t`` is the old row, ``n`` the new; ``timed_by``
        as of `insert_new`."""
        self._create(table)
        self._merge(
            table,
            df,
            lambda merge: merge.whenMatchedUpdateAll(if_).whenNotMatchedInsertAll(),
            timed_by,
        )

    def add_to(self, table: str, df: DataFrame, *, if_: str) -> None:
        """Into a table without dates: ``df`` as a whole, or what a run for some dates has, as
        `upsert` does it.
        """
        self.replace(table, df)

    def replace_days(self, table: str, df: DataFrame, *, after: int = 0) -> None:
        """Put ``df`` in the place of the rows of the dates a run is for; here of everything."""
        self.replace(table, df)

    def update_before(self, table: str, df: DataFrame, column: str) -> None:
        """Take over ``column`` into rows of the day before the dates a run is for; here there is
        no day before.  ``df`` has the key, event_date and the column."""

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """Put ``df`` in the place of this cluster's rows ``where`` that holds, in one transaction.

        AnalysisException if a row of ``df`` is not one of those.
        """
        self._create(table)
        rows = conform(df, table).write.format("delta").mode("overwrite")
        own = f"cluster_id = {_literal(self.cluster_id)} AND ({where})"
        again_if_overtaken(lambda: rows.option("replaceWhere", own).save(self.path(table)))

    def _merge(
        self, table: str, df: DataFrame, clauses: Clauses, timed_by: str | None = None
    ) -> None:
        """By key; nothing of dates, or times, that ``df`` does not have is looked at."""
        is_dated = "event_date" in table_partitioning(table)
        dates, near = _near(df, timed_by) if is_dated else (None, [])
        if dates == [] or (dates is None and df.isEmpty()):
            return  # a merge of nothing costs as much as one of something
        self._execute(table, conform(df, table), clauses, dates, table_key(table), near)

    def _execute(
        self,
        table: str,
        rows: DataFrame,
        clauses: Clauses,
        dates: list[date] | None,
        key: list[str],
        near: Iterable[str] = (),
    ) -> None:
        # The target's own cluster, dates and times by name: lets Delta skip the other files.
        on = [f"t.cluster_id = {_literal(self.cluster_id)}", *near]
        on += [] if dates is None else [f"t.event_date IN {dates_in(dates)}"]
        on += [f"t.{column} <=> n.{column}" for column in key]

        def merge() -> None:
            target = DeltaTable.forPath(self.spark, self.path(table)).alias("t")
            clauses(target.merge(rows.alias("n"), " AND ".join(on))).execute()

        again_if_overtaken(merge)

    def _add_new_columns(self, table: str) -> None:
        """A table of an older version gets the columns that came since, null in its rows."""
        path = self.path(table).replace("`", "``")
        found = self.spark.read.format("delta").load(self.path(table)).schema
        added = [
            f"`{field.name}` {field.dataType.simpleString()}"
            f" COMMENT {_literal(field.metadata['comment'])}"
            for field in _missing(found, table)
        ]
        if added:
            self.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({', '.join(added)})")

    def _create(self, table: str) -> DeltaTable:
        path = self.path(table)
        if self.has(table):
            self._add_new_columns(table)
            return DeltaTable.forPath(self.spark, path)
        with self.alone("create"):
            self._remove_unborn(table)
            builder = DeltaTable.createIfNotExists(self.spark).location(path)
            columns = builder.addColumns(schema_of(table))
            return columns.partitionedBy(*table_partitioning(table)).execute()

    def _remove_unborn(self, table: str) -> None:
        """The log's folder without a commit in it, left by a kill: Delta would neither read it nor
        make a table there."""
        log = Path(self.path(table), "_delta_log")
        if "://" not in self.root and log.is_dir() and not any(log.glob("*.json")):
            shutil.rmtree(log)


def _missing(found: StructType, table: str) -> list[StructField]:
    """Columns that the table on disk lacks, being older than schemas/.

    RunFailed if it has one of another type, or one that schemas/ does not know.
    """
    wanted = {column.name: column for column in schema_of(table)}
    for column in found:
        if column.name not in wanted:
            raise RunFailed(
                f"table {table} has a column {column.name} that this version does not know:"
                " the lake was written by a newer Regroup, run that"
            )
        expected = wanted[column.name].dataType
        if column.dataType.simpleString() != expected.simpleString():
            raise RunFailed(
                f"table {table}: column {column.name} is {column.dataType.simpleString()},"
                f" not {expected.simpleString()}: write it anew, into another folder"
            )
    return [column for name, column in wanted.items() if name not in found.names]


def again_if_overtaken(act: Callable[[], None]) -> None:
    """``act``, once more when another commit came in between, on what that one left."""
    for tries_left in reversed(range(TRIES)):
        try:
            return act()
        except OVERTAKEN:
            if not tries_left:
                raise


def dates_in(dates: Iterable[date]) -> str:
    """The list that stands behind SQL's IN."""
    return "(" + ", ".join(f"DATE'{day}'" for day in sorted(dates)) + ")"


def _near(df: DataFrame, timed_by: str | None) -> tuple[list[date], list[str]]:
    """Where the target may have a key of ``df``: on its dates and those next to them, as a log read
    again in another time zone has the same lines, some on another date; and at its times, or none.
    """
    time = F.lit(None).cast("timestamp") if timed_by is None else F.col(timed_by)
    span = [F.unix_micros(f(time)).alias(name) for f, name in ((F.min, "first"), (F.max, "last"))]
    found = df.groupBy("event_date").agg(*span).collect()
    dates = {row.event_date + timedelta(days=by) for row in found for by in (-1, 0, 1)}
    if timed_by is None:
        return sorted(dates), []
    times = [f"t.{timed_by} IS NULL"]
    if timed := [row for row in found if row.first is not None]:
        first, last = min(row.first for row in timed), max(row.last for row in timed)
        between = f"{_timestamp(first)} AND t.{timed_by} <= {_timestamp(last)}"
        times.append(f"t.{timed_by} >= {between}")
    return sorted(dates), [f"({' OR '.join(times)})"]


def _timestamp(micros: int) -> str:
    """A literal, in UTC: Delta looks at literals only."""
    return f"TIMESTAMP'{_EPOCH + timedelta(microseconds=micros)}Z'"


@cache
def schema_of(table: str) -> StructType:
    return StructType.fromDDL(table_ddl(table))


def conform(df: DataFrame, table: str) -> DataFrame:
    """The table's columns, in its order and of its types; anything else fails here.

    Nullability is left to Delta, which checks NOT NULL against the rows it writes;
    Spark would judge by the plan, where every ``lag`` and every outer join looks nullable.
    """
    schema = StructType([StructField(f.name, f.dataType) for f in schema_of(table)])
    return df.select(*schema.names).to(schema)  # `to` alone would fill a missing column with nulls


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
