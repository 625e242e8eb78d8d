"""Runs nightly on a Spark standalone cluster and in one process, and compares the tables.

    python -m tools.standalone_cluster [INCIDENT]

A master and two workers of the pip package run on loopback.  Driver and workers get the project by
``--py-files`` only: their interpreter does not see this working tree.  Exit 1 if a table differs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from jobs.lake.sql import query
from schemas import table_names
from tools.package import build_spark_zip

ROOT = Path(__file__).resolve().parent.parent
INCIDENT = ROOT / "examples" / "mixed-clients-4.1.2"
SPARK_BIN = Path(pyspark.__file__).parent / "bin"
START_SECONDS = 60


def main() -> int:
    incident = Path(sys.argv[1]) if len(sys.argv) > 1 else INCIDENT
    with tempfile.TemporaryDirectory(prefix="regroup-cluster-") as folder:
        work = Path(folder)
        package = build_spark_zip(work / "regroup.zip")
        with standalone_cluster(work) as master:
            seconds = submit(master, package, incident, work)
        print(f"standalone cluster of two workers: {seconds:.0f} s")
        local = [ROOT / ".venv/bin/regroup", "nightly", *arguments(incident, work / "local")]
        run(local, os.environ)
        return differences(str(work / "local"), str(work / "cluster"))


@contextmanager
def standalone_cluster(work: Path) -> Iterator[str]:
    """Start a master and two workers of one core each, and stop them at exit; the master's URL."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        here = ["--host", "127.0.0.1", "--webui-port", "0"]
        log, process = start("deploy.master.Master", [*here, "--port", "0"], work / "master.log")
        started.append(process)
        master = wait_for(r"Starting Spark master at (spark://\S+)", log, process)
        for number in (1, 2):
            folder = work / f"worker-{number}"
            own = ["--cores", "1", "--memory", "2g", "--work-dir", str(folder), master]
            log, process = start("deploy.worker.Worker", [*here, *own], work / f"{folder}.log")
            started.append(process)
            wait_for("Successfully registered with (master)", log, process)
        yield master
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def start(name: str, options: list[str], log: Path) -> tuple[Path, subprocess.Popen[bytes]]:
    command = [str(SPARK_BIN / "spark-class"), f"org.apache.spark.{name}", *options]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as out:
        return log, subprocess.Popen(command, stdout=out, stderr=out, env=environment)


def wait_for(pattern: str, log: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until the pattern matches in the log; returns its group."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if match := re.search(pattern, log.read_text("utf-8", "replace")):
            return match[1]
        time.sleep(0.2)
    raise SystemExit(f"{log.name}: did not start: {log.read_text('utf-8', 'replace')[-2000:]}")


def submit(master: str, package: Path, incident: Path, work: Path) -> float:
    """Run nightly on the cluster; returns its duration in seconds."""
    began = time.monotonic()
    command, environment = submit_line(master, package, work, arguments(incident, work / "cluster"))
    run(command, environment, cwd=work)
    return time.monotonic() - began


def submit_line(
    master: str, package: Path, work: Path, nightly: list[str]
) -> tuple[list[str], dict[str, str]]:
    """The spark-submit command of the documentation, sized for two cores, and its environment."""
    quiet = f"-Dlog4j2.configurationFile={ROOT / 'conf' / 'log4j2.properties'}"
    command = [
        SPARK_BIN / "spark-submit", "--master", master,
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=1g",
        "--conf", "spark.sql.shuffle.partitions=2", "--driver-java-options", quiet,
        "--conf", "spark.databricks.delta.snapshotPartitions=1",
        "--properties-file", ROOT / "conf" / "spark-defaults.conf", "--py-files", package,
        ROOT / "jobs" / "nightly.py", "--conf", ROOT / "conf" / "cluster.toml", *nightly,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(without_this_tree(work / "python")),
    }
    return list(map(str, command)), environment


def without_this_tree(target: Path) -> Path:
    """Write an interpreter script with the dependencies but without this working tree."""
    installed = sysconfig.get_paths()["purelib"]
    target.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{installed}" exec "{sys.executable}" -S "$@"\n',
        encoding="utf-8",
    )
    target.chmod(0o755)
    return target


def arguments(incident: Path, lake: Path) -> list[str]:
    segments, log = str(incident / "segments"), str(incident / "server.log")
    options = {
        "--lake": str(lake), "--cluster-id": "c", "--segments": segments, "--broker-log": log
    }  # fmt: skip
    return [word for pair in options.items() for word in pair]


def run(command: list, environment: os._Environ | dict, cwd: Path | None = None) -> None:  # type: ignore[type-arg]
    done = subprocess.run(list(map(str, command)), env=dict(environment), cwd=cwd, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: exit {done.returncode}")


def differences(local: str, cluster: str) -> int:
    """Print one line per table; 1 if any differs."""
    exit_code = 0
    for table in table_names():
        if table == "runs" or not (Path(local) / table).is_dir():  # differs by design
            continue
        local_rows, cluster_rows = (rows_of(lake, table) for lake in (local, cluster))
        is_equal = local_rows == cluster_rows
        exit_code |= not is_equal
        print(f"{table:<20} {len(local_rows):>7} rows  {'equal' if is_equal else 'DIFFERS'}")
    return int(exit_code)


def rows_of(lake: str, table: str) -> list[str]:
    return sorted(map(repr, query(lake, f"SELECT * FROM {table}")[1]))


if __name__ == "__main__":
    sys.exit(main())
