"""Nightly's last step: advice for each group that rebalanced on the dates of the run.

reads   rebalance_latency, ownership_gaps, episodes, and what jobs.what_if_sweep reads
writes  what_if, advice: the rows of these groups; those of other groups stay

`jobs.what_if.screen` decides which groups are simulated: the groups that can gain something, within
a budget of time.  Each group is simulated in the period of `jobs.what_if.periods`.  Costs are
estimates, so the same lake gets the same advice from each engine and machine.

Simulations are not repeated if what_if has their outcomes, which the hash of their processes,
settings and period identifies.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from coordinator_core.whatif import Outcomes
from coordinator_core.whatif.advice import little_to_gain
from jobs import what_if_sweep
from jobs.lake.evidence import evidence, reads
from jobs.lake.literals import quoted
from jobs.lake.tables import Lake
from jobs.what_if.earlier_outcomes import OUTCOME_COLUMNS, outcomes_of
from jobs.what_if.evidence import ClusterEvidence
from jobs.what_if.periods import KEPT_DAYS, EvaluatedPeriod
from jobs.what_if.result_rows import no_advice
from jobs.what_if.screen import KINDS, AdvicePlan, gain_bounds, plan_of
from jobs.what_if.sweep import Sweep, batched

WRITES = ("what_if", "advice")
_ONLY_CLIENTS = "no prediction: only clients' logs show this group; add records or the brokers' log"
READS = tuple(sorted({*what_if_sweep.READS, *reads(KINDS)}))
# Default budget in seconds on an idle machine: about a quarter of the time that the embedded engine
# needs for the other jobs, and more for small days.
LEAST_S, _PER_REBALANCE_S = 15.0, 0.00025


def run(
    lake: Lake,
    first: date | None,
    last: date | None,
    *,
    simulate_all: bool = False,
    budget_s: float | None = None,
) -> list[str]:
    """Advise the groups that rebalanced on these dates; None for ``first`` and ``last`` means all
    dates.  Returns a line that says how many groups were simulated, and a line of the best advice;
    none if no group rebalanced.

    ``simulate_all``: also what an earlier run simulated.  ``budget_s`` None: the default.
    """
    tables = {name: lake.read(name) for name in READS}
    dated = _between(tables, first and first - timedelta(days=KEPT_DAYS), last)
    counts, of_clients = _rebalances(_between(tables, first, last)["rebalance_latency"])
    if of_clients:
        rows = [_row(lake, name, _ONLY_CLIENTS) for name in of_clients]
        _write(lake, {"advice": rows, "what_if": []})
    if not counts:
        return []
    if budget_s is None:
        budget_s = LEAST_S + sum(counts.values()) * _PER_REBALANCE_S
    of_groups, episodes = (evidence(kind, dated).collect() for kind in KINDS)
    bounds = gain_bounds(of_groups, episodes)
    bounds = [each for each in bounds if each.group_id in counts]
    worth = [each.group_id for each in bounds if not each.has_little]
    periods = what_if_sweep.periods_of(_of_groups(dated, worth)) if worth else {}
    bounds = [each for each in bounds if each.has_little or each.group_id in periods]
    plan = plan_of(bounds, periods, budget_s)
    written = _rows(lake, tables, plan, periods, simulate_all=simulate_all)
    _write(lake, written)
    return [str(plan), *_best(lake, plan, written["advice"])]


def _best(lake: Lake, plan: AdvicePlan, advice: list[Any]) -> Iterator[str]:
    """The advice for the simulated group with the largest saving of partition downtime, without its
    reasons, and the command that shows all of it.
    """
    simulated = {each.group_id for each in plan.simulated}
    own = [row for row in advice if row["setting"] is not None and row["group_id"] in simulated]
    if own:
        best = max(own, key=lambda row: row["saved_unowned_partition_ms"])
        group_id, change = best["group_id"], best["sentence"].partition("; ")[0]
        options = ["--lake", lake.root, "--cluster-id", lake.cluster_id, "--group", group_id]
        yield f"best advice: {group_id}: {change}: regroup what-if {shlex.join(options)}"


def _rebalances(latency: DataFrame) -> tuple[dict[str, int], list[str]]:
    """The rebalances of each group, and the groups of which only clients' logs show any."""
    counted = latency.groupBy("group_id").agg(
        F.sum(F.when(F.col("evidence") == "clients", 0).otherwise(1)).alias("rebalances")
    )
    counts = {row.group_id: row.rebalances for row in counted.collect()}
    of_clients = sorted(name for name, count in counts.items() if not count)
    return {name: count for name, count in counts.items() if count}, of_clients


