"""Delta tables without a JVM: the embedded engine reads them, delta-rs writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.engine.embedded import batches_of, with_schema
from jobs.lake.arrow_tables import ArrowLake, delta_schema
from jobs.lake.checksums import checksum_file
from jobs.lake.commit_log import FileLogFolder, LogFolder
from jobs.lake.file_statistics import may_hold, rows_on_dates
from jobs.lake.literals import quoted
from jobs.lake.tables import Changes, nullable_schema_of, schema_of


@dataclass(frozen=True)
class EmbeddedLake(ArrowLake):
    conflicts: ClassVar[tuple[type[Exception], ...]] = (CommitFailedError,)

    _labels: list[str] = field(default_factory=list, compare=False, repr=False, kw_only=True)
    # Schemas of tables that have all their columns, so no column will be added.
    _schemas: dict[str, StructType] = field(
        default_factory=dict, compare=False, repr=False, kw_only=True
    )

    @property
    def parallelism(self) -> int:
        return os.cpu_count() or 1

    @property
    def writes_arrow(self) -> bool:
        return True

    @property
    def engine_is_in_process(self) -> bool:
        return True

    def cancel_jobs(self) -> None:
        self.spark.interruptAll()

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        self._labels.append(label)
        try:
            yield
        finally:
            self._labels.remove(label)

    def _labels_of_commits(self) -> dict[str, str]:
        return {"userMetadata": self._labels[-1]} if self._labels else {}

    def frame(self, table: str, rows: Iterable[Any]) -> DataFrame:
        # Fields are nullable, as in stored rows.
        schema = nullable_schema_of(table)
        local = self.spark.createDataFrame(list(rows), schema)
        # The nested types of local rows have metadata, which a cast to the same type removes.
        types = {field.name: field.dataType.simpleString() for field in schema}
        cast = (F.col(name).cast(type_).alias(name) for name, type_ in types.items())
        return with_schema(local.select(*cast), schema)

    # Maintenance

    def delete_rows(self, table: str, where: str) -> int:
        before = self.version(table)
        self._change(table, lambda: self._changeable(table).delete(where))
        after = self.version(table)
        if after == before:
            return 0
        return self._log(table).metric(after, "num_deleted_rows")

    def compact(self, table: str) -> tuple[int, int]:
        before = len(self._rust(table).file_uris())
        self._change(table, lambda: self._changeable(table).optimize.compact())
        return before, len(self._rust(table).file_uris())

    def vacuum(self, table: str, hours: int) -> int:
        delta = self._changeable(table)
        deleted = delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        if "://" not in self.root:
            for name in deleted:
                checksum_file(Path(self.path(table), name)).unlink(missing_ok=True)
        return len(deleted)

    # Functions that differ between engines

    @staticmethod
    def _literal(text: str) -> str:
        return quoted(text)

    def _is_written(self, table: str) -> bool:
        return DeltaTable.is_deltatable(self.path(table))

    def _may_hold(self, table: str, column: str, text: str) -> bool:
        return may_hold(self._rust(table), self.cluster_id, column, text)

    def _rows_on_dates(self, table: str, dates: list[date] | None) -> int | None:
        return rows_on_dates(self._rust(table), self.cluster_id, dates)

    def _stored(self, table: str) -> DataFrame:
        # Omit NOT NULL: the engine refuses NOT NULL times that Spark wrote as INT96.  Use DDL: in
        # other forms the fields have metadata, even if empty, and arrays of such fields differ in
        # type.
        stored = self._stored_schema(table)
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in stored)
        rows = self.spark.read.schema(schema).format("delta").load(self.path(table))
        return with_schema(rows, stored)

    def _stored_schema(self, table: str) -> StructType:
        if table in self._schemas:
            return self._schemas[table]
        stored = StructType.fromJson(json.loads(self._rust(table).schema().to_json()))
        if set(stored.names).issuperset(schema_of(table).names):
            self._schemas[table] = stored
        return stored

    def _append(self, table: str, rows: DataFrame) -> None:
        self._append_batches(table, batches_of(rows))

    def _replace(self, table: str, rows: DataFrame, where: str) -> None:
        self._replace_batches(table, lambda: batches_of(rows), where)

    def _execute_merge(self, table: str, rows: DataFrame, on: str, changes: Changes) -> None:
        self._merge_batches(table, lambda: batches_of(rows), on, changes)

    def _create_empty(self, table: str) -> None:
        self._create_by_rust(table)

    def _add_columns(self, table: str, columns: list[StructField]) -> None:
        fields = delta_schema(StructType(columns)).fields
        self._rust(table).alter.add_columns(fields, commit_properties=self._commit())

    def _log_folder(self, table: str) -> LogFolder:
        return FileLogFolder(f"{self.path(table)}/_delta_log")
