"""What a night costs on each engine: the first one, one with 60 new records, one without news.

    python -m bench.nights [--rounds 3] [--before FOLDER]

Every night is a fresh process of `regroup nightly` over the demo's first incident; its segments
lack their last 60 records until the second night.  The engines take turns.  Prints clock and CPU
seconds of the process with all its descendants, the number of Spark jobs, and ratios of medians;
the tables of all lakes must be equal.  ``--before``: a checkout of an earlier version, whose nights
on Spark take their turn, too, with the Python environment of this one.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bench.growing_segments import INCIDENT, GrowingSegments
from jobs.engine.jars import jars_folder
from tools.faults.lakes import tables_of

ROOT = Path(__file__).parents[2]
NEW_RECORDS = 60
NIGHTS = ("first night", f"{NEW_RECORDS} new records", "no new input")
PR_SET_CHILD_SUBREAPER = 36
JOB = b'"Event":"SparkListenerJobStart"'


class Cost(NamedTuple):
    clock_s: float
    cpu_s: float
    jobs: int


class Runner(NamedTuple):
    """A checkout and the engine of its nights; ``None``: the version has Spark alone."""

    name: str
    checkout: Path
    engine: str | None

    def nights(self, folder: Path) -> Iterator[Cost]:
        segments = GrowingSegments(folder, NEW_RECORDS)
        shutil.copy(INCIDENT / "server.log", folder)
        yield self._night(folder)
        segments.grow(NEW_RECORDS)
        yield self._night(folder)
        yield self._night(folder)

    def _night(self, folder: Path) -> Cost:
        events = folder / "events"
        shutil.rmtree(events, ignore_errors=True)
        events.mkdir()
        command = [sys.executable, "-m", "jobs.command_line.cli", "nightly"]
        command += ["--lake", f"{folder}/lake", "--cluster-id", "c"]
        command += ["--conf", str(conf(self.checkout, folder))]
        command += ["--segments", f"{folder}/segments", "--broker-log", f"{folder}/server.log"]
        command += ["--engine", self.engine] if self.engine else []
        began, cpu = time.monotonic(), cpu_of_children_s()
        environment = os.environ | {"PYTHONPATH": str(self.checkout)}
        environment["REGROUP_JARS"] = str(jars_folder())  # Another checkout has no such folder.
        # Compile modules to bytecode before the first night, as an installed wheel has them.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, cwd=self.checkout, env=environment, check=True, capture_output=True)
        clock_s = time.monotonic() - began
        reap()
        jobs = sum(file.read_bytes().count(JOB) for file in events.rglob("*") if file.is_file())
        return Cost(clock_s, cpu_of_children_s() - cpu, jobs)


def conf(checkout: Path, folder: Path) -> Path:
    """The checkout's default configuration, with Spark's log of its events, in this folder."""
    file = folder / "conf.toml"
    events = "spark.eventLog.enabled = true\nspark.eventLog.compress = false\n"
    events += f'spark.eventLog.dir = "file://{folder}/events"\n'
    settings = (checkout / "conf" / "local.toml").read_text()
    file.write_text(settings.replace("[spark]\n", f"[spark]\n{events}"))
    return file


def cpu_of_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reap() -> None:
    """Wait for descendants that outlive their parents, so that their CPU time is counted."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def main(
    rounds: Annotated[int, typer.Option(help="Nights of each kind on each engine.")] = 3,
    before: Annotated[Path | None, typer.Option(help="A checkout of an earlier version.")] = None,
) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    runners = [Runner("embedded", ROOT, "embedded"), Runner("spark", ROOT, "spark")]
    runners += [Runner("spark before", before.resolve(), None)] if before else []
    costs: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as temporary:
            for runner in runners:
                folder = Path(temporary, runner.name.replace(" ", "-"))
                folder.mkdir()
                for night, cost in zip(NIGHTS, runner.nights(folder), strict=True):
                    costs[runner.name, night].append(cost)
                    print(
                        f"round {number + 1}, {runner.name}, {night}: {cost.clock_s:.1f} s,"
                        f" {cost.cpu_s:.1f} CPU s, {cost.jobs} Spark jobs",
                        flush=True,
                    )
            differing = different_tables(Path(temporary))
            if differing:
                sys.exit(f"these tables differ between the engines: {', '.join(differing)}")
    for night in NIGHTS:
        print_medians(night, {runner.name: costs[runner.name, night] for runner in runners})


def different_tables(folder: Path) -> list[str]:
    """Tables whose rows differ between the engines; bronze rows name their files."""
    embedded, spark = (tables_of(str(folder / name / "lake")) for name in ("embedded", "spark"))
    named = {"offsets_records", "broker_log_events", "ingested_files", "quarantine"}
    assert embedded.keys() == spark.keys()
    return [table for table in embedded.keys() - named if embedded[table] != spark[table]]


def print_medians(night: str, costs: dict[str, list[Cost]]) -> None:
    """Each runner's medians, and the ratio to Spark's of this version."""
    spark_clock, spark_cpu = medians(costs["spark"])
    for name, nights in costs.items():
        clock, cpu = medians(nights)
        ratio = f"{clock / spark_clock:.3f} and {cpu / spark_cpu:.3f} of spark's"
        jobs = statistics.median(cost.jobs for cost in nights)
        print(f"{night}, {name}: {clock:.1f} s, {cpu:.1f} CPU s ({ratio}), {jobs:.0f} Spark jobs")


def medians(nights: list[Cost]) -> tuple[float, float]:
    clocks, cpus = [cost.clock_s for cost in nights], [cost.cpu_s for cost in nights]
    return statistics.median(clocks), statistics.median(cpus)


if __name__ == "__main__":
    typer.run(main)
