"""The timeline of one group: its generations, processes, causes and unowned partitions.

Times are in ms since the timeline's ``base_ms``, the start of its first generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from jobs.report import queries
from jobs.report.episodes import OF_GROUPS
from jobs.report.epochs import epoch_spans
from jobs.report.lake import ReportLake, Table
from jobs.report.lanes import GenerationKey, Lanes

Json = dict[str, Any]

_TIMES = ("begin_ms", "preparing_ms", "joined_ms", "stable_ms", "end_ms")
_CAUSE = (
    "at", "at_ms", "lane", "role", "cause", "story", "who", "host", "reason", "client_reason",
    "evidence",
)  # fmt: skip

_HANDOVER = (
    "at", "from", "to", "asked_ms", "released_ms", "assigned_ms", "waited_for", "moved",
)  # fmt: skip

_BATCH = 100  # number of groups read at a time
_QUERIES = {
    "generations": queries.GENERATIONS,
    "members": queries.MEMBERS,
    "events": queries.EVENTS,
    "unowned": queries.UNOWNED,
    "unserved": queries.UNSERVED_STEPS,
    "coordinator": queries.COORDINATOR,
    "periods": queries.PERIODS,
}
_OPTIONAL_QUERIES = {
    "what_if": queries.WHAT_IF,
    "process_lives": queries.LIVES,
    "member_epochs": queries.EPOCHS,
    "handovers": queries.HANDOVERS,
} | OF_GROUPS


class GroupRows(NamedTuple):
    """The rows of a group; null for a table that the lake does not have."""

    group_id: str
    last_ms: int
    generations: list[Json]
    members: list[Json]
    events: list[Json]
    unowned: list[tuple[Any, ...]]
    unserved: list[tuple[Any, ...]]
    coordinator: list[tuple[Any, ...]]
    periods: Table | None
    episodes: Table | None
    advice: Table | None
    outcomes: Table | None
    what_if: Table | None
    lives: list[Json] | None
    epochs: list[Json]
    handovers: list[Json]


def group_rows(lake: ReportLake, group_ids: Sequence[str]) -> Iterator[GroupRows]:
    """The rows of these groups, read for _BATCH groups at once."""
    for start in range(0, len(group_ids), _BATCH):
        yield from _batch(lake, list(group_ids[start : start + _BATCH]))


def _batch(lake: ReportLake, ids: list[str]) -> Iterator[GroupRows]:
    always = {name: _by_group(lake.rows(sql, ids=ids)) for name, sql in _QUERIES.items()}
    optional = {
        table: _by_group(lake.rows(sql, ids=ids))
        for table, sql in _OPTIONAL_QUERIES.items()
        if table in lake.has
    }
    for group_id in ids:
        own = {name: each.get(group_id) for name, each in always.items()}
        has = {table: each.get(group_id) for table, each in optional.items()}
        lives = has.get("process_lives")
        yield GroupRows(
            group_id=group_id,
            last_ms=lake.last_ms,
            generations=_dicts(own["generations"]),
            members=_dicts(own["members"]),
            events=_dicts(own["events"]),
            unowned=own["unowned"].rows if own["unowned"] else [],
            unserved=own["unserved"].rows if own["unserved"] else [],
            coordinator=own["coordinator"].rows if own["coordinator"] else [],
            periods=own["periods"],
            episodes=has.get("episodes"),
            advice=has.get("advice"),
            outcomes=has.get("advice_outcomes"),
            what_if=has.get("what_if"),
            lives=_dicts(lives) if "process_lives" in lake.has else None,
            epochs=_dicts(has.get("member_epochs")),
            handovers=_dicts(has.get("handovers")),
        )


def _by_group(table: Table) -> dict[str, Table]:
    """The table of each group, without the first column group_id."""
    return {
        group_id: Table(table.columns[1:], [row[1:] for row in rows])
        for group_id, rows in groupby(table.rows, key=lambda row: row[0])
    }


def _dicts(table: Table | None) -> list[Json]:
    return table.dicts() if table else []


def timeline(rows: GroupRows, keep: int | None = None) -> Json:
    """``keep`` is the number of latest generations to include; ``left_out`` is the number of all
    other generations.

    ``at`` is the index of a generation, and ``lane`` the index of a process; null if unknown.
    """
    left_out = 0 if keep is None else max(len(rows.generations) - keep, 0)
    generations = rows.generations[left_out:]
    base_ms, last = generations[0]["begin_ms"], generations[-1]["end_ms"]
    end_ms = rows.last_ms if last is None else min(last, rows.last_ms)
    index = {(g["incarnation"], g["generation"]): place for place, g in enumerate(generations)}
    lanes = Lanes(generations, index, end_ms)
    for _, members in groupby(rows.members, key=lambda m: (m["incarnation"], m["generation"])):
        lanes.add(list(members))
    lanes.add_epochs(epoch_spans(rows.epochs, generations, rows.members, end_ms))
    places = {lane["process"]: place for place, lane in enumerate(lanes.lanes)}
    return {
        "group": rows.group_id,
        "base_ms": base_ms,
        "end_ms": end_ms - base_ms,
        "left_out": left_out,
        "generations": _generations(generations, base_ms),
        "lanes": lanes.lanes,
        "handovers": _handovers(rows, index, places, lanes, base_ms),
        "assigned": lanes.assigned,
        "causes": _causes(rows, index, places, base_ms),
        "unowned": _unowned(rows, base_ms),
        "unserved": _steps(rows.unserved, base_ms),
        "coordinator": [
            [at_ms - base_ms, event] for at_ms, event in rows.coordinator if at_ms >= base_ms
        ],
        "periods": rows.periods.json() if rows.periods else None,
        "episodes": _episodes(rows, base_ms),
        "advice": rows.advice.json() if rows.advice else None,
        "outcomes": rows.outcomes.json() if rows.outcomes else None,
        "what_if": rows.what_if.json() if rows.what_if else None,
        "lives": _lives(rows, places, base_ms),
    }


def objects(table: Json) -> list[Json]:
    """Rows as dicts, by the names of the columns."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _since(at_ms: int | None, base_ms: int) -> int | None:
    return None if at_ms is None else at_ms - base_ms


