"""Nightly runs with faults: killed, a worker or executor killed, disk full."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jobs.checks.check import broken_laws
from tools.faults.lakes import tables_of
from tools.package import build_spark_zip
from tools.standalone_cluster import arguments, standalone_cluster, submit_line

STEP = re.compile(r"^(\w+) +([\d.]+) s")
KILLS_PER_LAKE = 5  # before a run without a kill
SAME, CLEAR, LOST = "same tables", "clear error", "lost"


@dataclass
class NightlyProcess:
    """A nightly run in a process group of its own; a thread reads its stderr."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    lines: list[str] = field(default_factory=list)
    ended_s: dict[str, float] = field(default_factory=dict)  # from the start, by step
    took_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            self.command, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=self.environment,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.lines.append(line.rstrip())
            if match := STEP.match(line):
                self.ended_s[match[1]] = time.monotonic() - self.began
                self.took_s[match[1]] = float(match[2])

    def wait(self) -> int:
        code = self.process.wait()
        self._reader.join()
        return code

    def kill(self) -> None:
        """Kill the command, its JVM and the Python workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    @property
    def messages(self) -> list[str]:
        """The command's own lines on stderr."""
        return [line for line in self.lines if line.startswith("regroup:")]


def nightly(incident: Path, lake: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jobs.command_line.cli",
        "nightly",
        *arguments(incident, lake),
        *more,
    ]


class RunWithoutFault:
    """The same run without a fault: its tables, and when its steps ran."""

    def __init__(self, incident: Path, folder: Path) -> None:
        self.incident = incident
        self.lake = folder / "without_fault"
        self.run = NightlyProcess(nightly(incident, self.lake))
        if self.run.wait():
            raise SystemExit("\n".join(self.run.lines))
        self.tables = tables_of(str(self.lake))

    def moment(self, chance: random.Random) -> tuple[str, float]:
        """A step and a time during it, in seconds since the start of the run."""
        step = chance.choice([name for name in self.run.ended_s if name != "total"])
        begins = self.run.ended_s[step] - self.run.took_s[step]
        return step, begins + chance.random() * self.run.took_s[step]

    def verdict(self, lake: Path, *more: str) -> str:
        """Run again without a fault, and compare the tables."""
        run = NightlyProcess(nightly(self.incident, lake, *more))
        if run.wait():
            return f"{LOST}: {' '.join(run.messages)}"
        return self.compared(lake)

    def compared(self, lake: Path) -> str:
        tables = tables_of(str(lake))
        differing = [t for t in self.tables if tables.get(t) != self.tables[t]]
        broken = broken_laws(str(lake))[1]
        return SAME if not differing and not broken else f"{LOST}: {differing} {broken[:1]}"


def kills(
    without_fault: RunWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """SIGKILL at a random moment of a random step, several times in a row, then run normally."""
    for first in range(0, tries, KILLS_PER_LAKE):
        lake = folder / f"killed-{first}"
        kill_count = min(KILLS_PER_LAKE, tries - first)
        for _ in range(kill_count):
            step, at = without_fault.moment(chance)
            run = NightlyProcess(nightly(without_fault.incident, lake, "--recompute-all"))
            time.sleep(max(0.0, at - (time.monotonic() - run.began)))
            run.kill()
            print(f"  killed at {at:.1f} s, in {step}", file=sys.stderr)
            if lake.is_dir():
                tables_of(str(lake))  # raises if one cannot be read
        verdict = without_fault.verdict(lake)
        yield from [verdict] * kill_count


def worker_kills(
    without_fault: RunWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Kill one Python worker of a running stage."""
    for number in range(tries):
        lake = folder / f"worker-{number}"
        run = NightlyProcess(nightly(without_fault.incident, lake))
        if _kill_one(run.process.pid, "pyspark.daemon", chance):
            print("  a Python worker killed", file=sys.stderr)
        yield _after(without_fault, run, lake)


def executor_kills(
    without_fault: RunWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Kill one of two executors of a standalone cluster."""
    with tempfile.TemporaryDirectory(prefix="regroup-cluster-") as work:
        package = build_spark_zip(Path(work, "regroup.zip"))
        with standalone_cluster(Path(work)) as master:
            for number in range(tries):
                lake = folder / f"executor-{number}"
                command, environment = submit_line(
                    master, package, Path(work), arguments(without_fault.incident, lake)
                )
                run = NightlyProcess(command, environment)
                if _kill_one(os.getpid(), "CoarseGrainedExecutorBackend", chance):
                    print("  an executor killed", file=sys.stderr)
                yield _after(without_fault, run, lake)


def _after(without_fault: RunWithoutFault, run: NightlyProcess, lake: Path) -> str:
    """The run continued, or failed with one line on stderr and the next run completes the lake."""
    if run.wait() == 0:
        return without_fault.compared(lake)
    if len(run.messages) != 1:
        return f"{LOST}: {len(run.messages)} lines"
    verdict = without_fault.verdict(lake)
    return CLEAR if verdict == SAME else verdict


def _kill_one(ancestor: int, name: str, chance: random.Random, timeout_s: float = 120) -> bool:
    """Kill a descendant with this name, some seconds after the first one started."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if [pid for pid in _below(ancestor) if name in _command(pid)]:
            time.sleep(chance.random() * 5)
            # Workers have the name of their daemon; the newest process is a worker.
            if running := [pid for pid in _below(ancestor) if name in _command(pid)]:
                os.kill(max(running), signal.SIGKILL)
                return True
        time.sleep(0.2)
    return False


def _below(ancestor: int) -> list[int]:
    """Process ids of all descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    descendants, new = set(), {ancestor}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - descendants
        descendants |= new
    return sorted(descendants)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def full_disks(
    without_fault: RunWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Run on a file system with room for a part of the lake, then with room for all of it."""
    needed = sum(file.stat().st_size for file in without_fault.lake.rglob("*") if file.is_file())
    for number in range(tries):
        room = int(needed * (0.1 + 0.8 * chance.random()))
        with mounted(folder / f"disk-{number}", room) as (disk, enlarge):
            run = NightlyProcess(nightly(without_fault.incident, disk / "lake"))
            code = run.wait()
            print(f"  {room} of {needed} bytes: exit {code}: {run.messages}", file=sys.stderr)
            if code != 1 or len(run.messages) != 1 or "make room" not in run.messages[0]:
                yield f"{LOST}: exit {code}, {run.lines[-3:]}"
                continue
            if (disk / "lake").is_dir():
                tables_of(str(disk / "lake"))
            enlarge()
            verdict = without_fault.verdict(disk / "lake")
            yield CLEAR if verdict == SAME else verdict


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)

    def enlarge() -> None:
        subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True)

    try:
        yield folder, enlarge
    finally:
        subprocess.run(["umount", folder], check=True)
