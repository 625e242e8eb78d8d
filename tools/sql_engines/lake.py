"""A copy of the lake of `make demo` with clients' events, and the other tables, empty."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.lake.sql import existing_tables
from jobs.lake.tables import schema_of
from schemas import table_names, table_partitioning

ROOT = Path(__file__).parents[2]
REGROUP = Path(sys.executable).with_name("regroup")
DEMO = ROOT / ".demo" / "lake"
CLIENT_LOGS = ROOT / "tests" / "data" / "client_logs" / "reports-*.log.gz"


def lake_with_every_table(lake: Path) -> None:
    if not DEMO.is_dir():
        _regroup("demo", "--lake", DEMO)
    shutil.copytree(DEMO, lake)
    logs = ["--client-log", CLIENT_LOGS, "--cluster-id", "kafka-4.1"]
    _regroup("nightly", "--lake", lake, *logs, "--engine", "embedded")
    for table in sorted(set(table_names()) - set(existing_tables(str(lake)))):
        schema = to_arrow_schema(schema_of(table), timezone="UTC")
        nothing = pa.Table.from_pylist([], schema)
        write_deltalake(str(lake / table), nothing, partition_by=table_partitioning(table))


def _regroup(*arguments: object) -> None:
    command = [str(REGROUP), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}")