def _row(lake: Lake, group_id: str, sentence: str) -> dict[str, Any]:
    """A row of advice without a change."""
    return {"cluster_id": lake.cluster_id, "group_id": group_id} | no_advice(sentence)


def _rows(
    lake: Lake,
    tables: dict[str, DataFrame],
    plan: AdvicePlan,
    periods: Mapping[str, EvaluatedPeriod],
    *,
    simulate_all: bool,
) -> dict[str, list[Any]]:
    """The new rows of all judged groups, by table."""
    written: dict[str, list[Any]] = {name: [] for name in WRITES}
    for each in plan.little:
        written["advice"].append(_row(lake, each.group_id, little_to_gain(each.downtime_ms)))
    advised = _advised(lake)
    for each in plan.left_out:
        if each.group_id not in advised:
            text = f"not simulated: the budget of {plan.budget_s:.0f} s is spent"
            text += f"; regroup what-if --group {each.group_id} simulates it"
            written["advice"].append(_row(lake, each.group_id, text))
    if not plan.simulated:
        return written
    evidence_of_cluster = _cluster_evidence(tables, periods)
    for some in batched(each.group_id for each in plan.simulated):
        earlier = {} if simulate_all else earlier_outcomes(lake, some)
        own = {name: periods[name] for name in some}
        sweep = Sweep(own, evidence_of_cluster, migrations=False, earlier=earlier)
        of_groups = what_if_sweep.predicted(_of_groups(tables, own), sweep)
        for group in of_groups.select(*WRITES).collect():
            for name in WRITES:
                written[name] += [row.asDict() for row in group[name]]
    rows = {row["group_id"]: row for row in written["advice"]}
    for some in batched(plan.like):
        own = {name: periods[name] for name in some}
        like = {name: rows[plan.like[name]] for name in some}
        shared = what_if_sweep.shared(
            _of_groups(tables, own), Sweep(own, evidence_of_cluster), like
        )
        written["advice"] += [row.asDict() for row in shared.collect()]
    return written


def _advised(lake: Lake) -> set[str]:
    """The groups that have advice of an earlier run."""
    if not lake.has("advice"):
        return set()
    return {row.group_id for row in lake.read("advice").select("group_id").collect()}


def earlier_outcomes(lake: Lake, group_ids: list[str]) -> dict[str, dict[str, Outcomes]]:
    if not lake.has("what_if"):
        return {}
    stored = lake.read("what_if").where("simulation IS NOT NULL")
    rows = stored.where(F.col("group_id").isin(group_ids)).select("group_id", *OUTCOME_COLUMNS)
    of_groups: dict[str, list[Any]] = {}
    for row in rows.collect():
        of_groups.setdefault(row["group_id"], []).append(row)
    return {group_id: outcomes_of(own) for group_id, own in of_groups.items()}


def _write(lake: Lake, written: dict[str, list[Any]]) -> None:
    groups = sorted({row["group_id"] for row in written["advice"]})
    if not groups:
        return
    where = f"group_id IN ({', '.join(map(quoted, groups))})"
    for name, rows in written.items():
        names = lake.read(name).columns
        values = [[row.get(each) for each in names] for row in rows]
        lake.replace(name, lake.frame(name, values), where=where, few=True)


# -- rows of the tables ----------------------------------------------------------------------------


def _between(
    tables: Mapping[str, DataFrame], first: date | None, last: date | None
) -> dict[str, DataFrame]:
    """The tables that have dates, on these dates."""
    limits = [F.col("event_date") >= first] if first else []
    limits += [F.col("event_date") <= last] if last else []
    between = dict(tables)
    for name, rows in tables.items():
        for limit in limits if "event_date" in rows.columns else []:
            between[name] = between[name].where(limit)
    return between


def _of_groups(tables: Mapping[str, DataFrame], groups: Collection[str]) -> dict[str, DataFrame]:
    return {
        name: rows.where(F.col("group_id").isin(list(groups)))
        if "group_id" in rows.columns
        else rows
        for name, rows in tables.items()
    }


def _cluster_evidence(
    tables: Mapping[str, DataFrame], periods: Mapping[str, EvaluatedPeriod]
) -> ClusterEvidence:
    """The time of the last event is looked for on the last dates only."""
    last_ms = max(each.to_ms for each in periods.values())
    last_day = datetime.fromtimestamp(last_ms / 1000, UTC).date()
    return what_if_sweep.cluster_evidence(
        tables, _between(tables, last_day - timedelta(days=1), None)
    )
