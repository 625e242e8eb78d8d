"""Error budgets of a report: what groups used on each date, the newest date first."""

from __future__ import annotations

from typing import Any

from jobs.report.lake import ReportLake

Json = dict[str, Any]

MOST_ROWS = 200

# Dates are UTC dates; a date is in the window if any part of it is in the window.
_IN_WINDOW = """
    FROM slo_budgets b JOIN scope ON b.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR b.group_id = scope.only_group)
        AND EPOCH_MS(b.event_date) <= scope.to_ms
        AND EPOCH_MS(b.event_date + INTERVAL 1 DAY) > scope.from_ms
    GROUP BY b.group_id, b.event_date"""
_COUNT = f"SELECT COUNT(*) FROM (SELECT b.group_id, b.event_date {_IN_WINDOW})"
_LISTED = f"""
    SELECT b.group_id, b.event_date::VARCHAR AS day, MAX(b.used_percent) AS used_percent,
        MAP(LIST(b.objective), LIST([b.value, b.objective_value, b.used_percent])) AS objectives
    {_IN_WINDOW}
    ORDER BY b.event_date DESC, used_percent DESC, b.group_id
    LIMIT {MOST_ROWS}"""


def budgets(lake: ReportLake) -> Json | None:
    """A row per group and date, sorted by the used part of a budget, and the number of all rows;
    null without objectives.  ``objectives`` have the value, objective and used percent, by name.
    """
    count = lake.rows(_COUNT).rows[0][0]
    return {"listed": lake.rows(_LISTED).json(), "count": count} if count else None
