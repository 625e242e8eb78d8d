"""Records each run: one row per step in the table `runs`, and a summary on stderr.

Every commit of a run has the run's id as userMetadata, so the rows that a run wrote are counted
from the tables' Delta histories.
"""

from __future__ import annotations

import platform
import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.episodes.episode_kind import NOT_INCIDENTS
from coordinator_core.episodes.grouping import ALIKE, ANY_NUMBER, NUMBER
from coordinator_core.figures import counted, of_alike
from jobs import __version__
from jobs.console.printing import printable
from jobs.engine.embedded import is_embedded
from jobs.engine.union import union_of
from jobs.lake import client_rows
from jobs.lake.client_rows import TABLES as CLIENT_TABLES
from jobs.lake.coverage import BRONZE
from jobs.lake.keys import GENERATION_KEY
from jobs.lake.missing_groups import (
    CLIENTS_ONLY,
    COMMITS_ONLY,
    EVENT_REASON,
    NO_TARGET,
    OF_ANY_TYPE,
    SELF_ASSIGNED,
    MissingGroup,
    by_reason,
    sentence,
)
from jobs.lake.tables import Lake, schema_of
from jobs.lake.views import view_rows
from jobs.nightly_run import client_summary
from jobs.nightly_run.pipeline import Progress, RunStep
from schemas import table_names

# Step that represents the whole run.
WHOLE_RUN = "nightly"
DONE, FAILED = "done", "failed"
# Maximum numbers of findings and episodes in the summary.
FINDINGS_SHOWN = 3
EPISODES_SHOWN = 5
# Tables of steps that do not write exactly the table of their name.
WRITES = {
    "ingest": (*BRONZE, "trace_events", "quarantine", "ingested_files"),
    "advice": ("what_if", "advice", "advice_outcomes"),
    "assign_partitions": ("assignor_reruns", "assignor_quality", "seen_partitions"),
    "client_evidence": CLIENT_TABLES,
}


@dataclass(kw_only=True)
class Run:
    """One run over a cluster's tables.  ``options`` are options by name, without secrets."""

    lake: Lake
    options: dict[str, str]
    first: date | None = None
    last: date | None = None
    bronze_versions: dict[str, int] = field(default_factory=dict)
    own_versions: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    internal_errors: int = 0  # number of inputs that were sent to quarantine by a defect of Regroup
    run_id: str = field(
        default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}-{secrets.token_hex(4)}"
    )

    @contextmanager
    def recorded(self, progress: Progress) -> Iterator[None]:
        """Run the body as this run; its rows are written however it ends, short of SIGKILL."""
        before = len(progress.steps)
        whole_run = RunStep(WHOLE_RUN)
        with self.lake.labelled(self.run_id):
            try:
                with whole_run.timed():
                    yield
            except BaseException:
                # Raise the error that ended the run, not an error from writing the run's rows.
                with suppress(Exception):
                    self._write([*progress.steps[before:], whole_run])
                raise
            self._write([*progress.steps[before:], whole_run])

    def _write(self, steps: list[RunStep]) -> None:
        self.written = self._rows_written()
        rows = [self._row(step) for step in steps]
        names = schema_of("runs").names
        table = self.lake.frame("runs", ([row.get(name) for name in names] for row in rows))
        self.lake.append("runs", table, few=True)  # No other run has this run's id.

    def _row(self, step: RunStep) -> dict[str, Any]:
        names = WRITES.get(step.name, (step.name,))
        row = {
            "cluster_id": self.lake.cluster_id,
            "run_id": self.run_id,
            "step": step.name,
            "from_time": step.started_at,
            "seconds": round(step.seconds, 3),
            "outcome": FAILED if step.error else DONE,
            "error": step.error,
            "first_date": self.first,
            "last_date": self.last,
            "rows_written": {name: self.written[name] for name in names if name in self.written},
        }
        if step.name == WHOLE_RUN:
            row |= {
                "options": self.options,
                "rows_written": self.written,
                "versions": versions(self.lake.spark),
                "bronze_versions": self.bronze_versions,
                "own_versions": self.own_versions,
            }
        return row

    def _rows_written(self) -> dict[str, int]:
        """Row counts of this run's commits, by table."""
        with ThreadPoolExecutor(4) as pool:
            counts = pool.map(partial(self.lake.rows_written, label=self.run_id), table_names())
            by_table = zip(table_names(), counts, strict=True)
            return {table: rows for table, rows in by_table if rows is not None}


# Kinds of generations that the summary counts: columns of the view rebalance_counts.
_COUNTED = ("rebalances", "aborted_rebalances", "superseded_targets")


