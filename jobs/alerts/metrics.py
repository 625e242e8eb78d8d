"""The metrics that Regroup exports for Prometheus: names, help texts, labels, units and types.

`regroup alerts` and `regroup watch` write samples of these metrics (prometheus); `regroup
dashboard` makes panels and alerting rules of the same definitions.
"""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """``unit``: Grafana's name of the unit."""

    name: str
    about: str
    labels: tuple[str, ...] = ("cluster_id",)
    unit: str = "short"
    kind: str = "gauge"


_OF_ALERT = ("alert", "cluster_id", "group_id", "process")

ALERT = Metric("regroup_alert", "1 for each alert that is raised.", _OF_ALERT)
ALERT_VALUE = Metric(
    "regroup_alert_value",
    "Value of an alert: a count; seconds for stuck, unowned, no_members and stuck_partition,"
    " percent for finding, poison_pill and slo.",
    _OF_ALERT,
)
ALERTS = Metric(
    "regroup_alerts", "Raised alerts per check; 0 without alerts.", ("alert", "cluster_id")
)
SLO_USED = Metric(
    "regroup_slo_error_budget_used_percent",
    "Error budget used on the current UTC date, in percent, per objective; above 100 the "
    "objective is missed.",
    ("cluster_id", "group_id", "objective"),
    unit="percent",
)
LAKE_TIME = Metric(
    "regroup_alerts_lake_time_seconds",
    "Time that counts as now: the last time in the lake, or --at.",
    unit="s",
)

PASSES = Metric("regroup_watch_passes_total", "Passes since watch started.", kind="counter")
FAILED_PASSES = Metric(
    "regroup_watch_failed_passes_total", "Failed passes since watch started.", kind="counter"
)
PASS_SECONDS = Metric("regroup_watch_pass_seconds", "Duration of the last pass.", unit="s")
SUCCESS_TIME = Metric(
    "regroup_watch_success_time_seconds", "End time of the last successful pass.", unit="s"
)
NEWEST_EVENT = Metric(
    "regroup_watch_newest_event_time_seconds", "Time of the newest event in the tables.", unit="s"
)
FRESHNESS = Metric(
    "regroup_watch_freshness_seconds",
    "Time from the newest event to its tables and alerts, in the last pass with new input.",
    unit="s",
)
