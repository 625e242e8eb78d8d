"""Nightly's last step: the standard changes are tried for the groups with the longest rebalances.

reads   rebalance_latency, and what jobs.what_if_sweep reads
writes  what_if, advice: the rows of these groups; those of other groups stay

The step has a budget, which grows with the rebalances of the dates.  Of each group only one date
is simulated, the one with the longest time in rebalances; if that would exceed what is left of the
budget, only that date's longest series of rebalances; and if that would, too, the group is left
out.  Costs are estimates, so the same lake gets the same advice from each engine and machine.

Simulations of which what_if has the outcomes are not repeated: those of the same processes,
settings and period, by their hash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from coordinator_core.coordinator.era_evidence import EraEvidence
from coordinator_core.protocol.client_times import HEARTBEAT_MS
from coordinator_core.whatif import Outcomes
from jobs import what_if_sweep
from jobs.lake.group_types import HAS_EPOCHS
from jobs.lake.literals import quoted
from jobs.lake.tables import Lake
from jobs.what_if.sweep import EvaluatedPeriod, earlier_outcomes

WRITES = ("what_if", "advice")
# The budget in seconds of an idle machine: about a quarter of what the embedded engine needs for
# the other jobs, more for small days.
LEAST_S, _PER_REBALANCE_S = 5.0, 0.00025
# So many groups are simulated by one query.
_AT_ONCE = 5
_MAX_GROUPS = 20
# With three seeds, a process that was frozen or killed is simulated as either.
_SEEDS = 3
# Measured: one heartbeat of a simulated member, with its part of the rebalances; and explaining one
# generation of a group.
_HEARTBEAT_S, _GENERATION_S = 0.0001, 0.005
# About so many simulations per seed: the standard changes and the unchanged settings; those of the
# consumer protocol take longer.
_SIMULATIONS = 16
# Rebalances with longer pauses between them are separate series.
_PAUSE_MS = 300_000
_MARGIN_MS = 60_000
_GENERATION = ["group_id", "incarnation", "generation"]


@dataclass(frozen=True)
class RebalanceTimes:
    """A rebalance in ms since the epoch; ``members`` of the generation that it made."""

    begin_ms: int
    end_ms: int
    members: int


@dataclass(frozen=True)
class WorstDate:
    """A group's date with the longest time in rebalances."""

    group_id: str
    day: date


def run(lake: Lake, first: date | None, last: date | None, *, simulate_all: bool = False) -> None:
    """Advise the groups that rebalanced on these dates; None: on all dates.

    ``simulate_all``: also what an earlier run simulated.
    """
    dates, count = worst_dates(lake, first, last)
    left_s = LEAST_S + count * _PER_REBALANCE_S
    spans: list[tuple[WorstDate, EvaluatedPeriod]] = []
    of_group = _rebalances(lake, dates)
    for worst in dates:
        rebalances = affordable(of_group[worst.group_id], left_s)
        if rebalances:
            left_s -= _cost_s(rebalances)
            spans.append((worst, _span(rebalances)))
    written: dict[str, list[Row]] = {name: [] for name in WRITES}
    era = what_if_sweep.era_of_cluster({"group_records": lake.read("group_records")})
    for first_of in range(0, len(spans), _AT_ONCE):
        some = spans[first_of : first_of + _AT_ONCE]
        earlier = {} if simulate_all else _earlier(lake, [worst.group_id for worst, _ in some])
        for name, rows in _rows_of(lake, some, era, earlier).items():
            written[name] += rows
    _write(lake, written)


def _earlier(lake: Lake, group_ids: list[str]) -> dict[str, dict[str, Outcomes]]:
    if not lake.has("what_if"):
        return {}
    of_groups = lake.read("what_if").where(F.col("group_id").isin(group_ids))
    return earlier_outcomes(of_groups)


def _rows_of(
    lake: Lake,
    spans: list[tuple[WorstDate, EvaluatedPeriod]],
    era: EraEvidence,
    earlier: dict[str, dict[str, Outcomes]],
) -> dict[str, list[Row]]:
    """The groups' new rows, by table."""
    modern_groups = _modern_groups(lake, [worst.group_id for worst, _ in spans])
    of_groups = [
        F.col("group_id") == worst.group_id
        if worst.group_id in modern_groups
        else (F.col("group_id") == worst.group_id)
        & F.col("event_date").isin([worst.day + timedelta(days=n) for n in (-1, 0, 1)])
        for worst, _ in spans
    ]
    of_any = reduce(or_, of_groups)
    tables = {name: lake.read(name) for name in what_if_sweep.READS}
    tables |= {
        name: rows.where(of_any) for name, rows in tables.items() if "group_id" in rows.columns
    }
    of_group = {worst.group_id: span for worst, span in spans}
    of_spans = what_if_sweep.what_if_of_spans(tables, of_group, era, earlier)
    predictions = of_spans.select(*WRITES).collect()
    return {name: [row for group in predictions for row in group[name]] for name in WRITES}


