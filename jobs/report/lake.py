"""A lake for reports: DuckDB views of a cluster's tables within a window of time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.console.errors import UsageError
from jobs.lake.service_levels import READS_OF_BUDGETS, SloSettings, create_budgets
from jobs.lake.sql import existing_tables, open_tables, restrict
from jobs.report.queries import (
    CLUSTERS,
    EPISODES,
    OF_CLUSTERS,
    PREPARE,
    PREPARE_OPTIONAL,
    UNSERVED_SOURCE,
)
from jobs.report.window import ReportWindow

if TYPE_CHECKING:
    import duckdb

OPTIONAL = (  # tables that a lake may lack
    "what_if", "advice", "process_lives", "episodes", "findings", "member_epochs",
    "handovers", "unserved_times", "handover_costs", "advice_outcomes",
    "broker_episodes",
)  # fmt: skip
# without these tables, error budgets would look unused
SERVICE = ("unserved_times", "handover_costs")
_NEEDED = (
    "generations", "generation_members", "assignments", "rebalance_causes", "timeline",
    "rebalances", "generation_spans", "ownership_gaps", "q07_storms", "q10_by_protocol",
)  # fmt: skip
_OF_GROUP = (
    "generations", "generation_members", "assignments", "rebalance_causes", "rebalance_latency",
    "churn", "timeline", "ownership_gaps",
)  # fmt: skip


class Table(NamedTuple):
    """Rows with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def json(self) -> dict[str, Any]:
        return {"columns": self.columns, "rows": [list(row) for row in self.rows]}

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def table_of(result: duckdb.DuckDBPyConnection) -> Table:
    """``result`` is the result of an executed statement."""
    return Table([column[0] for column in result.description or []], result.fetchall())


class OpenedLake:
    """The tables and views that reports read, all of the versions that they had when it opened.

    ``has`` has the optional tables that the lake has.  ``slo`` has the objectives, if the lake has
    the figures that they limit.
    """

    def __init__(
        self,
        root: str,
        slo: SloSettings | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """``settings`` are those of DuckDB.

        Raises UsageError for a missing lake, or for one without generations.
        """
        self.root = root
        self.has = frozenset(OPTIONAL).intersection(existing_tables(root))
        is_limited = slo is not None and self.has.issuperset(SERVICE)
        self.slo = slo if slo is not None and is_limited else SloSettings()
        views = ["episode_costs"] if "episodes" in self.has else []
        of_budgets = [READS_OF_BUDGETS] if self.slo.is_set else []
        texts = [*_NEEDED, *self.has, *views, *of_budgets]
        self._tables = open_tables(
            root, " ".join(texts), optional=["committed_offsets"], settings=settings
        )
        self.connection = self._tables.connection
        for statement in OF_CLUSTERS:
            self.connection.execute(statement)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A further connection with the same tables and views."""
        return self._tables.cursor()


class ReportLake:
    """``first_ms`` is the start of the first generation.  ``last_ms`` is the cluster's last event,
    which limits generations without an end.
    """

    def __init__(
        self,
        root: str,
        cluster_id: str,
        group_id: str | None,
        window: ReportWindow,
        slo: SloSettings | None = None,
        *,
        opened: OpenedLake | None = None,
        only: Collection[str] = (),
    ) -> None:
        """``slo`` has objectives; default: none.  ``opened`` is used instead of opening the lake
        again. ``only`` limits it to these groups; default: all, or ``group_id``.

        Raises UsageError for a missing lake, cluster or group.
        """
        opened = opened or OpenedLake(root, slo)
        self.has = opened.has
        self._connection = opened.cursor()
        if group_id is not None:
            only = [group_id]
        if only:
            # Some findings have no group, and broker episodes never have a group.
            tables = [*_OF_GROUP, *sorted(self.has - {"findings", "broker_episodes"})]
            restrict(self._connection, tables, cluster_id, only)
        self._connection.execute(
            "CREATE TEMP TABLE scope AS SELECT ? AS cluster_id, ?::VARCHAR AS only_group,"
            " ?::BIGINT AS from_ms, ?::BIGINT AS to_ms",
            [cluster_id, group_id, *window],
        )
        for table, (present, missing) in PREPARE_OPTIONAL.items():
            self._connection.execute(present if table in self.has else missing)
        self._connection.execute(UNSERVED_SOURCE.format("unserved_times" in self.has))
        for statement in (*PREPARE, *([EPISODES] if "episodes" in self.has else [])):
            self._connection.execute(statement)
        first_ms, last_ms = self.rows(
            "SELECT MIN(begin_ms), MAX(last_ms) FROM spans CROSS JOIN last_event"
        ).rows[0]
        if first_ms is None:
            raise UsageError(no_generations(opened, cluster_id, group_id, window))
        groups = self.rows("SELECT DISTINCT group_id FROM spans").rows
        create_budgets(self._connection, [group_id for (group_id,) in groups], opened.slo)
        self.first_ms, self.last_ms = max(first_ms, window.from_ms), min(last_ms, window.to_ms)

    def rows(self, sql: str, **parameters: Any) -> Table:
        return table_of(self._connection.execute(sql, parameters))


def no_generations(
    opened: OpenedLake, cluster_id: str, group_id: str | None, window: ReportWindow
) -> str:
    """The error for a scope without generations: which option to change."""
    rows = opened.connection.execute(CLUSTERS).fetchall()
    clusters = [row[0] for row in rows]
    if cluster_id not in clusters:
        existing = ", ".join(clusters) or "no cluster"
        return f"--cluster-id {cluster_id}: {opened.root} has {existing}"
    when = "" if window.is_all else " in that time"
    if group_id is None:
        return f"--cluster-id {cluster_id}: no generations{when}"
    return f"--group {group_id}: no generations in cluster {cluster_id}{when}"
