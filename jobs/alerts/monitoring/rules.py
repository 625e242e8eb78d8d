"""Alerting rules for Prometheus: one per check, and rules for metrics that are missing or late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobs.alerts import metrics
from jobs.alerts.checks import CHECKS, Check

WATCH_FAILS_S = 900
WATCH_IS_BEHIND_S = 300
_MISSING_FOR = "15m"


class Rule(NamedTuple):
    """``lasts`` says how long the expression holds before the alert fires."""

    name: str
    expression: str
    summary: str
    lasts: str | None = None


def rules(late_s: int) -> Iterator[Rule]:
    """``late_s`` is the age of the lake's last time from which on the lake is late."""
    yield from map(_rule_of, CHECKS)
    lake_time = metrics.LAKE_TIME.name
    yield Rule(
        "RegroupIsLate",
        f"time() - {lake_time} > {late_s}",
        "the last time in the lake of cluster {{ $labels.cluster_id }} is {{ $value | "
        "humanizeDuration }} ago",
    )
    yield Rule(
        "RegroupMetricsMissing",
        f"absent({lake_time})",
        "no metrics of regroup alerts or regroup watch",
        _MISSING_FOR,
    )
    yield Rule(
        "RegroupWatchFails",
        f"time() - {metrics.SUCCESS_TIME.name} > {WATCH_FAILS_S}",
        "the last successful pass of regroup watch of cluster {{ $labels.cluster_id }} was"
        " {{ $value | humanizeDuration }} ago",
    )
    yield Rule(
        "RegroupWatchIsBehind",
        f"{metrics.FRESHNESS.name} > {WATCH_IS_BEHIND_S}",
        "regroup watch of cluster {{ $labels.cluster_id }} is {{ $value | humanizeDuration }}"
        " behind",
    )


def _rule_of(check: Check) -> Rule:
    name = "".join(word.capitalize() for word in check.name.split("_"))
    return Rule(
        f"ConsumerGroup{name}",
        f'{metrics.ALERT_VALUE.name}{{alert="{check.name}"}} > 0',
        f"group {{{{ $labels.group_id }}}} of cluster {{{{ $labels.cluster_id }}}}: {check.about}"
        f" ({{{{ $value }}}} {check.unit})",
    )


def as_yaml(late_s: int) -> str:
    """A file for `rule_files` of prometheus.yml."""
    lines = ["groups:", "  - name: regroup", "    rules:"]
    return "\n".join([*lines, *(line for rule in rules(late_s) for line in _lines(rule))]) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    yield f"      - alert: {rule.name}"
    yield f"        expr: {_yaml_scalar(rule.expression)}"
    if rule.lasts:
        yield f"        for: {rule.lasts}"
    yield "        labels:"
    yield "          severity: warning"
    yield "        annotations:"
    yield f"          summary: {_yaml_scalar(rule.summary)}"


def _yaml_scalar(text: str) -> str:
    """The text in single quotes; a quote in the text is doubled, and nothing is escaped."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
