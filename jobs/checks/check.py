"""Finds violations of a lake's invariants, such as lost, duplicate or unordered rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import date
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from jobs.checks.laws import LAWS, Law
from jobs.checks.redecode import DECODED, differing_rows
from jobs.console.errors import UsageError
from jobs.console.printing import printable
from jobs.lake import client_rows
from jobs.lake.commit_log import CommitLog, FileLogFolder
from jobs.lake.coverage import BRONZE, Coverage, uncovered_dates
from jobs.lake.files import list_files, open_file
from jobs.lake.integrity import damages, tables_on_disk
from jobs.lake.missing_groups import by_reason, missing_groups, sentence
from jobs.lake.sql import open_lake, query
from jobs.nightly_run.pipeline import JOBS
from jobs.nightly_run.runs import WHOLE_RUN

COLUMNS = ["law", "cluster_id", "where", "expected", "found"]

INTACT = "every table is intact"
UNALTERED = "a table has exactly the rows that the last run wrote"
DECODED_LAW = "every row equals its decoded record"
COMPLETE = "a run writes to every table"
TABLE_OF_SOURCE = {
    "segments": "offsets_records",
    "dump": "offsets_records",
    "kafka": "offsets_records",
    "broker_log": "broker_log_events",
    "client_log": "client_events",
    "trace": "trace_events",
    "end_offsets": "end_offsets",
}
# `regroup snapshot` writes these tables outside of runs.
OF_SNAPSHOTS = {"group_snapshots", "end_offsets", "configurations"}
# jobs that do not write a table of their own name
WRITE_OTHERS = {"assign_partitions", "client_evidence"}
DERIVED = sorted({*JOBS, "assignor_quality", "assignor_reruns", "seen_partitions"} - WRITE_OTHERS)


def broken_laws(root: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """COLUMNS, and one row per violation.

    Laws over missing or damaged tables are not checked; these tables are violations themselves.
    """
    tables = tables_on_disk(root)
    rows: list[tuple[Any, ...]] = []
    if not tables:
        # This raises UsageError if no such table exists.
        query(root, "SELECT 1 FROM ingested_files")
    intact = set()
    for table in tables:
        damaged = [(INTACT, None, *damage) for damage in damages(root, table)]
        rows += damaged
        if not damaged:
            intact.add(table)
    missing = _missing_tables(root, tables, intact)
    rows += [(COMPLETE, None, table, "a table", "none") for table in missing]
    lake = open_lake(root, " ".join(sorted(intact)))
    lake.execute("CREATE TABLE pending (cluster_id VARCHAR, event_date DATE)")
    if dates := pending_dates(root, lake, intact) if "runs" in intact else []:
        lake.executemany("INSERT INTO pending VALUES (?, ?)", dates)
    if "runs" in intact:
        rows += [(UNALTERED, *row) for row in _altered_tables(root, lake, intact)]
    _create_broker_views(lake, intact)
    for law in LAWS:
        if intact.issuperset(law.tables):
            rows += [(law.name, *row) for row in _violations(lake, law)]
    for table in sorted(intact & DECODED) if "offsets_records" in intact else ():
        rows += [(DECODED_LAW, *row) for row in differing_rows(root, table, lake)]
    return COLUMNS, rows


def _violations(lake: duckdb.DuckDBPyConnection, law: Law) -> list[tuple[Any, ...]]:
    lake.execute(f"SET search_path = '{'brokers,main' if law.of_brokers else 'main'}'")
    rows = lake.execute(law.sql).fetchall()
    lake.execute("SET search_path = 'main'")
    return rows


def _create_broker_views(lake: duckdb.DuckDBPyConnection, tables: set[str]) -> None:
    """Create in the schema ``brokers`` the tables without rows that only clients' logs show."""
    lake.execute("CREATE SCHEMA brokers")
    for table in sorted(tables.intersection(client_rows.TABLES)):
        rows = f"SELECT * FROM main.{table} WHERE {client_rows.OF_BROKERS}"
        lake.execute(f"CREATE VIEW brokers.{table} AS {rows}")


def kept_laws(root: str) -> str:
    """A sentence for a lake without violations."""
    tables = len(tables_on_disk(root))
    return f"{root}: no violation; conservation, keys and order hold in all {tables} tables"


