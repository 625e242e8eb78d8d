"""Delta tables that delta-rs changes, from rows in Arrow.

The embedded engine writes all rows so.  Spark also writes a small number of rows in this way, on
one machine, because planning and committing them would take a hundred times longer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, QueryBuilder, write_deltalake
from deltalake.schema import Schema
from pyspark.sql.types import StructType

from jobs.console.errors import RunFailed
from jobs.lake.checksums import write_checksums
from jobs.lake.literals import quoted
from jobs.lake.new_rows import first_per_key, range_of, split_by_stored
from jobs.lake.tables import (
    Changes,
    Lake,
    schema_with_comments,
    times_between,
    with_neighbors,
)
from schemas import table_key, table_partitioning
from schemas.renamed import PRESENT_VALUES

Rows: TypeAlias = pa.Table | pa.RecordBatchReader


@dataclass(frozen=True)
class ArrowLake(Lake):
    """The methods with rows in Arrow; conditions are in the dialect of DataFusion."""

    def _labels_of_commits(self) -> dict[str, str]:
        """The metadata of a commit; see `labelled`."""
        raise NotImplementedError

    def _commit(self) -> CommitProperties:
        return CommitProperties(custom_metadata=self._labels_of_commits())

    # Writing Arrow rows

    def add_new(
        self,
        table: str,
        rows: pa.Table,
        *,
        replaces: str | None = None,
        timed_by: str | None = None,
    ) -> None:
        """Add the rows whose key the table does not have, in one commit.

        ``replaces`` is a column; a row whose stored row has another value there replaces that
        row. ``timed_by``: see `insert_new`.  Holds the keys of some of the stored rows of these
        dates.
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
                on = self._same_key(key, dates_near(changed))
                changes = Changes(update=None, update_if=f"NOT t.{replaces} <=> n.{replaces}")
                self._merge_batches(table, changed.to_reader, on, changes)

    def append_rows(self, table: str, rows: pa.Table) -> None:
        """Add rows whose keys the table cannot have yet, in one commit."""
        self.create(table)
        self._append_batches(table, rows)

    def _stored_keys(
        self, table: str, rows: pa.Table, further: str | None, timed_by: str | None
    ) -> pa.RecordBatchReader:
        """Keys, and the column ``further``, of the stored rows whose key may be among the keys of
        ``rows``.
        """
        key = table_key(table)
        where = [self._same_key([], dates_near(rows), _times(rows, timed_by))]
        where += [self._is_between(name, *range_of(rows.column(name))) for name in key[1:]]
        columns = ", ".join(dict.fromkeys([*key, *([further] if further else [])]))
        query = f"SELECT {columns} FROM t WHERE {' AND '.join(where)}"
        reader = QueryBuilder().register("t", self._rust(table)).execute(query)
        return pa.RecordBatchReader.from_stream(reader)

    def _is_between(self, column: str, first: object, last: object) -> str:
        """The condition by which files are skipped, for a key's column: a text, number or time."""
        low, high = (str(x) if isinstance(x, int) else quoted(str(x)) for x in (first, last))
        return f"t.{column} >= {low} AND t.{column} <= {high}"

    def _append_batches(self, table: str, rows: Rows) -> None:
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
                with suppress(FileNotFoundError):  # Another run has already deleted the file.
                    write_checksums(Path(self.path(table), name))

    def _replace_batches(self, table: str, batches: Callable[[], Rows], where: str) -> None:
        self._change(
            table,
            lambda: write_deltalake(
                self._changeable(table),
                batches(),
                mode="overwrite",
                predicate=where,
                commit_properties=self._commit(),
            ),
        )

    def _merge_batches(
        self, table: str, batches: Callable[[], Rows], on: str, changes: Changes
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

    def _rename_columns(self, table: str, names: dict[str, str]) -> None:
        def write() -> None:
            delta = self._changeable(table)
            fields = json.loads(delta.schema().to_json())
            for each in fields["fields"]:
                each["name"] = names.get(each["name"], each["name"])
            schema = pa.schema(Schema.from_json(json.dumps(fields)).to_arrow())
            stored = delta.to_pyarrow_dataset()
            selected = {names.get(old, old): ds.field(old) for old in stored.schema.names}
            batches = (
                pa.RecordBatch.from_arrays(
                    [each.column(name).cast(schema.field(name).type) for name in schema.names],
                    schema=schema,
                )
                for each in stored.scanner(columns=selected).to_batches()
            )
            write_deltalake(
                delta,
                pa.RecordBatchReader.from_batches(schema, batches),
                mode="overwrite",
                schema_mode="overwrite",
                partition_by=table_partitioning(table),
                commit_properties=self._commit(),
            )

        self._change(table, write)

    def _properties(self, table: str) -> Mapping[str, str | None]:
        return self._rust(table).metadata().configuration

    def _update_values(self, table: str, updates: dict[str, str], where: str) -> None:
        self._change(table, lambda: self._changeable(table).update(updates, predicate=where))
        self._rust(table).alter.set_table_properties(
            dict(PRESENT_VALUES), raise_if_not_exists=False
        )

    def _create_by_rust(self, table: str) -> None:
        DeltaTable.create(
            self.path(table),
            delta_schema(schema_with_comments(table)),
            mode="ignore",
            partition_by=table_partitioning(table),
            configuration=PRESENT_VALUES,
            raise_if_key_not_exists=False,
            commit_properties=self._commit(),
        )

    def _changeable(self, table: str) -> DeltaTable:
        """The table, if delta-rs can remove each of its files; else RunFailed.

        Spark writes names that are not ASCII into the log as they are, delta-rs percent-encoded: a
        file that delta-rs removes from a log that Spark wrote would stay in the table.
        """
        delta = self._rust(table)
        if has_ascii_paths(delta):
            return delta
        raise RunFailed(
            f"table {table} has files that Spark wrote for a cluster whose name is not ASCII, and"
            " the embedded engine cannot replace them: use --engine spark"
        )

    def _rust(self, table: str) -> DeltaTable:
        return DeltaTable(self.path(table))


def has_ascii_paths(table: DeltaTable) -> bool:
    paths = pa.table(table.get_add_actions())["path"].to_pylist()
    return all(path.isascii() for path in paths)


def dates_near(rows: pa.Table) -> list[date] | None:
    """Dates of stored rows that may have a key of these rows, or None if rows have no date."""
    if "event_date" not in rows.schema.names:
        return None
    return with_neighbors(rows.column("event_date").unique().to_pylist())


def _times(rows: pa.Table, timed_by: str | None) -> list[str]:
    if timed_by is None:
        return []
    return [times_between(timed_by, *range_of(rows.column(timed_by).cast(pa.int64())))]


def delta_schema(schema: StructType) -> Schema:
    """Spark and Delta share one JSON form of schemas, comments and NOT NULL included."""
    return Schema.from_json(schema.json())
