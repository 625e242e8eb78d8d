"""Alerts in Prometheus' text format, as a file for the textfile collector of its node exporter.

The format: https://github.com/prometheus/docs, exposition formats, text format 0.0.4.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path

from jobs.alerts.alerting import Window
from jobs.alerts.checks import CHECKS, Alert
from jobs.console.errors import UsageError
from jobs.console.printing import printable

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\""})
Sample = tuple[dict[str, str], float]


def write(path: str, alerts: Sequence[Alert], windows: Sequence[Window]) -> None:
    """Whole or not at all: the collector may read at any time.  UsageError if it cannot be."""
    target = Path(path)
    # The collector takes every file *.prom for its own.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text(alerts, windows), encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UsageError(f"--prometheus {path}: {error.strerror}; give a file to write") from None


def text(alerts: Sequence[Alert], windows: Sequence[Window]) -> str:
    clusters = [window.cluster_id for window in windows]
    counted = Counter((alert.cluster_id, alert.alert) for alert in alerts)
    families = (
        ("regroup_alert", "1 for each alert that is raised.", _each(alerts, lambda alert: 1)),
        (
            "regroup_alert_value",
            "What an alert counted; of stuck, seconds.",
            _each(alerts, lambda alert: alert.value),
        ),
        (
            "regroup_alerts",
            "Alerts raised, by check; 0 for a check that found nothing.",
            [
                ({"alert": check.name, "cluster_id": cluster}, counted[cluster, check.name])
                for cluster in clusters
                for check in CHECKS
            ],
        ),
        (
            "regroup_alerts_lake_time_seconds",
            "The time the checks took for now: the last one in the lake, unless told another.",
            [
                ({"cluster_id": window.cluster_id}, window.now.replace(tzinfo=UTC).timestamp())
                for window in windows
            ],
        ),
    )
    return "".join(f"{line}\n" for family in families for line in _family(*family))


def _each(alerts: Iterable[Alert], value: Callable[[Alert], float]) -> list[Sample]:
    """A sample a set of labels: of two storms of a group in the window the last."""
    by_labels = {
        (alert.alert, alert.cluster_id, alert.group_id, alert.process or ""): value(alert)
        for alert in alerts
    }
    names = ("alert", "cluster_id", "group_id", "process")
    return [(dict(zip(names, labels, strict=True)), found) for labels, found in by_labels.items()]


def _family(name: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {value:.15g}"


def _escaped(label: str) -> str:
    """As the format asks; what steers a terminal or ends a line is written out before."""
    return printable(label).translate(_ESCAPES)