def summary(run: Run) -> str:
    """Some lines: input of the run; findings, costliest episodes and rebalances of its dates."""
    counts = view_rows("rebalance_counts", partial(_of_dates, run)).drop("event_date")
    groups = (
        _of_dates(run, "rebalance_latency")
        .join(counts, on=["cluster_id", *GENERATION_KEY], how="left")
        .groupBy("group_id")
        .agg(
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _COUNTED),
            F.sum("total_ms").alias("total_ms"),
            F.max("total_ms").alias("longest_ms"),
        )
    )
    rows = sorted(groups.collect(), key=lambda row: (-row.rebalances, row.group_id))
    findings = _finding_lines(run)
    lines = [
        _input_line(run),
        *findings,
        *_broker_lines(run),
        *_episode_lines(run),
        _groups_line(rows),
    ]
    lines += [
        *_without_begin_line(run),
        *_missing_lines(run),
        *client_summary.lines(run.lake, run.first, run.last),
    ]
    if rows:
        most = ", ".join(f"{printable(row.group_id)} {row.rebalances}" for row in rows[:3])
        lines.append(f"most rebalances: {most}")
    return "\n".join([*lines, f"run {run.run_id} (details in table runs)"])


def _finding_lines(run: Run) -> list[str]:
    """The findings of highest confidence on the run's dates; the last line counts the findings that
    are omitted.
    """
    ordered = _of_dates(run, "findings").orderBy(F.desc("confidence"), "from_time", "finding")
    rows = ordered.select("finding", "summary").collect()
    shown = rows if len(rows) <= FINDINGS_SHOWN else rows[: FINDINGS_SHOWN - 1]
    lines = [f"{row.finding}: {printable(row.summary)}" for row in shown]
    counts = Counter(row.finding for row in rows[len(shown) :])
    if counts:
        more = ", ".join(f"{finding} {count}" for finding, count in counts.most_common())
        lines.append(f"{counts.total()} more findings (view q16_findings): {more}")
    return lines


def _broker_lines(run: Run) -> list[str]:
    """Episodes of brokers on the run's dates, except stops without a restart."""
    rows = _of_dates(run, "broker_episodes").where("kind <> 'broker_stop'").orderBy("from_time")
    shown = rows.select("summary").limit(EPISODES_SHOWN).collect()
    return [printable(row.summary) for row in shown]


def _episode_lines(run: Run) -> list[str]:
    """The root causes that cost most on the run's dates; none without any."""
    episodes = view_rows("episode_costs", partial(_of_dates, run))
    incidents = episodes.where(~F.col("kind").isin(*NOT_INCIDENTS)).withColumn(
        "pattern", F.regexp_replace("group_id", NUMBER, ANY_NUMBER)
    )
    like = Window.partitionBy("kind", "pattern")
    # A row is one episode, or all similar episodes together.
    row = F.when(F.count("place").over(like) >= ALIKE, F.lit(0)).otherwise(F.col("place"))
    folded = incidents.withColumn("row", row).groupBy("kind", "pattern", "row")
    rows = folded.agg(
        F.count("place").alias("number"),
        F.count_distinct("group_id").alias("groups"),
        F.sum("cost_ms").alias("cost_ms"),
        F.min("group_id").alias("group_id"),
        F.min("text").alias("text"),
        F.min("place").alias("first_place"),
    )
    return [_episode_line(row) for row in rows.orderBy("first_place").take(EPISODES_SHOWN)]


def _episode_line(row: Any) -> str:
    if row.number == 1:
        return f"{printable(row.group_id)}: {printable(row.text)}"
    names = row.pattern if row.groups > 1 else row.group_id
    return of_alike(row.kind, printable(names), row.number, row.groups, row.cost_ms)


def _without_begin_line(run: Run) -> list[str]:
    """One line with the share of rebalances without a logged begin; no line if the share is 0."""
    total = _of_dates(run, "episodes").agg(
        F.sum("rebalances_without_begin").alias("without"),
        F.sum("rebalances").alias("rebalances"),
        F.count_distinct(F.when(F.col("rebalances_without_begin") > 0, F.col("group_id"))).alias(
            "groups"
        ),
    )
    row = total.collect()[0]
    if not row.without:
        return []
    share = f"{row.without:,} of {counted(row.rebalances, 'rebalance')}"
    return [
        f"{share} in {counted(row.groups, 'group')} without a logged begin: time not stable and "
        "partition downtime are lower limits"
    ]


def _missing_lines(run: Run) -> list[str]:
    """The groups that the run's dates have, but without any generation of their protocol."""
    groups = [*_without_target(run), *_without_rebalance(run)]
    return [printable(sentence(ids, reason)) for _, reason, ids in by_reason(groups)]


def _without_target(run: Run) -> list[MissingGroup]:
    key = ["group_id", "group_type"]
    seen = _of_dates(run, "group_records").select(*key).distinct()
    return [
        MissingGroup(run.lake.cluster_id, row.group_id, row.group_type, NO_TARGET)
        for row in _without_generation(run, seen, key).orderBy(*reversed(key)).collect()
    ]


