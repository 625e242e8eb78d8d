"""`regroup watch` under faults: each must be survived, and the last tables must be those of a run
without faults.

    python -m tools.faults.watching [--minutes N] [--engine E] [--seed S] [--incident DIR]

The incident arrives piece by piece while the faults happen, one after the other.  A fault is
survived if a pass after it succeeds in the same process.  Prints a line per fault; exit 1 if one
was not survived, or if the last tables differ.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from jobs.checks.check import broken_laws
from jobs.lake.sql import query
from tools.engines import Engines
from tools.faults.__main__ import INCIDENT
from tools.faults.lakes import tables_of
from tools.faults.runs import NightlyProcess, children, mounted, nightly
from tools.fuzz.mutations import random_json

LAKE_BYTES = 256 << 20
EVERY = "3s"
SEGMENT = "00000000000000000000.log"
# Tables that depend on arrival: incomplete lines and batches stay in quarantine, and files count
# them.
OF_ARRIVAL = {"quarantine", "ingested_files", "broker_log_events"}
# A line keeps the name of the file from which it was first read; all other columns must be equal.
LINES = "SELECT * EXCLUDE (file) FROM broker_log_events"
SURVIVES_S = 900
FAULT_S = 60
POLL_S = 0.5


@dataclass
class Watched:
    """A watch in a process of its own, its sources and how far these have arrived."""

    folder: Path
    incident: Path
    engine: str
    chance: random.Random
    disk: Path
    arrived: int = 0
    watch: NightlyProcess = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "logs" / "server.log"
        self.log.parent.mkdir(parents=True)
        self.lines = (self.incident / "server.log").read_bytes().splitlines(keepends=True)
        self.arrive(0.05)
        command = nightly(self.engine, self.options())
        command[command.index("nightly")] = "watch"
        command.remove("--no-advice")
        self.watch = NightlyProcess([*command, "--every", EVERY])

    def options(self, lake: Path | None = None) -> list[str]:
        values = {
            "--lake": lake or self.disk / "lake",
            "--cluster-id": "c",
            "--segments": self.folder / "segments",
            "--broker-log": self.folder / "logs",
        }
        return [str(word) for pair in values.items() for word in pair]

    def arrive(self, share: float) -> None:
        """All of the incident up to this share of it; segments end in the middle of a batch."""
        until = round(share * len(self.lines))
        with self.log.open("ab") as out:
            out.writelines(self.lines[self.arrived : until])
        self.arrived = max(self.arrived, until)
        for source in (self.incident / "segments").rglob("*.log"):
            target = self.folder / "segments" / source.relative_to(self.incident / "segments")
            target.parent.mkdir(parents=True, exist_ok=True)
            data = source.read_bytes()
            target.write_bytes(data[: round(share * len(data))])

    def passes(self, *, failed: bool) -> int:
        """How many passes ended so far."""
        lines = [line for line in self.watch.lines if " pass " in line]
        return sum((": failed" in line) == failed for line in lines)

    def has_passed(self, before: int, timeout_s: float = SURVIVES_S) -> bool:
        """Returns whether more than ``before`` passes succeed before the time is over."""
        until = time.monotonic() + timeout_s
        while self.watch.process.poll() is None and time.monotonic() < until:
            if self.passes(failed=False) > before:
                return True
            time.sleep(POLL_S)
        return False

    def wait_for_failure(self) -> None:
        """Until a pass fails, or does not for a while."""
        before, until = self.passes(failed=True), time.monotonic() + FAULT_S
        while self.passes(failed=True) == before and time.monotonic() < until:
            time.sleep(POLL_S)


# Each fault lasts as long as its function runs.


def no_fault(watched: Watched) -> None:
    return


def log_away(watched: Watched) -> None:
    """A log and its folder are away, and return."""
    away = watched.folder / "away"
    watched.log.parent.rename(away)
    watched.wait_for_failure()
    away.rename(watched.log.parent)


def copied_and_truncated(watched: Watched) -> None:
    number = len(list(watched.log.parent.glob("server.log.*")))
    shutil.copy(watched.log, f"{watched.log}.{number}")
    watched.log.write_bytes(b"")


def files_of_noise(watched: Watched) -> None:
    """A log and a segment that no broker writes appear beside the others."""
    chance = watched.chance
    noise = b"".join(random_json(chance) + b"\n" + chance.randbytes(200) for _ in range(20))
    number = 1000 + len(list((watched.folder / "segments").iterdir()))
    (watched.log.parent / f"noise-{number}.log").write_bytes(b"# %d\n" % number + noise)
    segment = watched.folder / "segments" / f"__consumer_offsets-{number}" / SEGMENT
    segment.parent.mkdir()
    segment.write_bytes(noise)


def full_disk(watched: Watched) -> None:
    filler = watched.disk / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12):  # Fill the disk in two sizes, to the last page.
            with suppress(OSError):
                while out.write(bytes(size)):
                    pass
    watched.wait_for_failure()
    filler.unlink()


def read_only_disk(watched: Watched) -> None:
    """The file system of the lake, unless a pass has one of its files open."""
    if _remounted(watched.disk, "ro"):
        watched.wait_for_failure()
        _remounted(watched.disk, "rw")


def _remounted(disk: Path, mode: str) -> bool:
    command = ["mount", "-o", f"remount,{mode}", str(disk)]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def nightly_at_once(watched: Watched) -> None:
    NightlyProcess(nightly("embedded", watched.options())).wait()


def killed_nightly(watched: Watched) -> None:
    """Another run on the lake is killed, wherever it is."""
    until = time.monotonic() + watched.chance.uniform(1, 20)
    NightlyProcess(nightly("embedded", watched.options())).kill_when(
        lambda _: time.monotonic() > until
    )


def stopped_process(watched: Watched) -> None:
    """The watch itself stands still, as on a suspended machine."""
    watched.watch.process.send_signal(signal.SIGSTOP)
    time.sleep(8)
    watched.watch.process.send_signal(signal.SIGCONT)


def killed_jvm(watched: Watched) -> None:
    for child in children(watched.watch.process.pid):
        os.kill(child, signal.SIGKILL)
    watched.wait_for_failure()


FAULTS: dict[str, Callable[[Watched], None]] = {
    "no fault": no_fault,
    "folder of logs away": log_away,
    "log copied and truncated": copied_and_truncated,
    "files of noise among the others": files_of_noise,
    "disk of the lake full": full_disk,
    "lake read-only": read_only_disk,
    "a nightly run at the same time": nightly_at_once,
    "a nightly run killed": killed_nightly,
    "the process stopped for seconds": stopped_process,
}
ON_SPARK = {"Spark's JVM killed": killed_jvm}


def faults_of(engine: str) -> dict[str, Callable[[Watched], None]]:
    return FAULTS | ON_SPARK if engine == "spark" else FAULTS


def rounds(watched: Watched, minutes: float) -> Iterator[tuple[str, int, bool]]:
    """Fault, how many passes failed, and whether a later pass succeeded."""
    began = time.monotonic()
    while (share := (time.monotonic() - began) / (60 * minutes)) < 1:
        for name, fault in faults_of(watched.engine).items():
            failed, succeeded = (watched.passes(failed=each) for each in (True, False))
            watched.arrive(0.05 + 0.95 * min(share, 1))
            fault(watched)
            is_survived = watched.has_passed(max(succeeded, watched.passes(failed=False)))
            yield name, watched.passes(failed=True) - failed, is_survived
            if not is_survived:
                return


def last_tables(watched: Watched) -> list[str]:
    """What is wrong with the tables after the last pass."""
    watched.arrive(1)
    if not watched.has_passed(watched.passes(failed=False) + 1):
        return ["no pass after the last fault"]
    watched.watch.process.terminate()
    code = watched.watch.wait()
    lake, expected = watched.disk / "lake", watched.folder / "expected"
    problems = [f"watch: exit {code}"] if code else []
    problems += map(str, broken_laws(str(lake))[1])
    NightlyProcess(nightly(watched.engine, watched.options(expected))).wait()
    tables, of_one_run = tables_of(str(lake)), tables_of(str(expected))
    names = of_one_run.keys() - OF_ARRIVAL
    problems += [f"{name} differs" for name in names if tables.get(name) != of_one_run[name]]
    lines, of_one = (sorted(map(repr, query(str(each), LINES)[1])) for each in (lake, expected))
    return problems + (["broker_log_events differs"] if lines != of_one else [])


def main(
    minutes: Annotated[float, typer.Option(help="How long faults happen.")] = 60,
    engine: Annotated[Engines, typer.Option(help="The engine of the watch.")] = Engines.EMBEDDED,
    seed: Annotated[int, typer.Option(help="Seed of the random moments.")] = 1,
    incident: Annotated[Path, typer.Option(help="Folder with segments and server.log.")] = INCIDENT,
) -> None:
    code = 0
    for name in engine.names():
        with tempfile.TemporaryDirectory(prefix="regroup-watched-") as work:
            folder = Path(work)
            with mounted(folder / "disk", LAKE_BYTES) as (disk, _):
                watched = Watched(folder, incident, name, random.Random(seed), disk)
                code |= _campaign(watched, minutes)
    raise typer.Exit(code)


def _campaign(watched: Watched, minutes: float) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    try:
        for name, failed, is_survived in rounds(watched, minutes):
            counts.update({(name, "tries"): 1, (name, "failed"): failed})
            counts[name, "survived"] += is_survived
            print(f"  {name}: {failed} failed, survived {is_survived}", file=sys.stderr, flush=True)
        problems = last_tables(watched)
    finally:
        if watched.watch.process.poll() is None:
            watched.watch.process.kill()
            watched.watch.wait()
    succeeded, failed = (watched.passes(failed=each) for each in (False, True))
    minutes = (time.monotonic() - began) / 60
    print(f"{watched.engine}: {minutes:.0f} minutes, {succeeded} passes, {failed} more failed")
    print(f"{'fault':<40}{'tries':>7}{'failed passes':>15}{'survived':>10}")
    for name in faults_of(watched.engine):
        row = [counts[name, column] for column in ("tries", "failed", "survived")]
        print("{:<40}{:>7}{:>15}{:>10}".format(name, *row))
    print(*problems or ["the tables are those of one run"], sep="\n", flush=True)
    lost = any(
        counts[name, "tries"] != counts[name, "survived"] for name in faults_of(watched.engine)
    )
    if problems or lost:
        print(*watched.watch.lines[-20:], sep="\n", file=sys.stderr)
    return int(bool(problems) or lost)


if __name__ == "__main__":
    typer.run(main)
