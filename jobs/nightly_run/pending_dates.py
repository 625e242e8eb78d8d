"""Finds the dates that a run must compute: dates whose bronze rows were added since earlier runs.

reads   runs, and the Delta logs of the bronze tables
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from pyspark.sql import Row
from pyspark.sql import functions as F

from jobs import __version__
from jobs.lake.coverage import BRONZE, REPAIR, Coverage, uncovered_dates
from jobs.lake.dated_scope import TIMELESS
from jobs.lake.tables import Lake

# Number of newest runs that are read.  Dates that only older runs cover are computed again.
_RUNS = 1000


@dataclass(frozen=True)
class PendingDates:
    """``dates`` are the dates with rows that no run has processed; None: all.

    ``versions`` are the bronze tables' current versions.  ``covered`` has the versions that
    successful runs cover for all dates; -1: none.  ``recompute_all`` means that no run of this
    version has succeeded, so every date is computed, with or without new input.
    """

    dates: frozenset[date] | None
    versions: dict[str, int]
    covered: dict[str, int]
    recompute_all: bool = False

    def covered_after(self, first: date | None, last: date | None) -> dict[str, int]:
        """The versions that are covered for all dates once a run for these dates succeeds."""
        if first is None or last is None:
            return self.versions
        is_complete = self.dates is not None and all(first <= day <= last for day in self.dates)
        return self.versions if is_complete else self.covered


def pending(lake: Lake) -> PendingDates:
    versions = {name: lake.version(name) for name in BRONZE if lake.has(name)}
    runs = _successful_runs(lake)
    coverages = {name: list(_coverages(runs, name)) for name in versions}
    covered = {
        name: max((run.all_version for run in of_table), default=-1)
        for name, of_table in coverages.items()
    }
    dates: set[date] = set()
    for name, now in versions.items():
        commits = lake.commits(name, after=covered[name], up_to=now)
        if commits is None:
            return PendingDates(None, versions, covered, recompute_all=not runs)
        dates |= uncovered_dates(commits, coverages[name])
    affected = None if TIMELESS in dates else frozenset(dates)
    return PendingDates(affected, versions, covered, recompute_all=not runs)


def _successful_runs(lake: Lake) -> list[Row]:
    """The newest successful runs, newest first, back to a run of another version, which is left
    out, because another version may compute other rows, or to a repair of computed tables."""
    done = lake.read("runs").where("bronze_versions IS NOT NULL AND outcome = 'done'")
    rows = done.orderBy(F.desc("from_time")).select(
        "step", "first_date", "last_date", "bronze_versions", "own_versions", "versions"
    )
    runs = []
    for row in rows.take(_RUNS):
        if row.step == REPAIR or row.versions.get("regroup") != __version__:
            break
        runs.append(row)
    return runs


def _coverages(runs: list[Row], table: str) -> Iterator[Coverage]:
    for run in runs:
        all_version = run.bronze_versions.get(table, -1)
        own_version = (run.own_versions or {}).get(table, all_version)
        yield Coverage(run.first_date, run.last_date, all_version, own_version)
