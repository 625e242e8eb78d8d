"""Predictions compared with real runs of the same script with one setting changed.

    python -m bench.twins [--seeds 5]

For each group `...-base` of tests/data/twins (real clients, unmodified brokers), each variant is
predicted from the nightly tables of that group, and compared with the figures counted from the
variant's own clients and broker during the run (truth.json).  The script ran on two broker
versions: a prediction cannot be more accurate than the difference between their runs.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator_core.whatif import Figures
from jobs.command_line.config import load_config
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
Truth = dict[str, Figures]


def main(
    seeds: Annotated[int, typer.Option(help="Seeds per prediction.")] = 5,
) -> None:
    cpu_s = 0.0
    for script in SCRIPTS:
        print(f"\n{script}\n")
        with tempfile.TemporaryDirectory() as folder:
            cpu_s += compare(script, Path(folder), seeds)
    print(f"\n{cpu_s:.1f} s of CPU time for all predictions")


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
    nightly(NightlyOptions(lake, cluster_id, segments=segments, broker_log=log), load_config(None))


def truth_of(incident: Path) -> Truth:
    """Counted figures by group, within the counted period."""
    groups: dict[str, Any] = {}
    for play in PLAYS.values():
        groups |= json.loads((incident / play / "truth.json").read_text())["groups"]
    return {
        group: Figures(*(counted["window"][name] for name in COUNTED))
        for group, counted in groups.items()
    }


def show(lake: str, truths: dict[str, Truth], seeds: int) -> None:
    """Cells marked with ! are out of bounds (see `_bound`)."""
    print("| group | variant | version | rebalances | not Stable, s | moved | no owner, s |")
    print("|---|---|---|---:|---:|---:|---:|")
    ranked = []
    within: list[bool] = []
    for group, play in PLAYS.items():
        for version in VERSIONS:
            predicted = {}
            for variant, settings in VARIANTS.items():
                if f"{group}-{variant}" not in truths[version]:
                    continue
                options = WhatIfOptions(lake, f"{version} {play}", f"{group}-base", settings, seeds)
                answer = evaluate(options)
                predicted[variant] = (answer.predicted[0] if settings else answer.model).median
            for variant, outcome in predicted.items():
                true = [truths[each][f"{group}-{variant}"] for each in (version, *VERSIONS)]
                cells, inside = _cells(outcome, true)
                within += inside
                print(f"| {group} | {variant} | {version} | {' | '.join(cells)} |")
            ranked.append(_ranks(group, version, predicted, truths[version]))
    print(f"\n{sum(within)} of {len(within)} figures within the bounds")
    print("\n".join(ranked))


def _cells(outcome: Figures, true: Sequence[Figures]) -> tuple[list[str], list[bool]]:
    """``true``: of this version, then of all."""
    inside = [
        abs(figure - own) <= _bound(name, own, others)
        for name, figure, own, *others in zip(Figures._fields, outcome, *true, strict=True)
    ]
    cells = [
        f"{a} / {b}{_deviation(a, b)}{'' if is_inside else ' !'}"
        for (a, b), is_inside in zip(_shown(outcome, true[0]), inside, strict=True)
    ]
    return cells, inside


def _bound(name: str, true: int, all_true: Sequence[int]) -> float:
    """A quarter, of rebalances a tenth or one; at least the difference between the versions."""
    share, least = (0.1, 1) if name == "rebalances" else (0.25, 0)
    return max(share * true, least, max(all_true) - min(all_true))


def _shown(outcome: Figures, true: Figures) -> list[tuple[str, str]]:
    return [
        (f"{a / 1000:.1f}", f"{b / 1000:.1f}") if name.endswith("_ms") else (str(a), str(b))
        for name, a, b in zip(Figures._fields, outcome, true, strict=True)
    ]


def _deviation(predicted: str, true: str) -> str:
    share = (float(predicted) - float(true)) / float(true) if float(true) else 0.0
    return f" ({share:+.0%})" if abs(share) >= 0.005 else ""


def _ranks(group: str, version: str, predicted: Truth, truth: Truth) -> str:
    """Pairs of variants in the wrong order of partition downtime, unless they are within 5 %."""
    wrong = []
    for one in predicted:
        for other in predicted:
            true_one = truth[f"{group}-{one}"].unavailable_partition_ms
            true_other = truth[f"{group}-{other}"].unavailable_partition_ms
            predicted_one = predicted[one].unavailable_partition_ms
            predicted_other = predicted[other].unavailable_partition_ms
            if true_one * 1.05 < true_other and predicted_one >= predicted_other:
                wrong.append(f"{one} before {other}")
    return f"{group} {version}: order {'correct' if not wrong else 'wrong: ' + ', '.join(wrong)}"


if __name__ == "__main__":
    typer.run(main)
