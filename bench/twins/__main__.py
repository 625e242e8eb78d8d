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
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator_core.whatif import Figures
from jobs.command_line.config import load_config
from jobs.nightly import NightlyOptions, nightly
from jobs.what_if.command import WhatIfOptions, evaluate

TWINS = Path(__file__).parents[2] / "tests" / "data" / "twins"
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
    with tempfile.TemporaryDirectory() as folder:
        plays = [(version, unpacked(version, Path(folder))) for version in VERSIONS]
        lake = f"{folder}/lake"
        for version, incident in plays:
            for play in sorted(set(PLAYS.values())):
                read(lake, f"{version} {play}", incident / play)
        truths = {version: truth_of(incident) for version, incident in plays}
        began = time.process_time()
        show(lake, truths, seeds)
        print(f"\n{time.process_time() - began:.1f} s of CPU time for all predictions")


def unpacked(version: str, folder: Path) -> Path:
    with tarfile.open(TWINS / f"rolling-deploy-and-crash-{version}.tar.gz") as packed:
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
    print("| group | variant | version | rebalances | not Stable, s | moved | no owner, s |")
    print("|---|---|---|---:|---:|---:|---:|")
    ranked = []
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
                true = truths[version][f"{group}-{variant}"]
                cells = " | ".join(f"{a} / {b}{_deviation(a, b)}" for a, b in _shown(outcome, true))
                print(f"| {group} | {variant} | {version} | {cells} |")
            ranked.append(_ranks(group, version, predicted, truths[version]))
    print()
    print("\n".join(ranked))


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
