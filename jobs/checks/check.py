"""Whether a lake keeps its laws: nothing lost, nothing twice, everything in order."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from jobs.checks.laws import LAWS
from jobs.checks.redecode import DECODED, decoded_otherwise
from jobs.lake.integrity import damages, tables_there
from jobs.lake.sql import open_lake, query
from jobs.nightly_run.coverage import BRONZE, WorkedOut, still_new
from jobs.nightly_run.pipeline import JOBS
from jobs.sources.files import list_files, open_file

COLUMNS = ["law", "cluster_id", "where", "expected", "found"]

WHOLE = "every table is as it was written"
SAYS = "what a record says stands in its table"
COMPLETE = "a run writes every table"
LANDS_IN = {
    "segments": "offsets_records",
    "dump": "offsets_records",
    "kafka": "offsets_records",
    "broker_log": "broker_log_events",
    "trace": "trace_events",
}
DERIVED = sorted({*JOBS, "assignor_quality", "seen_partitions"} - {"assign_partitions"})


def broken_laws(root: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """One row for each place where a law is broken.  Laws on tables that are not there, or not to
    be read, are left out: that these are not is said by itself."""
    there = tables_there(root)
    rows: list[tuple[Any, ...]] = []
    if not there:
        query(root, "SELECT 1 FROM ingested_files")  # says what is missing
    whole = set()
    for table in there:
        damaged = [(WHOLE, None, *damage) for damage in damages(root, table)]
        rows += damaged
        if not damaged:
            whole.add(table)
    rows += [(COMPLETE, None, table, "a table", "none") for table in _missing(root, there, whole)]
    lake = open_lake(root, " ".join(sorted(whole)))
    lake.execute("CREATE TABLE pending (cluster_id VARCHAR, event_date DATE)")
    if news := pending_dates(root, lake) if whole.issuperset(["runs", *BRONZE]) else []:
        lake.executemany("INSERT INTO pending VALUES (?, ?)", news)
    for law in LAWS:
        if whole.issuperset(law.tables):
            rows += [(law.name, *row) for row in lake.execute(law.sql).fetchall()]
    for table in sorted(whole & DECODED) if "offsets_records" in whole else ():
        rows += [(SAYS, *row) for row in decoded_otherwise(root, table, lake)]
    return COLUMNS, rows


def pending_dates(root: str, lake: duckdb.DuckDBPyConnection) -> list[tuple[str, date]]:
    """(cluster, date) of what came into bronze since the run that worked out the other tables."""
    found: set[tuple[str, date]] = set()
    for table in BRONZE:
        commits = _commits(root, table)
        # What was there before the log begins is old: what a run found in it, that did no more.
        there = lake.execute(f"SELECT DISTINCT cluster_id, event_date FROM {table}").fetchall()
        for cluster_id, day in there:
            commits.setdefault(cluster_id, set()).add((0, day))
        runs = _good_runs(lake, table)
        for cluster_id, its in commits.items():
            new = still_new(its, runs.get(cluster_id, []))
            found |= {(cluster_id, day) for day in new}
    return sorted(found)


def _good_runs(lake: duckdb.DuckDBPyConnection, table: str) -> dict[str, list[WorkedOut]]:
    rows = lake.execute(f"""
        SELECT cluster_id, first_date, last_date, COALESCE(bronze_versions['{table}'], -1) AS known,
            COALESCE(own_versions['{table}'], known)
        FROM runs WHERE bronze_versions IS NOT NULL AND outcome = 'done'""").fetchall()
    runs: dict[str, list[WorkedOut]] = {}
    for cluster_id, *known in rows:
        runs.setdefault(cluster_id, []).append(WorkedOut(*known))
    return runs


def _commits(root: str, table: str) -> dict[str, set[tuple[int, date]]]:
    """(version, date) of each file that the Delta log still says was added, by cluster."""
    log = f"{root.rstrip('/')}/{table}/_delta_log"
    added: dict[str, set[tuple[int, date]]] = {}
    is_local = "://" not in root
    files = (
        Path(log).glob("*.json")
        if is_local
        else list_files(f"{log}/*.json", "--lake", name_like="*")
    )
    for file in map(str, files):
        with open_file(file) as stream:
            actions = [json.loads(line).get("add") for line in stream]
        version = int(Path(file).stem)
        values = [a["partitionValues"] for a in actions if a and a["dataChange"]]
        for its in values:
            day = date.fromisoformat(its["event_date"])
            added.setdefault(its["cluster_id"], set()).add((version, day))
    return added


def _missing(root: str, there: list[str], whole: set[str]) -> list[str]:
    """Tables that a run would have written: bronze by what was read, the others all or none."""
    wanted = {"ingested_files"}
    if set(there) & set(DERIVED):
        wanted |= set(DERIVED)
    if "ingested_files" in whole:
        counted = query(root, "SELECT DISTINCT source, quarantined > 0 FROM ingested_files")[1]
        wanted |= {LANDS_IN[source] for source, _ in counted}
        wanted |= {"quarantine" for _, has_some in counted if has_some}
    return sorted(wanted - set(there))
