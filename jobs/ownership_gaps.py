"""Times in which a partition had no owner: partition downtime.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets;
        group_records, topic_ids   of modern groups
writes  ownership_gaps   one row per partition and time without an owner

`jobs.ownership` infers when members owned partitions.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from jobs.engine.pieces import in_pieces
from jobs.engine.union import union_of
from jobs.lake.scope import RunScope
from jobs.ownership.gaps import continued, gaps, of_partitions, rows_of
from jobs.ownership.of_run import (
    PARTITIONS_AT_ONCE,
    classic_tenures,
    earlier_rows,
    last_events,
    modern_tenures,
    owners_of,
)
from jobs.ownership.of_run import READS as OWNERSHIP

READS = OWNERSHIP


def ownership_gaps(
    assignments: DataFrame,
    classic_tenures: DataFrame,
    last_events: DataFrame,
    earlier: DataFrame | None = None,
    modern_tenures: DataFrame | None = None,
) -> DataFrame:
    """Rows of ownership_gaps.

    `jobs.ownership.of_run` explains ``classic_tenures``, ``modern_tenures``, ``last_events`` and
    ``earlier``.
    """
    owned = of_partitions(owners_of(assignments), classic_tenures, modern_tenures)
    if earlier is not None:
        owned = union_of(owned, continued(earlier, classic_tenures))
    return rows_of(gaps(owned), last_events)


def run(scope: RunScope) -> None:
    tables = {
        "assignments": scope.read("assignments"),
        "classic_tenures": classic_tenures(scope),
        "last_events": last_events(scope),
    }
    optional = {
        "modern_tenures": modern_tenures(scope),
        "earlier": earlier_rows(scope, "ownership_gaps"),
    }
    tables |= {name: rows for name, rows in optional.items() if rows is not None}
    rows = in_pieces(ownership_gaps, tables, largest="assignments", at_once=PARTITIONS_AT_ONCE)
    scope.replace("ownership_gaps", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("ownership_gaps")
