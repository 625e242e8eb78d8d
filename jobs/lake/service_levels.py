"""Error budgets: what groups used of the errors that their objectives allow, by date.

reads   group_day_service
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from jobs.configuration.slo_settings import NAMES, SloSettings

if TYPE_CHECKING:
    import duckdb

__all__ = ["READS_OF_BUDGETS", "Budget", "SloSettings", "budgets_of", "create_budgets"]

_OF_DATE = """
    SELECT group_id, objective, used_percent FROM slo_budgets
    WHERE cluster_id = ? AND event_date = ? ORDER BY group_id, objective"""
READS_OF_BUDGETS = "SELECT * FROM group_day_service"
# If the configuration has no objectives, nothing is read from the lake.
_NONE = """
    CREATE TEMP TABLE slo_budgets AS
    SELECT '' AS cluster_id, '' AS group_id, DATE '1970-01-01' AS event_date, '' AS objective,
        0.0 AS objective_value, 0.0 AS value, 0.0 AS used_percent
    WHERE FALSE"""
# One row per group, date and objective. ``value`` and ``objective_value`` have the objective's
# unit.
_BUDGETS = """
    CREATE TEMP TABLE slo_budgets AS
    SELECT cluster_id, group_id, event_date, objective, objective_value, value,
        CASE WHEN objective = 'served_percent'
            THEN 100 * (100 - value) / (100 - objective_value)
            ELSE 100 * value / objective_value END AS used_percent
    FROM (
        SELECT s.cluster_id, s.group_id, s.event_date, o.objective, o.objective_value,
            CASE o.objective
                WHEN 'served_percent' THEN s.served_percent
                WHEN 'reprocessed_per_day' THEN s.records_reprocessed
                ELSE s.longest_catch_up_ms / 1000 END AS value
        FROM group_day_service s
        JOIN objectives o ON o.group_id = s.group_id
    )
    WHERE value IS NOT NULL"""


class Budget(NamedTuple):
    group_id: str
    objective: str
    used_percent: float

    @property
    def labels(self) -> dict[str, str]:
        return {"group_id": self.group_id, "objective": self.objective}


def budgets_of(
    connection: duckdb.DuckDBPyConnection, cluster_id: str, day: date
) -> tuple[Budget, ...]:
    """The error budgets of a date; call `create_budgets` first."""
    rows = connection.execute(_OF_DATE, [cluster_id, day]).fetchall()
    return tuple(Budget(*row) for row in rows)


def create_budgets(
    connection: duckdb.DuckDBPyConnection, groups: list[str], settings: SloSettings
) -> None:
    """Create the table ``slo_budgets`` of these groups.

    If ``settings`` has objectives, the connection must have the view that READS_OF_BUDGETS reads.
    """
    if not settings.is_set:
        connection.execute(_NONE)
        return
    import pyarrow as pa  # Import here, because few lakes have objectives.

    rows = [
        (group_id, name, value)
        for group_id in groups
        for name in NAMES
        if (value := getattr(settings.of_group(group_id), name)) is not None
    ]
    schema = pa.schema(
        [
            ("group_id", pa.string()),
            ("objective", pa.string()),
            ("objective_value", pa.float64()),
        ]
    )
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    data = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    connection.register("objectives", pa.table(data, schema=schema))
    connection.execute(_BUDGETS)
