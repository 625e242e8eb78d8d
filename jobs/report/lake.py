"""The lake as a report reads it: DuckDB over what the cluster's tables have in a window of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.console.errors import UsageError
from jobs.lake.sql import open_lake
from jobs.report.queries import PREPARE
from jobs.report.window import Window
from schemas import table_names

if TYPE_CHECKING:
    import duckdb

OPTIONAL = ("what_if", "advice", "process_lives")  # made by a command of their own
_NEEDED = (
    "generations", "generation_members", "assignments", "rebalance_causes", "timeline",
    "rebalances", "q07_storms",
)  # fmt: skip


class Table(NamedTuple):
    """Rows under names, as JSON has them."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def json(self) -> dict[str, Any]:
        return {"columns": self.columns, "rows": [list(row) for row in self.rows]}

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class ReportLake:
    """``first_ms``: when the first generation begins.

    ``last_ms``: the cluster's last event, up to which what has no end is shown.
    """

    def __init__(self, root: str, cluster_id: str, group_id: str | None, window: Window) -> None:
        """UsageError for a lake, a cluster or a group that is not there."""
        self.has = frozenset(table for table in OPTIONAL if _has(root, table))
        self._connection = open_lake(root, " ".join([*_NEEDED, *self.has]))
        self._connection.execute(
            "CREATE TEMP TABLE asked AS SELECT ? AS cluster_id, ?::VARCHAR AS only_group,"
            " ?::BIGINT AS from_ms, ?::BIGINT AS to_ms",
            [cluster_id, group_id, *window],
        )
        for statement in PREPARE:
            self._connection.execute(statement)
        first_ms, last_ms = self.rows(
            "SELECT MIN(begin_ms), MAX(last_ms) FROM spans CROSS JOIN last_event"
        ).rows[0]
        if first_ms is None:
            raise UsageError(_nothing(self._connection, root, cluster_id, group_id, window))
        self.first_ms, self.last_ms = max(first_ms, window.from_ms), min(last_ms, window.to_ms)

    def rows(self, sql: str, **given: Any) -> Table:
        result = self._connection.execute(sql, given)
        return Table([column[0] for column in result.description or []], result.fetchall())


def _has(root: str, table: str) -> bool:
    from deltalake import DeltaTable

    return table in table_names() and DeltaTable.is_deltatable(f"{root.rstrip('/')}/{table}")


def _nothing(
    connection: duckdb.DuckDBPyConnection,
    root: str,
    cluster_id: str,
    group_id: str | None,
    window: Window,
) -> str:
    """What to change, by what there is."""
    found = connection.execute("SELECT DISTINCT cluster_id FROM generations ORDER BY 1").fetchall()
    clusters = [row[0] for row in found]
    if cluster_id not in clusters:
        there = ", ".join(clusters) or "none"
        return f"--cluster-id {cluster_id}: not in {root}, which has {there}"
    when = "" if window.is_all else " in that time"
    if group_id is None:
        return f"--cluster-id {cluster_id}: no generation of any group{when}"
    return f"--group {group_id}: no generation of it in cluster {cluster_id}{when}"
