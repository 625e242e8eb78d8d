"""Delta tables without a JVM: the embedded engine reads them, delta-rs writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import Schema
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from jobs.engine.embedded import batches_of
from jobs.lake.commit_log import FileLogFolder, LogFolder
from jobs.lake.tables import Changes, Lake, schema_with_comments
from schemas import table_partitioning


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

    # Maintenance

    def delete_rows(self, table: str, where: str) -> int:
        before = self.version(table)
        self.retry_on_conflict(lambda: self._delta(table).delete(where))
        after = self.version(table)
        if after == before:
            return 0
        return self._log(table).metric(after, "num_deleted_rows")

    def compact(self, table: str) -> tuple[int, int]:
        before = len(self._delta(table).file_uris())
        self.retry_on_conflict(lambda: self._delta(table).optimize.compact())
        return before, len(self._delta(table).file_uris())

    def vacuum(self, table: str, hours: int) -> int:
        delta = self._delta(table)
        return len(delta.vacuum(hours, dry_run=False, enforce_retention_duration=False))

    # What each engine does its own way

    def _is_written(self, table: str) -> bool:
        return DeltaTable.is_deltatable(self.path(table))

    def _stored(self, table: str) -> DataFrame:
        # Without NOT NULL: the engine refuses NOT NULL times that Spark wrote as INT96.  As DDL: in
        # other forms the fields have metadata, even if empty, and arrays of them differ in type.
        stored = StructType.fromJson(json.loads(self._delta(table).schema().to_json()))
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in stored)
        return self.spark.read.schema(schema).format("delta").load(self.path(table))

    def _append(self, table: str, rows: DataFrame) -> None:
        write_deltalake(
            self.path(table), batches_of(rows), mode="append", commit_properties=self._commit()
        )

    def _replace(self, table: str, rows: DataFrame, where: str) -> None:
        self.retry_on_conflict(
            lambda: write_deltalake(
                self.path(table),
                batches_of(rows),
                mode="overwrite",
                predicate=where,
                commit_properties=self._commit(),
            )
        )

    def _execute_merge(self, table: str, rows: DataFrame, on: str, changes: Changes) -> None:
        def merge() -> None:
            merger = self._delta(table).merge(
                batches_of(rows),
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

        self.retry_on_conflict(merge)

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

    def _delta(self, table: str) -> DeltaTable:
        return DeltaTable(self.path(table))


def _delta_schema(schema: StructType) -> Schema:
    """Spark and Delta share one JSON form of schemas, comments and NOT NULL included."""
    return Schema.from_json(schema.json())
