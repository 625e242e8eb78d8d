"""Alerts in Prometheus' text format, as a file for the textfile collector of its node exporter.

The format: https://github.com/prometheus/docs, exposition formats, text format 0.0.4.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

from jobs.alerts.alerting import AlertWindow
from jobs.alerts.checks import CHECKS, Alert
from jobs.console.errors import UsageError
from jobs.console.printing import printable

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\""})
Sample = tuple[dict[str, str], float]


class Family(NamedTuple):
    """One metric: its name, help, samples by labels, and type."""

    name: str
    about: str
    samples: Sequence[Sample]
    kind: str = "gauge"


def write(path: str, families: Iterable[Family]) -> None:
    """Replace the file in one step, because the collector may read it at any time.  UsageError if
    it cannot be written."""
    target = Path(path)
    # The name must not match *.prom: the collector reads every such file.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text(families), encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UsageError(f"--prometheus {path}: {error.strerror}; give a file to write") from None


def text(families: Iterable[Family]) -> str:
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def alert_families(alerts: Sequence[Alert], windows: Sequence[AlertWindow]) -> tuple[Family, ...]:
    clusters = [window.cluster_id for window in windows]
    counts = Counter((alert.cluster_id, alert.alert) for alert in alerts)
    return (
        Family("regroup_alert", "1 for each alert that is raised.", _each(alerts, lambda alert: 1)),
        Family(
            "regroup_alert_value",
            "Value of an alert: a count; seconds for stuck.",
            _each(alerts, lambda alert: alert.value),
        ),
        Family(
            "regroup_alerts",
            "Raised alerts per check; 0 without alerts.",
            [
                ({"alert": check.name, "cluster_id": cluster}, counts[cluster, check.name])
                for cluster in clusters
                for check in CHECKS
            ],
        ),
        Family(
            "regroup_alerts_lake_time_seconds",
            "Time that counts as now: the last time in the lake, or --at.",
            [
                ({"cluster_id": window.cluster_id}, window.now.replace(tzinfo=UTC).timestamp())
                for window in windows
            ],
        ),
    )


def _each(alerts: Iterable[Alert], value: Callable[[Alert], float]) -> list[Sample]:
    """One sample per set of labels: the last of several storms of a group."""
    by_labels = {
        (alert.alert, alert.cluster_id, alert.group_id, alert.process or ""): value(alert)
        for alert in alerts
    }
    names = ("alert", "cluster_id", "group_id", "process")
    return [(dict(zip(names, labels, strict=True)), each) for labels, each in by_labels.items()]


def _lines(family: Family) -> Iterator[str]:
    name, about, samples, kind = family
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {value:.15g}"


def _escaped(label: str) -> str:
    """Escape control characters, then what the format requires."""
    return printable(label).translate(_ESCAPES)
