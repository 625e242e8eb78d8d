"""Judges the table handover_costs by a capture whose consumers logged every record they handled.

.venv/bin/python -m tools.data_costs LAKE TRUTH_FOLDER [--details]

LAKE has the capture, read from segments and server.log (and end_offsets.jsonl, for the lag).
TRUTH_FOLDER has truth.json.  Prints, per group and action of the script, the records handled again:
truth, estimate, bounds; then totals, beside those of a simple estimator (rate times the time from
the last commit to the middle of the last heartbeat interval, 0 unless the session expired); errors
of pauses, peak lag, catch-up; record-seconds per action; and how long records waited in slow polls
and freezes while nobody handled them, beside ownership_gaps and unserved_times.  Exit 1 if a goal
is missed.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from jobs.lake.sql import query

Row = dict[str, Any]
# Windows of truth.json that are not actions.
_NO_ACTIONS = ("start", "steady", "stop")
# The next assignment of a tenure in the table differs from a client's callback by at most this.
_SAME_MS = 1500
# A difference of one record is more than 15 % of a lower peak.
_LEAST_PEAK = 10
_LEAST_RECORD_SECONDS, _SHOWN_RECORD_SECONDS = 5000, 200
_GRACEFUL = ("rolling restart", "scale out", "scale in", "whole-group restart")

_COSTS = """
    SELECT group_id, topic, partition, how_ended, bounded,
        EPOCH_MS(from_time) AS from_ms, EPOCH_MS(to_time) AS to_ms,
        EPOCH_MS(to_time_low) AS low_ms, EPOCH_MS(next_time) AS next_ms,
        EPOCH_MS(last_commit_time) AS committed_ms, commit_interval_ms, records_per_second,
        records_reprocessed AS records, records_reprocessed_low AS low,
        records_reprocessed_high AS high, consumption_pause_ms, consumption_pause_ms_low,
        consumption_pause_ms_high, peak_lag, catch_up_ms, record_seconds
    FROM handover_costs ORDER BY group_id, topic, partition, from_time"""


_UNHANDLED = """
    SELECT group_id, topic, partition, EPOCH_MS(from_time) AS from_ms, EPOCH_MS(to_time) AS to_ms
    FROM ownership_gaps
    UNION ALL
    SELECT group_id, topic, partition, EPOCH_MS(from_time), EPOCH_MS(to_time) FROM unserved_times
    ORDER BY ALL"""
# truth.json counts times of at least this length.
_LEAST_PAUSE_MS = 2000


@dataclass(frozen=True)
class Cell:
    """Records handled again by a group during an action."""

    group: str
    action: str
    truth: int
    estimate: float = 0
    low: float = 0
    high: float = 0
    simple: float = 0
    bounded: bool = True

    @property
    def is_inside(self) -> bool:
        return round(self.low) <= self.truth and (
            not self.bounded or self.truth <= round(self.high)
        )

    @property
    def is_between(self) -> bool:
        """Returns whether the truth is within the bounds, even if the upper bound is not
        certain.
        """
        return round(self.low) <= self.truth <= round(self.high)


def main(lake: str, folder: str, details: str | None = None) -> int:
    truth = json.loads((Path(folder) / "truth.json").read_text())
    costs = _rows(lake, _COSTS)
    cells = list(_cells(truth, costs))
    is_detailed = details == "--details"
    goals = [*_records(cells, is_detailed=is_detailed), *_pauses(truth, costs)]
    if any(row["peak_lag"] is not None for row in costs):
        goals += [*_lags(truth, costs), *_record_seconds(truth, costs, is_detailed=is_detailed)]
        goals += _unhandled(truth, _rows(lake, _UNHANDLED))
    print("\n| goal | reached |")
    print("|---|---|")
    for goal, is_reached in goals:
        print(f"| {goal} | {'yes' if is_reached else 'NO'} |")
    return 0 if all(is_reached for _, is_reached in goals) else 1


def _rows(lake: str, select: str) -> list[Row]:
    columns, rows = query(lake, select)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _windows(truth: Row) -> list[tuple[str, float, float]]:
    """Each window's name, begin and end in ms since the epoch."""
    began_ms = truth["t0_wall_ms"]
    return [
        (each["window"], began_ms + 1000 * each["from_s"], began_ms + 1000 * each["to_s"])
        for each in truth["windows"]
    ]


