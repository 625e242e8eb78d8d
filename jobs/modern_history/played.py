"""Plays the evidence of each incarnation of modern groups, once per run.

reads   timeline, group_records   records and lines
        committed_offsets         the last commits of departed members
        topic_ids                 names of topics
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from coordinator_core.modern_history import History
from coordinator_core.whatif.known_settings import KnownSettings, configured_in
from jobs.engine.keeping import computed
from jobs.engine.union import union_of
from jobs.lake.epoch_rows import new_records, topic_names
from jobs.lake.evidence import evidence
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from jobs.modern_history import tenures
from jobs.modern_history.evidence import LINES, LOGGED, RECORDS, played_lines, played_rows
from jobs.modern_history.rows import ROWS, Names, Row, logged_rows

# Tables that a job with these rows reads, in addition to the job's own tables.
READS = (
    *("timeline", "group_records", "committed_offsets", "topic_ids"),
    *("configurations", "group_events"),
)
TENURES = "tenures"
# Number of calls in which incarnations are played: the embedded engine reserves memory for each
# call.
BUCKETS = 64

_SCHEMAS = {name: schema_of(name) for name in ROWS} | {TENURES: tenures.TENURES}
_KEY = [field for field in schema_of("generations") if field.name in INCARNATION_KEY]
# A row has the columns of the table that ``table`` names, in the struct of this name.
PLAYED = StructType(
    [
        *_KEY,
        StructField("table", StringType()),
        *(
            StructField(
                name,
                StructType(
                    [
                        StructField(field.name, field.dataType)
                        for field in schema
                        if field.name not in INCARNATION_KEY
                    ]
                ),
            )
            for name, schema in _SCHEMAS.items()
        ),
    ]
)


def played(scope: RunScope, table: str) -> DataFrame | None:
    """The table's rows of modern groups, by the rules of `coordinator_core.modern_history`.

    Returns None if the scope has no modern groups; without lines of brokers the engine then runs no
    job.  ``table`` is one of `jobs.modern_history.rows.ROWS`, or TENURES.
    """
    records = new_records(scope)
    if records is None and not _has_lines(scope):
        return None
    rows = scope.shared("played", lambda: _play(scope, records))
    own = rows.where(F.col("table") == table)
    return own.select(*INCARNATION_KEY, f"{table}.*").select(*_SCHEMAS[table].names)


def _has_lines(scope: RunScope) -> bool:
    """Returns whether a line names a group epoch."""
    if not scope.has_rows("group_events"):
        return False
    lines = scope.shared(
        "epoch_lines",
        lambda: computed(
            scope.read("timeline").where("epoch IS NOT NULL").select("epoch").limit(1)
        ),
    )
    return bool(lines.take(1))


def with_played(scope: RunScope, classic: DataFrame, table: str) -> DataFrame:
    """The rows of classic groups, and the rows of modern groups.

    The record that a downgrade writes repeats the last target, so classic rows of that number go.
    """
    new = played(scope, table)
    if new is None:
        return classic
    targets = new.select(*GENERATION_KEY).distinct()
    own = classic.join(targets, on=GENERATION_KEY, how="left_anti")
    return own.select(*new.columns).unionByName(new)


def replace_by_played(scope: RunScope, table: str) -> None:
    """Compute a table that has only rows of modern groups."""
    if not any(map(scope.has_rows, ("group_records", "group_events", table))):
        scope.lake.create(table)
        return
    new = played(scope, table)
    scope.replace(table, scope.lake.frame(table, []) if new is None else new)


def of_histories(
    rows_of: Callable[[History], Iterable[Row]],
    schema: StructType,
    timeline: DataFrame,
    group_records: DataFrame,
) -> DataFrame:
    """Rows of this schema: the key of each incarnation with the rows of its history."""
    arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def tables_of(key: Row, of_incarnation: list[Row]) -> Iterator[pa.Table]:
        rows = rows_of(played_rows(of_incarnation))
        yield pa.Table.from_pylist([key | row for row in rows], arrow_schema)

    tables = {"timeline": timeline, "group_records": group_records}
    rows = union_of(*(evidence(kind, tables) for kind in (RECORDS, LINES)))
    return _by_incarnation(rows, tables_of, schema)


def _play(scope: RunScope, group_records: DataFrame | None) -> DataFrame:
    no_records = scope.lake.frame("group_records", [])
    tables = {
        "timeline": scope.read("timeline"),
        "group_records": no_records if group_records is None else group_records,
        "committed_offsets": scope.read_recent("committed_offsets"),
        "topic_ids": scope.read("topic_ids"),
        "configurations": scope.read("configurations"),
        "group_events": scope.read("group_events"),
    }
    configured = configured_in(evidence("configurations", tables).collect())
    kinds = (RECORDS, LINES, LOGGED, tenures.REFUSALS, tenures.COMMITS)
    rows = union_of(*(evidence(kind, tables) for kind in kinds))
    names, schema = topic_names(scope), to_arrow_schema(PLAYED, timezone="UTC")

    def tables_of(key: Row, of_incarnation: list[Row]) -> Iterator[pa.Table]:
        for table, rows in _tables(of_incarnation, names, configured.of(key["group_id"])):
            yield _as_columns(schema, key | {"table": table}, rows)

    return computed(_by_incarnation(rows, tables_of, PLAYED))


def _by_incarnation(
    evidence: DataFrame, tables_of: Callable[[Row, list[Row]], Iterable[pa.Table]], to: StructType
) -> DataFrame:
    """The tables of all incarnations; ``tables_of`` takes the key of an incarnation and its
    rows.
    """
    # Import here, because workers have no SparkSession.
    schema = to_arrow_schema(to, timezone="UTC")

    def of_bucket(bucket: pa.Table) -> pa.Table:
        tables = (table for key, rows in _incarnations(bucket) for table in tables_of(key, rows))
        return pa.concat_tables([schema.empty_table(), *tables])

    bucket = F.pmod(F.xxhash64(*INCARNATION_KEY), F.lit(BUCKETS)).alias("bucket")
    return evidence.select("*", bucket).groupBy("bucket").applyInArrow(of_bucket, to)


def _incarnations(evidence: pa.Table) -> Iterator[tuple[Row, list[Row]]]:
    """The key and the rows of each incarnation: one incarnation's rows in Python at a time."""
    ordered = evidence.sort_by([(name, "ascending") for name in INCARNATION_KEY])
    begin = 0
    for key, same in groupby(ordered.select(INCARNATION_KEY).to_pylist()):
        size = len(list(same))
        yield key, ordered.slice(begin, size).to_pylist()
        begin += size


def _tables(
    evidence: list[Row], names: Names, configured: KnownSettings
) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each table of one incarnation."""
    own: list[Row] = []
    others: list[Row] = []
    for row in evidence:
        is_other = row["refused_id"] is not None or row["committer_id"] is not None
        (others if is_other else own).append(row)
    if any(row["is_logged"] for row in own):
        yield from logged_rows(played_lines(row for row in own if row["is_logged"]))
        return
    partitions = (row["topic_partition"] for row in own if row["topic_partition"] is not None)
    if (topic_partition := next(partitions, None)) is None:
        return
    history = played_rows(own)
    for table, rows_of in ROWS.items():
        yield table, [{"topic_partition": topic_partition} | row for row in rows_of(history, names)]
    yield TENURES, list(tenures.tenure_rows(history, others, names, configured))


def _as_columns(schema: pa.Schema, constant: Row, rows: list[Row]) -> pa.Table:
    columns = [
        pa.array(rows, field.type)
        if field.name == constant["table"]
        else pa.repeat(pa.scalar(constant[field.name], field.type), len(rows))
        if field.name in constant
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
