"""The lake: whether it may be written, how much room there is, how its last run ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.console.errors import UsageError
from jobs.doctor.finding import Finding, failure, ok, warning
from jobs.doctor.machine import GIB, room
from jobs.lake.integrity import tables_there
from jobs.lake.sql import query

LEAST_FREE = GIB // 2
LITTLE_FREE = 5 * GIB
LAST_RUN = """
    SELECT cluster_id, MAX_BY(outcome, started_at), MAX_BY(error, started_at), MAX(started_at)
    FROM runs WHERE step = 'nightly' GROUP BY cluster_id ORDER BY cluster_id"""


def examine(lake: str) -> Iterator[Finding]:
    if "://" in lake:
        yield warning(
            "lake",
            f"{lake} is a store, and whether it may be written is not tried here",
            "give Spark its credentials (spark.hadoop.* under [spark]); the first run tells",
        )
    else:
        yield _folder(lake)
    if "://" in lake or Path(lake).is_dir():
        yield from _content(lake)


def _folder(lake: str) -> Finding:
    path = Path(lake)
    if path.exists() and not path.is_dir():
        return failure("lake", f"{lake} is a file", "give a folder: --lake DIR")
    there = next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
    try:
        free = room(str(there))
    except OSError as error:
        remedy = "see that this user may write there, or give another --lake"
        return failure("lake", f"{there} cannot be written: {error.strerror}", remedy)
    found = f"{lake} can be written, {free / GIB:.1f} GiB free"
    if not path.is_dir():
        found = f"{lake} is not there yet; the first run makes it, {free / GIB:.1f} GiB free"
    if free < LEAST_FREE:
        return failure("lake", found, "make room: a run needs some for new files beside the old")
    if free < LITTLE_FREE:
        return warning("lake", found, "make room, or let old dates go: `regroup maintain`")
    return ok("lake", found)


def _content(lake: str) -> Iterator[Finding]:
    tables = tables_there(lake)
    if "runs" not in tables:
        yield ok("tables", f"{len(tables)} tables, no run noted")
        return
    try:
        _, rows = query(lake, LAST_RUN)
    except UsageError as wrong:
        yield failure("tables", str(wrong), f"see what is broken: `regroup check --lake {lake}`")
        return
    for cluster, outcome, error, began in rows:
        found = f"{len(tables)} tables; last run of {cluster} began {began:%Y-%m-%d %H:%M} UTC"
        if outcome == "done":
            yield ok("tables", f"{found}: done")
        else:
            yield warning("tables", f"{found}: {outcome}: {error}", "start the same run again")
