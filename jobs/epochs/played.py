"""Plays the evidence of each incarnation of groups of the new types; the rows of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.engine.keeping import computed
from jobs.epochs.evidence import evidence_by_incarnation, played_rows
from jobs.epochs.inputs import topic_names
from jobs.epochs.rows import ROWS, Names
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of


def played(
    table: str, timeline: DataFrame, group_records: DataFrame, names: Names | None = None
) -> DataFrame:
    """The table's rows of groups of the new types; rules: `coordinator_core.epochs`.

    ``names``: of topics by id, as far as the rows have topics.
    """
    schema = schema_of(table)
    evidence = evidence_by_incarnation(timeline, group_records)
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    rows_of = _rows_of_incarnation(table, arrow_schema, names or {})
    return evidence.groupBy(*INCARNATION_KEY).applyInArrow(rows_of, schema)


def with_played(
    classic: DataFrame,
    table: str,
    timeline: DataFrame,
    group_records: DataFrame | None,
    names: Names | None = None,
) -> DataFrame:
    """The rows of classic groups and, with ``group_records``, those of groups of the new types.

    The record that a downgrade writes repeats the last target, so classic rows of that number go.
    """
    if group_records is None:
        return classic
    new = computed(played(table, timeline, group_records, names))
    targets = new.select(*GENERATION_KEY).distinct()
    own = classic.join(targets, on=GENERATION_KEY, how="left_anti")
    return own.select(*new.columns).unionByName(new)


def replace_by_played(scope: RunScope, table: str, *, has_topics: bool = False) -> None:
    """Compute a table that has rows of groups of the new types only."""
    if not (scope.has_rows("group_records") or scope.has_rows(table)):
        scope.lake.create(table)
        return
    names = topic_names(scope) if has_topics else None
    events, records = scope.read("timeline"), scope.read("group_records")
    scope.replace(table, played(table, events, records, names))


def _rows_of_incarnation(
    table: str, schema: pa.Schema, names: Names
) -> Callable[[pa.Table], pa.Table]:
    """``schema`` comes from the driver, as workers have no SparkSession."""

    def rows_of(evidence: pa.Table) -> pa.Table:
        rows = evidence.to_pylist()
        constant: dict[str, Any] = {name: rows[0][name] for name in INCARNATION_KEY}
        if "topic_partition" in schema.names:
            stored = (row["topic_partition"] for row in rows if row["topic_partition"])
            constant["topic_partition"] = next(stored, None)
        history = played_rows(rows)
        return pa.Table.from_pylist([constant | row for row in ROWS[table](history, names)], schema)

    return rows_of
