"""A run per large input: its exit code, time and peak memory, and whether the rest was read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from jobs.checks.check import broken_laws
from jobs.lake.sql import query
from tools.fuzz.large import LARGE

_POLL_S = 0.05


def main(engine: str, inputs: list[str]) -> int:
    """Print a line per input whose name has one of these parts; 1 if a run failed or a law is
    broken."""
    print(f"{'input (' + engine + ')':<40}{'MiB':>7}{'s':>7}{'peak MiB':>10}{'quarantined':>13}")
    code = 0
    chosen = {name: LARGE[name] for name in LARGE if any(part in name for part in inputs)}
    for name, write in chosen.items():
        with tempfile.TemporaryDirectory(prefix="regroup-large-") as path:
            write(Path(path))
            code |= _run(name, Path(path), engine)
    return code


def _run(name: str, folder: Path, engine: str) -> int:
    lake = folder / "lake"
    command = [sys.executable, "-m", "jobs.command_line.cli", "nightly", "--lake", str(lake)]
    command += ["--cluster-id", "c", "--engine", engine, *_sources(folder)]
    on_disk = sum(f.stat().st_blocks * 512 for f in folder.rglob("*") if f.is_file())
    began = time.monotonic()
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    peak = _Peak(run.pid)
    error = run.communicate()[1]
    seconds, peak_mib = time.monotonic() - began, peak.stop()
    if run.returncode:
        print(f"{name:<40} failed: {error.strip().splitlines()[-1]}", flush=True)
        return 1
    violations = broken_laws(str(lake))[1]
    ((quarantined,),) = query(str(lake), "SELECT SUM(quarantined) FROM ingested_files")[1]
    print(f"{name:<40}{on_disk / 2**20:>7.1f}{seconds:>7.0f}{peak_mib:>10}{quarantined:>13}",
          *violations[:3], flush=True)  # fmt: skip
    return int(bool(violations))


def _sources(folder: Path) -> Iterator[str]:
    for option, pattern in (
        ("--segments", "segments"),
        ("--broker-log", "server.log*"),
        ("--trace", "trace.jsonl"),
        ("--dump", "dump.jsonl"),
    ):
        if any(folder.glob(pattern)):
            yield from (option, str(folder / pattern))


class _Peak:
    """Samples the resident memory of a process and all below it."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak, self._done = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def stop(self) -> int:
        """In MiB."""
        self._done.set()
        self._thread.join()
        return self._peak >> 10

    def _sample(self) -> None:
        while not self._done.wait(_POLL_S):
            self._peak = max(self._peak, resident_kib_below(self._pid))


def resident_kib_below(pid: int) -> int:
    """Resident memory of a process and its descendants."""
    return sum(map(_resident_kib, _tree(pid)))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))
    except OSError:  # it ended
        return


def _resident_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((line for line in status.split("\n") if line.startswith("VmRSS:")), "VmRSS: 0")
    return int(line.split()[1])
