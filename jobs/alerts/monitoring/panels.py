"""The panels of the dashboard: a title, queries, a unit, a threshold and a size each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobs.alerts import metrics
from jobs.alerts.checks import CHECKS, Check
from jobs.alerts.metrics import Metric
from jobs.alerts.monitoring.rules import WATCH_FAILS_S, WATCH_IS_BEHIND_S
from jobs.configuration.alert_settings import Thresholds

WIDTH = 24  # number of columns of a dashboard
# Variables of the dashboard, each with the metric that has its values.
VARIABLES = {"cluster_id": metrics.LAKE_TIME, "group_id": metrics.ALERT}


class Query(NamedTuple):
    """PromQL, and the legend of its series."""

    expression: str
    legend: str


class Panel(NamedTuple):
    """``kind``: Grafana's panel type.  ``limit`` is from here on the value is bad."""

    title: str
    about: str
    kind: str
    queries: tuple[Query, ...] = ()
    unit: str = "short"
    limit: int | None = None
    width: int = WIDTH
    height: int = 7


def panels(thresholds: Thresholds, late_s: int) -> Iterator[Panel]:
    """Row by row.  ``late_s`` is the age of the lake's last time from which on the lake is late."""
    yield Panel(
        title="Raised alerts per check",
        about=metrics.ALERTS.about,
        kind="stat",
        queries=(Query(f"sum by (alert) ({selected(metrics.ALERTS)})", "{{alert}}"),),
        limit=1,
        height=4,
    )
    yield Panel(
        title="Raised alerts",
        about=metrics.ALERT_VALUE.about,
        kind="table",
        queries=(Query(selected(metrics.ALERT_VALUE), ""),),
        width=12,
        height=8,
    )
    yield Panel(
        title="Raised alerts per group",
        about=metrics.ALERT.about,
        kind="timeseries",
        queries=(
            Query(
                f"sum by (cluster_id, group_id) ({selected(metrics.ALERT)})",
                "{{group_id}} ({{cluster_id}})",
            ),
        ),
        width=12,
        height=8,
    )
    yield from (_check_panel(check, thresholds) for check in CHECKS)
    yield _since("Age of the lake", metrics.LAKE_TIME, late_s, WIDTH)
    yield Panel(title="regroup watch", about="", kind="row", height=1)
    yield Panel(
        title="Passes per hour",
        about=f"{metrics.PASSES.about} {metrics.FAILED_PASSES.about}",
        kind="timeseries",
        queries=(
            Query(f"increase({selected(metrics.PASSES)}[1h])", "{{cluster_id}}"),
            Query(f"increase({selected(metrics.FAILED_PASSES)}[1h])", "{{cluster_id}} failed"),
        ),
        width=8,
    )
    yield _plain("Duration of a pass", metrics.PASS_SECONDS, None)
    yield _plain("From event to tables", metrics.FRESHNESS, WATCH_IS_BEHIND_S)
    yield _since("Since the last successful pass", metrics.SUCCESS_TIME, WATCH_FAILS_S, 12)
    yield _since("Since the newest event", metrics.NEWEST_EVENT, None, 12)


def selected(metric: Metric, **equal: str) -> str:
    """The metric's series of the chosen clusters and groups, with these labels."""
    chosen = [f'{name}=~"${name}"' for name in VARIABLES if name in metric.labels]
    own = [f'{name}="{value}"' for name, value in equal.items()]
    return f"{metric.name}{{{','.join(own + chosen)}}}"


def _check_panel(check: Check, thresholds: Thresholds) -> Panel:
    limit: int = getattr(thresholds, check.setting)
    return Panel(
        title=f"{check.name} ({check.unit})",
        about=f"{check.about[:1].upper()}{check.about[1:]}.",
        kind="timeseries",
        queries=(
            Query(
                selected(metrics.ALERT_VALUE, alert=check.name),
                "{{group_id}} {{process}} ({{cluster_id}})",
            ),
        ),
        unit="s" if check.unit == "seconds" else "short",
        limit=limit or None,
        width=8,
    )


def _plain(title: str, metric: Metric, limit: int | None) -> Panel:
    query = Query(selected(metric), "{{cluster_id}}")
    return Panel(
        title=title,
        about=metric.about,
        kind="timeseries",
        queries=(query,),
        unit=metric.unit,
        limit=limit,
        width=8,
    )


def _since(title: str, metric: Metric, limit: int | None, width: int) -> Panel:
    query = Query(f"time() - {selected(metric)}", "{{cluster_id}}")
    return Panel(
        title=title,
        about=metric.about,
        kind="timeseries",
        queries=(query,),
        unit=metric.unit,
        limit=limit,
        width=width,
    )
