"""The rows of both tables of costs, computed once per run: both tables need all commits."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DateType, StructField, StructType

from jobs.costs.arrays import arrays_of
from jobs.costs.evidence import before_context, continued, rows_of_evidence
from jobs.costs.rows import costs_of
from jobs.costs.unserved_rows import unserved_of
from jobs.engine.keeping import computed
from jobs.engine.pieces import in_pieces
from jobs.engine.union import union_of
from jobs.lake.keys import GROUP_KEY, INCARNATION_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from jobs.ownership.gaps import of_partitions
from jobs.ownership.of_run import READS as OWNERSHIP
from jobs.ownership.of_run import (
    classic_tenures,
    earlier_rows,
    last_events,
    modern_tenures,
    owners_of,
)

READS = (*OWNERSHIP, "end_offsets", "client_events")
COSTS, UNSERVED = "handover_costs", "unserved_times"
# Maximum number of rows of committed_offsets in memory, on the embedded engine.
COMMITS_AT_ONCE = 5_000_000


def rows_of_run(scope: RunScope, table: str) -> DataFrame:
    """The rows of one of the two tables, see `rows_of_both`."""
    tables = _tables_of(scope)

    def make() -> DataFrame:
        return computed(
            in_pieces(rows_of_both, tables, largest="committed_offsets", at_once=COMMITS_AT_ONCE)
        )

    return rows_of(scope.shared("costs", make), table)


def rows_of(both: DataFrame, table: str) -> DataFrame:
    """``both`` has the rows that `rows_of_both` returns."""
    return both.where(F.col(table).isNotNull()).select(f"{table}.*")


def rows_of_both(
    assignments: DataFrame,
    classic_tenures: DataFrame,
    committed_offsets: DataFrame,
    last_events: DataFrame,
    end_offsets: DataFrame | None = None,
    modern_tenures: DataFrame | None = None,
    earlier: DataFrame | None = None,
    kept_before: DataFrame | None = None,
    client_events: DataFrame | None = None,
) -> DataFrame:
    """Each row has a value in either ``handover_costs`` or ``unserved_times``; the other column is
    null.

    A row of handover_costs has ``ended_date`` instead of event_date: null until the partition has a
    next owner.  `jobs.ownership.of_run` explains ``classic_tenures``, ``modern_tenures``,
    ``last_events`` and ``earlier``; ``kept_before``: see `before_context`.
    """
    owned = of_partitions(owners_of(assignments), classic_tenures, modern_tenures)
    if kept_before is not None:
        owned = union_of(owned, kept_before)
    if earlier is not None:
        owned = union_of(owned, continued(earlier, classic_tenures))
    last = F.broadcast(last_events.select(*GROUP_KEY, "last_ms"))
    owned = owned.join(last, on=GROUP_KEY, how="left")
    evidence = rows_of_evidence(owned, committed_offsets, end_offsets, client_events)
    schema = _schema_of_both()
    # Import here, because workers have no SparkSession.
    types = to_arrow_schema(schema, timezone="UTC")

    def of_bucket(bucket: pa.Table) -> pa.Table:
        arrays = arrays_of(bucket)
        costs, unserved = (pa.schema(types.field(name).type) for name in (COSTS, UNSERVED))
        return _beside(costs_of(arrays, costs), unserved_of(arrays, unserved), types)

    return evidence.groupBy("bucket").applyInArrow(of_bucket, schema)


def _schema_of_both() -> StructType:
    costs = [
        StructField("ended_date", DateType())
        if field.name == "event_date"
        else StructField(field.name, field.dataType)
        for field in schema_of(COSTS)
    ]
    unserved = [StructField(field.name, field.dataType) for field in schema_of(UNSERVED)]
    return StructType(
        [StructField(COSTS, StructType(costs)), StructField(UNSERVED, StructType(unserved))]
    )


def _beside(costs: pa.Table, unserved: pa.Table, schema: pa.Schema) -> pa.Table:
    of_costs, of_unserved = (
        table.to_struct_array().combine_chunks() for table in (costs, unserved)
    )
    columns = [
        pa.chunked_array([of_costs, pa.nulls(len(unserved), of_costs.type)]),
        pa.chunked_array([pa.nulls(len(costs), of_unserved.type), of_unserved]),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _tables_of(scope: RunScope) -> dict[str, DataFrame]:
    tables = {
        "assignments": scope.read("assignments"),
        "classic_tenures": classic_tenures(scope),
        "committed_offsets": scope.read_recent("committed_offsets"),
        "last_events": last_events(scope),
    }
    optional = {
        **{
            name: scope.read_recent(name)
            for name in ("end_offsets", "client_events")
            if scope.has_rows(name)
        },
        "modern_tenures": modern_tenures(scope),
        "earlier": earlier_rows(scope, COSTS, up_to_context=True),
        "kept_before": _kept_before(scope),
    }
    return tables | {name: rows for name, rows in optional.items() if rows is not None}


def _kept_before(scope: RunScope) -> DataFrame | None:
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    positions = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    owners = owners_of(scope.read_recent("assignments"))
    return before_context(owners, scope.read_recent("generations"), positions)
