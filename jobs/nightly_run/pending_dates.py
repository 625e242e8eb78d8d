"""Which dates the bronze tables have news of that the other tables do not know yet: what was
committed since the runs that worked these out, by partition, as Delta's own log has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Row
from pyspark.sql import functions as F

from jobs import __version__
from jobs.lake.dated_scope import TIMELESS
from jobs.lake.tables import Lake
from jobs.nightly_run.coverage import BRONZE, WorkedOut, still_new

# What only older runs worked out is worked out again.
_RUNS = 1000


@dataclass(frozen=True)
class Pending:
    """``dates``: those with news; None stands for all there are.

    ``versions``: of the bronze tables, as they are now.  ``known``: those up to which good runs
    had worked everything out; -1 where none had.  ``recompute_all``: whether everything is to be worked out,
    news or not.
    """

    dates: frozenset[date] | None
    versions: dict[str, int]
    known: dict[str, int]
    recompute_all: bool = False

    def after(self, first: date | None, last: date | None) -> dict[str, int]:
        """Up to which versions everything is worked out, once the dates asked for are."""
        if first is None or last is None:
            return self.versions
        covered = self.dates is not None and all(first <= day <= last for day in self.dates)
        return self.versions if covered else self.known


def pending(lake: Lake) -> Pending:
    versions = {name: _version(lake, name) for name in BRONZE if lake.has(name)}
    runs = _good_runs(lake)
    worked_out = {name: list(_of_table(runs, name)) for name in versions}
    known = {
        name: max((run.all_dates for run in runs), default=-1) for name, runs in worked_out.items()
    }
    dates = set()
    try:
        for name, now in versions.items():
            dates |= still_new(_commits(lake, name, known[name], now), worked_out[name])
    except AnalysisException:  # the log no longer reaches back so far
        return Pending(None, versions, known, recompute_all=not runs)
    all_or_some = None if TIMELESS in dates else frozenset(dates)
    return Pending(all_or_some, versions, known, recompute_all=not runs)


def _good_runs(lake: Lake) -> list[Row]:
    """Newest first, up to one of another version, which may have worked things out otherwise."""
    done = lake.read("runs").where("bronze_versions IS NOT NULL AND outcome = 'done'")
    rows = done.orderBy(F.desc("started_at")).select(
        "first_date", "last_date", "bronze_versions", "own_versions", "versions"
    )
    runs = []
    for row in rows.take(_RUNS):
        if row.versions.get("regroup") != __version__:
            break
        runs.append(row)
    return runs


def _of_table(runs: list[Row], table: str) -> Iterator[WorkedOut]:
    for run in runs:
        everything = run.bronze_versions.get(table, -1)
        own = (run.own_versions or {}).get(table, everything)
        yield WorkedOut(run.first_date, run.last_date, everything, own)


def _version(lake: Lake, table: str) -> int:
    newest = DeltaTable.forPath(lake.spark, lake.path(table)).history(1)
    return int(newest.select("version").first().version)  # type: ignore[union-attr]


def _commits(lake: Lake, table: str, known: int, now: int) -> list[tuple[int, date]]:
    """Those after version ``known`` that added anything to a date of this cluster."""
    commits = [
        f"{lake.path(table)}/_delta_log/{version:020}.json" for version in range(known + 1, now + 1)
    ]
    if not commits:
        return []
    # Files that went, and nothing in their place, are of dates that nobody keeps any more.
    added = "add STRUCT<dataChange: BOOLEAN, partitionValues: MAP<STRING, STRING>>"
    values = F.col("add.partitionValues")
    found = (
        lake.spark.read.schema(added)
        .json(commits)
        .where(F.col("add.dataChange") & (values["cluster_id"] == lake.cluster_id))
        .select(
            F.substring_index("_metadata.file_name", ".", 1).cast("long").alias("version"),
            F.to_date(values["event_date"]).alias("day"),
        )
        .distinct()
    )
    return [(row.version, row.day) for row in found.collect()]
