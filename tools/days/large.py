"""A large lake worked out night after night, as if its dates came in one by one, and in one run:
is every table the same?

    python -m tools.days.large LAKE [--cluster-id ID] [--conf FILE]

What ``tools.days`` asks of small days, for days of a size at which runs go another way
(``jobs.span.MANY``).  LAKE has a few dates in bronze, as `regroup simulate --lake` and bench/scale
leave it, and is worked out in one run.  Once all nights are over, the first one is run again.
Exit 1 if a row differs.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
from collections import Counter
from datetime import date

import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

from jobs.check import broken_laws
from jobs.config import CONF, load_config
from jobs.news import BRONZE
from jobs.nightly import Request, nightly
from jobs.pipeline import Progress
from jobs.span import MANY, SILVER
from jobs.sql import query
from schemas import table_names, table_partitioning
from tools.days.__main__ import compared


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


def work_out(lake: str, cluster_id: str, conf: str, day: date | None = None) -> float:
    began = time.monotonic()
    night = None if day is None else str(day)
    request = Request(lake, cluster_id, date=night, anew=day is None)
    nightly(request, load_config(conf), Progress(io.StringIO()))
    return time.monotonic() - began


def fewest_signs(lake: str) -> int:
    """On a date, of those that a run counts to know whether they are many."""
    dates = " UNION ALL ".join(f"SELECT event_date FROM {table}" for table in SILVER)
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
    parser.add_argument("--cluster-id", default="bench")
    parser.add_argument("--conf", default=str(CONF / "large.toml"))
    options = parser.parse_args()
    given = options.cluster_id, options.conf
    with tempfile.TemporaryDirectory() as nights:
        days = dates_of(options.lake)
        land_lists(options.lake, nights)
        for day in days:
            land(options.lake, nights, day)
            print(f"{day}: {work_out(nights, *given, day):.0f} s", flush=True)
        print(f"{days[0]} again: {work_out(nights, *given, days[0]):.0f} s", flush=True)
        print(f"everything in one run: {work_out(options.lake, *given):.0f} s", flush=True)
        if (signs := fewest_signs(options.lake)) <= MANY:
            sys.exit(f"{signs} signs on a date are not many: give a lake with more than {MANY}")
        differing = compared(rows_of(options.lake), {"nights": rows_of(nights)})
        # Bronze that no ingest made lacks the lists, here as there.
        known = broken_laws(options.lake)[1]
        differing += [str(law) for law in broken_laws(nights)[1] if law not in known]
    for line in differing:
        print(line)
    print("DIFFERENT" if differing else "the same")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
