"""The data of a page, as values that JSON can represent.

A page has an overview of all groups and their timelines.  Groups with the longest time not Stable
are in the page itself, as many as its size permits, and all other groups are in data files beside
it.  Times are in ms since the epoch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from jobs.report import queries
from jobs.report.budgets import budgets
from jobs.report.episodes import advice, broker_episodes, episodes, outcomes
from jobs.report.findings import findings
from jobs.report.json_text import as_json
from jobs.report.lake import ReportLake, Table
from jobs.report.timeline import GroupRows, group_rows, timeline

Json = dict[str, Any]

# maximum bytes of data, with which a page, its library and scripts stay below 3 MB
ROOM = 1_950_000
OVERVIEW_ROOM = 6_000_000  # maximum bytes of the overview, which suffice for about 15,000 groups
# maximum bytes of one group's timeline; a browser needs seconds to read more
GROUP_ROOM = 20_000_000
MOST_TIMELINES = 5000
SPARKS = 30  # number of bars of a group's sparkline
_BUCKETS_MS = [
    1000 * seconds
    for seconds in (1, 5, 10, 30, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)
]
_MOST_BUCKETS = 60


def overview(lake: ReportLake, cluster_id: str, room: int = OVERVIEW_ROOM) -> Json:
    """Totals over all groups, and a row per group, in at most ``room`` bytes of JSON."""
    groups = lake.rows(queries.OVERVIEW)
    listed = len(groups.rows)
    data = _overview(lake, cluster_id, groups, listed)
    while len(as_json(data)) > room and listed > 1:  # The names may be very long.
        listed //= 2
        data = _overview(lake, cluster_id, groups, listed)
    return data


def timelines(
    lake: ReportLake, data: Json, room: int = GROUP_ROOM, most: int = MOST_TIMELINES
) -> Iterator[Json]:
    """Timelines of the groups of an overview, cut to their latest generations if larger than
    ``room``."""
    ids = [row[0] for row in data["groups"]["rows"][:most]]
    for rows in group_rows(lake, ids):
        yield cut_timeline(rows, room)


def all_timelines(lake: ReportLake) -> Iterator[Json]:
    """Timelines of all groups, without a size limit."""
    ids = [row[0] for row in lake.rows(queries.OVERVIEW).rows]
    for rows in group_rows(lake, ids):
        yield timeline(rows)


def _overview(lake: ReportLake, cluster_id: str, groups: Table, listed: int) -> Json:
    """Totals over all groups; rows for ``listed`` of them."""
    ids = [row[0] for row in groups.rows[:listed]]
    sparks = lake.rows(queries.SPARKS, ids=ids, **spark_parts(lake))
    return {
        **of_cluster(lake, cluster_id, ids),
        "groups": Table(groups.columns, groups.rows[:listed]).json(),
        "causes": lake.rows(queries.CAUSES, ids=ids).json(),
        "sparks": {"parts": SPARKS, "counts": dict(sparks.rows)},
    }


def of_cluster(lake: ReportLake, cluster_id: str, ids: list[str]) -> Json:
    """Totals over all groups, and the storms of ``ids``."""
    bucket_ms = _bucket_ms(lake.last_ms - lake.first_ms)
    return {
        "cluster": cluster_id,
        "from_ms": lake.first_ms,
        "to_ms": lake.last_ms,
        "bucket_ms": bucket_ms,
        "totals": lake.rows(queries.TOTALS).dicts()[0],
        "trend": lake.rows(queries.TREND, bucket_ms=bucket_ms).json(),
        "storms": lake.rows(queries.STORMS, ids=ids).json(),
        "findings": findings(lake),
        "budgets": budgets(lake),
        "episodes": episodes(lake),
        "broker_episodes": broker_episodes(lake),
        "advice": advice(lake),
        "outcomes": outcomes(lake),
    }


def spark_parts(lake: ReportLake) -> dict[str, float]:
    """The parameters of `queries.SPARKS`."""
    return {
        "from_ms": lake.first_ms,
        "part_ms": max((lake.last_ms - lake.first_ms) / SPARKS, 1),
    }


def _bucket_ms(span_ms: int) -> int:
    """The shortest round duration that makes at most _MOST_BUCKETS buckets."""
    at = bisect_left(_BUCKETS_MS, span_ms / _MOST_BUCKETS)
    return _BUCKETS_MS[min(at, len(_BUCKETS_MS) - 1)]


def cut_timeline(rows: GroupRows, room: int) -> Json:
    """The timeline in about ``room`` bytes of JSON: without its oldest generations if needed."""
    cut = timeline(rows)
    size, keep = len(as_json(cut)), len(rows.generations)
    while size > room and keep > 1:
        keep = max(int(keep * 0.9 * room / size), 1)
        cut = timeline(rows, keep)
        size = len(as_json(cut))
    return cut
