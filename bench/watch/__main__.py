"""What a pass of `regroup watch` costs: without news, and with 60 new records.

    python -m bench.watch [--passes 100] [--engine embedded]

The demo's first incident is written into a growing copy: all but the last records of its
partitions before the first pass, then 60 records before every second pass.  Prints CPU seconds of
both kinds of passes, and the memory.  At the end the lake has all records of the incident.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from bench.growing_segments import INCIDENT, GrowingSegments
from jobs.configuration.config import Engine, load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from jobs.watch.passes import Watch, WatchOptions

RECORDS_PER_PASS = 60


def main(
    passes: Annotated[int, typer.Option(help="Passes after the first, every second with news.")] = (
        100
    ),
    engine: Annotated[Engine, typer.Option(help="Engine of the jobs.")] = Engine.EMBEDDED,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        segments = GrowingSegments(folder, RECORDS_PER_PASS * passes // 2)
        shutil.copy(INCIDENT / "server.log", folder)
        sources = {"segments": f"{folder}/segments", "broker_log": f"{folder}/server.log"}
        options = NightlyOptions(lake=f"{folder}/lake", cluster_id="c", **sources)  # type: ignore[arg-type]
        lines: list[str] = []
        watch = Watch(
            options=WatchOptions(nightly=options),
            config=load_config(None, engine),
            say=lines.append,
        )
        costs: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        first = cost_of(watch, 1)
        print_costs("first pass", [first])
        print(f"memory after the first pass: {memory_mib():.0f} MiB", flush=True)
        for number in range(2, passes + 2):
            has_news = number % 2 == 0 and segments.grow(RECORDS_PER_PASS) > 0
            costs[has_news].append(cost_of(watch, number))
            if number in (11, 51, passes + 1):
                print(f"memory after {number} passes: {memory_mib():.0f} MiB", flush=True)
        news = costs[True]
        print_costs(f"pass with {RECORDS_PER_PASS} new records", news)
        print_costs("the first ten of these", news[:10])
        print_costs("the last ten of these", news[-10:])
        print_costs("pass without news", costs[False])
        [(records,)] = query(f"{folder}/lake", "SELECT COUNT(*) FROM offsets_records")[1]
        size = sum(file.stat().st_size for file in (folder / "lake").rglob("*") if file.is_file())
        print(f"failed passes: {watch.counts.failed}; records: {records}; lake: {size >> 20} MiB")
        if watch.counts.failed:
            print(*(line for line in lines if "failed" in line), sep="\n", file=sys.stderr)
            raise typer.Exit(1)


def cost_of(watch: Watch, number: int) -> tuple[float, float]:
    """CPU seconds and clock seconds of a pass."""
    began, cpu = time.monotonic(), cpu_s()
    watch.run_pass(number)
    return cpu_s() - cpu, time.monotonic() - began


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if "VmRSS" in line)


def print_costs(what: str, costs: list[tuple[float, float]]) -> None:
    cpu, clock = (statistics.median(each) for each in zip(*costs, strict=True))
    print(f"{what}: {cpu:.3f} CPU s, {clock:.3f} s (median of {len(costs)})", flush=True)


if __name__ == "__main__":
    typer.run(main)
