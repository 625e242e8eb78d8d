"""Measures how time and memory of the nightly run grow with the day, per job, size and engine.

    python -m bench.scale [--sizes "0.01 0.04"] [--engine both] [--skewed 0.04]
                          [--without "JOB ..."] [--lakes DIR]

Size 1 is a day of 250,000 group records of 1 to 40 members with 2.5 million offset commits.  Each
size is a lake with generated bronze tables (bronze.py).  Each runner has a process of its own,
which runs all jobs one after another on a copy of this lake, except those of ``--without``: Spark
with conf/large.toml, the embedded engine, and beside the embedded engine the peer (peer/), which
writes seven of the tables.  All rows are compared.  ``--skewed`` adds, for these sizes, a day with
half of all generations in one group.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bench.process_tree import OwnWatch, ProcessTreeWatch
from bench.scale import peer
from bench.scale.bronze import CLUSTER, write_bronze
from bench.scale.compare import differing_tables
from bench.scale.report import Run, Stage, print_growth, print_ratios, print_table, printed
from jobs.configuration.config import load_config
from jobs.configuration.packaged_files import CONF
from jobs.engine.embedded import embedded_session
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.nightly_run.pipeline import JOBS, job


class Engine(StrEnum):
    SPARK = "spark"
    EMBEDDED = "embedded"
    BOTH = "both"


RUNNERS = {
    Engine.SPARK: ("spark",),
    Engine.EMBEDDED: ("embedded", "peer"),
    Engine.BOTH: ("spark", "embedded", "peer"),
}


def run_jobs(runner: str, root: str, without: list[str]) -> None:
    """Run the jobs in this process and print a line of JSON, a `Stage`, per job."""
    if runner == "peer":
        acts = {table: partial(peer.run, root, table) for table in peer.TABLES}
    else:
        config = load_config(str(CONF / "large.toml"))
        session = build_session(config) if runner == "spark" else embedded_session()
        scope = AllDates(open_lake(session, root, CLUSTER))
        acts = {name: partial(_run_job, name, scope) for name in JOBS}
    for name, act in acts.items():
        if name not in without:
            print(json.dumps(asdict(_measured(name, act))), flush=True)


def _run_job(name: str, scope: AllDates) -> None:
    job(name).run(scope)


def _measured(name: str, act: Callable[[], None]) -> Stage:
    began = time.monotonic()
    with ProcessTreeWatch(os.getpid()) as below, OwnWatch() as own:
        act()
    seconds = time.monotonic() - began
    memory = {"process": own.used.mib}
    for program, used in below.used.items():
        kind = "JVM" if program.startswith("java") else "workers"
        memory[kind] = memory.get(kind, 0.0) + used.mib
    cpu_s = own.used.cpu_s + sum(used.cpu_s for used in below.used.values())
    return Stage(name=name, seconds=seconds, cpu_s=cpu_s, mib=memory)


def bronze_of(folder: str, scale: float, *, skewed: bool) -> str:
    """A lake with bronze tables only; that of an earlier call is used again."""
    root = f"{folder}/{scale:g}{'-skewed' if skewed else ''}-bronze"
    if not Path(root).is_dir():
        began = time.monotonic()
        partial = Path(f"{root}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # An interrupted call left this folder.
        write_bronze(str(partial), scale, skewed=skewed)
        partial.rename(root)
        _say(f"{root}: written in {time.monotonic() - began:.0f} s")
    return root


def measured(runner: str, bronze: str, without: list[str]) -> tuple[str, list[Stage]]:
    """Run all jobs in a new process, on a copy of the bronze lake; the copy and the stages."""
    root = f"{bronze.removesuffix('-bronze')}-{runner}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(bronze, root, copy_function=os.link)
    command = [sys.executable, "-m", "bench.scale", "--one", root, "--runner", runner]
    command += ["--without", " ".join(without)]
    stages: list[Stage] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith("{"):
                stages.append(Stage(**json.loads(line)))
                _say(f"{root} {stages[-1].name}: {printed(stages[-1])}")
    if process.returncode:
        raise SystemExit(f"{root}: exit code {process.returncode}")
    return root, stages


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_comparison(lakes: dict[str, str]) -> bool:
    """Compare each lake's rows with those of the embedded engine; False if a table differs."""
    is_equal = True
    for name in lakes.keys() - {"embedded"}:
        tables = peer.TABLES if name == "peer" else tuple(JOBS)
        differing = differing_tables(lakes["embedded"], lakes[name], tables)
        is_equal &= not differing
        result = f"rows differ in {', '.join(differing)}" if differing else "all rows equal"
        print(f"{lakes['embedded']}, {lakes[name]}: {result}")
    return is_equal


def main(
    sizes: Annotated[
        str, typer.Option(help="Sizes of the day, separated by spaces.")
    ] = "0.01 0.04 0.16",
    engine: Annotated[Engine, typer.Option(help="Engines that run the jobs.")] = Engine.BOTH,
    skewed: Annotated[str, typer.Option(help="Sizes to run also with one huge group.")] = "",
    lakes: Annotated[str | None, typer.Option(help="Keep the lakes in this folder.")] = None,
    without: Annotated[str, typer.Option(help="Jobs to leave out.")] = "",
    one: Annotated[
        str | None, typer.Option(help="Run the jobs on this lake and print their figures.")
    ] = None,
    runner: Annotated[str, typer.Option(help="spark, embedded or peer, with --one.")] = "embedded",
) -> None:
    left_out = without.split()
    if unknown := {*left_out} - {*JOBS}:
        raise typer.BadParameter(f"--without {', '.join(sorted(unknown))}: not a job")
    if one:
        run_jobs(runner, one, left_out)
        return
    skewed_sizes = [float(size) for size in skewed.split()]
    runs: list[Run] = []
    is_equal = True
    with tempfile.TemporaryDirectory() as temporary:
        for scale in map(float, sizes.split()):
            for is_skewed in (False, True) if scale in skewed_sizes else (False,):
                bronze = bronze_of(lakes or temporary, scale, skewed=is_skewed)
                written = {}
                for name in RUNNERS[engine]:
                    written[name], stages = measured(name, bronze, left_out)
                    runs.append(Run(name, scale, is_skewed, stages))
                if "embedded" in written:
                    is_equal &= _print_comparison(written)
    print_table(runs)
    print_ratios(runs, peer.TABLES)
    print_growth(runs)
    if not is_equal:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
