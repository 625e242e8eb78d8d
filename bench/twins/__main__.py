"""Predictions compared with real runs of the same script with one setting changed.

    python -m bench.twins [--seeds 5] [--script NAME]

For each group `...-base` of tests/data/twins (real clients, unmodified brokers), each variant is
predicted from the nightly tables of that group, and compared with the figures counted from the
variant's own clients and broker during the run (truth.json).  The script ran on two broker
versions: a prediction cannot be more accurate than the difference between their runs.

Scripts that also ran under the consumer protocol are predicted in both directions
(`bench.twins.across`).
"""

from __future__ import annotations

import json
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.twins import across
from bench.twins.tables import cells, heading, wrong_order
from coordinator_core.whatif import Figures
from jobs.configuration.config import load_config
from jobs.nightly import NightlyOptions, nightly
from jobs.what_if.command import WhatIfOptions, evaluate

TWINS = Path(__file__).parents[2] / "tests" / "data" / "twins"
SCRIPTS = ("rolling-deploy-and-crash", "flapping-and-slow-poll")
VERSIONS = ("3.9.1", "4.1.2")
VARIANTS = {
    "base": (),
    "static": ("membership=static",),
    "cooperative": ("protocol=cooperative",),
    "session": ("session_timeout_ms=25000",),
    "static+session": ("membership=static", "session_timeout_ms=25000"),
    "delay": ("initial_rebalance_delay_ms=6000",),
}
PLAYS = {"orders": "", "clicks": "play2/", "invoices": "play2/"}
COUNTED = ("rebalances", "not_stable_ms", "partitions_moved", "unowned_partition_ms")
COLUMNS = ("rebalances", "not Stable, s", "moved", "no owner, s")
Truths = dict[str, Figures]


def main(
    seeds: Annotated[int, typer.Option(help="Seeds per prediction.")] = 5,
    script: Annotated[str, typer.Option(help="Only this script; default: all.")] = "",
) -> None:
    cpu_s = 0.0
    for each in (*SCRIPTS, *across.SCRIPTS):
        if script in ("", each):
            print(f"\n{each}\n")
            with tempfile.TemporaryDirectory() as folder:
                compared = compare if each in SCRIPTS else compare_across
                cpu_s += compared(each, Path(folder), seeds)
    print(f"\n{cpu_s:.1f} s of CPU time for all predictions")


def compare_across(script: str, folder: Path, seeds: int) -> float:
    """The same for a script that ran under both group protocols."""
    lake = f"{folder}/lake"
    plays = across.plays_of(script, folder, lake)
    began_s = time.process_time()
    across.show(plays, lake, seeds)
    return time.process_time() - began_s


def compare(script: str, folder: Path, seeds: int) -> float:
    """Print predictions and truth of one script; returns the CPU time of the predictions in s."""
    plays = [(version, unpacked(script, version, folder)) for version in VERSIONS]
    lake = f"{folder}/lake"
    for version, incident in plays:
        for play in sorted(set(PLAYS.values())):
            read(lake, f"{version} {play}", incident / play)
    truths = {version: truth_of(incident) for version, incident in plays}
    began_s = time.process_time()
    show(lake, truths, seeds)
    return time.process_time() - began_s


def unpacked(script: str, version: str, folder: Path) -> Path:
    with tarfile.open(TWINS / f"{script}-{version}.tar.gz") as packed:
        packed.extractall(folder / version, filter="data")
    return folder / version


def read(lake: str, cluster_id: str, play: Path) -> None:
    segments, log = str(play / "segments"), str(play / "server.log")
    nightly(
        NightlyOptions(lake=lake, cluster_id=cluster_id, segments=segments, broker_log=log),
        load_config(None),
    )


def truth_of(incident: Path) -> Truths:
    """Counted figures by group, within the counted period."""
    groups: dict[str, Any] = {}
    for play in PLAYS.values():
        groups |= json.loads((incident / play / "truth.json").read_text())["groups"]
    return {
        group: Figures(*(counted["window"][name] for name in COUNTED))
        for group, counted in groups.items()
    }


def show(lake: str, truths: dict[str, Truths], seeds: int) -> None:
    """Cells marked with ! are out of bounds (see `tables.bound`)."""
    print(heading(COLUMNS))
    ranked = []
    within: list[bool] = []
    for group, play in PLAYS.items():
        for version in VERSIONS:
            predicted = {}
            for variant, settings in VARIANTS.items():
                if f"{group}-{variant}" not in truths[version]:
                    continue
                options = WhatIfOptions(
                    lake=lake,
                    cluster_id=f"{version} {play}",
                    group_id=f"{group}-base",
                    settings=settings,
                    seeds=seeds,
                )
                answer = evaluate(options)
                predicted[variant] = (answer.predicted[0] if settings else answer.model).median
            for variant, outcome in predicted.items():
                true = [truths[each][f"{group}-{variant}"] for each in (version, *VERSIONS)]
                texts, inside = cells(outcome, true, len(COLUMNS))
                within += inside
                print(f"| {group} | {variant} | {version} | {' | '.join(texts)} |")
            own = {variant: truths[version][f"{group}-{variant}"] for variant in predicted}
            wrong = wrong_order(predicted, own)
            order = f"wrong: {', '.join(wrong)}" if wrong else "correct"
            ranked.append(f"{group} {version}: order {order}")
    print(f"\n{sum(within)} of {len(within)} figures within the bounds")
    print("\n".join(ranked))


if __name__ == "__main__":
    typer.run(main)