def _without_rebalance(run: Run) -> list[MissingGroup]:
    """Groups in the log, in classic records, with commits alone, or in clients' logs alone."""
    events = _of_dates(run, "timeline")
    of_type = F.when(~F.col("event").isin(*OF_ANY_TYPE), CLASSIC.name)
    group_type = F.coalesce(F.max("group_type"), F.max(of_type)).alias("group_type")
    logged = events.groupBy("group_id").agg(F.min(F.expr(EVENT_REASON)).alias("reason"), group_type)
    commits = _of_dates(run, "committed_offsets").where("group_id IS NOT NULL").select(
        "group_id", F.lit(f"6 {COMMITS_ONLY}").alias("reason"),
        F.lit(CLASSIC.name).alias("group_type"),
    )  # fmt: skip
    named = [logged, commits.distinct()]
    if client_rows.may_exist(run.lake):
        named.append(_of_clients(_of_dates(run, client_rows.CLIENT_EVENTS)))
    first = F.min(F.struct("reason", "group_type")).alias("first")
    seen = union_of(*named).groupBy("group_id").agg(first).select("group_id", "first.*")
    others = run.lake.read("group_records").select("group_id").distinct()
    without = _without_generation(run, seen, ["group_id"]).join(
        others, on="group_id", how="left_anti"
    )
    return [
        MissingGroup(run.lake.cluster_id, row.group_id, row.group_type, row.reason[2:])
        for row in without.orderBy("reason", "group_id").collect()
    ]


def _of_clients(events: DataFrame) -> DataFrame:
    """Groups that clients name; a group that no client joins may be a name that is only used for
    commits.
    """
    joins = F.count(F.when(F.col("event").isin("JOINING", "JOINED", "STATE"), 1))
    assigns = F.count(F.when(F.col("event") == "SELF_ASSIGNED", 1))
    groups = events.where("group_id IS NOT NULL").groupBy("group_id")
    is_assigned = (F.col("joins") == 0) & (F.col("assigns") > 0)
    return groups.agg(joins.alias("joins"), assigns.alias("assigns")).select(
        "group_id",
        F.when(is_assigned, f"7 {SELF_ASSIGNED}").otherwise(f"8 {CLIENTS_ONLY}").alias("reason"),
        F.lit(None).cast("string").alias("group_type"),
    )


def _without_generation(run: Run, seen: DataFrame, on: list[str]) -> DataFrame:
    """The groups that have no generation on any date."""
    generations = run.lake.read("generations").select(*on).distinct()
    return seen.join(generations, on=on, how="left_anti")


def _of_dates(run: Run, table: str) -> DataFrame:
    rows = run.lake.read(table)
    if run.first and run.last:
        return rows.where(F.col("event_date").between(run.first, run.last))
    return rows


def _input_line(run: Run) -> str:
    dates = f", {run.first} to {run.last}" if run.first and run.last else ""
    records, lines, quarantined = (
        run.written.get(name, 0) for name in ("offsets_records", "broker_log_events", "quarantine")
    )
    clients = run.written.get("client_events")
    of_clients = f", {counted(clients, 'new line')} of clients" if clients else ""
    ends = run.written.get("end_offsets")
    of_ends = f", {counted(ends, 'new log end offset')}" if ends else ""
    counts = (
        f"{counted(records, 'new record')}, {counted(lines, 'new log line')}{of_clients}{of_ends}"
    )
    counts += f", {quarantined:,} quarantined"
    defects = f" ({counted(run.internal_errors, 'internal error')})" if run.internal_errors else ""
    return f"{printable(run.lake.cluster_id)}{dates}: {counts}{defects}"


def _groups_line(rows: list[Any]) -> str:
    rebalances, aborted, superseded = (sum(row[name] for row in rows) for name in _COUNTED)
    unstable_s = sum(row.total_ms or 0 for row in rows) / 1000
    longest = max(rows, key=lambda row: row.longest_ms or 0, default=None)
    counts = (
        f"{counted(len(rows), 'group')}, {counted(rebalances, 'rebalance')}, {aborted:,} aborted"
        + (f", {counted(superseded, 'superseded target')}" if superseded else "")
    )
    if longest is None or not longest.longest_ms:
        return counts
    maximum = f"longest {longest.longest_ms / 1000:.1f} s ({printable(longest.group_id)})"
    return f"{counts}; {unstable_s:,.1f} s not stable, {maximum}"


def versions(session: SparkSession) -> dict[str, str]:
    """The engine's name, and the versions of Regroup and of what the engine consists of."""
    if is_embedded(session):
        engine, parts = "embedded", {"sail": "pysail", "deltalake": "deltalake"}
    else:
        engine, parts = "spark", {"delta": "delta-spark"}
    return {
        "regroup": __version__,
        "engine": engine,
        "spark": pyspark.__version__,
        **{name: version(package) for name, package in parts.items()},
        "python": platform.python_version(),
    }
