"""Compare groups in a lake with the truth of captured client libraries.

    python -m tools.client_zoo_groups LAKE CLUSTER PLAY

PLAY holds truth.json.  Prints a row per group: rebalances and time not stable, each ``lake /
truth``; the partition downtime in the lake, its range, and the truth; whether the figure or the
range is out of bounds; and actions of the script without an episode of their kind, and other
episodes.  Downtime counts while the script ran, from the first time at which all partitions were
owned.  Its truth comes from callbacks: by them, a frozen process owns its partitions.  A second
table counts the kinds of the episodes by action.  Exits with 1 if a count or an action differs, or
a range is out of bounds.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobs.lake.sql import query
from schemas import evidence_sql

Row = dict[str, Any]
HEADINGS = (
    *("group", "rebalances", "not stable ms", "downtime s", "range s", "true s", "off"),
    "actions",
)
MISSING, RANGE = "missing", "range"
# Kind of episode that leaves open whether a process ended or was frozen.
UNDECIDED = "process_lost_or_frozen"
# Bounds of the difference in partition downtime, of which the larger counts.
SHARE, LEAST_MS = 0.15, 10_000
# An episode begins at most this long before its action (at the last heartbeat) or after it (at the
# expiry).
BEFORE_MS, AFTER_MS = 5_000, 20_000
# Stops within this time of each other are one action.
TOGETHER_MS = 5_000
# A process that starts within this time of its stop was restarted.
RESTART_MS = 10_000
# A process that stops within this time after the start of another process was replaced by it
# (surge).
SURGE_MS = 20_000
# Pauses within a deployment are shorter than this.
APART_MS = 120_000

FIGURES = """
    SELECT g.group_id,
        COUNT(*) FILTER (
            g.outcome = 'stable' OR g.group_type <> 'classic' AND g.outcome <> 'empty'
        ) AS rebalances,
        SUM(l.total_ms)::BIGINT AS not_stable
    FROM generations g JOIN rebalance_latency l
        USING (cluster_id, group_id, incarnation, generation)
    WHERE g.cluster_id = '{cluster}' GROUP BY 1"""
EPISODES = """
    SELECT group_id, kind, EPOCH_MS(from_time) AS from_ms, EPOCH_MS(to_time) AS to_ms,
        LEN(processes) AS processes
    FROM episodes WHERE cluster_id = '{cluster}' ORDER BY from_time, to_time"""


class Action(NamedTuple):
    """What the script did to a group.  ``kinds``: of the right episode; none: no episode at all.
    ``until_ms``: when several processes were done.
    """

    name: str
    from_ms: int
    kinds: Sequence[str]
    processes: int = 1
    until_ms: int | None = None

    def is_in(self, episode: Row) -> bool:
        return (
            self.from_ms - BEFORE_MS <= episode["from_ms"] <= self.from_ms + AFTER_MS
            and (self.until_ms is None or episode["to_ms"] <= self.until_ms + AFTER_MS)
            and episode["processes"] == self.processes
        )


def main(lake: str, cluster: str, play: str) -> int:
    groups = json.loads((Path(play) / "truth.json").read_text())["groups"]
    figures = rows_of(lake, FIGURES.format(cluster=cluster))
    episodes = rows_of(lake, EPISODES.format(cluster=cluster))
    wrong = 0
    kinds: dict[str, Counter[str]] = {}
    print_row(*HEADINGS)
    print_row(*("---" for _ in HEADINGS))
    for group, truth in groups.items():
        own = next((row for row in figures if row["group_id"] == group), {})
        shown, range_, true, off = downtime_cells(lake, cluster, group, truth)
        # The processes of the script are workers, each of which has several members of the sink's
        # group.
        faults = []
        if group.endswith(f"-{truth['library']}"):
            kinds_of_actions, others = judged(
                actions(truth), [e for e in episodes if e["group_id"] == group]
            )
            for action, kind in kinds_of_actions:
                kinds.setdefault(action, Counter())[kind] += 1
            faults = [f"{action} {MISSING}" for action, kind in kinds_of_actions if kind == MISSING]
            faults += [f"{each['kind']} of {each['processes']} too many" for each in others]
        wrong += bool(faults) + (off == RANGE) + (own.get("rebalances") != truth["rebalances"])
        print_row(
            group,
            f"{own.get('rebalances')} / {truth['rebalances']}",
            f"{own.get('not_stable')} / {truth['not_stable_ms']}",
            *(shown, range_, true, off),
            "; ".join(faults) or "all found",
        )
    print()
    print_row("action", "episodes")
    print_row("---", "---")
    for action, counts in kinds.items():
        print_row(action, ", ".join(f"{kind} {n}" for kind, n in counts.most_common()))
    return 1 if wrong else 0


def downtime_cells(lake: str, cluster: str, group: str, truth: Row) -> tuple[str, str, str, str]:
    true = (truth["unowned_partition_ms"] or {}).get("first_full_to_final_stop")
    if true is None:
        return "-", "-", "-", ""
    begin_ms, end_ms = truth["first_full_assignment_ms"], truth["final_stop_ms"]
    shown_ms, low_ms, high_ms = downtime(lake, cluster, group, begin_ms, end_ms)
    bound_ms = max(SHARE * true, LEAST_MS)
    off = "figure" if abs(shown_ms - true) > bound_ms else ""
    if not low_ms - bound_ms <= true <= high_ms + bound_ms:
        off = RANGE
    return f"{shown_ms / 1000:.1f}", range_text(low_ms, high_ms), f"{true / 1000:.1f}", off


def rows_of(lake: str, sql: str) -> list[Row]:
    columns, rows = query(lake, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def range_text(low_ms: int, high_ms: int) -> str:
    texts = dict.fromkeys(f"{each / 1000:.1f}" for each in (low_ms, high_ms))
    return " to ".join(texts)


def downtime(lake: str, cluster: str, group: str, begin_ms: int, end_ms: int) -> tuple[int, ...]:
    """The downtime in the lake, then the least and the most that the evidence allows."""
    sql = evidence_sql("downtime", begin_ms=begin_ms, end_ms=end_ms)
    where = f"cluster_id = '{cluster}' AND group_id = '{group}'"
    columns = "downtime_ms::BIGINT, downtime_ms_low::BIGINT, downtime_ms_high::BIGINT"
    rows = query(lake, f"SELECT {columns} FROM ({sql}) WHERE {where}")[1]
    return tuple(map(int, rows[0])) if rows else (0, 0, 0)


def actions(truth: Row) -> Iterator[Action]:
    """The script of a group, in order of time."""
    events = [event for event in truth["events"] if event["action"] != "thaw"]
    starts = [event for event in events if event["action"] == "start"]
    stops = [event for event in events if event["action"] == "stop"]
    first_ms = starts[0]["wall_ms"]
    began = [event for event in starts if event["wall_ms"] - first_ms < TOGETHER_MS]
    yield Action("group start", first_ms, ("group_start",), len(began))
    last_ms = max(event["wall_ms"] for event in stops)
    ended = [event for event in stops if last_ms - event["wall_ms"] < TOGETHER_MS]
    restarted = [event for event in stops if back_ms(event, starts) is not None]
    if restarted:
        until_ms = max(back_ms(event, starts) or 0 for event in restarted)
        from_ms, kinds = restarted[0]["wall_ms"], ("rolling_deployment",)
        yield Action("roll", from_ms, kinds, len(restarted), until_ms)
    rest = [each for each in starts if each not in began and not is_restart(each, truth["events"])]
    stopped = [each for each in stops if each not in ended and each not in restarted]
    surged = list(replacements(rest, stopped))
    for series in in_series(surged):
        until_ms = max(stop["wall_ms"] for _, stop in series)
        from_ms, kinds = series[0][0]["wall_ms"], ("rolling_deployment",)
        yield Action("surge", from_ms, kinds, len(series), until_ms)
    replaced = [event for pair in surged for event in pair]
    for event in events:
        name, at_ms = event["action"], event["wall_ms"]
        if name == "kill":
            yield Action("kill", at_ms, ("process_lost", UNDECIDED))
        elif name == "slow":
            # The coordinator does not see a slow handler of a client that stays a member.
            kinds = slow_kinds(event)
            yield Action("slow", at_ms, kinds)
        elif name == "freeze":
            yield Action("freeze", at_ms, ("process_frozen", UNDECIDED))
        elif event in replaced:
            continue
        elif event in rest:
            yield Action("scale out", at_ms, ("scale_out",))
        elif event in stopped:
            yield Action("scale in", at_ms, ("scale_in",))
    yield Action("shutdown", ended[0]["wall_ms"], ("shutdown",), len(ended))


def slow_kinds(event: Row) -> Sequence[str]:
    lines = {each[0] for each in event.get("broker_said") or ()}
    if not lines:
        return ()
    # An expired session does not show whether a handler was slow or a process was frozen.
    return ("process_frozen", "slow_poll", UNDECIDED) if "fail" in lines else ("slow_poll",)


def back_ms(stop: Row, starts: Sequence[Row]) -> int | None:
    """When the process of a stop started again soon."""
    return next(
        (
            start["wall_ms"]
            for start in starts
            if start["process"] == stop["process"]
            and 0 < start["wall_ms"] - stop["wall_ms"] < RESTART_MS
        ),
        None,
    )


def replacements(starts: Iterable[Row], stops: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Each new process with the process that stopped after it had started."""
    rest = list(starts)
    for stop in stops:
        for start in rest:
            is_other = start["process"] != stop["process"]
            if is_other and 0 < stop["wall_ms"] - start["wall_ms"] <= SURGE_MS:
                rest.remove(start)
                yield start, stop
                break


