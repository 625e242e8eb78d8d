"""What the page shows, as plain values that JSON can hold.

A page has an overview of all groups and the timelines of as many as it has room for: those that
were not Stable longest.  Times are ms since the epoch; in a timeline, since its `base_ms`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from jobs.report import queries
from jobs.report.lake import ReportLake, Table
from jobs.report.lanes import Lanes

Json = dict[str, Any]

ROOM = 1_900_000  # characters of timelines: with the plotting library a page stays under 3 MB
MOST_GROUPS = 500  # in the overview
MOST_TIMELINES = 200
_BUCKETS_MS = [
    1000 * seconds
    for seconds in (1, 5, 10, 30, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)
]
_MOST_BUCKETS = 60


def page_data(lake: ReportLake, cluster_id: str, room: int = ROOM) -> Json:
    """Everything of the page; ``room`` is what timelines may take, in characters of JSON."""
    groups = lake.rows(queries.OVERVIEW)
    bucket_ms = _bucket_ms(lake.last_ms - lake.first_ms)
    timelines = list(_timelines(lake, [row[0] for row in groups.rows[:MOST_TIMELINES]], room))
    return {
        "cluster": cluster_id,
        "from_ms": lake.first_ms,
        "to_ms": lake.last_ms,
        "bucket_ms": bucket_ms,
        "groups": _table(Table(groups.columns, groups.rows[:MOST_GROUPS])),
        "group_count": len(groups.rows),
        "causes": _table(lake.rows(queries.CAUSES)),
        "trend": _table(lake.rows(queries.TREND, bucket_ms=bucket_ms)),
        "storms": _table(lake.rows(queries.STORMS)),
        "advice": _table(lake.rows(queries.ADVICE)) if "advice" in lake.has else None,
        "timelines": timelines,
    }


def all_timelines(lake: ReportLake) -> list[Json]:
    """Of every group, however much that is."""
    return [timeline_data(lake, row[0]) for row in lake.rows(queries.OVERVIEW).rows]


def objects(table: Json) -> list[Json]:
    """The rows of a table of the page by their columns' names."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _bucket_ms(span_ms: int) -> int:
    """The finest round step of time that makes no more than so many buckets."""
    at = bisect_left(_BUCKETS_MS, span_ms / _MOST_BUCKETS)
    return _BUCKETS_MS[min(at, len(_BUCKETS_MS) - 1)]


def _table(table: Table) -> Json:
    return {"columns": table.columns, "rows": [list(row) for row in table.rows]}


def _timelines(lake: ReportLake, group_ids: Sequence[str], room: int) -> Iterator[Json]:
    """As many as there is room for; the first one is cut to its latest generations if it must."""
    for at, group_id in enumerate(group_ids):
        timeline = timeline_data(lake, group_id)
        size = _size(timeline)
        while size > room and at == 0:
            keep = int(len(timeline["generations"]["rows"]) * 0.9 * room / size)
            timeline = timeline_data(lake, group_id, keep)
            size = _size(timeline)
        if size > room:
            return
        room -= size
        yield timeline


def _size(timeline: Json) -> int:
    return len(json.dumps(timeline, separators=(",", ":")))


