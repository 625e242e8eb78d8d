"""Spark and the embedded engine in turn on an S3 store on loopback give a local folder's tables.

    python -m tools.object_store_spark

Two runs of Spark at once, the embedded engine with more input, and Spark with another cluster write
one lake; then commands read it.  Afterwards two drivers append to one table without the lake's
lock, and the appends that are missing are counted.  Exit 1 if a table differs or a command fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tools.object_store import ROOT, object_store
from tools.object_store_runs import (
    COMMANDS,
    EMBEDDED,
    STORE,
    differences,
    run_commands,
    start,
    upload,
)
from tools.s3a import write_configuration

HADOOP_STORE = STORE.replace("s3:", "s3a:")
DRIVERS = 2
APPENDS = 150


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="regroup-store-") as folder:
        work = Path(folder)
        conf = write_configuration(work / "s3a.toml")
        spark = ("--engine", "spark", "--conf", str(conf))
        with object_store(work / "store") as environment:
            os.environ.update(environment)
            upload()
            failed = _in_turn(work, spark)
            commands = {**COMMANDS, "maintain": ([*spark], 0)}
            failed += run_commands(work, commands)
            failed = failed or differences(str(work / "lake"), f"{STORE}/lake", "")
            _without_lock(conf)
    print("DIFFERENT" if failed else "the same")
    return int(failed > 0)


def _in_turn(work: Path, spark: tuple[str, ...]) -> int:
    """Both engines on one lake, beside the embedded engine on a folder."""
    lake, hadoop_lake = f"{STORE}/lake", f"{HADOOP_STORE}/lake"
    records = ("--segments",)
    first = [
        start(hadoop_lake, "a", work / f"at-once-{n}.log", engine=spark, sources=records)
        for n in range(2)
    ]
    codes = [run.wait() for run in first]
    print(f"Spark twice at once, without the broker's log: exit {codes}", flush=True)
    for name, cluster, engine in (
        ("embedded engine, with the broker's log", "a", EMBEDDED),
        ("Spark, the same", "a", spark),
        ("Spark, another cluster", "b", spark),
        ("embedded engine, the same", "b", EMBEDDED),
    ):
        began = time.monotonic()
        code = start(lake, cluster, work / f"{name}.log", engine=engine).wait()
        print(f"{name}: exit {code}, {time.monotonic() - began:.0f} s", flush=True)
        codes.append(code)
    codes += [start(str(work / "lake"), cluster, work / "local.log").wait() for cluster in "ab"]
    if any(codes):
        print(*(log.read_text()[-2000:] for log in sorted(work.glob("*.log"))), sep="\n")
        return sum(map(bool, codes))
    return differences(str(work / "lake"), lake, "")


def _without_lock(conf: Path) -> None:
    """Print how many appends of two drivers at once are in the table."""
    table = f"{HADOOP_STORE}/appends"
    write_deltalake(table, pa.table({"id": pa.array([], pa.int64())}))
    command = [sys.executable, "-m", "tools.spark_appends", str(conf), table, str(APPENDS)]
    drivers = [
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(DRIVERS)
    ]
    for driver in drivers:
        assert driver.stdout is not None
        driver.stdout.readline()
    for driver in drivers:
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
    done = sum(int(driver.communicate()[0]) for driver in drivers)
    stored = DeltaTable(table).to_pyarrow_table().num_rows
    print(
        f"{DRIVERS} drivers without a lock: {done} appends were reported as done, {stored} are in"
        " the table"
    )


if __name__ == "__main__":
    sys.exit(main())
