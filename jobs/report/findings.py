"""Findings of a report: what is wrong, by name, the surest first.  Times in ms since the epoch."""

from __future__ import annotations

from typing import Any

from jobs.report.lake import ReportLake

Json = dict[str, Any]

MOST_FINDINGS = 50

_IN_WINDOW = """
    FROM findings f JOIN scope ON f.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR f.group_id IS NULL OR f.group_id = scope.only_group)
        AND EPOCH_MS(f.from_time) <= scope.to_ms
        AND COALESCE(EPOCH_MS(f.to_time) >= scope.from_ms, true)"""
_COUNT = f"SELECT COUNT(*) {_IN_WINDOW}"
ROWS = f"""
    SELECT f.finding, f.kind, f.group_id, EPOCH_MS(f.from_time) AS from_ms,
        EPOCH_MS(f.to_time) AS to_ms, f.confidence, f.summary, f.remedy, f.evidence, f.reference
    {_IN_WINDOW}"""
ORDER = "confidence DESC, from_ms, finding, group_id"
_LISTED = f"{ROWS} ORDER BY {ORDER} LIMIT {MOST_FINDINGS}"


def findings(lake: ReportLake) -> Json | None:
    """The surest findings, and the number of all; null without any."""
    if "findings" not in lake.has:
        return None
    count = lake.rows(_COUNT).rows[0][0]
    return {"listed": lake.rows(_LISTED).json(), "count": count} if count else None
