"""The data of a page, as values that JSON can represent.

A page has an overview of all groups, and the timelines of those with the longest time not Stable,
as many as its size permits.  Times are in ms since the epoch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from jobs.report import queries
from jobs.report.json_text import as_json
from jobs.report.lake import ReportLake, Table
from jobs.report.timeline import GroupRows, timeline

Json = dict[str, Any]

ROOM = 1_950_000  # bytes of data: with library and scripts, a page stays below 3 MB
MOST_GROUPS = 500  # in the overview
MOST_TIMELINES = 300
_SPARKS = 30  # bars of a group's sparkline
_BUCKETS_MS = [
    1000 * seconds
    for seconds in (1, 5, 10, 30, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)
]
_MOST_BUCKETS = 60


def page_data(lake: ReportLake, cluster_id: str, room: int = ROOM) -> Json:
    """All data of the page, in about ``room`` bytes of JSON."""
    groups = lake.rows(queries.OVERVIEW)
    listed = MOST_GROUPS
    overview = _overview(lake, cluster_id, groups, listed)
    while (size := len(as_json(overview))) > room / 2 and listed > 1:  # names may be very long
        listed //= 2
        overview = _overview(lake, cluster_id, groups, listed)
    group_ids = [row[0] for row in groups.rows[: min(listed, MOST_TIMELINES)]]
    return overview | {"timelines": list(_timelines(lake, group_ids, room - size))}


def all_timelines(lake: ReportLake) -> Iterator[Json]:
    """Timelines of all groups, without a size limit."""
    for row in lake.rows(queries.OVERVIEW).rows:
        yield timeline(GroupRows(lake, row[0]))


def _overview(lake: ReportLake, cluster_id: str, groups: Table, listed: int) -> Json:
    """Totals over all groups; rows for ``listed`` of them."""
    bucket_ms = _bucket_ms(lake.last_ms - lake.first_ms)
    part_ms = max((lake.last_ms - lake.first_ms) / _SPARKS, 1)
    ids = [row[0] for row in groups.rows[:listed]]
    sparks = lake.rows(queries.SPARKS, ids=ids, from_ms=lake.first_ms, part_ms=part_ms)
    return {
        "cluster": cluster_id,
        "from_ms": lake.first_ms,
        "to_ms": lake.last_ms,
        "bucket_ms": bucket_ms,
        "totals": lake.rows(queries.TOTALS).dicts()[0],
        "groups": Table(groups.columns, groups.rows[:listed]).json(),
        "causes": lake.rows(queries.CAUSES, ids=ids).json(),
        "sparks": {"parts": _SPARKS, "counts": dict(sparks.rows)},
        "trend": lake.rows(queries.TREND, bucket_ms=bucket_ms).json(),
        "storms": lake.rows(queries.STORMS, ids=ids).json(),
        "advice": lake.rows(queries.ADVICE, ids=ids).json() if "advice" in lake.has else None,
    }


def _bucket_ms(span_ms: int) -> int:
    """The shortest round duration that makes at most _MOST_BUCKETS buckets."""
    at = bisect_left(_BUCKETS_MS, span_ms / _MOST_BUCKETS)
    return _BUCKETS_MS[min(at, len(_BUCKETS_MS) - 1)]


def _timelines(lake: ReportLake, group_ids: Sequence[str], room: int) -> Iterator[Json]:
    """Timelines up to ``room`` bytes; the first one is cut to its latest generations if needed."""
    for place, group_id in enumerate(group_ids):
        rows = GroupRows(lake, group_id)
        group_timeline = timeline(rows)
        size = len(as_json(group_timeline))
        keep = len(rows.generations)
        while size > room and place == 0 and keep > 1:
            keep = max(int(keep * 0.9 * room / size), 1)
            group_timeline = timeline(rows, keep)
            size = len(as_json(group_timeline))
        if size > room:
            return
        room -= size
        yield group_timeline
