"""Run the checks over a lake as of a time, for one cluster or all clusters.

reads   rebalance_latency, generations   rebalances, their phases
        ownership_gaps                   partitions without an owner; a lake may lack it
        episode_costs                    the root cause that a message leads with, and its costs
        findings                         what is wrong, by name; a lake may lack it
        group_day_service                error budgets, if there are objectives
        rebalance_causes, generation_members, churn
        timeline, committed_offsets      the last time in the lake
        client_events                    the same of a cluster of which only clients' logs were read
writes  nothing
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from coordinator_core.protocol.processes import without_host
from jobs.alerts.checks import CHECKS, Alert, Check
from jobs.configuration.alert_settings import NAMES, AlertSettings, span_s
from jobs.console.errors import UsageError
from jobs.lake.dates import LAST_DATE
from jobs.lake.service_levels import READS_OF_BUDGETS, Budget, budgets_of, create_budgets
from jobs.lake.sql import OF_EPISODE_COSTS, existing_tables, open_lake

if TYPE_CHECKING:
    import duckdb

COLUMNS = Alert._fields
# queries start this long before the window, because a storm or a phase may have begun earlier
EPOCH = datetime(1970, 1, 1)  # UTC, like the lake's times
LOOKBACK = timedelta(days=7)
# Query the last dates first, so that LAST_TIMES reads only the files of these dates.
LAST_TIMES = """
    SELECT cluster_id, MAX(event_time) FROM timeline WHERE event_date >= $since GROUP BY ALL
    UNION ALL
    SELECT cluster_id, MAX(append_time) FROM committed_offsets WHERE event_date >= $since
    GROUP BY ALL"""
LAST_DATES = """
    SELECT cluster_id, MAX(event_date) FROM timeline GROUP BY ALL
    UNION ALL
    SELECT cluster_id, MAX(event_date) FROM committed_offsets GROUP BY ALL"""
# Clusters without rows from brokers: a client's log that ends later must not make a rebalance look
# older.
LAST_DATES_OF_CLIENTS = "SELECT cluster_id, MAX(event_date) FROM client_events GROUP BY ALL"
LAST_TIMES_OF_CLIENTS = """
    SELECT cluster_id, MAX(event_time) FROM client_events WHERE event_date >= $since GROUP BY ALL"""
SPANS = """
    CREATE TEMP VIEW spans AS
    SELECT r.cluster_id, r.group_id, r.incarnation, r.generation, r.cause, r.outcome,
        COALESCE(r.preparing_time, r.to_time) AS began,
        COALESCE(r.to_time, r.preparing_time) AS ended,
        c.rebalances, c.aborted_rebalances, c.superseded_targets
    FROM rebalance_latency r JOIN clock k ON k.cluster_id = r.cluster_id
    LEFT JOIN rebalance_counts c ON c.cluster_id = r.cluster_id AND c.group_id = r.group_id
        AND c.incarnation = r.incarnation AND c.generation = r.generation AND c.{dates}
    WHERE r.{dates} AND COALESCE(r.preparing_time, r.to_time) <= k.now"""
PHASES = """
    CREATE TEMP VIEW phases AS
    SELECT g.*, LEAD(COALESCE(preparing_time, joined_time, stable_time)) OVER (
        PARTITION BY g.cluster_id, g.group_id ORDER BY g.incarnation, g.generation) AS next_time,
        CASE WHEN g.evidence = 'clients' THEN c.seen_until END AS seen_until
    FROM generations g
    LEFT JOIN (
        SELECT cluster_id, group_id, incarnation, generation, MAX(event_time) AS seen_until
        FROM rebalance_causes WHERE {dates} GROUP BY ALL
    ) c ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
        AND c.incarnation = g.incarnation AND c.generation = g.generation
    WHERE g.{dates}"""
# A finding about a broker has no group, and the limits for it have an empty group id.
GROUPS = """
    SELECT group_id FROM phases
    UNION SELECT COALESCE(group_id, '') FROM findings WHERE {dates}"""
# Name all columns, because the name of a single column would open the view of this name.
EPISODES = "SELECT * FROM episode_costs WHERE {dates} ORDER BY from_time, episode"


class EpisodeRow(NamedTuple):
    from_time: datetime
    to_time: datetime
    processes: list[str]
    rebalances: int
    unowned_partition_ms: int | None
    text: str


@dataclass(frozen=True)
class AlertsOptions:
    """Options of `regroup alerts`."""

    lake: str
    cluster_id: str | None = None
    since: str | None = None
    at: str | None = None


@dataclass(frozen=True)
class AlertWindow:
    """The time that the checks of a cluster covered; UTC.  ``unchecked`` has names of checks that
    were left out, because of missing tables or, if ``is_of_clients``, because the lake has nothing
    but clients' logs of the cluster.  ``budgets`` are error budgets of the current date.
    """

    cluster_id: str
    start: datetime
    now: datetime
    unchecked: tuple[str, ...] = ()
    is_of_clients: bool = False
    budgets: tuple[Budget, ...] = ()


def find_alerts(
    options: AlertsOptions, settings: AlertSettings, *, notices: bool = True
) -> tuple[list[Alert], list[AlertWindow]]:
    """Alerts, ordered by cluster, group and check; and the window of each cluster.

    ``notices`` print which tables are missing.
    """
    start_of = _start_of(options.since or settings.window)
    at = None if options.at is None else _moment("--at", options.at)
    texts = [
        LAST_TIMES,
        LAST_TIMES_OF_CLIENTS,
        SPANS,
        PHASES,
        EPISODES,
        *(check.sql for check in CHECKS),
        *([READS_OF_BUDGETS] if settings.slo.is_set else []),
    ]
    optional = {table for check in CHECKS for table in check.optional}
    lake = open_lake(
        options.lake,
        " ".join(texts),
        optional=["client_events", *OF_EPISODE_COSTS, *optional],
        notices=notices,
    )
    missing = optional - set(existing_tables(options.lake))
    unchecked = tuple(check.name for check in CHECKS if missing & set(check.optional))
    need_brokers = tuple(check.name for check in CHECKS if check.needs_brokers)
    of_brokers = _latest(lake.execute(LAST_DATES).fetchall())
    windows = [
        AlertWindow(cluster_id, start_of(now), now, unchecked)
        if cluster_id in of_brokers
        else AlertWindow(cluster_id, start_of(now), now, need_brokers, True)
        for cluster_id, now in sorted(_last_times(lake, of_brokers, options, at).items())
    ]
    if not windows:
        return [], []
    dates = _dates(windows)
    _prepare(lake, windows, settings, dates)
    episodes = _episodes(lake, dates)
    alerts = [
        alert if check.is_root_cause else _with_root_cause(alert, episodes)
        for check in CHECKS
        for alert in _alerts(check, lake, dates)
    ]
    return sorted(alerts, key=_sort_key), [_with_budgets(each, lake) for each in windows]


def _with_budgets(window: AlertWindow, lake: duckdb.DuckDBPyConnection) -> AlertWindow:
    return replace(window, budgets=budgets_of(lake, window.cluster_id, window.now.date()))


def _alerts(check: Check, lake: duckdb.DuckDBPyConnection, dates: str) -> Iterator[Alert]:
    for row in lake.execute(_dated(check.sql, dates)).fetchall():
        cluster_id, group_id, process, first, last, value, threshold, detail = row
        text = check.message(value, threshold, detail)
        yield Alert(
            alert=check.name,
            cluster_id=cluster_id,
            group_id=group_id,
            process=process,
            first_time=first,
            last_time=last,
            value=value,
            threshold=threshold,
            unit=check.unit,
            message=text,
        )


def _episodes(
    lake: duckdb.DuckDBPyConnection, dates: str
) -> dict[tuple[str, str], list[EpisodeRow]]:
    """Episodes by cluster and group."""
    by_group: dict[tuple[str, str], list[EpisodeRow]] = {}
    result = lake.execute(_dated(EPISODES, dates))
    columns = [column[0] for column in result.description or []]
    for values in result.fetchall():
        row = dict(zip(columns, values, strict=True))
        episode = EpisodeRow(**{name: row[name] for name in EpisodeRow._fields})
        by_group.setdefault((row["cluster_id"], row["group_id"]), []).append(episode)
    return by_group


def _with_root_cause(alert: Alert, episodes: dict[tuple[str, str], list[EpisodeRow]]) -> Alert:
    """The message leads with the episode that has most of the alert's rebalances."""
    during = [
        each
        for each in episodes.get((alert.cluster_id, alert.group_id), ())
        if each.from_time <= alert.last_time and each.to_time >= alert.first_time
        and (alert.process is None or _is_of(alert.process, each.processes))
    ]  # fmt: skip
    if not during:
        return alert
    main = max(during, key=lambda each: (each.rebalances, each.unowned_partition_ms or 0))
    return alert._replace(message=f"{main.text}; {alert.message}")


