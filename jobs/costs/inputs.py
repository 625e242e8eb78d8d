"""The tables that the costs of one run are computed from."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.costs.evidence import before_context
from jobs.engine.union import union_of
from jobs.lake.keys import INCARNATION_KEY
from jobs.lake.scope import RunScope
from jobs.ownership.gaps import of_partitions
from jobs.ownership.of_run import READS as OWNERSHIP
from jobs.ownership.of_run import classic_tenures, last_events, modern_tenures, owners_of

READS = (*OWNERSHIP, "end_offsets")
# Rows of committed_offsets in memory at once, on the embedded engine.
COMMITS_AT_ONCE = 5_000_000


def tables_of(scope: RunScope) -> dict[str, DataFrame]:
    """assignments, committed_offsets, and end_offsets if it has rows; ``classic_tenures``,
    ``modern_tenures``, ``last_events``: see `jobs.ownership.of_run`; ``kept_before``: see
    `before_context`."""
    tables = {
        "assignments": scope.read("assignments"),
        "classic_tenures": classic_tenures(scope),
        "committed_offsets": scope.read_recent("committed_offsets"),
        "last_events": last_events(scope),
    }
    optional = {
        "end_offsets": scope.read_recent("end_offsets") if scope.has_rows("end_offsets") else None,
        "modern_tenures": modern_tenures(scope),
        "kept_before": _kept_before(scope),
    }
    return tables | {name: rows for name, rows in optional.items() if rows is not None}


def owned_of(
    assignments: DataFrame,
    classic_tenures: DataFrame,
    modern_tenures: DataFrame | None,
    kept_before: DataFrame | None,
) -> DataFrame:
    """When each owner had each partition."""
    owned = of_partitions(owners_of(assignments), classic_tenures, modern_tenures)
    return owned if kept_before is None else union_of(owned, kept_before)


def _kept_before(scope: RunScope) -> DataFrame | None:
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    positions = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    owners = owners_of(scope.read_recent("assignments"))
    return before_context(owners, scope.read_recent("generations"), positions)
