"""The dashboard as Grafana's JSON, to import, or to provision from a file.

The model: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from typing import Any

from jobs.alerts.monitoring.panels import VARIABLES, WIDTH, Panel, Query, panels
from jobs.configuration.alert_settings import Thresholds

_SCHEMA_VERSION = 41
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Columns of a table that carry no information about an alert.
_HIDDEN = ("Time", "__name__", "instance", "job")


def dashboard(thresholds: Thresholds, late_s: int) -> dict[str, Any]:
    """``late_s`` is the age of the lake's last time from which on the lake is late."""
    return {
        "uid": "regroup",
        "title": "Regroup: rebalances of consumer groups",
        "description": "Alerts of regroup alerts and passes of regroup watch.",
        "tags": ["kafka", "regroup"],
        "schemaVersion": _SCHEMA_VERSION,
        "timezone": "utc",
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "annotations": {"list": []},
        "templating": {"list": [_source_variable(), *map(_variable, VARIABLES)]},
        "panels": list(_placed(panels(thresholds, late_s))),
    }


def _source_variable() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "hide": 0,
        "skipUrlSync": False,
    }


def _variable(name: str) -> dict[str, Any]:
    """A choice of a label's values, which begins with all values."""
    query = f"label_values({VARIABLES[name].name}, {name})"
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # refresh whenever the time range changes
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
        "skipUrlSync": False,
    }


def _placed(each: Iterable[Panel]) -> Iterator[dict[str, Any]]:
    """Place panels from left to right; the next row starts where a panel no longer fits."""
    x = y = row_height = 0
    for number, panel in enumerate(each, start=1):
        if x + panel.width > WIDTH:
            x, y, row_height = 0, y + row_height, 0
        place = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        yield _panel(panel) | {"id": number, "gridPos": place}
        x, row_height = x + panel.width, max(row_height, panel.height)


def _panel(panel: Panel) -> dict[str, Any]:
    if panel.kind == "row":
        return {"type": "row", "title": panel.title, "collapsed": False, "panels": []}
    queries = zip(ascii_uppercase, panel.queries, strict=False)
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "targets": [_target(letter, query, panel.kind) for letter, query in queries],
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
        "transformations": [_hide_columns()] if panel.kind == "table" else [],
    }


def _target(letter: str, query: Query, kind: str) -> dict[str, Any]:
    is_range = kind == "timeseries"
    return {
        "refId": letter,
        "datasource": _SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "format": "table" if kind == "table" else "time_series",
        "instant": not is_range,
        "range": is_range,
    }


def _field(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.limit is not None:
        steps.append({"color": "red", "value": panel.limit})
    field: dict[str, Any] = {
        "unit": panel.unit,
        "min": 0,
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if panel.kind == "timeseries":
        style = "line" if panel.limit is not None else "off"
        field["custom"] = {"thresholdsStyle": {"mode": style}}
    return field


def _hide_columns() -> dict[str, Any]:
    return {"id": "organize", "options": {"excludeByName": dict.fromkeys(_HIDDEN, True)}}


# All options that the schema requires, most with Grafana's defaults.
_OPTIONS: dict[str, dict[str, Any]] = {
    "stat": {
        "reduceOptions": {"calcs": ["lastNotNull"]},
        "colorMode": "background",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "showPercentChange": False,
        "textMode": "auto",
        "wideLayout": True,
    },
    "table": {"frameIndex": 0, "showHeader": True},
    "timeseries": {
        "legend": {
            "calcs": [],
            "displayMode": "list",
            "placement": "bottom",
            "showLegend": True,
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}
