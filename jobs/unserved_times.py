"""Times in which a partition had an owner and records, but nobody handled them.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
        end_offsets                log end offsets, if there are any
writes  unserved_times   one row per partition and time

`jobs.costs.unserved` has the definitions and rules.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.costs.evidence import rows_of_evidence
from jobs.costs.inputs import COMMITS_AT_ONCE, READS, owned_of, tables_of
from jobs.costs.unserved_rows import unserved_of
from jobs.engine.pieces import in_pieces
from jobs.lake.keys import GROUP_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of

__all__ = ["READS"]

TABLE = "unserved_times"


def unserved_times(
    assignments: DataFrame,
    classic_tenures: DataFrame,
    committed_offsets: DataFrame,
    last_events: DataFrame,
    end_offsets: DataFrame | None = None,
    modern_tenures: DataFrame | None = None,
    kept_before: DataFrame | None = None,
) -> DataFrame:
    """Rows of unserved_times; the tables: see `jobs.costs.inputs`."""
    owned = (
        owned_of(assignments, classic_tenures, modern_tenures, kept_before)
        .join(F.broadcast(last_events), on=GROUP_KEY, how="left")
        .withColumn("until_ms", F.least("until_ms", "last_ms"))
    )
    evidence = rows_of_evidence(owned, committed_offsets, end_offsets)
    schema = schema_of(TABLE)
    arrow_schema = to_arrow_schema(schema, timezone="UTC")  # here: workers have no SparkSession

    def of_bucket(bucket: pa.Table) -> pa.Table:
        return unserved_of(bucket, arrow_schema)

    return evidence.groupBy("bucket").applyInArrow(of_bucket, schema)


def run(scope: RunScope) -> None:
    tables = tables_of(scope)
    rows = in_pieces(unserved_times, tables, largest="committed_offsets", at_once=COMMITS_AT_ONCE)
    scope.replace(TABLE, rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("unserved_times")
