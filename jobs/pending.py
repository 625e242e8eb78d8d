"""Which dates the bronze tables have news of that the other tables do not know yet.

Every run that went well notes, in `runs`, the versions of the bronze tables it began to work from.
What was committed to these since then is pending: found in Delta's own log, by partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from jobs import __version__
from jobs.span import TIMELESS
from jobs.tables import Lake

BRONZE = ("offsets_records", "broker_log_events")


@dataclass(frozen=True)
class Pending:
    """``dates``: those with news; None stands for all there are.

    ``versions``: of the bronze tables, as they are now.  ``known``: as the last good run had them;
    -1 where nobody knows any.  ``anew``: whether everything is to be worked out, news or not.
    """

    dates: frozenset[date] | None
    versions: dict[str, int]
    known: dict[str, int]
    anew: bool = False

    def after(self, first: date | None, last: date | None) -> dict[str, int]:
        """Up to which versions everything is worked out, once the dates asked for are."""
        if first is None or last is None:
            return self.versions
        covered = self.dates is not None and all(first <= day <= last for day in self.dates)
        return self.versions if covered else self.known


def pending(lake: Lake) -> Pending:
    versions = {name: _version(lake, name) for name in BRONZE if lake.has(name)}
    last = _known(lake)
    known = {name: (last or {}).get(name, -1) for name in versions}
    anew = last is None
    try:
        dates = frozenset[date]().union(
            *(_changed(lake, name, known[name], now) for name, now in versions.items())
        )
    except AnalysisException:  # the log no longer reaches back so far
        return Pending(None, versions, known, anew)
    return Pending(None if TIMELESS in dates else dates, versions, known, anew)


def _known(lake: Lake) -> dict[str, int] | None:
    """Of the last good run, if it was one of this version: another may work things out anew."""
    done = lake.read("runs").where("bronze_versions IS NOT NULL AND outcome = 'done'")
    last = done.orderBy(F.col("started_at").desc()).select("bronze_versions", "versions").first()
    if last is None or last.versions.get("regroup") != __version__:
        return None
    return dict(last.bronze_versions)


def _version(lake: Lake, table: str) -> int:
    newest = DeltaTable.forPath(lake.spark, lake.path(table)).history(1)
    return int(newest.select("version").first().version)  # type: ignore[union-attr]


def _changed(lake: Lake, table: str, known: int, now: int) -> frozenset[date]:
    """Dates of this cluster to which commits after version ``known`` added anything."""
    commits = [
        f"{lake.path(table)}/_delta_log/{version:020}.json" for version in range(known + 1, now + 1)
    ]
    if not commits:
        return frozenset()
    # Files that went, and nothing in their place, are of dates that nobody keeps any more.
    added = "add STRUCT<dataChange: BOOLEAN, partitionValues: MAP<STRING, STRING>>"
    values = F.col("add.partitionValues")
    found = (
        lake.spark.read.schema(added)
        .json(commits)
        .where(F.col("add.dataChange") & (values["cluster_id"] == lake.cluster_id))
        .select(F.to_date(values["event_date"]).alias("day"))
        .distinct()
    )
    return frozenset(row.day for row in found.collect())
