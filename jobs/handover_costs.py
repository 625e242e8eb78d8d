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

from jobs.costs.evidence import continued, rows_of_evidence
from jobs.costs.inputs import COMMITS_AT_ONCE, READS, owned_of, tables_of
from jobs.costs.rows import costs_of
from jobs.engine.pieces import in_pieces
from jobs.engine.union import union_of
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from jobs.ownership.of_run import earlier_rows

__all__ = ["READS"]

TABLE = "handover_costs"


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

    ``earlier``: see `earlier_rows`.  The other tables: see `jobs.costs.inputs`.
    """
    owned = owned_of(assignments, classic_tenures, modern_tenures, kept_before)
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


def run(scope: RunScope) -> None:
    tables = tables_of(scope)
    earlier = earlier_rows(scope, TABLE, up_to_context=True)
    if earlier is not None:
        tables["earlier"] = earlier
    rows = in_pieces(handover_costs, tables, largest="committed_offsets", at_once=COMMITS_AT_ONCE)
    scope.replace(TABLE, rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("handover_costs")
