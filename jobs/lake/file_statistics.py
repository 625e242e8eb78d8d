"""What a table's file statistics, which are in its Delta log, show about its rows."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

# Limits of rows and bytes whose derived values fit into the memory of one process.
FEW_ROWS, FEW_BYTES = 20_000, 16 << 20


def may_hold(table: DeltaTable, cluster_id: str, column: str, text: str) -> bool:
    """Returns whether ``text`` is between the smallest and the largest value of a file of the
    cluster, or the file has no statistics of the column.
    """
    own = _files(table, cluster_id)
    if f"min.{column}" not in own.column_names:
        return bool(own.num_rows)
    is_below = pc.greater(own[f"min.{column}"], text)
    is_above = pc.less(own[f"max.{column}"], text)
    is_outside: list[bool | None] = pc.or_kleene(is_below, is_above).to_pylist()
    return not all(is_outside)


def rows_on_dates(table: DeltaTable, cluster_id: str, dates: list[date] | None) -> int | None:
    """The cluster's rows on these dates (None: on all), or None if a file does not have its number
    of rows.
    """
    own = _on_dates(_files(table, cluster_id), dates)
    counts: list[int | None] = own["num_records"].to_pylist()
    return None if None in counts else sum(filter(None, counts))


def are_few(table: DeltaTable, cluster_id: str, dates: list[date] | None) -> bool:
    """Returns whether the cluster's files of these dates have at most FEW_ROWS rows and
    FEW_BYTES.
    """
    rows = rows_on_dates(table, cluster_id, dates)
    own = _on_dates(_files(table, cluster_id), dates)
    size: int = pc.sum(own["size_bytes"]).as_py() or 0
    return rows is not None and rows <= FEW_ROWS and size <= FEW_BYTES


def _on_dates(files: pa.Table, dates: list[date] | None) -> pa.Table:
    """For a table that is not partitioned by date, all files are returned."""
    if dates is None or "partition.event_date" not in files.column_names:
        return files
    return files.filter(pc.is_in(files["partition.event_date"], pa.array(dates, pa.date32())))


def _files(table: DeltaTable, cluster_id: str) -> pa.Table:
    files = pa.table(table.get_add_actions(flatten=True))
    return files.filter(pc.equal(files["partition.cluster_id"], cluster_id))
