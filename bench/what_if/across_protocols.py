"""CPU time of all standard changes of classic groups, those of the consumer protocol among them,
beside the twelve changes of the classic protocol, in turn in one process.

    python -m bench.what_if.across_protocols [--groups 40] [--rounds 2]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from bench.what_if.beside import GroupEvidence, evidence, fill
from coordinator_core.incident import incarnations
from coordinator_core.whatif import (
    GRID,
    UNCHANGED,
    Baseline,
    SettingsChange,
    baseline_of,
    candidates,
    predict_each,
    refusals,
)


def main(
    groups: Annotated[int, typer.Option(help="Groups of the fleet.")] = 40,
    rounds: Annotated[int, typer.Option(help="Turns of each set of changes.")] = 2,
) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-across-") as folder:
        fill(f"{folder}/lake", groups)
        baselines = [_baseline(each) for each in evidence(f"{folder}/lake")]
    classic = [[each for each in GRID if not any(refusals(b, each))] for b in baselines]
    every = [candidates(b) for b in baselines]
    costs: dict[str, list[float]] = {"classic changes": [], "all changes": []}
    for _ in range(rounds):
        costs["classic changes"].append(_cpu_s(baselines, classic))
        costs["all changes"].append(_cpu_s(baselines, every))
    first = statistics.median(costs["classic changes"])
    for (name, seconds), changes in zip(costs.items(), (classic, every), strict=True):
        count, median = sum(map(len, changes)), statistics.median(seconds)
        print(f"{name}: {count} of {groups} groups, {median:.1f} CPU s, {median / first:.2f} times")


def _baseline(group: GroupEvidence) -> Baseline:
    return baseline_of(
        incarnations(group.group_id, group.events, group.records),
        offset_versions=group.offset_versions,
        last_commit_ms=group.last_commit_ms,
        until_ms=group.until_ms,
    )


def _cpu_s(baselines: Sequence[Baseline], changes: Sequence[Sequence[SettingsChange]]) -> float:
    began_s = time.process_time()
    for baseline, of_group in zip(baselines, changes, strict=True):
        predict_each(baseline, (UNCHANGED, *of_group), seeds=1)
    return time.process_time() - began_s


if __name__ == "__main__":
    sys.exit(typer.run(main))
