"""Rows of schemas/evidence: of all groups by the engine of the run, of one group by DuckDB."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from jobs.engine.union import union_of
from jobs.lake.keys import GROUP_KEY
from jobs.lake.literals import quoted
from jobs.lake.sql import query_all
from schemas import evidence_reads, evidence_sql, table_columns

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""The rows of a group by kind of evidence: a name in schemas/evidence."""


def reads(kinds: Iterable[str]) -> set[str]:
    """The tables that these kinds of evidence are read from."""
    return {table for kind in kinds for table in evidence_reads(kind)}


# -- all groups: Spark or the embedded engine ------------------------------------------------------


def evidence(kind: str, tables: Mapping[str, DataFrame], **parameters: str | int) -> DataFrame:
    """Rows of one kind of evidence for all groups in ``tables``."""
    frames: dict[str, Any] = {name: tables[name] for name in sorted(evidence_reads(kind))}
    session: SparkSession = next(iter(frames.values())).sparkSession
    return session.sql(evidence_sql(kind, "{{{}}}".format, **parameters), **frames)


def packed(kinds: Mapping[str, DataFrame]) -> DataFrame:
    """Rows of all kinds in one frame: cluster, group, and a struct per kind.

    Each row has one struct; all other structs are null.
    """
    return union_of(
        *(rows.select(*GROUP_KEY, F.struct("*").alias(kind)) for kind, rows in kinds.items())
    )


def by_group(*frames: DataFrame) -> GroupedData:
    """Group rows of frames from `packed` by cluster and group; see `unpacked`.

    This is not a cogroup, because the embedded engine's cogroup does not take columns with nulls.
    """
    return union_of(*frames).groupBy(*GROUP_KEY)


def unpacked(of_group: pa.Table) -> tuple[Row, Rows]:
    """Cluster and group, and the rows of one group of `by_group`."""
    (keys,) = of_group.select(GROUP_KEY).slice(0, 1).to_pylist()
    return keys, {
        kind: of_group[kind].drop_null().to_pylist()
        for kind in of_group.column_names
        if kind not in GROUP_KEY
    }


# -- one group: DuckDB -----------------------------------------------------------------------------


def rows_of_group(
    lake: str,
    cluster_id: str,
    group_id: str,
    kinds: Collection[str],
    *,
    optional: Collection[str] = (),
    dates: tuple[date, date] | None = None,
    **parameters: str | int,
) -> Rows:
    """The group's rows.  ``optional`` has tables that read as empty if an older lake lacks them.
    ``dates`` have the first and the last date to read of tables that have dates.
    """

    def source(table: str) -> str:
        where = _scope(table, cluster_id, group_id)
        if dates is not None and "event_date" in table_columns(table):
            where += f" AND event_date BETWEEN DATE '{dates[0]}' AND DATE '{dates[1]}'"
        return f"(SELECT * FROM {table} WHERE {where})"

    statements = [evidence_sql(kind, source, **parameters) for kind in kinds]
    return dict(zip(kinds, query_all(lake, statements, optional=optional), strict=True))


def rows_of_cluster(
    lake: str,
    cluster_id: str,
    kinds: Collection[str],
    *,
    optional: Collection[str] = (),
    notices: bool = True,
) -> Rows:
    """The rows of all groups; ``optional`` as in `rows_of_group`, ``notices`` as in `query_all`."""
    where = f"cluster_id = {quoted(cluster_id)}"
    statements = [
        evidence_sql(kind, lambda table: f"(SELECT * FROM {table} WHERE {where})") for kind in kinds
    ]
    rows = query_all(lake, statements, optional=optional, notices=notices)
    return dict(zip(kinds, rows, strict=True))


def _scope(table: str, cluster_id: str, group_id: str) -> str:
    """A filter that is put on each table, as no engine pushes all filters down to the tables."""
    if "group_id" in table_columns(table):
        return of_group(cluster_id, group_id)
    return f"cluster_id = {quoted(cluster_id)}"


def of_group(cluster_id: str, group_id: str) -> str:
    """The condition that a row is about this group."""
    return f"cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}"
