"""Delta tables without a JVM: the embedded engine reads them, delta-rs writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import Schema
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.console.errors import RunFailed
from jobs.engine.embedded import batches_of
from jobs.lake.checksums import checksum_file, write_checksums
from jobs.lake.commit_log import FileLogFolder, LogFolder
from jobs.lake.file_statistics import may_hold, rows_on_dates
from jobs.lake.new_rows import first_per_key, range_of, split_by_stored
from jobs.lake.tables import (
    Changes,
    Lake,
    schema_of,
    schema_with_comments,
    times_between,
    with_neighbors,
)
from schemas import table_key, table_partitioning


@dataclass(frozen=True)
class EmbeddedLake(Lake):
    conflicts: ClassVar[tuple[type[Exception], ...]] = (CommitFailedError,)

    _labels: list[str] = field(default_factory=list, compare=False, repr=False, kw_only=True)

    @property
    def parallelism(self) -> int:
        return os.cpu_count() or 1

    def cancel_jobs(self) -> None:
        self.spark.interruptAll()

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        self._labels.append(label)
        try:
            yield
        finally:
            self._labels.remove(label)

    def _commit(self) -> CommitProperties:
        labels = {"userMetadata": self._labels[-1]} if self._labels else {}
        return CommitProperties(custom_metadata=labels)

    def frame(self, table: str, rows: Iterable[Any]) -> DataFrame:
        # Nullable, as stored rows are.
        fields = [StructField(field.name, field.dataType) for field in schema_of(table)]
        local = self.spark.createDataFrame(list(rows), StructType(fields))
        # The nested types of local rows have metadata, which a cast to the same type removes.
        types = {field.name: field.dataType.simpleString() for field in fields}
        return local.select(*(F.col(name).cast(type_).alias(name) for name, type_ in types.items()))

    # Writing rows that are in Arrow

    def add_new(
        self,
        table: str,
        rows: pa.Table,
        *,
        replaces: str | None = None,
        timed_by: str | None = None,
    ) -> None:
        """Add the rows whose key the table does not have, in one commit.

        ``replaces``: a column; a row whose stored row has another value there replaces that row.
        ``timed_by``: see `insert_new`.  Holds the keys of some of the stored rows of these dates.
        """
        key = table_key(table)
        rows = first_per_key(rows, key)
        with self.fill_lock(table):
            self.create(table)
            if not rows.num_rows:
                return
            stored = self._stored_keys(table, rows, replaces, timed_by)
            new, changed = split_by_stored(rows, key, stored, replaces)
            if new.num_rows:
                self._append_batches(table, new)
            if changed.num_rows:
                on = self._same_key(key, _dates_near(changed))
                changes = Changes(update=None, update_if=f"NOT t.{replaces} <=> n.{replaces}")
                self._merge_batches(table, changed.to_reader, on, changes)

    def _stored_keys(
        self, table: str, rows: pa.Table, further: str | None, timed_by: str | None
    ) -> pa.RecordBatchReader:
        """Keys, and column ``further``, of the stored rows whose key may be among those of rows."""
        key = table_key(table)
        where = [self._same_key([], _dates_near(rows), _times(rows, timed_by))]
        where += [self._is_between(name, *range_of(rows.column(name))) for name in key[1:]]
        columns = ", ".join(dict.fromkeys([*key, *([further] if further else [])]))
        query = f"SELECT {columns} FROM t WHERE {' AND '.join(where)}"
        reader = QueryBuilder().register("t", self._delta(table)).execute(query)
        return pa.RecordBatchReader.from_stream(reader)

    def _is_between(self, column: str, first: str | int, last: str | int) -> str:
        """The condition by which files are skipped, for a key's column."""
        low, high = (str(x) if isinstance(x, int) else self._literal(x) for x in (first, last))
        return f"t.{column} >= {low} AND t.{column} <= {high}"

    def _append_batches(self, table: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        path = self.path(table)
        self._change(
            table,
            lambda: write_deltalake(path, rows, mode="append", commit_properties=self._commit()),
        )

    def _change(self, table: str, act: Callable[[], object]) -> None:
        """Call ``act``, again after a conflict, and write the checksums of files that it adds, as
        Hadoop does for Spark: `regroup check` finds altered bytes by them."""
        before = self.version(table)
        self.retry_on_conflict(act)
        if "://" not in self.root:
            for name in self._log(table).files_added(after=before):
                with suppress(FileNotFoundError):  # another run already deleted it
                    write_checksums(Path(self.path(table), name))

    # Maintenance

    def delete_rows(self, table: str, where: str) -> int:
        before = self.version(table)
        self._change(table, lambda: self._changeable(table).delete(where))
        after = self.version(table)
        if after == before:
            return 0
        return self._log(table).metric(after, "num_deleted_rows")

    def compact(self, table: str) -> tuple[int, int]:
        before = len(self._delta(table).file_uris())
        self._change(table, lambda: self._changeable(table).optimize.compact())
        return before, len(self._delta(table).file_uris())

    def vacuum(self, table: str, hours: int) -> int:
        delta = self._changeable(table)
        deleted = delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        if "://" not in self.root:
            for name in deleted:
                checksum_file(Path(self.path(table), name)).unlink(missing_ok=True)
        return len(deleted)

    # What each engine does its own way

    @staticmethod
    def _literal(text: str) -> str:
        return _quoted(text)

    def _is_written(self, table: str) -> bool:
        return DeltaTable.is_deltatable(self.path(table))

    def _may_hold(self, table: str, column: str, text: str) -> bool:
        return may_hold(self._delta(table), self.cluster_id, column, text)

    def _rows_on_dates(self, table: str, dates: list[date] | None) -> int | None:
        return rows_on_dates(self._delta(table), self.cluster_id, dates)

    def _stored(self, table: str) -> DataFrame:
        # Without NOT NULL: the engine refuses NOT NULL times that Spark wrote as INT96.  As DDL: in
        # other forms the fields have metadata, even if empty, and arrays of them differ in type.
        stored = StructType.fromJson(json.loads(self._delta(table).schema().to_json()))
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in stored)
        return self.spark.read.schema(schema).format("delta").load(self.path(table))

    def _append(self, table: str, rows: DataFrame) -> None:
        self._append_batches(table, batches_of(rows))

    def _replace(self, table: str, rows: DataFrame, where: str) -> None:
        self._change(
            table,
            lambda: write_deltalake(
                self._changeable(table),
                batches_of(rows),
                mode="overwrite",
                predicate=where,
                commit_properties=self._commit(),
            ),
        )

    def _execute_merge(self, table: str, rows: DataFrame, on: str, changes: Changes) -> None:
        self._merge_batches(table, lambda: batches_of(rows), on, changes)

    def _merge_batches(
        self, table: str, batches: Callable[[], pa.RecordBatchReader], on: str, changes: Changes
    ) -> None:
        def merge() -> None:
            merger = self._changeable(table).merge(
                batches(),
                on,
                source_alias="n",
                target_alias="t",
                commit_properties=self._commit(),
            )
            if changes.update is None:
                merger = merger.when_matched_update_all(changes.update_if)
            elif changes.update:
                values = {column: f"n.{column}" for column in changes.update}
                merger = merger.when_matched_update(values, changes.update_if)
            if changes.insert:
                merger = merger.when_not_matched_insert_all()
            merger.execute()

        self._change(table, merge)

    def _create_empty(self, table: str) -> None:
        DeltaTable.create(
            self.path(table),
            _delta_schema(schema_with_comments(table)),
            mode="ignore",
            partition_by=table_partitioning(table),
            commit_properties=self._commit(),
        )

    def _add_columns(self, table: str, columns: list[StructField]) -> None:
        fields = _delta_schema(StructType(columns)).fields
        self._delta(table).alter.add_columns(fields, commit_properties=self._commit())

    def _log_folder(self, table: str) -> LogFolder:
        return FileLogFolder(f"{self.path(table)}/_delta_log")

    def _changeable(self, table: str) -> DeltaTable:
        """The table, if delta-rs can remove each of its files; else RunFailed.

        Spark writes names that are not ASCII into the log as they are, delta-rs percent-encoded: a
        file that delta-rs removes from a log that Spark wrote would stay in the table.
        """
        delta = self._delta(table)
        paths = pa.table(delta.get_add_actions())["path"].to_pylist()
        if all(path.isascii() for path in paths):
            return delta
        raise RunFailed(
            f"table {table} has files that Spark wrote for a cluster whose name is not ASCII, and"
            " the embedded engine cannot replace them: use --engine spark"
        )

    def _delta(self, table: str) -> DeltaTable:
        return DeltaTable(self.path(table))


def _dates_near(rows: pa.Table) -> list[date] | None:
    """Dates of stored rows that may have a key of these rows; None if rows have no date."""
    if "event_date" not in rows.schema.names:
        return None
    return with_neighbors(rows.column("event_date").unique().to_pylist())


def _times(rows: pa.Table, timed_by: str | None) -> list[str]:
    if timed_by is None:
        return []
    return [times_between(timed_by, *range_of(rows.column(timed_by).cast(pa.int64())))]


def _quoted(text: str) -> str:
    """A string in the SQL of DataFusion, which has no escapes."""
    return "'" + text.replace("'", "''") + "'"


def _delta_schema(schema: StructType) -> Schema:
    """Spark and Delta share one JSON form of schemas, comments and NOT NULL included."""
    return Schema.from_json(schema.json())
