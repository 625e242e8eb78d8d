"""The rows of a source that go into each bronze table, and their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType

from jobs.bronze.source_names import BROKER_LOG, CLIENT_LOG, END_OFFSETS, TRACE
from jobs.console.errors import RunFailed
from jobs.lake.tables import schema_of
from schemas import table_key

NO_DATE = date(1970, 1, 1)


class Value(Protocol):
    """A column of a table, computed from a source's rows by either engine."""

    def column(self, type_: DataType) -> Column:
        """The column for Spark, of this type."""

    def array(self, rows: pa.RecordBatch, type_: pa.DataType) -> pa.Array:
        """The array for the embedded engine, of this type."""


@dataclass(frozen=True)
class RowField:
    """A column of the rows."""

    name: str

    def column(self, type_: DataType) -> Column:
        return F.col(self.name)

    def array(self, rows: pa.RecordBatch, type_: pa.DataType) -> pa.Array:
        return rows.column(self.name).cast(type_)


@dataclass(frozen=True)
class Constant:
    constant: Any

    def column(self, type_: DataType) -> Column:
        return F.lit(self.constant).cast(type_)

    def array(self, rows: pa.RecordBatch, type_: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(self.constant, type_), rows.num_rows)


@dataclass(frozen=True)
class DateOf:
    """The UTC date of a time; NO_DATE without a time."""

    time: str

    def column(self, type_: DataType) -> Column:
        return F.coalesce(F.to_date(self.time), F.lit(NO_DATE))

    def array(self, rows: pa.RecordBatch, type_: pa.DataType) -> pa.Array:
        return pc.fill_null(rows.column(self.time).cast(pa.date32()), pa.scalar(NO_DATE))


@dataclass(frozen=True)
class TableRows:
    """The rows of ``kind`` as rows of ``table``.

    ``values`` are the columns that are not simply the rows' column of the same name.  A row whose
    key the table has is not written again, unless ``replaces`` names a column and the stored row
    has another value there: then it replaces the stored row.  ``timed_by`` is a time column that
    depends on the key alone, so that few stored rows have to be read.
    """

    table: str
    kind: str
    values: Mapping[str, Value] = field(default_factory=dict)
    replaces: str | None = None
    timed_by: str | None = None

    @property
    def key(self) -> list[str]:
        return list(table_key(self.table))

    def frame(self, rows: DataFrame, cluster_id: str) -> DataFrame:
        of_kind = rows.where(F.col("kind") == self.kind)
        return of_kind.select(
            F.lit(cluster_id).alias("cluster_id"),
            *(
                self._value(column.name).column(column.dataType).alias(column.name)
                for column in schema_of(self.table).fields[1:]
            ),
        )

    def batch(self, rows: pa.RecordBatch, cluster_id: str) -> pa.RecordBatch:
        """Raises RunFailed if a required column has a null."""
        of_kind = rows.filter(pc.equal(rows.column("kind"), self.kind))
        schema = arrow_schema(self.table)
        arrays = [Constant(cluster_id).array(of_kind, pa.string())]
        arrays += [
            self._value(column.name).array(of_kind, column.type) for column in list(schema)[1:]
        ]
        for column, array in zip(schema, arrays, strict=True):
            if array.null_count and not column.nullable:
                raise RunFailed(f"a row of {self.table} has no {column.name}")
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _value(self, column: str) -> Value:
        return self.values.get(column, RowField(column))


@cache
def arrow_schema(table: str) -> pa.Schema:
    return to_arrow_schema(schema_of(table), timezone="UTC")


def records(source: str, *, replaces: str | None = None, timed_by: str | None = None) -> TableRows:
    values: dict[str, Value] = {"source": Constant(source), "event_date": DateOf("append_time")}
    return TableRows("offsets_records", "record", values, replaces, timed_by)


def unreadable_records(source: str) -> TableRows:
    values: dict[str, Value] = {"source": Constant(source), "bytes": RowField("key")}
    return TableRows("quarantine", "quarantined", values)


# A log that is read again in another time zone has different times.
LOG_EVENTS = TableRows(
    "broker_log_events",
    "event",
    {"event_date": DateOf("event_time"), "file": RowField("path")},
    replaces="event_time",
)
CLIENT_EVENTS = TableRows(
    "client_events",
    "event",
    {"event_date": DateOf("event_time"), "file": RowField("path")},
    replaces="event_time",
)
SIGHTINGS = TableRows(
    "end_offsets",
    "event",
    {
        "source": Constant(END_OFFSETS),
        "event_date": DateOf("seen_time"),
        "file": RowField("path"),
    },
)
TRACE_EVENTS = TableRows("trace_events", "event", {"file": RowField("path")})


def _unreadable_lines(source: str, file: str, reason: str) -> TableRows:
    """``file`` and ``reason`` are the columns with the file and the reason."""
    values: dict[str, Value] = {
        "source": Constant(source),
        "file": RowField(file),
        "log_offset": Constant(-1),
        "topic_partition": Constant(None),
        "reason": RowField(reason),
        "bytes": RowField("raw"),
        "value": Constant(None),
        "append_time": Constant(None),
    }
    return TableRows("quarantine", "quarantined", values)


UNREADABLE_LOG_LINES = _unreadable_lines(BROKER_LOG, "file_id", "reason_unreadable")
UNREADABLE_CLIENT_LINES = _unreadable_lines(CLIENT_LOG, "file_id", "reason_unreadable")
UNREADABLE_TRACE_LINES = _unreadable_lines(TRACE, "trace_id", "reason")
UNREADABLE_SIGHTINGS = _unreadable_lines(END_OFFSETS, "file_id", "reason")
