"""What a table's file statistics, which its Delta log has, tell about its rows."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable


def may_hold(table: DeltaTable, cluster_id: str, column: str, text: str) -> bool:
    """Whether ``text`` is between the smallest and the largest value of a file of the cluster, or
    the file has no statistics of the column."""
    own = _files(table, cluster_id)
    if f"min.{column}" not in own.column_names:
        return bool(own.num_rows)
    is_below = pc.greater(own[f"min.{column}"], text)
    is_above = pc.less(own[f"max.{column}"], text)
    is_outside: list[bool | None] = pc.or_kleene(is_below, is_above).to_pylist()
    return not all(is_outside)


def rows_on_dates(table: DeltaTable, cluster_id: str, dates: list[date] | None) -> int | None:
    """The cluster's rows on these dates (None: on all); None if a file does not have its number of
    rows."""
    own = _files(table, cluster_id)
    if dates is not None:
        own = own.filter(pc.is_in(own["partition.event_date"], pa.array(dates, pa.date32())))
    counts: list[int | None] = own["num_records"].to_pylist()
    return None if None in counts else sum(filter(None, counts))


def _files(table: DeltaTable, cluster_id: str) -> pa.Table:
    files = pa.table(table.get_add_actions(flatten=True))
    return files.filter(pc.equal(files["partition.cluster_id"], cluster_id))
