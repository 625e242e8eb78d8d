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

from jobs.alerts import metrics
from jobs.alerts.alerting import AlertWindow
from jobs.alerts.checks import CHECKS, Alert
from jobs.alerts.metrics import Metric
from jobs.console.errors import UsageError
from jobs.console.printing import printable

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\""})
Sample = tuple[dict[str, str], float]


class Family(NamedTuple):
    """One metric with its samples, by labels."""

    metric: Metric
    samples: Sequence[Sample]


def write(path: str, families: Iterable[Family]) -> None:
    """Replace the file in one step, because the collector may read it at any time.  Raises
    UsageError if it cannot be written."""
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
    counts = Counter((alert.cluster_id, alert.alert) for alert in alerts)
    return (
        Family(metrics.ALERT, _each(alerts, lambda alert: 1)),
        Family(metrics.ALERT_VALUE, _each(alerts, lambda alert: alert.value)),
        Family(
            metrics.ALERTS,
            [
                (
                    {"alert": check.name, "cluster_id": window.cluster_id},
                    counts[window.cluster_id, check.name],
                )
                for window in windows
                for check in CHECKS
                if check.name not in window.unchecked
            ],
        ),
        *_budgets(windows),
        Family(
            metrics.LAKE_TIME,
            [
                ({"cluster_id": window.cluster_id}, window.now.replace(tzinfo=UTC).timestamp())
                for window in windows
            ],
        ),
    )


def _budgets(windows: Sequence[AlertWindow]) -> Iterator[Family]:
    """Nothing without objectives."""
    samples = [
        ({"cluster_id": window.cluster_id, **budget.labels}, budget.used_percent)
        for window in windows
        for budget in window.budgets
    ]
    if samples:
        yield Family(metrics.SLO_USED, samples)


def _each(alerts: Iterable[Alert], value: Callable[[Alert], float]) -> list[Sample]:
    """One sample per set of labels; for several storms of a group, the last storm."""
    by_labels = {
        (alert.alert, alert.cluster_id, alert.group_id, alert.process or ""): value(alert)
        for alert in alerts
    }
    return [
        (dict(zip(metrics.ALERT.labels, labels, strict=True)), each)
        for labels, each in by_labels.items()
    ]


def _lines(family: Family) -> Iterator[str]:
    metric, samples = family
    yield f"# HELP {metric.name} {metric.about}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{metric.name}{{{pairs}}} {value:.15g}"


def _escaped(label: str) -> str:
    """Escape control characters, then what the format requires."""
    return printable(label).translate(_ESCAPES)