def in_series(pairs: Iterable[tuple[Row, Row]]) -> list[list[tuple[Row, Row]]]:
    series: list[list[tuple[Row, Row]]] = []
    for start, stop in pairs:
        if series and start["wall_ms"] - series[-1][-1][1]["wall_ms"] <= APART_MS:
            series[-1].append((start, stop))
        else:
            series.append([(start, stop)])
    return series


def is_restart(start: Row, events: Sequence[Row]) -> bool:
    """Returns whether a life of this process ended before."""
    return any(
        event["process"] == start["process"]
        and event["action"] in ("stop", "kill")
        and event["wall_ms"] < start["wall_ms"]
        for event in events
    )


def judged(
    expected: Iterable[Action], episodes: Sequence[Row]
) -> tuple[list[tuple[str, str]], list[Row]]:
    """Each action with the kind of its episode, and the episodes that belong to none."""
    rest = list(episodes)
    kinds_of_actions = []
    for action in expected:
        if not action.kinds:
            continue
        own = next(
            (each for each in rest if each["kind"] in action.kinds and action.is_in(each)), None
        )
        kinds_of_actions.append((action.name, MISSING if own is None else own["kind"]))
        if own is not None:
            rest.remove(own)
    # The script creates a connector, which changes the configuration.
    return kinds_of_actions, [each for each in rest if each["kind"] != "configuration_change"]


def print_row(*cells: Any) -> None:
    print("|", " | ".join(map(str, cells)), "|")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