def _generations(generations: list[Json], base_ms: int) -> Json:
    columns = list(generations[0])
    rows = [
        [_since(g[name], base_ms) if name in _TIMES else g[name] for name in columns]
        for g in generations
    ]
    return {"columns": columns, "rows": rows}


def _causes(
    rows: GroupRows, index: Mapping[GenerationKey, int], places: Mapping[str, int], base_ms: int
) -> Json:
    causes = []
    for row in rows.events:
        at = index.get((row["incarnation"], row["generation"]))
        if at is not None:
            lane = places.get(row["process"])
            cause = row | {"at": at, "at_ms": _since(row["at_ms"], base_ms), "lane": lane}
            causes.append([cause[name] for name in _CAUSE])
    return {"columns": list(_CAUSE), "rows": causes}


def _handovers(
    rows: GroupRows,
    index: Mapping[GenerationKey, int],
    places: Mapping[str, int],
    lanes: Lanes,
    base_ms: int,
) -> Json:
    """``moved`` is the index in ``assigned``; ``from`` is null if the process has no lane."""
    moved = []
    for row in rows.handovers:
        at = index.get((row["incarnation"], row["generation"]))
        if at is not None:
            times = [
                _since(row[name], base_ms) for name in ("asked_ms", "released_ms", "assigned_ms")
            ]
            both = [places.get(row["from_process"]), places.get(row["to_process"])]
            moved.append([at, *both, *times, row["waited_for"], lanes.text_of(row["moved"])])
    return {"columns": list(_HANDOVER), "rows": moved}


def _unowned(rows: GroupRows, base_ms: int) -> list[list[int]] | None:
    """Unowned partitions, or None if no generation's partition downtime is known."""
    if not rows.unowned and all(each["unowned_partition_ms"] is None for each in rows.generations):
        return None
    return _steps(rows.unowned, base_ms)


def _steps(rows: list[tuple[Any, ...]], base_ms: int) -> list[list[int]]:
    """[from, number of partitions] each, without times before the timeline."""
    steps = [[at_ms - base_ms, count] for at_ms, count in rows]
    before = [count for at, count in steps if at < 0]
    later = [step for step in steps if step[0] >= 0]
    return [[0, before[-1]], *later] if before and before[-1] else later


def _episodes(rows: GroupRows, base_ms: int) -> Json | None:
    """Episodes with their times since the timeline's start, except episodes that ended before
    it.
    """
    if rows.episodes is None:
        return None
    kept = [
        episode | {name: episode[name] - base_ms for name in ("from_ms", "to_ms")}
        for episode in rows.episodes.dicts()
        if episode["to_ms"] >= base_ms
    ]
    columns = rows.episodes.columns
    return {"columns": columns, "rows": [[each[name] for name in columns] for each in kept]}


def _lives(rows: GroupRows, places: Mapping[str, int], base_ms: int) -> list[Json] | None:
    """The process lives of the lanes."""
    if rows.lives is None:
        return None
    return [
        {
            "lane": places[life["process"]],
            "life": life["life"],
            "from": _since(life["from_ms"], base_ms),
            "to": _since(life["to_ms"], base_ms),
            "started_how": life["started_how"],
            "ended_how": life["ended_how"],
            "slow_polls": [[a - base_ms, b - base_ms] for a, b in life["slow_polls"] or ()],
        }
        for life in rows.lives
        if life["process"] in places
    ]
