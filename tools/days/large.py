"""A large lake worked out night after night, as if its dates came in one by one, and in one run:
is every table the same?

    python -m tools.days.large LAKE --cluster-id ID [--conf FILE]

What ``tools.days`` asks of small days, for days of a size at which runs go another way
(``jobs.lake.dated_scope.MANY_ROWS``).  LAKE has a few dates in bronze, as `regroup simulate --lake` leaves
them, and is worked out in one run.  Once all nights are over, the first one is run again.  Exit 1
if a row differs, or if a law is broken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from datetime import date

import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

from jobs.checks.check import broken_laws
from jobs.command_line.config import load_config
from jobs.command_line.packaged_files import CONF
from jobs.lake.dated_scope import EVENT_TABLES, MANY_ROWS
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from jobs.nightly_run.coverage import BRONZE
from schemas import table_names, table_partitioning
from tools.days.comparison import compared, end, worked_out


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
    """What ingest wrote beside bronze: which files came, and what of them could not be read."""
    for table in ("ingested_files", "quarantine"):
        if DeltaTable.is_deltatable(f"{source}/{table}"):
            shutil.copytree(f"{source}/{table}", f"{lake}/{table}")


def land(source: str, lake: str, day: date) -> None:
    """What the source's bronze has of the date."""
    for table in bronze_of(source):
        rows = DeltaTable(f"{source}/{table}").to_pyarrow_dataset()
        of_day = rows.scanner(filter=pc.field("event_date") == day).to_reader()
        write_deltalake(
            f"{lake}/{table}", of_day, mode="append", partition_by=table_partitioning(table)
        )


def fewest_events(lake: str) -> int:
    """On a date, of those that a run counts to know whether they are many."""
    dates = " UNION ALL ".join(f"SELECT event_date FROM {table}" for table in EVENT_TABLES)
    return min(query(lake, f"SELECT count(*) FROM ({dates}) GROUP BY event_date")[1])[0]


def rows_of(lake: str) -> dict[str, Counter[int]]:
    """Of every table but `runs` the rows' hashes: a row can be found by ``hash(t) = ...``."""
    return {
        table: Counter(row[0] for row in query(lake, f"SELECT hash(t) FROM {table} t")[1])
        for table in table_names()
        if table != "runs" and DeltaTable.is_deltatable(f"{lake}/{table}")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lake", help="its tables but bronze are written anew")
    parser.add_argument("--cluster-id", required=True)
    parser.add_argument("--conf", default=str(CONF / "large.toml"))
    options = parser.parse_args()
    whole, cluster_id, config = options.lake, options.cluster_id, load_config(options.conf)
    once_s = worked_out(NightlyOptions(whole, cluster_id, recompute_all=True), config)
    print(f"everything in one run: {once_s:.0f} s", flush=True)
    if (events := fewest_events(whole)) <= MANY_ROWS:
        sys.exit(f"{events} events on a date are not many: give a lake with more than {MANY_ROWS}")
    with tempfile.TemporaryDirectory() as nights:
        land_lists(whole, nights)
        days = dates_of(whole)
        for day in days:
            land(whole, nights, day)
            night_s = worked_out(NightlyOptions(nights, cluster_id, date=str(day)), config)
            print(f"{day}: {night_s:.0f} s", flush=True)
        again_s = worked_out(NightlyOptions(nights, cluster_id, date=str(days[0])), config)
        print(f"{days[0]} again: {again_s:.0f} s", flush=True)
        differing = compared(rows_of(whole), {"nights": rows_of(nights)})
        differing += [str(law) for lake in (whole, nights) for law in broken_laws(lake)[1]]
    end(differing)


if __name__ == "__main__":
    main()
