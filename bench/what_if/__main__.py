"""Replay and what-if of many groups by Spark: time and memory of each step.

    python -m bench.what_if --groups 10000 [--seeds 1]

Ten minutes of four kinds of groups (fleet.toml), simulated into a lake repeatedly under new names;
then the nightly jobs, the replay of every generation, and the sweep of twelve settings.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bench.process_tree import ProcessTreeWatch
from coordinator_core.whatif import GRID
from jobs import incident_replay, what_if_sweep
from jobs.configuration.config import load_config
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.lake.sql import query
from jobs.nightly_run.pipeline import Progress, run_all
from jobs.simulate.into_lake import run as simulate
from jobs.simulate.into_lake import with_group_count
from jobs.simulate.spec_file import read_spec

SPEC = Path(__file__).parent / "fleet.toml"
CONF = str(Path(__file__).parents[2] / "conf" / "large.toml")
COUNTS = {
    "generations": "SELECT COUNT(*) FROM generations",
    "reproduced": "SELECT COUNT(*) FROM incident_replay WHERE verdict = 'reproduced'",
    "diverged": "SELECT COUNT(*) FROM incident_replay WHERE verdict = 'diverged'",
    "predictions": "SELECT COUNT(*) FROM what_if WHERE basis <> 'observed'",
    "groups with advice": "SELECT COUNT(*) FROM advice WHERE setting IS NOT NULL",
    "without a prediction": "SELECT COUNT(*) FROM advice WHERE sentence LIKE 'no prediction%'",
}
# A task has whole groups; with this many tasks no worker is idle at the end of the sweep.
TASKS = 64


def main(
    groups: Annotated[int, typer.Option(help="Groups of the fleet.")] = 10_000,
    seeds: Annotated[int, typer.Option(help="Seeds per prediction.")] = 1,
) -> None:
    spec = read_spec(SPEC)
    enlarged = replace(spec, fleet=with_group_count(spec.fleet, groups))
    session = build_session(load_config(CONF))
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    session.conf.set("spark.sql.shuffle.partitions", TASKS)
    with tempfile.TemporaryDirectory() as folder:
        lake = open_lake(session, folder, "sim")
        measured("simulate", lambda: simulate(lake, enlarged, spec.fleet.seed))
        measured("nightly jobs", lambda: run_all(AllDates(lake), Progress()))
        measured("replay", lambda: incident_replay.run(lake))
        measured("sweep of 12", lambda: what_if_sweep.run(lake, GRID, seeds))
        for what, sql in COUNTS.items():
            print(f"{what}: {query(folder, sql)[1][0][0]}")


def measured(what: str, run: Callable[[], object]) -> None:
    began = time.monotonic()
    with ProcessTreeWatch(os.getpid()) as watch:
        run()
    used = ", ".join(
        f"{name} {each.cpu_s:.0f} s of CPU and at most {each.mib:.0f} MiB"
        for name, each in sorted(watch.used.items())
    )
    print(f"{what}: {time.monotonic() - began:.0f} s; {used}", flush=True)


if __name__ == "__main__":
    typer.run(main)
