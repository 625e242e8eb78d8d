"""Nightly runs with faults: killed, a worker or executor killed, disk full, two at once."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobs.checks.check import broken_laws
from tools.faults.lakes import tables_of
from tools.package import build_spark_zip
from tools.standalone_cluster import arguments, standalone_cluster, submit_line

STEP = re.compile(r"^(\w+) +([\d.]+) s")
KILLS_PER_LAKE = 5  # number of runs that are killed before a run without a kill
POLL_S = 0.003
# Size below that of the temporary files of a run on either engine.
TEMPORARY_BYTES = 60_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SAME, CLEAR, LOST = "same tables", "clear error", "lost"


@dataclass
class NightlyProcess:
    """A nightly run in a process group of its own; a thread reads its stderr."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    lines: list[str] = field(default_factory=list)
    ended_cpu_s: dict[str, float] = field(default_factory=dict)  # by step

    def __post_init__(self) -> None:
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
                self.ended_cpu_s[match[1]] = self.cpu_s()

    def wait(self) -> int:
        code = self.process.wait()
        self._reader.join()
        return code

    def kill_when(self, is_time: Callable[[NightlyProcess], bool]) -> bool:
        """Kill the command, its JVM and the Python workers; False if it ended before."""
        while self.process.poll() is None:
            if is_time(self):
                os.killpg(self.process.pid, signal.SIGKILL)
                return self.wait() == -signal.SIGKILL
            time.sleep(POLL_S)
        self.wait()
        return False

    def cpu_s(self) -> float:
        """CPU seconds of the command and its JVM so far."""
        return sum(map(_cpu_s, [self.process.pid, *children(self.process.pid)]))

    def left_running(self, timeout_s: float = 10) -> bool:
        """Returns whether a process of the command's group still runs after this time."""
        until = time.monotonic() + timeout_s
        while is_left := any(_is_running_in(self.process.pid, stat) for stat in _stats()):
            if time.monotonic() > until:
                break
            time.sleep(POLL_S)
        return is_left

    @property
    def messages(self) -> list[str]:
        """The command's own lines on stderr."""
        return [line for line in self.lines if line.startswith("regroup:")]


def nightly(engine: str, options: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "jobs.command_line.cli", "nightly"]
    # Omit advice, because the groups that get advice depend on the duration of a run.
    return [*command, "--no-advice", "--engine", engine, *options]


class RunsWithoutFault:
    """The same run without a fault on each engine: its tables, and how long it takes.

    All runs, with and without a fault, have their temporary files in one folder.
    """

    def __init__(self, incident: Path, folder: Path, engines: Sequence[str]) -> None:
        self.incident, self.engines = incident, engines
        self.temporary = folder / "temporary-files"
        self.temporary.mkdir(parents=True)
        self.lakes = {engine: folder / f"without-fault-{engine}" for engine in engines}
        self.cpu_s = {engine: self._run(lake, engine) for engine, lake in self.lakes.items()}
        self.tables = tables_of(str(self.lakes[engines[0]]))
        for lake in self.lakes.values():
            if (verdict := self.compared(lake)) != SAME:
                raise SystemExit(f"without a fault: {verdict}")

    def _run(self, lake: Path, engine: str) -> float:
        """Returns the CPU seconds of the run until its last step ended."""
        run = self.start(engine, arguments(self.incident, lake))
        if run.wait():
            raise SystemExit("\n".join(run.lines))
        return run.ended_cpu_s["total"]

    def start(
        self, engine: str, options: Sequence[str], temporary: Path | None = None
    ) -> NightlyProcess:
        folder = str(temporary or self.temporary)
        return NightlyProcess(nightly(engine, options), {**os.environ, "TMPDIR": folder})

    def engines_of(self, number: int) -> tuple[str, str]:
        """The engine of a run with a fault, and the other one, which completes the run."""
        count = len(self.engines)
        return self.engines[number % count], self.engines[(number + 1) % count]

    def verdict(self, lake: Path, engine: str) -> str:
        """Run again without a fault, and compare the tables."""
        run = self.start(engine, arguments(self.incident, lake))
        if run.wait():
            return f"{LOST}: {' '.join(run.messages)}"
        return self.compared(lake)

    def compared(self, lake: Path, clusters: Sequence[str] = ("c",)) -> str:
        """SAME if each cluster has these tables, no law is violated and no temporary file left."""
        tables = tables_of(str(lake))
        differing = [t for t in self.tables if tables.get(t) != self._rows(t, clusters)]
        broken = broken_laws(str(lake))[1]
        left = [file.name for file in self.temporary.iterdir()]
        is_same = not differing and not broken and not left
        return SAME if is_same else f"{LOST}: {differing} {broken[:1]} {left}"

    def _rows(self, table: str, clusters: Sequence[str]) -> list[str]:
        rows = self.tables[table]
        return sorted(row.replace("('c',", f"('{name}',", 1) for name in clusters for row in rows)

    def moment(
        self, lake: Path, engine: str, chance: random.Random
    ) -> tuple[str, Callable[[NightlyProcess], bool]]:
        """A random moment of a run: after some CPU time, or when a Delta log or the temporary
        folder gets its nth file."""
        cpu_s = chance.random() * self.cpu_s[engine]
        if chance.random() < 0.5:
            return f"after {cpu_s:.2f} CPU s", lambda run: run.cpu_s() >= cpu_s
        where, pattern, most = chance.choice(
            [(lake, "*/_delta_log/*.json", 30), (self.temporary, "**/*", 8)]
        )
        until = _count(where, pattern) + chance.randint(1, most)
        return f"at file {until} of {pattern}", lambda _: _count(where, pattern) >= until


