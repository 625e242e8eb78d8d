"""Check the lake: write permission, free space, how its last run ended, groups that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.console.errors import UsageError
from jobs.doctor.machine import GIB, free_bytes
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.lake.integrity import tables_on_disk
from jobs.lake.missing_groups import VIEW, by_reason, missing_groups, sentence
from jobs.lake.sql import query

FAILURE_BELOW = GIB // 2
WARNING_BELOW = 5 * GIB
LAST_RUN = """
    SELECT cluster_id, MAX_BY(outcome, from_time), MAX_BY(error, from_time), MAX(from_time)
    FROM runs WHERE step = 'nightly' GROUP BY cluster_id ORDER BY cluster_id"""


def check_lake(lake: str) -> Iterator[CheckResult]:
    """``lake`` is a folder, or the URI of an object store."""
    if "://" in lake:
        yield warning(
            "lake",
            f"{lake} is an object store; write permission is not checked",
            "set credentials: in the environment (AWS_ACCESS_KEY_ID, ...) for the embedded engine, "
            "spark.hadoop.* under [spark] for Spark",
        )
    else:
        yield _check_folder(lake)
    if "://" in lake or Path(lake).is_dir():
        yield from _check_last_runs(lake)
        yield from _check_groups(lake)


def _check_folder(lake: str) -> CheckResult:
    path = Path(lake)
    if path.exists() and not path.is_dir():
        return failure("lake", f"{lake} is a file", "give a folder: --lake DIR")
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
    try:
        free = free_bytes(str(existing))
    except OSError as error:
        remedy = "let this user write to the lake, or give another --lake"
        return failure("lake", f"{existing} cannot be written: {error.strerror}", remedy)
    text = f"{lake} can be written, {free / GIB:.1f} GiB free"
    if not path.is_dir():
        text = f"{lake} does not exist yet; the first run creates it, {free / GIB:.1f} GiB free"
    if free < FAILURE_BELOW:
        remedy = "free some space: a run writes new files before old ones are deleted"
        return failure("lake", text, remedy)
    if free < WARNING_BELOW:
        return warning("lake", text, "free some space, or delete old dates: `regroup maintain`")
    return ok("lake", text)


def _check_last_runs(lake: str) -> Iterator[CheckResult]:
    tables = tables_on_disk(lake)
    if "runs" not in tables:
        yield ok("tables", f"{len(tables)} tables, no run recorded")
        return
    try:
        _, rows = query(lake, LAST_RUN)
    except UsageError as error:
        yield failure("tables", str(error), f"list the damage: `regroup check --lake {lake}`")
        return
    for cluster, outcome, error_text, from_time in rows:
        text = f"{len(tables)} tables; last run of {cluster} began {from_time:%Y-%m-%d %H:%M} UTC"
        if outcome == "done":
            yield ok("tables", f"{text}: done")
        else:
            yield warning("tables", f"{text}: {outcome}: {error_text}", "start the same run again")


def _check_groups(lake: str) -> Iterator[CheckResult]:
    try:
        missing = missing_groups(lake)
    except UsageError:
        return  # The check of the last runs reports a damaged table.
    for cluster_id, reason, group_ids in by_reason(missing):
        remedy = f'see them: `regroup sql --lake {lake} "SELECT * FROM {VIEW}"`'
        yield warning("groups", f"{cluster_id}: {sentence(group_ids, reason)}", remedy)
