"""`regroup digest`: what happened to the groups of a lake within a time span.

Similar items are one entry: episodes of one kind, findings of one name, and groups with alerts of
the same checks.  An alert is resolved if the present checks do not raise it.

reads   episode_costs, findings, rebalance_latency, and the tables of the checks
writes  nothing
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from coordinator_core.episodes.episode_kind import NOT_INCIDENTS
from coordinator_core.episodes.grouping import by
from coordinator_core.figures import counted
from jobs.alerts.alerting import AlertsOptions, AlertWindow, find_alerts
from jobs.alerts.checks import Alert
from jobs.alerts.digest_formats import (
    BODIES,
    DigestDocument,
    DigestEntry,
    DigestSection,
)
from jobs.alerts.formats import DigestFormat
from jobs.alerts.notify import send_digests
from jobs.configuration.alert_settings import AlertSettings
from jobs.configuration.webhooks import ALERTS
from jobs.lake.sql import OF_EPISODE_COSTS, query_all

FINDING = "finding"  # name of the check whose alerts are findings
MOST = 5  # maximum number of entries of a section
_NAMES_SHOWN = 3
_SPAN = """cluster_id = $cluster_id
    AND event_date BETWEEN CAST($start AS DATE) - 7 AND CAST($now AS DATE)"""
# Episodes and findings that overlap the period, sorted so that the costliest episodes and the most
# confident findings come first.
EPISODES = f"""SELECT group_id, kind, rebalances, rebalances_without_begin,
    not_stable_ms, cost_ms, text
    FROM episode_costs WHERE {_SPAN}
        AND to_time > CAST($start AS TIMESTAMP) AND from_time <= CAST($now AS TIMESTAMP)
    ORDER BY place"""
FINDINGS = f"""SELECT group_id, finding, kind, confidence, summary, remedy
    FROM findings WHERE {_SPAN} AND kind <> 'evidence'
        AND COALESCE(to_time, CAST($now AS TIMESTAMP)) > CAST($start AS TIMESTAMP)
        AND from_time <= CAST($now AS TIMESTAMP)
    ORDER BY confidence DESC, from_time, finding, group_id"""
REBALANCES = f"""SELECT group_id, total_ms, rebalances
    FROM rebalance_latency JOIN (SELECT * EXCLUDE (event_date) FROM rebalance_counts)
        USING (cluster_id, group_id, incarnation, generation)
    WHERE {_SPAN}
        AND COALESCE(to_time, preparing_time) > CAST($start AS TIMESTAMP)
        AND COALESCE(preparing_time, to_time) <= CAST($now AS TIMESTAMP)"""
OPTIONAL = ("findings", *OF_EPISODE_COSTS)
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ClusterSpan:
    """The rows of a cluster within the span.

    ``present`` has keys of the alerts of `regroup alerts`, whose window begins at
    ``present_since``.
    """

    window: AlertWindow
    episodes: list[Row]
    findings: list[Row]
    rebalances: list[Row]
    alerts: list[Alert]
    present: frozenset[tuple[str, str, str | None]]
    present_since: datetime

    def is_raised(self, alert: Alert) -> bool:
        """Returns whether the problem continues; an earlier alert with the same key may be
        resolved.
        """
        return _key(alert) in self.present and alert.last_time > self.present_since


def run(
    options: AlertsOptions, settings: AlertSettings, format: DigestFormat, *, notifies: bool
) -> int:
    """Print the digest, or send it to the webhooks with ``digest = true``; 1 if a message waits."""
    spans = spans_of(options, settings)
    if not notifies:
        sys.stdout.write(BODIES[format]([digest_of(span) for span in spans]))
        return 0
    deliveries = send_digests(
        settings,
        options.lake,
        lambda webhook: [digest_of(span, webhook.groups) for span in spans],
        time.time(),
    )
    for delivery in deliveries:
        print(delivery.line, file=sys.stderr)
    return int(any(delivery.waiting for delivery in deliveries))


def spans_of(options: AlertsOptions, settings: AlertSettings) -> list[ClusterSpan]:
    """One per cluster; UsageError as of `find_alerts`."""
    alerts, windows = find_alerts(options, settings)
    present, present_windows = find_alerts(replace(options, since=None), settings, notices=False)
    keys = frozenset(map(_key, present))
    since = {window.cluster_id: window.start for window in present_windows}
    return [
        _span(options.lake, window, alerts, keys, since[window.cluster_id]) for window in windows
    ]


def _span(
    lake: str,
    window: AlertWindow,
    alerts: list[Alert],
    present: frozenset[tuple[str, str, str | None]],
    present_since: datetime,
) -> ClusterSpan:
    parameters = {
        "cluster_id": window.cluster_id,
        "start": str(window.start),
        "now": str(window.now),
    }
    rows = query_all(
        lake,
        [EPISODES, FINDINGS, REBALANCES],
        parameters=parameters,
        optional=OPTIONAL,
        notices=False,
    )
    own = [alert for alert in alerts if alert.cluster_id == window.cluster_id]
    episodes, findings, rebalances = rows
    return ClusterSpan(
        window=window,
        episodes=episodes,
        findings=findings,
        rebalances=rebalances,
        alerts=own,
        present=present,
        present_since=present_since,
    )


def _key(alert: Alert) -> tuple[str, str, str | None]:
    return (alert.alert, f"{alert.cluster_id}/{alert.group_id}", alert.process)


def digest_of(span: ClusterSpan, patterns: Sequence[str] = ("*",)) -> DigestDocument:
    """``patterns`` match the groups to include; only ``*`` includes findings about a broker."""

    def is_included(group_id: str | None) -> bool:
        return any(fnmatchcase(group_id or "", pattern) for pattern in patterns)

    episodes, findings, rebalances = (
        [row for row in rows if is_included(row["group_id"])]
        for rows in (span.episodes, span.findings, span.rebalances)
    )
    alerts = [
        alert
        for alert in span.alerts
        # Findings have their own section.
        if is_included(alert.group_id) and alert.alert != FINDING
    ]
    raised = [alert for alert in alerts if span.is_raised(alert)]
    resolved = [alert for alert in alerts if not span.is_raised(alert)]
    sections = [
        _section("What cost most", _of_episodes(episodes)),
        _section("Findings", _of_findings(findings)),
        _section("Alerts", _of_alerts(raised)),
        _section("Resolved alerts", _of_resolved(resolved)),
    ]
    return DigestDocument(
        cluster_id=span.window.cluster_id,
        start=span.window.start,
        now=span.window.now,
        headline=_headline(rebalances, raised, resolved),
        sections=[section for section in sections if section.entries],
    )


def _headline(rebalances: list[Row], raised: list[Alert], resolved: list[Alert]) -> str:
    number = sum(row["rebalances"] or 0 for row in rebalances)
    groups = len({row["group_id"] for row in rebalances})
    parts = [
        f"{counted(number, 'rebalance')} in {counted(groups, 'group')}",
        _not_stable(
            [row["total_ms"] for row in rebalances if row["rebalances"] or row["total_ms"]]
        ),
        f"{counted(len(raised), 'alert')} raised, {len(resolved):,} resolved",
    ]
    return ", ".join(parts)


def _not_stable(times_ms: list[int | None]) -> str:
    """The sum of the times. A time is None if no log shows when the rebalance began."""
    known_ms = sum(ms or 0 for ms in times_ms)
    if None not in times_ms:
        return f"{known_ms / 1000:,.1f} s not stable"
    if known_ms:
        return f"at least {known_ms / 1000:,.1f} s not stable"
    return "time not stable unknown (no log shows when rebalances began)"


def _section(title: str, entries: list[DigestEntry]) -> DigestSection:
    more = entries[MOST:]
    left_out = f"{len(more)} more: {', '.join(entry.head for entry in more)}" if more else ""
    return DigestSection(title, entries[:MOST], left_out)


def _of_episodes(rows: list[Row]) -> list[DigestEntry]:
    """Entries by kind of incident; the costliest kind comes first."""
    incidents = [row for row in rows if row["kind"] not in NOT_INCIDENTS]
    by_kind = by(lambda row: row["kind"], incidents)
    folded = sorted(by_kind.items(), key=lambda each: _cost_of(each[1]), reverse=True)
    return [_of_kind(kind.replace("_", " "), alike) for kind, alike in folded]


def _cost_of(rows: list[Row]) -> tuple[int, int, int]:
    cost_ms, not_stable_ms, rebalances = (
        sum(row[name] or 0 for row in rows) for name in ("cost_ms", "not_stable_ms", "rebalances")
    )
    return (cost_ms, not_stable_ms, rebalances)


def _of_kind(kind: str, rows: list[Row]) -> DigestEntry:
    worst = f"{rows[0]['group_id']}: {rows[0]['text']}"
    if len(rows) == 1:
        return DigestEntry(kind, worst)
    cost_ms, _, rebalances = _cost_of(rows)
    groups = _names(row["group_id"] for row in rows)
    is_part = any(row["rebalances_without_begin"] for row in rows)
    at_least = "at least " if is_part else ""
    cost = f", {at_least}{cost_ms / 1000:,.0f} partition-seconds without an owner or not served"
    facts = (
        f"{counted(len(rows), 'episode')} of {groups}; {counted(rebalances, 'rebalance')},"
        f" {_not_stable([row['not_stable_ms'] for row in rows])}{cost if cost_ms else ''}"
    )
    return DigestEntry(kind, f"{facts}. Costliest: {worst}")


def _of_findings(rows: list[Row]) -> list[DigestEntry]:
    """Entries by name of the finding, with the first sentences of the remedy."""
    entries = []
    for name, alike in by(lambda row: row["finding"], rows).items():
        groups = _names(row["group_id"] or "a broker" for row in alike)
        of_groups = f"{counted(len(alike), 'finding')} of {groups}. " if len(alike) > 1 else ""
        text = f"{of_groups}{alike[0]['summary']}. {_sentences(alike[0]['remedy'])}"
        entries.append(DigestEntry(f"{name} ({alike[0]['kind'].replace('_', ' ')})", text))
    return entries


def _sentences(remedy: str) -> str:
    """The remedy without the lines to paste and without the sentence that announces them."""
    line = remedy.partition("\n")[0]
    return f"{line.rpartition('. ')[0]}." if line.endswith(":") else line


def _of_alerts(alerts: list[Alert]) -> list[DigestEntry]:
    return [
        DigestEntry(f"{checks}: {_names(by_group)}", _worst(by_group))
        for checks, by_group in _folded(alerts)
    ]


def _of_resolved(alerts: list[Alert]) -> list[DigestEntry]:
    entries = []
    for checks, by_group in _folded(alerts):
        last = max(alert.last_time for of_group in by_group.values() for alert in of_group)
        text = f"no longer raised; last seen {last:%Y-%m-%d %H:%M} UTC"
        entries.append(DigestEntry(f"{checks}: {_names(by_group)}", text))
    return entries


def _folded(alerts: list[Alert]) -> list[tuple[str, dict[str, list[Alert]]]]:
    """Groups with alerts of the same checks together; most groups first."""
    ordered = sorted(alerts, key=lambda each: (ALERTS.index(each.alert), -each.value))
    by_group = by(lambda each: each.group_id or "brokers", ordered)
    by_checks: dict[str, dict[str, list[Alert]]] = defaultdict(dict)
    for group_id, own in by_group.items():
        by_checks[", ".join(dict.fromkeys(alert.alert for alert in own))][group_id] = own
    return sorted(by_checks.items(), key=lambda each: -len(each[1]))


def _worst(by_group: dict[str, list[Alert]]) -> str:
    """The alert with the largest value of the first check, and how many other alerts there are."""
    group_id, alerts = max(by_group.items(), key=lambda each: each[1][0].value)
    count = sum(map(len, by_group.values()))
    text = f"{group_id}: {alerts[0].message}" if len(by_group) > 1 else alerts[0].message
    others = count - 1
    return f"{text} ({counted(others, 'more alert')})" if others else text


def _names(groups: Iterable[str]) -> str:
    """``a, b, c and 7 more groups``; each group once."""
    names = list(dict.fromkeys(groups))
    shown, others = names[:_NAMES_SHOWN], len(names) - _NAMES_SHOWN
    more = f" and {counted(others, 'more group')}" if others > 0 else ""
    return f"{', '.join(shown)}{more}"