def _modern_groups(lake: Lake, group_ids: list[str]) -> set[str]:
    """Those of which a date's records are not enough: each record has only one member."""
    generations = lake.read("generations").where(F.col("group_id").isin(group_ids))
    new = generations.where(HAS_EPOCHS).select("group_id").distinct()
    return {row.group_id for row in new.collect()}


def _write(lake: Lake, written: dict[str, list[Row]]) -> None:
    groups = sorted({row.group_id for row in written["advice"]})
    if not groups:
        return
    where = f"group_id IN ({', '.join(map(quoted, groups))})"
    for name, rows in written.items():
        lake.replace(name, lake.frame(name, rows), where=where, few=True)


# -- which groups and spans ------------------------------------------------------------------------


def worst_dates(lake: Lake, first: date | None, last: date | None) -> tuple[list[WorstDate], int]:
    """One per group, longest time in rebalances first; and the rebalances of all groups on these
    dates.
    """
    latency = lake.read("rebalance_latency")
    if first is not None and last is not None:
        latency = latency.where(F.col("event_date").between(first, last))
    dates = latency.groupBy("group_id", "event_date").agg(
        F.sum(F.coalesce("total_ms", "sync_ms", F.lit(0))).alias("spent_ms"),
        F.count("*").alias("rebalances"),
    )
    longest = Window.partitionBy("group_id").orderBy(F.desc("spent_ms"), F.desc("event_date"))
    of_all = Window.partitionBy(F.lit(1))
    worst = (
        dates.withColumn("place", F.row_number().over(longest))
        .withColumn("rebalances", F.sum("rebalances").over(of_all))
        .where("place = 1 AND spent_ms > 0")
        .orderBy(F.desc("spent_ms"), "group_id")
        .select("group_id", "event_date", "rebalances")
    )
    rows = worst.limit(_MAX_GROUPS).collect()
    return [WorstDate(*row[:2]) for row in rows], rows[0].rebalances if rows else 0


def _rebalances(lake: Lake, worst: list[WorstDate]) -> dict[str, list[RebalanceTimes]]:
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
    of_group: dict[str, list[RebalanceTimes]] = {each.group_id: [] for each in worst}
    for group_id, *times in sorted(rows.collect()):
        of_group[group_id].append(RebalanceTimes(*times))
    return of_group


def _member_counts(members: DataFrame) -> DataFrame:
    return members.groupBy(*_GENERATION).agg(F.count("*").alias("members"))


def affordable(rebalances: list[RebalanceTimes], left_s: float) -> list[RebalanceTimes]:
    """All the rebalances, or else their longest series, whichever can be simulated in ``left_s``
    seconds; empty: neither.
    """
    if not rebalances:
        return []
    longest = max(_series(rebalances), key=lambda each: sum(r.end_ms - r.begin_ms for r in each))
    return next((each for each in (rebalances, longest) if _cost_s(each) <= left_s), [])


def _span(rebalances: list[RebalanceTimes]) -> EvaluatedPeriod:
    to_ms = max(each.end_ms for each in rebalances)
    return EvaluatedPeriod(rebalances[0].begin_ms - _MARGIN_MS, to_ms + _MARGIN_MS, _SEEDS)


def _cost_s(rebalances: list[RebalanceTimes]) -> float:
    """How long the simulations of their span take, in seconds."""
    span_ms = max(each.end_ms for each in rebalances) - rebalances[0].begin_ms + _MARGIN_MS
    heartbeats = span_ms / HEARTBEAT_MS * max(each.members for each in rebalances)
    return len(rebalances) * _GENERATION_S + heartbeats * _HEARTBEAT_S * _SIMULATIONS * _SEEDS


def _series(rebalances: Iterable[RebalanceTimes]) -> list[list[RebalanceTimes]]:
    """The rebalances, cut where the group was stable for a long time."""
    series: list[list[RebalanceTimes]] = []
    for each in rebalances:
        if not series or each.begin_ms - series[-1][-1].end_ms > _PAUSE_MS:
            series.append([])
        series[-1].append(each)
    return series
