"""Measures how time and memory of the nightly run grow with the day, per job and size.

    python -m bench.scale [--sizes "0.01 0.04"] [--skewed 0.04] [--without "JOB ..."] [--lakes DIR]

Size 1 is a day of 250,000 group records of 1 to 40 members with 2.5 million offset commits.  Each
size is a lake with generated bronze tables (bronze.py), and a process with conf/large.toml that
runs all jobs one after another, except those of ``--without``.  ``--skewed`` adds, for these sizes,
a day with half of all generations in one group.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.process_tree import ProcessTreeWatch
from bench.scale.bronze import CLUSTER, write_bronze
from jobs.command_line.config import load_config
from jobs.command_line.packaged_files import CONF
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.nightly_run.pipeline import JOBS, job

SKEWED = " skewed"


def only_bronze(root: str, scale: float, *, skewed: bool) -> None:
    """Make a lake with bronze tables only; bronze of an earlier call is used again."""
    for table in Path(root).glob("*"):
        if table.name != "offsets_records":
            shutil.rmtree(table) if table.is_dir() else table.unlink()
    if not Path(root).is_dir():
        partial = Path(f"{root}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # left by an interrupted call
        write_bronze(str(partial), scale, skewed=skewed)
        partial.rename(root)


def run_one(root: str, jobs: list[str]) -> None:
    """Run the jobs in this process and print one JSON line per job: name, wall-clock and CPU
    seconds, MiB of the JVM and of the workers."""
    scope = AllDates(open_lake(build_session(load_config(str(CONF / "large.toml"))), root, CLUSTER))
    for name in jobs:
        with ProcessTreeWatch(os.getpid()) as watch:
            began = time.monotonic()
            job(name).run(scope)
            seconds = time.monotonic() - began
        jvm, workers = (
            sum(u.mib for n, u in watch.used.items() if n.startswith(p)) for p in ("java", "python")
        )
        figures = {
            "stage": name,
            "seconds": seconds,
            "cpu_s": sum(used.cpu_s for used in watch.used.values()),
            "jvm_mib": jvm,
            "workers_mib": workers,
        }
        print(json.dumps(figures), flush=True)


def measured(
    scale: float, folder: str, without: list[str], *, skewed: bool
) -> list[dict[str, Any]]:
    root = f"{folder}/{scale}{'-skewed' if skewed else ''}"
    began = time.monotonic()
    only_bronze(root, scale, skewed=skewed)
    print(
        f"{root}: bronze written in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True
    )
    command = [sys.executable, "-m", "bench.scale", "--one", root]
    command += ["--without", " ".join(without)]
    stages = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith("{"):
                stages.append(stage := json.loads(line))
                print(f"{root} {stage['stage']}: {_cell(stage)}", file=sys.stderr, flush=True)
    if process.returncode:
        raise SystemExit(f"{root}: exit code {process.returncode}")
    print(f"{root}: {_cell(_total(stages))}", file=sys.stderr, flush=True)
    return stages


def print_table(runs: dict[str, list[dict[str, Any]]], sizes: dict[str, float]) -> None:
    """Print one row per job with the figures of each run, then the growth relative to linear."""
    heads = (f"{name}: s, CPU s, JVM / workers MiB" for name in runs)
    print("| stage | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(runs))
    for rows in zip(*runs.values(), strict=True):
        print(f"| {rows[0]['stage']} | " + " | ".join(map(_cell, rows)) + " |")
    totals = {name: _total(rows) for name, rows in runs.items()}
    print("| all | " + " | ".join(map(_cell, totals.values())) + " |")
    even = [name for name in runs if not name.endswith(SKEWED)]
    for before, after in itertools.pairwise(even):
        by = sizes[after] / sizes[before]
        clock, cpu = (totals[after][k] / totals[before][k] / by for k in ("seconds", "cpu_s"))
        print(f"{before} -> {after}: {clock:.2f} x linear by the clock, {cpu:.2f} x in CPU time")
    for name in runs.keys() - set(even):
        of = totals[name.removesuffix(SKEWED)]
        clock, cpu = (totals[name][k] / of[k] for k in ("seconds", "cpu_s"))
        print(f"{name}: {clock:.2f} x the even day by the clock, {cpu:.2f} x in CPU time")


def _cell(row: dict[str, Any]) -> str:
    seconds, cpu = row["seconds"], row["cpu_s"]
    return f"{seconds:.0f}, {cpu:.0f}, {row['jvm_mib']:.0f} / {row['workers_mib']:.0f}"


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sums = {key: sum(row[key] for row in rows) for key in ("seconds", "cpu_s")}
    return sums | {key: max(row[key] for row in rows) for key in ("jvm_mib", "workers_mib")}


def main(
    sizes: Annotated[
        str, typer.Option(help="Sizes of the day, separated by spaces.")
    ] = "0.01 0.04 0.16",
    skewed: Annotated[str, typer.Option(help="Sizes to run also with one huge group.")] = "",
    lakes: Annotated[str | None, typer.Option(help="Keep the lakes in this folder.")] = None,
    without: Annotated[str, typer.Option(help="Jobs to leave out.")] = "",
    one: Annotated[
        str | None, typer.Option(help="Run the jobs on this lake and print their figures.")
    ] = None,
) -> None:
    left_out = without.split()
    if unknown := {*left_out} - {*JOBS}:
        raise typer.BadParameter(f"--without {', '.join(sorted(unknown))}: not a job")
    skewed_sizes = [float(size) for size in skewed.split()]
    if one:
        run_one(one, [name for name in JOBS if name not in left_out])
        return
    with tempfile.TemporaryDirectory() as temporary:
        runs, size_of = {}, {}
        for scale in map(float, sizes.split()):
            for is_skewed in (False, True) if scale in skewed_sizes else (False,):
                name = f"{scale:g}x{SKEWED if is_skewed else ''}"
                size_of[name] = scale
                folder = lakes or temporary
                runs[name] = measured(scale, folder, left_out, skewed=is_skewed)
        print_table(runs, size_of)


if __name__ == "__main__":
    typer.run(main)