# -- records handled again -------------------------------------------------------------------------


def _cells(truth: Row, costs: list[Row]) -> Iterator[Cell]:
    """A record counts when the next owner handles it."""
    windows = _windows(truth)
    of_cell: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in costs:
        at_ms = row["next_ms"]
        for name, begin_ms, end_ms in windows:
            if at_ms is not None and row["records"] is not None and begin_ms <= at_ms < end_ms:
                of_cell[row["group_id"], name].append(row)
    for group, of_group in truth["groups"].items():
        for action, figures in of_group["windows"].items():
            if action not in _NO_ACTIONS:
                rows = of_cell[group, action]
                yield Cell(
                    group,
                    action,
                    figures["duplicates"],
                    *(sum(row[name] for row in rows) for name in ("records", "low", "high")),
                    sum(map(_simple, rows)),
                    all(row["bounded"] for row in rows),
                )


def _simple(row: Row) -> float:
    """By the simple estimator."""
    if row["how_ended"] != "session_expired":
        return 0
    since_ms = max(row["committed_ms"], row["from_ms"])
    ran_ms = row["low_ms"] + 1500 - since_ms
    if ran_ms > 1.5 * row["commit_interval_ms"]:
        return 0
    return float(row["records_per_second"] * max(ran_ms, 0) / 1000)


