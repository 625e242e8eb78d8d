"""What the end of each tenure cost the data: records handled again, pauses, lag.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
        end_offsets                log end offsets, if there are any
writes  handover_costs   one row per tenure that ended

`jobs.costs` has the definitions and rules.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DateType, StructField, StructType

from jobs.costs.evidence import before_context, continued, rows_of_evidence
from jobs.costs.rows import costs_of
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

TABLE = "handover_costs"
READS = (*OWNERSHIP, "end_offsets")
# Rows of committed_offsets in memory at once, on the embedded engine.
COMMITS_AT_ONCE = 5_000_000


def handover_costs(
    assignments: DataFrame,
    classic_tenures: DataFrame,
    committed_offsets: DataFrame,
    last_events: DataFrame,
    end_offsets: DataFrame | None = None,
    modern_tenures: DataFrame | None = None,
    earlier: DataFrame | None = None,
    kept_before: DataFrame | None = None,
) -> DataFrame:
    """Rows of handover_costs.

    ``classic_tenures``, ``modern_tenures``, ``last_events``: see `jobs.ownership.of_run`.
    ``earlier``: see `earlier_rows`.  ``kept_before``: see `before_context`.
    """
    owned = of_partitions(owners_of(assignments), classic_tenures, modern_tenures)
    if kept_before is not None:
        owned = union_of(owned, kept_before)
    if earlier is not None:
        owned = union_of(owned, continued(earlier, classic_tenures))
    evidence = rows_of_evidence(owned, committed_offsets, end_offsets)
    schema = to_arrow_schema(_computed(), timezone="UTC")  # here: workers have no SparkSession

    def of_bucket(bucket: pa.Table) -> pa.Table:
        return costs_of(bucket, schema)

    rows = evidence.groupBy("bucket").applyInArrow(of_bucket, from_arrow_schema(schema))
    date = F.coalesce("ended_date", "last_date")
    return rows.join(F.broadcast(last_events), on=GROUP_KEY, how="left").withColumn(
        "event_date", date
    )


def _computed() -> StructType:
    """The table's columns, with ``ended_date`` instead of event_date: null until the partition has
    a next owner."""
    fields = [
        StructField("ended_date", DateType())
        if field.name == "event_date"
        else StructField(field.name, field.dataType)
        for field in schema_of(TABLE)
    ]
    return StructType(fields)


def _kept_before(scope: RunScope) -> DataFrame | None:
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    positions = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    owners = owners_of(scope.read_recent("assignments"))
    return before_context(owners, scope.read_recent("generations"), positions)


def run(scope: RunScope) -> None:
    tables = {
        "assignments": scope.read("assignments"),
        "classic_tenures": classic_tenures(scope),
        "committed_offsets": scope.read_recent("committed_offsets"),
        "last_events": last_events(scope),
    }
    optional = {
        "end_offsets": scope.read_recent("end_offsets") if scope.has_rows("end_offsets") else None,
        "modern_tenures": modern_tenures(scope),
        "earlier": earlier_rows(scope, TABLE),
        "kept_before": _kept_before(scope),
    }
    tables |= {name: rows for name, rows in optional.items() if rows is not None}
    rows = in_pieces(handover_costs, tables, largest="committed_offsets", at_once=COMMITS_AT_ONCE)
    scope.replace(TABLE, rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("handover_costs")
