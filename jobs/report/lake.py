"""A lake for reports: DuckDB views of a cluster's tables within a window of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.console.errors import UsageError
from jobs.lake.service_levels import READS_OF_BUDGETS, SloSettings, create_budgets
from jobs.lake.sql import open_lake
from jobs.report.queries import EPISODES, PREPARE, PREPARE_OPTIONAL, UNSERVED_SOURCE
from jobs.report.window import ReportWindow
from schemas import table_names

if TYPE_CHECKING:
    import duckdb

OPTIONAL = (  # a lake may lack these
    "what_if", "advice", "process_lives", "episodes", "findings", "member_epochs",
    "handovers", "unserved_times", "handover_costs", "advice_outcomes",
)  # fmt: skip
SERVICE = ("unserved_times", "handover_costs")  # without them, budgets would look unused
_NEEDED = (
    "generations", "generation_members", "assignments", "rebalance_causes", "timeline",
    "rebalances", "generation_spans", "ownership_gaps", "q07_storms", "q10_by_protocol",
)  # fmt: skip


class Table(NamedTuple):
    """Rows with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def json(self) -> dict[str, Any]:
        return {"columns": self.columns, "rows": [list(row) for row in self.rows]}

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class ReportLake:
    """``first_ms``: start of the first generation.  ``last_ms``: the cluster's last event, which
    limits generations without an end."""

    def __init__(
        self,
        root: str,
        cluster_id: str,
        group_id: str | None,
        window: ReportWindow,
        slo: SloSettings | None = None,
    ) -> None:
        """``slo``: objectives; default: none.  UsageError for a missing lake, cluster or group."""
        self.has = frozenset(table for table in OPTIONAL if _has(root, table))
        views = ["episode_costs"] if "episodes" in self.has else []
        if slo is None or not self.has.issuperset(SERVICE):
            slo = SloSettings()
        of_budgets = [READS_OF_BUDGETS] if slo.is_set else []
        texts = [*_NEEDED, *self.has, *views, *of_budgets]
        self._connection = open_lake(root, " ".join(texts), optional=["committed_offsets"])
        self._connection.execute(
            "CREATE TEMP TABLE scope AS SELECT ? AS cluster_id, ?::VARCHAR AS only_group,"
            " ?::BIGINT AS from_ms, ?::BIGINT AS to_ms",
            [cluster_id, group_id, *window],
        )
        for table, (present, missing) in PREPARE_OPTIONAL.items():
            self._connection.execute(present if table in self.has else missing)
        self._connection.execute(UNSERVED_SOURCE.format("unserved_times" in self.has))
        for statement in (*PREPARE, *([EPISODES] if views else [])):
            self._connection.execute(statement)
        first_ms, last_ms = self.rows(
            "SELECT MIN(begin_ms), MAX(last_ms) FROM spans CROSS JOIN last_event"
        ).rows[0]
        if first_ms is None:
            raise UsageError(_no_generations(self._connection, root, cluster_id, group_id, window))
        groups = self.rows("SELECT DISTINCT group_id FROM spans").rows
        create_budgets(self._connection, [group_id for (group_id,) in groups], slo)
        self.first_ms, self.last_ms = max(first_ms, window.from_ms), min(last_ms, window.to_ms)

    def rows(self, sql: str, **parameters: Any) -> Table:
        result = self._connection.execute(sql, parameters)
        return Table([column[0] for column in result.description or []], result.fetchall())


def _has(root: str, table: str) -> bool:
    from deltalake import DeltaTable

    return table in table_names() and DeltaTable.is_deltatable(f"{root.rstrip('/')}/{table}")


def _no_generations(
    connection: duckdb.DuckDBPyConnection,
    root: str,
    cluster_id: str,
    group_id: str | None,
    window: ReportWindow,
) -> str:
    """The error for a scope without generations: which option to change."""
    rows = connection.execute("SELECT DISTINCT cluster_id FROM generations ORDER BY 1").fetchall()
    clusters = [row[0] for row in rows]
    if cluster_id not in clusters:
        existing = ", ".join(clusters) or "no cluster"
        return f"--cluster-id {cluster_id}: {root} has {existing}"
    when = "" if window.is_all else " in that time"
    if group_id is None:
        return f"--cluster-id {cluster_id}: no generations{when}"
    return f"--group {group_id}: no generations in cluster {cluster_id}{when}"