def _is_of(process: str, names: list[str]) -> bool:
    """Names in episodes have the host only if it is needed."""
    return process in names or without_host(process) in names


def _sort_key(alert: Alert) -> tuple[str, str, str, str, datetime]:
    process = alert.process or ""
    return (alert.cluster_id, alert.group_id, alert.alert, process, alert.first_time)


def _last_times(
    lake: duckdb.DuckDBPyConnection,
    of_brokers: dict[str, Any],
    options: AlertsOptions,
    at: datetime | None,
) -> dict[str, datetime]:
    """The time that counts as now, by cluster; only the requested cluster, if one is given."""
    days = _latest(lake.execute(LAST_DATES_OF_CLIENTS).fetchall()) | of_brokers
    if options.cluster_id is not None:
        if options.cluster_id not in days:
            clusters = ", ".join(sorted(days)) or "no cluster"
            raise UsageError(
                f"--cluster-id {options.cluster_id}: no such cluster; this lake has {clusters}"
            )
        days = {options.cluster_id: days[options.cluster_id]}
    if at is not None or not days:
        return dict.fromkeys(days, at) if at else {}
    since = {"since": min(days.values())}
    times: dict[str, datetime] = {}
    for sql in (LAST_TIMES_OF_CLIENTS, LAST_TIMES):
        times |= _latest(lake.execute(sql, since).fetchall())
    return {cluster_id: times[cluster_id] for cluster_id in days if cluster_id in times}