def _records(cells: list[Cell], *, is_detailed: bool) -> Iterator[tuple[str, bool]]:
    print("| group | action | truth | estimate | at least | at most | inside |")
    print("|---|---|---:|---:|---:|---:|---|")
    for each in cells:
        if is_detailed or each.truth or each.high >= 1:
            high = f"{each.high:.0f}{'' if each.bounded else ' or more'}"
            print(
                f"| {each.group} | {each.action} | {each.truth} | {each.estimate:.0f} "
                f"| {each.low:.0f} | {high} | {'yes' if each.is_inside else 'NO'} |"
            )
    print("\n| action | truth | estimate | sum of errors | simple | its sum of errors | inside |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for action in dict.fromkeys(each.action for each in cells):
        _print_total(action, [each for each in cells if each.action == action])
    _print_total("all", cells)
    truth, estimate = (sum(getattr(each, name) for each in cells) for name in ("truth", "estimate"))
    inside = sum(each.is_inside for each in cells) / len(cells)
    between = sum(each.is_between for each in cells) / len(cells)
    errors, of_simple = _errors(cells, "estimate"), _errors(cells, "simple")
    graceful = sum(each.estimate for each in cells if each.action in _GRACEFUL and not each.truth)
    yield f"truth within the bounds in 95 % of cells: {inside:.1%}", inside >= 0.95
    yield f"... counting uncertain upper bounds as bounds: {between:.1%}", between >= 0.95
    share = estimate / truth - 1
    yield f"total within 20 %: {estimate:.0f} for {truth}, {share:+.0%}", abs(share) <= 0.2
    yield (
        f"sum of errors at most half of the simple estimator's: {errors:.0f} of {of_simple:.0f}",
        2 * errors <= of_simple,
    )
    yield (
        f"actions without any, where processes stop by themselves: {graceful:.0f}",
        round(graceful) == 0,
    )


def _print_total(action: str, cells: list[Cell]) -> None:
    truth, estimate, simple = (
        sum(getattr(each, name) for each in cells) for name in ("truth", "estimate", "simple")
    )
    inside = sum(each.is_inside for each in cells)
    print(
        f"| {action} | {truth} | {estimate:.0f} | {_errors(cells, 'estimate'):.0f} "
        f"| {simple:.0f} | {_errors(cells, 'simple'):.0f} | {inside}/{len(cells)} |"
    )


def _errors(cells: Iterable[Cell], name: str) -> float:
    return sum(abs(getattr(each, name) - each.truth) for each in cells)


# -- pauses and lag --------------------------------------------------------------------------------


def _matched(truth: Row, costs: list[Row]) -> Iterator[tuple[Row, Row]]:
    """The handovers of truth.json and the rows that end with the same assignment."""
    of_partition: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in costs:
        if row["next_ms"] is not None:
            of_partition[row["group_id"], row["partition"]].append(row)
    for group, of_group in truth["groups"].items():
        for handover in of_group["handovers"]:
            rows = of_partition[group, handover["partition"]]
            at_ms = truth["t0_wall_ms"] + 1000 * handover["assigned_s"]
            at = bisect_left([row["next_ms"] for row in rows], at_ms)
            near = sorted(
                rows[max(at - 1, 0) : at + 1], key=lambda row: abs(row["next_ms"] - at_ms)
            )
            if near and abs(near[0]["next_ms"] - at_ms) <= _SAME_MS:
                yield handover, near[0]


def _pauses(truth: Row, costs: list[Row]) -> Iterator[tuple[str, bool]]:
    errors: dict[str, list[float]] = defaultdict(list)
    inside = 0
    for handover, row in _matched(truth, costs):
        own, expected = row["consumption_pause_ms"], handover.get("pause_ms")
        if own is not None and expected is not None:
            errors[row["how_ended"]].append(own - expected)
            low, high = row["consumption_pause_ms_low"], row["consumption_pause_ms_high"]
            inside += low <= expected <= high
    print("\n| pause after | handovers | median of errors ms | median error ms |")
    print("|---|---:|---:|---:|")
    for how, values in sorted(errors.items()):
        print(f"| {how} | {len(values)} | {median(values):+.0f} | {_typical(values):.0f} |")
    all_errors = [error for values in errors.values() for error in values]
    expired = errors.get("session_expired", [0])
    print(f"| all | {len(all_errors)} | {median(all_errors):+.0f} | {_typical(all_errors):.0f} |")
    print(f"\nPauses within their bounds: {inside / len(all_errors):.0%}")
    typical = _typical(all_errors)
    yield f"pauses: median error at most 200 ms: {typical:.0f}", typical <= 200
    typical = _typical(expired)
    yield f"pauses of expired owners: at most 1000 ms: {typical:.0f}", typical <= 1000


def _typical(errors: list[float]) -> float:
    return median(map(abs, errors))


def _lags(truth: Row, costs: list[Row]) -> Iterator[tuple[str, bool]]:
    peaks, catch_ups = [], []
    for handover, row in _matched(truth, costs):
        peak, caught_ms = handover.get("peak_lag"), handover.get("catch_up_ms")
        if row["peak_lag"] is not None and peak is not None and peak >= _LEAST_PEAK:
            peaks.append(row["peak_lag"] / peak - 1)
        if row["catch_up_ms"] is not None and caught_ms is not None:
            catch_ups.append(row["catch_up_ms"] - caught_ms)
    print(f"\nPeak lag: {len(peaks)} handovers. Catch-up: {len(catch_ups)} handovers.")
    typical = _typical(peaks)
    yield f"peak lag: median error at most 15 %: {typical:.1%}", typical <= 0.15
    typical = _typical(catch_ups)
    yield f"catch-up: median error at most 2000 ms: {typical:.0f}", typical <= 2000


def _record_seconds(
    truth: Row, costs: list[Row], *, is_detailed: bool
) -> Iterator[tuple[str, bool]]:
    """Record-seconds above the usual lag, which truth.json subtracts, too.  Rows have all lag of
    the partition."""
    windows = _windows(truth)
    own: dict[str, float] = defaultdict(float)
    by_group: dict[tuple[str, str], float] = defaultdict(float)
    stops = _next_stops(costs)
    for row, next_stop_ms in zip(costs, stops, strict=True):
        if row["record_seconds"] is None:
            continue
        begin_ms = row["to_ms"]
        caught_ms = begin_ms + (row["catch_up_ms"] or 0)
        end_ms = caught_ms if row["catch_up_ms"] is not None else next_stop_ms
        end_ms = max(min(end_ms, windows[-1][2]), begin_ms + 1)
        levels = truth["groups"][row["group_id"]]["partition_level"]
        usual = levels.get(str(row["partition"]), [0])[0]
        for action, from_ms, to_ms in windows:
            share = _share(row, begin_ms, end_ms, max(from_ms, begin_ms), min(to_ms, end_ms))
            usual_s = usual * max(min(end_ms, to_ms) - max(begin_ms, from_ms), 0) / 1000
            own[action] += row["record_seconds"] * share - usual_s
            by_group[row["group_id"], action] += row["record_seconds"] * share - usual_s
    if is_detailed:
        print("\n| group | action | record-seconds: truth | estimate |")
        print("|---|---|---:|---:|")
        for (group, action), value in by_group.items():
            expected = truth["groups"][group]["windows"][action]["record_seconds"]
            if action not in _NO_ACTIONS and max(abs(value), expected) >= _SHOWN_RECORD_SECONDS:
                print(f"| {group} | {action} | {expected:.0f} | {value:.0f} |")
    print("\n| action | record-seconds: truth | estimate | error |")
    print("|---|---:|---:|---:|")
    for action, _, _ in windows:
        of_groups = truth["groups"].values()
        expected = sum(each["windows"][action]["record_seconds"] for each in of_groups)
        if action not in _NO_ACTIONS and expected:
            error = own[action] / expected - 1
            print(f"| {action} | {expected:.0f} | {own[action]:.0f} | {error:+.1%} |")
            if expected > _LEAST_RECORD_SECONDS:
                yield f"record-seconds, {action}: within 10 %: {error:+.1%}", abs(error) <= 0.1


def _share(row: Row, begin_ms: float, end_ms: float, from_ms: float, to_ms: float) -> float:
    """The share of a row's record-seconds in a part of its time; while a partition is not consumed,
    its lag grows at a constant rate."""
    if to_ms <= from_ms:
        return 0
    took_ms = end_ms - begin_ms
    mean = row["record_seconds"] / took_ms * 1000
    growth = 0 if row["catch_up_ms"] is not None else 2 * (row["peak_lag"] - mean) / took_ms
    growth = min(max(growth, 0), 2 * mean / took_ms)
    middle_ms = (from_ms + to_ms) / 2 - (begin_ms + end_ms) / 2
    area: float = (mean + growth * middle_ms) * (to_ms - from_ms)
    return area / (mean * took_ms) if mean else 0


# -- times in which no record was handled ----------------------------------------------------------


def _unhandled(truth: Row, rows: list[Row]) -> Iterator[tuple[str, bool]]:
    windows = [each for each in _windows(truth) if "slow" in each[0] or "freeze" in each[0]]
    print("\n| group | partition-seconds in slow polls and freezes: truth | tables | error |")
    print("|---|---:|---:|---:|")
    sums = [0.0, 0.0]
    far = []
    times = _joined(rows)
    for group, figures in truth["groups"].items():
        of_action = figures["windows"]
        expected = sum(of_action[name]["paused_partition_ms"] for name, _, _ in windows) / 1000
        own_ms = sum(
            max(min(to_ms, end_ms) - max(from_ms, begin_ms), 0)
            for of_group, from_ms, to_ms in times
            for _, begin_ms, end_ms in windows
            if of_group == group
        )
        error = own_ms / 1000 / expected - 1
        print(f"| {group} | {expected:.0f} | {own_ms / 1000:.0f} | {error:+.0%} |")
        sums = [sums[0] + expected, sums[1] + own_ms / 1000]
        far += [group] if abs(error) > 0.15 else []
    error = sums[1] / sums[0] - 1
    print(f"| all | {sums[0]:.0f} | {sums[1]:.0f} | {error:+.0%} |")
    yield (
        f"unserved time of each group: within 15 %, without {', '.join(far) or 'exception'}",
        not far,
    )


def _joined(rows: list[Row]) -> list[tuple[str, float, float]]:
    """Group, begin and end; times of a partition that follow each other directly are joined."""
    joined: list[tuple[tuple[Any, ...], float, float]] = []
    for row in rows:
        key = row["group_id"], row["topic"], row["partition"]
        to_ms = float("inf") if row["to_ms"] is None else row["to_ms"]
        if joined and joined[-1][0] == key and row["from_ms"] <= joined[-1][2] + _SAME_MS / 3:
            joined[-1] = key, joined[-1][1], max(joined[-1][2], to_ms)
        else:
            joined.append((key, row["from_ms"], to_ms))
    return [
        (key[0], from_ms, to_ms)
        for key, from_ms, to_ms in joined
        if to_ms - from_ms >= _LEAST_PAUSE_MS
    ]


def _next_stops(costs: list[Row]) -> list[float]:
    key = ("group_id", "topic", "partition")
    following = [*costs[1:], None]
    return [
        after["to_ms"]
        if after is not None and all(row[name] == after[name] for name in key)
        else float("inf")
        for row, after in zip(costs, following, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
