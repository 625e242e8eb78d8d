"""What each run did: a row a step in the table `runs`, and a summary for whoever looks on.

Every commit of a run carries its id, so what a run wrote is what the tables' own histories say.
"""

from __future__ import annotations

import platform
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import functions as F

from jobs import __version__
from jobs.console.printing import printable
from jobs.lake.tables import Lake, schema_of
from jobs.nightly_run.coverage import BRONZE
from jobs.nightly_run.pipeline import Progress, Step
from schemas import table_names

WHOLE = "nightly"
DONE, FAILED = "done", "failed"
# What a step writes besides, or instead of, the table of its name.
WRITES = {
    "ingest": (*BRONZE, "trace_events", "quarantine", "ingested_files"),
    "assign_partitions": ("assignments", "assignor_quality", "seen_partitions"),
}
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
# Commits to look back at; a run makes a few to each table, and others may come in between.
_COMMITS = 100
# A merge's output has the rows it only copied, too.
_OF_MERGE = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_OF_WRITE = ("numOutputRows",)


@dataclass
class Run:
    """One run over a cluster's tables.  ``options``: its options by name, none of them secret."""

    lake: Lake
    options: dict[str, str]
    first: date | None = None
    last: date | None = None
    bronze_versions: dict[str, int] = field(default_factory=dict)
    own_versions: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    run_id: str = field(
        default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}-{secrets.token_hex(4)}"
    )

    @contextmanager
    def recorded(self, progress: Progress) -> Iterator[None]:
        """The run; its rows are written however it ends, short of a kill."""
        spark, before = self.lake.spark, len(progress.steps)
        spark.conf.set(_USER_METADATA, self.run_id)
        whole = Step(WHOLE)
        try:
            with whole.timed():
                yield
        except BaseException:
            # What ended the run says more than what may keep its rows from being written.
            with suppress(Exception):
                self._end([*progress.steps[before:], whole])
            raise
        self._end([*progress.steps[before:], whole])

    def _end(self, steps: list[Step]) -> None:
        try:
            self._write(steps)
        finally:
            self.lake.spark.conf.unset(_USER_METADATA)

    def _write(self, steps: list[Step]) -> None:
        self.written = self._written()
        rows = [self._row(step) for step in steps]
        table = self.lake.spark.createDataFrame(
            [[row.get(name) for name in schema_of("runs").names] for row in rows], schema_of("runs")
        )
        self.lake.insert_new("runs", table)

    def _row(self, step: Step) -> dict[str, Any]:
        names = WRITES.get(step.name, (step.name,))
        row = {
            "cluster_id": self.lake.cluster_id,
            "run_id": self.run_id,
            "step": step.name,
            "started_at": step.started_at,
            "seconds": round(step.seconds, 3),
            "outcome": FAILED if step.error else DONE,
            "error": step.error,
            "first_date": self.first,
            "last_date": self.last,
            "rows_written": {name: self.written[name] for name in names if name in self.written},
        }
        if step.name == WHOLE:
            row |= {
                "options": self.options,
                "rows_written": self.written,
                "versions": versions(),
                "bronze_versions": self.bronze_versions,
                "own_versions": self.own_versions,
            }
        return row

    def _written(self) -> dict[str, int]:
        """Rows by table, of the commits that carry this run's id."""
        with ThreadPoolExecutor(4) as pool:
            counts = zip(table_names(), pool.map(self._rows_of, table_names()), strict=True)
            return {table: rows for table, rows in counts if rows is not None}

    def _rows_of(self, table: str) -> int | None:
        if not self.lake.has(table):
            return None
        history = DeltaTable.forPath(self.lake.spark, self.lake.path(table)).history(_COMMITS)
        own = history.where(F.col("userMetadata") == self.run_id).select("operationMetrics")
        commits = [row.operationMetrics or {} for row in own.collect()]
        return sum(map(_rows_written, commits)) if commits else None


def _rows_written(metrics: dict[str, str]) -> int:
    names = _OF_MERGE if _OF_MERGE[0] in metrics else _OF_WRITE
    return sum(int(metrics.get(name, 0)) for name in names)


def summary(run: Run) -> str:
    """What the run brought, for somebody with ten seconds."""
    latency = run.lake.read("rebalance_latency")
    if run.first and run.last:
        latency = latency.where(F.col("event_date").between(run.first, run.last))
    groups = latency.groupBy("group_id").agg(
        F.count(F.when(F.col("outcome") == "stable", 1)).alias("rebalances"),
        F.count(F.when(F.col("outcome").isin("superseded", "failed"), 1)).alias("wasted"),
        F.sum("total_ms").alias("total_ms"),
        F.max("total_ms").alias("longest_ms"),
    )
    rows = groups.orderBy(F.desc("rebalances"), "group_id").collect()
    lines = [_about_input(run), _about_groups(rows)]
    if rows:
        most = ", ".join(f"{printable(row.group_id)} {row.rebalances}" for row in rows[:3])
        lines.append(f"most: {most}")
    return "\n".join([*lines, f"run {run.run_id}, see table runs"])


def _about_input(run: Run) -> str:
    dates = f", {run.first} to {run.last}" if run.first and run.last else ""
    records, lines, lost = (
        run.written.get(name, 0) for name in ("offsets_records", "broker_log_events", "quarantine")
    )
    new = f"{records:,} records and {lines:,} log lines new, {lost:,} unreadable ones in quarantine"
    return f"{printable(run.lake.cluster_id)}{dates}: {new}"


def _about_groups(rows: list[Any]) -> str:
    rebalances, wasted = (sum(row[name] for row in rows) for name in ("rebalances", "wasted"))
    unstable_s = sum(row.total_ms or 0 for row in rows) / 1000
    longest = max(rows, key=lambda row: row.longest_ms or 0, default=None)
    told = f"{len(rows):,} groups, {rebalances:,} rebalances, and {wasted:,} that led nowhere"
    if longest is None or not longest.longest_ms:
        return told
    by = f"longest {longest.longest_ms / 1000:.1f} s ({printable(longest.group_id)})"
    return f"{told}; {unstable_s:,.1f} s not stable, {by}"


def versions() -> dict[str, str]:
    return {
        "regroup": __version__,
        "spark": version("pyspark"),
        "delta": version("delta-spark"),
        "python": platform.python_version(),
    }