def _latest(rows: list[Any]) -> dict[str, Any]:
    """The latest of the dates or times of each cluster."""
    latest: dict[str, Any] = {}
    for cluster_id, each in rows:
        if each is not None:
            latest[cluster_id] = max(each, latest.get(cluster_id, each))
    return latest


def _prepare(
    lake: duckdb.DuckDBPyConnection, windows: list[AlertWindow], settings: AlertSettings, dates: str
) -> None:
    """Create the views and tables that the checks read: clock, spans, phases, limits,
    finding_kinds, slo_budgets."""
    lake.execute(
        "CREATE TEMP TABLE clock (cluster_id VARCHAR, window_start TIMESTAMP, now TIMESTAMP)"
    )
    clock = [(window.cluster_id, window.start, window.now) for window in windows]
    lake.executemany("INSERT INTO clock VALUES (?, ?, ?)", clock)
    lake.execute(_dated(SPANS, dates))
    lake.execute(_dated(PHASES, dates))
    groups = [row[0] for row in lake.execute(_dated(GROUPS, dates)).fetchall()]
    lake.register("limits", _limits(groups, settings))
    lake.register("finding_kinds", pa.table({"kind": list(settings.finding_kinds)}))
    create_budgets(lake, groups, settings.slo)


def _limits(groups: list[str], settings: AlertSettings) -> pa.Table:
    """One row per group with its thresholds."""
    thresholds = [settings.of_group(group_id) for group_id in groups]
    columns = {name: [getattr(each, name) for each in thresholds] for name in NAMES}
    schema = pa.schema([("group_id", pa.string()), *((name, pa.int64()) for name in NAMES)])
    return pa.table({"group_id": groups, **columns}, schema=schema)


def _dates(windows: list[AlertWindow]) -> str:
    """The dates to read, as a condition on event_date."""
    first = min(window.start for window in windows) - LOOKBACK
    last = max(window.now for window in windows)
    return f"event_date BETWEEN DATE '{first:%Y-%m-%d}' AND DATE '{last:%Y-%m-%d}'"


def _dated(sql: str, dates: str) -> str:
    return sql.replace("{dates}", dates)


def _start_of(since: str) -> Callable[[datetime], datetime]:
    """The start of a window by its end; ``since`` is a duration, or a time in UTC."""
    if since[4:5] == "-":
        start = _moment("--since", since)
        return lambda now: min(start, now)
    length_s = span_s(since, "--since")
    return lambda now: now - timedelta(seconds=min(length_s, (now - EPOCH).total_seconds()))


def _moment(option: str, text: str) -> datetime:
    """UTC, as a datetime without a zone, like the lake's times."""
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        example = "2026-11-21T00:46:00"
        raise UsageError(f"{option} {text}: expected a UTC time, e.g. {example}") from None
    if not EPOCH.year <= time.year <= LAST_DATE.year:
        raise UsageError(f"{option} {text}: give a time between {EPOCH.date()} and {LAST_DATE}")
    return time