def _count(folder: Path, pattern: str) -> int:
    try:
        return sum(1 for _ in folder.glob(pattern))
    except FileNotFoundError:  # The folder was deleted in the meantime.
        return 0


def kills(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """SIGKILL at a random moment, several times in a row, then run normally; with two engines, the
    other engine completes each killed run."""
    per_lake = 1 if len(without_fault.engines) > 1 else KILLS_PER_LAKE
    for first in range(0, tries, per_lake):
        lake = folder / f"killed-{first}"
        engine, next_engine = without_fault.engines_of(first)
        kill_count = min(per_lake, tries - first)
        for _ in range(kill_count):
            _kill_once(without_fault, lake, engine, chance)
            if lake.is_dir():
                tables_of(str(lake))  # This raises an error if a table cannot be read.
        verdict = without_fault.verdict(lake, next_engine)
        print(f"  completed on {next_engine}: {verdict}", file=sys.stderr)
        shutil.rmtree(lake)
        yield from [verdict] * kill_count


def _kill_once(
    without_fault: RunsWithoutFault, lake: Path, engine: str, chance: random.Random
) -> None:
    """Start runs until one is killed before it ends."""
    while True:
        when, is_time = without_fault.moment(lake, engine, chance)
        options = [*arguments(without_fault.incident, lake), "--recompute-all"]
        run = without_fault.start(engine, options)
        is_killed = run.kill_when(is_time)
        step = next(reversed(run.ended_cpu_s), "no step")
        print(f"  {engine}: {when}, {step} written: killed {is_killed}", file=sys.stderr)
        if run.left_running():
            raise SystemExit("a process of the run is left over")
        if is_killed:
            return


def worker_kills(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Kill one Python worker of a running stage on Spark; the embedded engine has none."""
    for number in range(tries):
        lake = folder / f"worker-{number}"
        run = without_fault.start("spark", arguments(without_fault.incident, lake))
        if _kill_one(run.process.pid, "pyspark.daemon", chance):
            print("  a Python worker killed", file=sys.stderr)
        yield _after(without_fault, run, lake)


def executor_kills(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
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


def _after(without_fault: RunsWithoutFault, run: NightlyProcess, lake: Path) -> str:
    """The run continued, or failed with one line on stderr and the next run completes the lake."""
    if run.wait() == 0:
        return without_fault.compared(lake)
    if len(run.messages) != 1:
        return f"{LOST}: {len(run.messages)} lines"
    verdict = without_fault.verdict(lake, "spark")
    return CLEAR if verdict == SAME else verdict


def _kill_one(ancestor: int, name: str, chance: random.Random, timeout_s: float = 120) -> bool:
    """Kill a descendant with this name, some seconds after the first one started."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if [pid for pid in _below(ancestor) if name in _command(pid)]:
            time.sleep(chance.random() * 5)
            # Workers have the name of their daemon, but the newest process is a worker.
            if running := [pid for pid in _below(ancestor) if name in _command(pid)]:
                os.kill(max(running), signal.SIGKILL)
                return True
        time.sleep(0.2)
    return False


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Of all processes: the process id and the fields of its stat after the command's name."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield int(stat.parent.name), _fields(stat)


def _fields(stat: Path) -> list[str]:
    return stat.read_text().rsplit(")", 1)[1].split()


def _is_running_in(group: int, stat: tuple[int, list[str]]) -> bool:
    state, _, process_group = stat[1][:3]
    return int(process_group) == group and state != "Z"  # A zombie process has ended.


def _below(ancestor: int) -> list[int]:
    """Process ids of all descendants."""
    parents = {pid: int(fields[1]) for pid, fields in _stats()}
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
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Run on a file system with room for a part of the lake, then with room for all of it."""
    for number in range(tries):
        engine, next_engine = without_fault.engines_of(number)
        room = int(_bytes_below(without_fault.lakes[engine]) * (0.1 + 0.8 * chance.random()))
        with mounted(folder / f"disk-{number}", room) as (disk, enlarge):
            options = arguments(without_fault.incident, disk / "lake")
            run = without_fault.start(engine, options)
            error = _error_of_full_disk(run, f"{engine}, {room} bytes for the lake")
            if (disk / "lake").is_dir():
                tables_of(str(disk / "lake"))
            enlarge()
            verdict = error or without_fault.verdict(disk / "lake", next_engine)
            yield CLEAR if verdict == SAME else verdict


def full_temporary_folders(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Run with too little room for temporary files, then with enough."""
    for number in range(tries):
        engine, next_engine = without_fault.engines_of(number)
        room = int(TEMPORARY_BYTES * (0.1 + 0.8 * chance.random()))
        lake = folder / f"lake-{number}"
        with mounted(folder / f"temporary-{number}", room) as (disk, _):
            options = arguments(without_fault.incident, lake)
            run = without_fault.start(engine, options, temporary=disk)
            error = _error_of_full_disk(run, f"{engine}, {room} bytes for temporary files")
        verdict = error or without_fault.verdict(lake, next_engine)
        yield CLEAR if verdict == SAME else verdict


def _error_of_full_disk(run: NightlyProcess, what: str) -> str | None:
    """The verdict if the run did not fail with exit 1 and one line that names the remedy."""
    code = run.wait()
    print(f"  {what}: exit {code}: {run.messages}", file=sys.stderr)
    if code == 1 and len(run.messages) == 1 and "the disk is full" in run.messages[0]:
        return None
    return f"{LOST}: exit {code}, {run.lines[-3:]}"


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def two_at_once(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Two runs at once on one lake, of the same cluster and of two clusters in turn."""
    for number in range(tries):
        lake = folder / f"at-once-{number}"
        clusters = ("c", "c") if number % 2 == 0 else ("c", "d")
        runs = []
        for engine, cluster in zip(without_fault.engines_of(number // 2), clusters, strict=True):
            options = [*arguments(without_fault.incident, lake), "--cluster-id", cluster]
            runs.append(without_fault.start(engine, options))
            time.sleep(chance.random())
        failures = [f"{LOST}: {' '.join(run.messages)}" for run in runs if run.wait()]
        verdict = without_fault.compared(lake, sorted({*clusters}))
        yield failures[0] if failures else verdict


def other_orders(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """The log and the partitions arrive one night each, in a random order."""
    for number in range(tries):
        lake = folder / f"order-{number}"
        partitions = sorted((without_fault.incident / "segments").iterdir())
        nights = [("--segments", str(each)) for each in partitions]
        nights.append(("--broker-log", str(without_fault.incident / "server.log")))
        chance.shuffle(nights)
        for night, source in enumerate(nights):
            options = ["--lake", str(lake), "--cluster-id", "c", *source]
            engine = without_fault.engines_of(number + night)[0]
            without_fault.start(engine, options).wait()
        yield without_fault.compared(lake)


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


def children(pid: int) -> list[int]:
    """Process ids of the children of a process, which may have ended."""
    try:
        tasks = [*Path(f"/proc/{pid}/task").glob("*/children")]
        return [int(child) for task in tasks for child in task.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _cpu_s(pid: int) -> float:
    try:
        fields = _fields(Path(f"/proc/{pid}/stat"))
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S  # utime and stime