def notes(root: str) -> list[str]:
    """Sentences that name the groups without generations, which violate no invariant.

    There are no sentences if a table is damaged, which violates an invariant.
    """
    if OF_SNAPSHOTS.issuperset(tables_on_disk(root)):
        return []
    try:
        missing = missing_groups(root)
    except UsageError:
        return []
    return [
        f"{printable(cluster_id)}: {printable(sentence(group_ids, reason))}"
        for cluster_id, reason, group_ids in by_reason(missing)
    ]


def pending_dates(
    root: str, lake: duckdb.DuckDBPyConnection, tables: Collection[str] = BRONZE
) -> list[tuple[str, date]]:
    """(cluster, date) with bronze rows of these tables that no successful run has processed."""
    pending: set[tuple[str, date]] = set()
    for table in (name for name in BRONZE if name in tables):
        commits = _commits(root, table)
        # Dates whose commits are no longer in the log count as version 0, the oldest version.
        stored = lake.execute(f"SELECT DISTINCT cluster_id, event_date FROM {table}").fetchall()
        for cluster_id, day in stored:
            commits.setdefault(cluster_id, set()).add((0, day))
        runs = _coverages(lake, table)
        for cluster_id, of_cluster in commits.items():
            dates = uncovered_dates(of_cluster, runs.get(cluster_id, []))
            pending |= {(cluster_id, day) for day in dates}
    return sorted(pending)


def _altered_tables(
    root: str, lake: duckdb.DuckDBPyConnection, intact: set[str]
) -> Iterator[tuple[Any, ...]]:
    """Tables whose log lacks the commit of the last run that wrote them, or has this commit with
    other rows, because the table was replaced outside of a run.
    """
    last = lake.execute(f"""
        SELECT cluster_id, wrote.key, ARG_MAX(run_id, from_time), ARG_MAX(wrote.value, from_time)
        FROM (SELECT *, UNNEST(MAP_ENTRIES(rows_written)) AS wrote FROM runs
              WHERE step = '{WHOLE_RUN}')
        GROUP BY ALL ORDER BY ALL""").fetchall()
    folder = root.rstrip("/") if "://" in root else str(Path(root).absolute())
    for table, rows in groupby(sorted(last, key=itemgetter(1)), key=itemgetter(1)):
        log = CommitLog(FileLogFolder(f"{folder}/{table}/_delta_log"))
        stored = log.rows_by_label() if table in intact else None
        if stored is None:
            continue
        for cluster_id, _, run_id, written in rows:
            if stored.get(run_id) != written:
                actual = f"{stored[run_id]} rows" if run_id in stored else "no such commit"
                yield cluster_id, table, f"{written} rows in the commits of run {run_id}", actual


def _coverages(lake: duckdb.DuckDBPyConnection, table: str) -> dict[str, list[Coverage]]:
    rows = lake.execute(f"""
        SELECT cluster_id, first_date, last_date,
            COALESCE(bronze_versions['{table}'], -1) AS all_version,
            COALESCE(own_versions['{table}'], all_version)
        FROM runs WHERE bronze_versions IS NOT NULL AND outcome = 'done'""").fetchall()
    runs: dict[str, list[Coverage]] = {}
    for cluster_id, *coverage in rows:
        runs.setdefault(cluster_id, []).append(Coverage(*coverage))
    return runs


def _commits(root: str, table: str) -> dict[str, set[tuple[int, date]]]:
    """(version, date) of each file that a commit in the Delta log added, by cluster."""
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
            actions = [json.loads(line).get("add") for line in stream.read().splitlines()]
        version = int(Path(file).stem)
        values = [a["partitionValues"] for a in actions if a and a["dataChange"]]
        for partition in values:
            day = date.fromisoformat(partition["event_date"])
            added.setdefault(partition["cluster_id"], set()).add((version, day))
    return added


def _missing_tables(root: str, existing: list[str], intact: set[str]) -> list[str]:
    """Missing tables that a run would have written: bronze tables by the sources that it read, and
    either all other tables or none.
    """
    if OF_SNAPSHOTS.issuperset(existing):
        return []
    expected = {"ingested_files"}
    if set(existing) & set(DERIVED):
        expected |= set(DERIVED)
    if "ingested_files" in intact:
        counted = query(root, "SELECT DISTINCT source, quarantined > 0 FROM ingested_files")[1]
        expected |= {TABLE_OF_SOURCE[source] for source, _ in counted}
        expected |= {"quarantine" for _, has_quarantined in counted if has_quarantined}
    return sorted(expected - set(existing))
