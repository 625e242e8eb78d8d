"""Computes a large lake date by date and in one run, and compares all tables.

    python -m tools.days.large LAKE --cluster-id ID [--conf FILE]

The check of ``tools.days`` for dates with more than ``jobs.lake.dated_scope.MANY_ROWS`` rows, for
which a run has another plan.  LAKE has some dates in bronze, as written by `regroup simulate
--lake`, and is computed in one run.  After all dates, the first one is run again.  Exit 1 if a row
differs or a law is violated.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from datetime import date
from typing import Annotated

import pyarrow.compute as pc
import typer
from deltalake import DeltaTable, write_deltalake

from jobs.checks.check import broken_laws
from jobs.configuration.config import load_config
from jobs.configuration.packaged_files import CONF
from jobs.lake.coverage import BRONZE
from jobs.lake.dated_scope import EVENT_TABLES, MANY_ROWS
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from schemas import table_names, table_partitioning
from tools.days.comparison import compared, end, run_seconds


def bronze_of(lake: str) -> list[str]:
    return [table for table in BRONZE if DeltaTable.is_deltatable(f"{lake}/{table}")]


def dates_of(lake: str) -> list[date]:
    partitions = [
        partition
        for table in bronze_of(lake)
        for partition in DeltaTable(f"{lake}/{table}").partitions()
    ]
    return sorted({date.fromisoformat(partition["event_date"]) for partition in partitions})


def land_lists(source: str, lake: str) -> None:
    """Copy the other tables of ingest: files and quarantine."""
    for table in ("ingested_files", "quarantine"):
        if DeltaTable.is_deltatable(f"{source}/{table}"):
            shutil.copytree(f"{source}/{table}", f"{lake}/{table}")


def land(source: str, lake: str, day: date) -> None:
    """Append the source's bronze rows of this date."""
    for table in bronze_of(source):
        rows = DeltaTable(f"{source}/{table}").to_pyarrow_dataset()
        of_day = rows.scanner(filter=pc.field("event_date") == day).to_reader()
        write_deltalake(
            f"{lake}/{table}", of_day, mode="append", partition_by=table_partitioning(table)
        )


def fewest_events(lake: str) -> int:
    """The smallest number of rows per date that a run compares with MANY_ROWS."""
    dates = " UNION ALL ".join(f"SELECT event_date FROM {table}" for table in EVENT_TABLES)
    return min(query(lake, f"SELECT count(*) FROM ({dates}) GROUP BY event_date")[1])[0]


def rows_of(lake: str) -> dict[str, Counter[int]]:
    """Hashes of all rows of all tables but `runs`; ``hash(t) = ...`` selects such a row."""
    return {
        table: Counter(row[0] for row in query(lake, f"SELECT hash(t) FROM {table} t")[1])
        for table in table_names()
        if table != "runs" and DeltaTable.is_deltatable(f"{lake}/{table}")
    }


def main(
    lake: Annotated[
        str, typer.Argument(help="Lake of which all tables but bronze are recomputed.")
    ],
    cluster_id: Annotated[str, typer.Option()],
    conf: str = str(CONF / "large.toml"),
) -> None:
    config = load_config(conf)
    once_s = run_seconds(
        NightlyOptions(lake=lake, cluster_id=cluster_id, recompute_all=True), config
    )
    print(f"everything in one run: {once_s:.0f} s", flush=True)
    if (events := fewest_events(lake)) <= MANY_ROWS:
        sys.exit(f"a date has {events} events: use a lake with more than {MANY_ROWS} per date")
    with tempfile.TemporaryDirectory() as nights:
        land_lists(lake, nights)
        days = dates_of(lake)
        for day in days:
            land(lake, nights, day)
            night_s = run_seconds(
                NightlyOptions(lake=nights, cluster_id=cluster_id, date=str(day)), config
            )
            print(f"{day}: {night_s:.0f} s", flush=True)
        again_s = run_seconds(
            NightlyOptions(lake=nights, cluster_id=cluster_id, date=str(days[0])), config
        )
        print(f"{days[0]} again: {again_s:.0f} s", flush=True)
        differing = compared(rows_of(lake), {"nights": rows_of(nights)})
        differing += [str(law) for each in (lake, nights) for law in broken_laws(each)[1]]
    end(differing)


if __name__ == "__main__":
    typer.run(main)