def timeline_data(lake: ReportLake, group_id: str, keep: int | None = None) -> Json:
    """One group's generations, processes, causes and partitions without a consumer.

    ``keep``: only so many of its latest generations, ``left_out`` says how many that leaves out.
    """
    generations = lake.rows(queries.GENERATIONS, group_id=group_id).dicts()
    left_out = 0 if keep is None else max(len(generations) - max(keep, 1), 0)
    generations = generations[left_out:]
    base_ms = generations[0]["begin_ms"]
    last = generations[-1]["end_ms"]
    end_ms = lake.last_ms if last is None else min(last, lake.last_ms)
    index = {(g["incarnation"], g["generation"]): n for n, g in enumerate(generations)}
    members = lake.rows(queries.MEMBERS, group_id=group_id).dicts()
    lanes = Lanes(generations, index, end_ms)
    for _, rows in groupby(members, key=lambda m: (m["incarnation"], m["generation"])):
        lanes.add(list(rows))
    names = {lane["process"]: n for n, lane in enumerate(lanes.lanes)}
    return {
        "group": group_id,
        "base_ms": base_ms,
        "end_ms": end_ms - base_ms,
        "left_out": left_out,
        "generations": _generations(generations, base_ms),
        "lanes": [_shifted(lane, base_ms) for lane in lanes.lanes],
        "assigned": lanes.assigned,
        "causes": _causes(lake, group_id, index, names, base_ms),
        "unavailable": _steps(lake, group_id, base_ms),
        "coordinator": [
            [at_ms - base_ms, sign]
            for at_ms, sign in lake.rows(queries.COORDINATOR, group_id=group_id).rows
            if at_ms >= base_ms
        ],
        "what_if": _optional(lake, "what_if", queries.WHAT_IF, group_id),
        "lives": _lives(lake, group_id, names, base_ms),
    }


_TIMES = ("begin_ms", "preparing_ms", "joined_ms", "stable_ms", "end_ms")


def _generations(generations: list[Json], base_ms: int) -> Json:
    columns = list(generations[0])
    rows = [
        [_since(g[name], base_ms) if name in _TIMES else g[name] for name in columns]
        for g in generations
    ]
    return {"columns": columns, "rows": rows}


def _since(at_ms: int | None, base_ms: int) -> int | None:
    return None if at_ms is None else at_ms - base_ms


def _shifted(lane: Json, base_ms: int) -> Json:
    spells = [
        [generation, from_ms - base_ms, to_ms - base_ms, assigned, how]
        for generation, from_ms, to_ms, assigned, how in lane["spells"]
    ]
    return lane | {"spells": spells}


def _causes(
    lake: ReportLake, group_id: str, index: Json, names: dict[str, int], base_ms: int
) -> Json:
    """``at``: the generation's place, ``lane``: the process's; null where none is known."""
    columns = ["at", "at_ms", "lane", "role", "cause", "story", "who", "host", "reason"]
    columns += ["client_reason", "evidence"]
    rows = []
    for row in lake.rows(queries.EVENTS, group_id=group_id).dicts():
        at = index.get((row["incarnation"], row["generation"]))
        if at is not None:
            found = row | {
                "at": at,
                "at_ms": _since(row["at_ms"], base_ms),
                "lane": names.get(row["process"]),
            }
            rows.append([found[name] for name in columns])
    return {"columns": columns, "rows": rows}


def _steps(lake: ReportLake, group_id: str, base_ms: int) -> list[list[int]]:
    """[from, partitions without a consumer] each; what was before the timeline is left out."""
    rows = lake.rows(queries.UNAVAILABLE, group_id=group_id).rows
    steps = [[at_ms - base_ms, count] for at_ms, count in rows]
    before = [count for at, count in steps if at < 0]
    later = [step for step in steps if step[0] >= 0]
    return [[0, before[-1]], *later] if before and before[-1] else later


def _optional(lake: ReportLake, table: str, sql: str, group_id: str) -> Json | None:
    return _table(lake.rows(sql, group_id=group_id)) if table in lake.has else None


def _lives(
    lake: ReportLake, group_id: str, names: dict[str, int], base_ms: int
) -> list[Json] | None:
    """Of processes that have a lane."""
    if "process_lives" not in lake.has:
        return None
    return [
        {
            "lane": names[row["process"]],
            "life": row["life"],
            "from": _since(row["from_ms"], base_ms),
            "to": _since(row["to_ms"], base_ms),
            "started_how": row["started_how"],
            "ended_how": row["ended_how"],
            "evidence": row["evidence"],
            "slow_polls": [[a - base_ms, b - base_ms] for a, b in row["slow_polls"] or ()],
        }
        for row in lake.rows(queries.LIVES, group_id=group_id).dicts()
        if row["process"] in names
    ]
