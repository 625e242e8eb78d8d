"""Nightly's last step: the standard changes are tried for the groups with the longest rebalances.

reads   rebalance_latency, and what jobs.what_if_sweep reads
writes  what_if, advice: the rows of these groups; those of other groups stay

The step takes a share of the run's time.  Of each group only one date is simulated, the one with
the longest time in rebalances; if that would take too long, by an estimate, only that date's
longest series of rebalances; and if that would take too long, the group is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs import what_if_sweep
from jobs.lake.tables import Lake
from jobs.replay.group_rows import quoted
from jobs.what_if_sweep import Span

WRITES = ("what_if", "advice")
# The step's part of the run's time, by an estimate for an idle machine; short runs may take longer.
SHARE, LEAST_S = 0.25, 5.0
# No further groups are begun after so many times its part; so many are simulated by one query.
_PATIENCE = 4
_AT_ONCE = 5
_MAX_GROUPS = 20
# With three seeds, a process that was frozen or killed is simulated as either.
_SEEDS = 3
# Measured: one heartbeat of a simulated member, with its part of the rebalances; and explaining one
# generation of a group.
_HEARTBEAT_S, _GENERATION_S = 0.0001, 0.005
_HEARTBEAT_MS = 3000
# About so many simulations per seed: the standard changes and the unchanged settings.
_SIMULATIONS = 13
# Rebalances with longer pauses between them are separate series.
_PAUSE_MS = 300_000
_MARGIN_MS = 60_000
_GENERATION = ["group_id", "incarnation", "generation"]


@dataclass(frozen=True)
class Rebalance:
    """A rebalance in ms since the epoch; ``members`` of the generation that it made."""

    begin_ms: int
    end_ms: int
    members: int


@dataclass(frozen=True)
class WorstDate:
    """A group's date with the longest time in rebalances."""

    group_id: str
    day: date


def run(lake: Lake, first: date | None, last: date | None, elapsed_s: float) -> None:
    """Advise the groups that rebalanced on these dates; None: on all dates."""
    left_s = max(SHARE * elapsed_s, LEAST_S)
    deadline_s = time.monotonic() + _PATIENCE * left_s
    dates = worst_dates(lake, first, last)
    spans: list[tuple[WorstDate, Span]] = []
    of_group = _rebalances(lake, dates)
    for worst in dates:
        rebalances = affordable(of_group[worst.group_id], left_s)
        if rebalances:
            left_s -= _cost_s(rebalances)
            spans.append((worst, _span(rebalances)))
    written: dict[str, list[Row]] = {name: [] for name in WRITES}
    for first_of in range(0, len(spans), _AT_ONCE):
        if time.monotonic() < deadline_s:
            for name, rows in _rows_of(lake, spans[first_of : first_of + _AT_ONCE]).items():
                written[name] += rows
    _write(lake, written)


def _rows_of(lake: Lake, spans: list[tuple[WorstDate, Span]]) -> dict[str, list[Row]]:
    """The groups' new rows, by table."""
    of_groups = [
        (F.col("group_id") == worst.group_id)
        & F.col("event_date").isin([worst.day + timedelta(days=n) for n in (-1, 0, 1)])
        for worst, _ in spans
    ]
    of_any = reduce(or_, of_groups)
    tables = {name: lake.read(name).where(of_any) for name in what_if_sweep.READS}
    of_group = {worst.group_id: span for worst, span in spans}
    predictions = what_if_sweep.what_if_of_spans(tables, of_group).select(*WRITES).collect()
    return {name: [row for group in predictions for row in group[name]] for name in WRITES}


def _write(lake: Lake, written: dict[str, list[Row]]) -> None:
    groups = sorted({row.group_id for row in written["advice"]})
    if not groups:
        return
    where = f"group_id IN ({', '.join(map(quoted, groups))})"
    for name, rows in written.items():
        lake.replace(name, lake.frame(name, rows), where=where)


# -- which groups and spans ------------------------------------------------------------------------


def worst_dates(lake: Lake, first: date | None, last: date | None) -> list[WorstDate]:
    """One per group, longest time in rebalances first."""
    latency = lake.read("rebalance_latency")
    if first is not None and last is not None:
        latency = latency.where(F.col("event_date").between(first, last))
    dates = latency.groupBy("group_id", "event_date").agg(
        F.sum(F.coalesce("total_ms", "sync_ms", F.lit(0))).alias("spent_ms")
    )
    longest = Window.partitionBy("group_id").orderBy(F.desc("spent_ms"), F.desc("event_date"))
    worst = (
        dates.withColumn("place", F.row_number().over(longest))
        .where("place = 1 AND spent_ms > 0")
        .orderBy(F.desc("spent_ms"), "group_id")
        .select("group_id", "event_date")
    )
    return [WorstDate(*row) for row in worst.limit(_MAX_GROUPS).collect()]


def _rebalances(lake: Lake, worst: list[WorstDate]) -> dict[str, list[Rebalance]]:
    """Each group's rebalances on its date, in order."""
    dates = [
        (F.col("group_id") == each.group_id) & (F.col("event_date") == each.day) for each in worst
    ]
    on_dates = reduce(or_, dates, F.lit(False))
    counted = _member_counts(lake.read("generation_members").where(on_dates))
    rows = (
        lake.read("rebalance_latency")
        .where(on_dates)
        .join(counted, _GENERATION, how="left")
        .select(
            "group_id",
            F.unix_millis(F.coalesce("preparing_time", "end_time")).alias("begin_ms"),
            F.unix_millis("end_time").alias("end_ms"),
            F.coalesce("members", F.lit(1)).alias("members"),
        )
        .where("end_ms IS NOT NULL")
    )
    of_group: dict[str, list[Rebalance]] = {each.group_id: [] for each in worst}
    for group_id, *times in sorted(rows.collect()):
        of_group[group_id].append(Rebalance(*times))
    return of_group


def _member_counts(members: DataFrame) -> DataFrame:
    return members.groupBy(*_GENERATION).agg(F.count("*").alias("members"))


def affordable(rebalances: list[Rebalance], left_s: float) -> list[Rebalance]:
    """All the rebalances, or else their longest series, whichever can be simulated in ``left_s``
    seconds; empty: neither.
    """
    if not rebalances:
        return []
    longest = max(_series(rebalances), key=lambda each: sum(r.end_ms - r.begin_ms for r in each))
    return next((each for each in (rebalances, longest) if _cost_s(each) <= left_s), [])


def _span(rebalances: list[Rebalance]) -> Span:
    to_ms = max(each.end_ms for each in rebalances)
    return Span(rebalances[0].begin_ms - _MARGIN_MS, to_ms + _MARGIN_MS, _SEEDS)


def _cost_s(rebalances: list[Rebalance]) -> float:
    """How long the simulations of their span take, in seconds."""
    span_ms = max(each.end_ms for each in rebalances) - rebalances[0].begin_ms + _MARGIN_MS
    heartbeats = span_ms / _HEARTBEAT_MS * max(each.members for each in rebalances)
    return len(rebalances) * _GENERATION_S + heartbeats * _HEARTBEAT_S * _SIMULATIONS * _SEEDS


def _series(rebalances: Iterable[Rebalance]) -> list[list[Rebalance]]:
    """The rebalances, cut where the group was stable for a long time."""
    series: list[list[Rebalance]] = []
    for each in rebalances:
        if not series or each.begin_ms - series[-1][-1].end_ms > _PAUSE_MS:
            series.append([])
        series[-1].append(each)
    return series
