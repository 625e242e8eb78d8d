"""Runs on an S3 store on loopback give the tables of runs on a local folder.

    python -m tools.object_store_runs

Two runs of one cluster and one of another write one lake at once; a run on a second lake is killed
with SIGKILL and continued.  Then the commands that read a lake run.  Exit 1 if a table differs or a
command fails.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyarrow import fs

from jobs.lake.sql import existing_tables, query
from tools.object_store import BUCKET, ROOT, object_store

REGROUP = ROOT / ".venv" / "bin" / "regroup"
INCIDENTS = {"a": "mixed-clients-4.1.2", "b": "mixed-clients-3.9.1"}
STORE = f"s3://{BUCKET}"
EMBEDDED = ("--engine", "embedded")
# Options of nightly, and the files in an incident's folder.
SOURCES = {"--segments": "segments/*/*.log", "--broker-log": "server.log"}
GROUP = ["--cluster-id", "a", "--group", "billing-eager"]
# name -> arguments after --lake, and the expected exit code
COMMANDS = {
    "sql": (["SELECT COUNT(*) FROM generations"], 0),
    "check": ([], 0),
    "report": (["--cluster-id", "a", "--out", "report.html"], 0),
    "alerts": (["--cluster-id", "a", "--since", "24h"], 1),
    "replay": (GROUP, 0),
    "what-if": ([*GROUP, "--set", "session_timeout_ms=45000"], 0),
    "maintain": ([*EMBEDDED], 0),
}
# Tables that differ by design, because they have times and paths of input.
OF_RUNS = {"runs", "ingested_files", "quarantine"}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="regroup-store-") as folder:
        work = Path(folder)
        with object_store(work / "store") as environment:
            os.environ.update(environment)
            upload()
            failed = _at_once(work) + _killed(work) + run_commands(work, COMMANDS)
    print("DIFFERENT" if failed else "the same")
    return int(failed > 0)


def upload() -> None:
    """Copy the incidents' files to ``inputs`` in the bucket."""
    store = fs.FileSystem.from_uri(STORE)[0]
    for cluster, name in INCIDENTS.items():
        source, target = str(ROOT / "examples" / name), f"{BUCKET}/inputs/{cluster}"
        here = fs.LocalFileSystem()
        fs.copy_files(source, target, source_filesystem=here, destination_filesystem=store)


def start(
    lake: str,
    cluster: str,
    log: Path,
    *,
    engine: Sequence[str] = EMBEDDED,
    sources: Sequence[str] = tuple(SOURCES),
) -> subprocess.Popen[bytes]:
    """Start nightly over the cluster's incident, in the bucket if the lake is there.

    ``engine``: the option, and others of that engine.
    """
    inputs = f"{STORE}/inputs/{cluster}"
    if "://" not in lake:
        inputs = str(ROOT / "examples" / INCIDENTS[cluster])
    files = [word for name in sources for word in (name, f"{inputs}/{SOURCES[name]}")]
    command = [REGROUP, "nightly", "--lake", lake, "--cluster-id", cluster, *files, *engine]
    with log.open("ab") as out:
        return subprocess.Popen([*map(str, command), "--no-advice"], stdout=out, stderr=out)


def _at_once(work: Path) -> int:
    """Two runs of one cluster and one of another at once, beside the same runs on a folder."""
    lakes = [(f"{STORE}/lake", "a"), (f"{STORE}/lake", "a"), (f"{STORE}/lake", "b")]
    runs = [
        start(lake, cluster, work / f"at-once-{n}.log") for n, (lake, cluster) in enumerate(lakes)
    ]
    codes = [run.wait() for run in runs]
    print(f"two runs of one cluster and one of another at once: exit {codes}")
    codes += [start(str(work / "lake"), cluster, work / "local.log").wait() for cluster in "ab"]
    return differences(str(work / "lake"), f"{STORE}/lake", "") + sum(map(bool, codes))


def _killed(work: Path) -> int:
    """A run that is killed after it wrote the table `timeline`, and the same run again."""
    log = work / "killed.log"
    run = start(f"{STORE}/killed", "a", log)
    while run.poll() is None and b"timeline " not in log.read_bytes():
        time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    code = run.wait()
    again = start(f"{STORE}/killed", "a", log).wait()
    was_taken = b"was not renewed for 180 s: taken over" in log.read_bytes()
    print(
        f"run killed: exit {code}; the same run again: exit {again}; lock taken over: {was_taken}"
    )
    where = "WHERE cluster_id = 'a'"
    return differences(str(work / "lake"), f"{STORE}/killed", where) + again + (not was_taken)


def run_commands(work: Path, commands: Mapping[str, tuple[list[str], int]]) -> int:
    """Run them on the lake; the number of those with another exit code than the expected one."""
    failed = 0
    for name, (arguments, expected) in commands.items():
        command = [str(REGROUP), name, "--lake", f"{STORE}/lake", *arguments]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        failed += done.returncode != expected
        error = "" if done.returncode == expected else done.stderr[-500:]
        print(f"regroup {name}: exit {done.returncode} {error}".rstrip())
    return failed


def differences(local: str, stored: str, where: str) -> int:
    """The number of tables that differ; prints these, and the number of the others."""
    tables = [table for table in existing_tables(local) if table not in OF_RUNS]
    differing = [
        table for table in tables if _rows(local, table, where) != _rows(stored, table, where)
    ]
    print(f"{len(tables) - len(differing)} tables equal, {len(differing)} differ {differing or ''}")
    return len(differing)


def _rows(lake: str, table: str, where: str) -> list[str]:
    """Without the path of the input, and the version of a table that a row was read from."""
    columns, rows = query(lake, f"SELECT * FROM {table} {where}", optional={table})
    kept = [n for n, column in enumerate(columns) if column not in {"file", "source_file"}]
    return sorted(repr([row[n] for n in kept]) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
