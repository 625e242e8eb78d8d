"""Compare `regroup plan` with the deployments of a play.

    .venv/bin/python -m tools.deployments.compare FOLDER [--lake LAKE]

FOLDER has truth.json, segments/ and server.log.  Each deployment is predicted from a lake of this
evidence.  Two rules judge a prediction, because a deployment that is repeated has other figures:

- order:  two ways to deploy a group differ if their captured figures do not overlap; then the
          predicted medians have the same order
- figure: the predicted median is within a quarter of the captured mean, or within the captured
          range
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Annotated, Any, NamedTuple

import typer

from coordinator_core.whatif import UNCHANGED, Baseline
from coordinator_core.whatif.deployments import (
    DeployedGroup,
    Deployment,
    PlannedDeployment,
    Strategy,
    restarts,
)
from jobs.what_if.command import WhatIfOptions, evidence_and_baseline

CLUSTER = "play"
ORDERED = ("unavailable_partition_ms", "rebalances")
COMPARED = (*ORDERED, "not_stable_ms", "moved_partitions", "records_reprocessed")
SEEDS = 16
SHARE = 0.25


class Way(NamedTuple):
    """A way to deploy a group: its captured figures, one per repetition, and the prediction."""

    group: str
    baseline: Baseline
    deployment: Deployment
    captured: Sequence[Mapping[str, int]]
    planned: PlannedDeployment

    def values(self, figure: str) -> list[int]:
        return [each[figure] for each in self.captured]

    def median(self, figure: str) -> int:
        return getattr(self.planned.median, figure) or 0

    def is_near(self, figure: str) -> bool:
        values = self.values(figure)
        off = abs(self.median(figure) - mean(values))
        return off <= max(SHARE * mean(values), max(values) - min(values))


def ways(lake: str, truth: Mapping[str, Any]) -> Iterator[Way]:
    for group, deployments in truth["groups"].items():
        options = WhatIfOptions(lake=lake, cluster_id=CLUSTER, group_id=group)
        _, baseline = evidence_and_baseline(options)
        planned = DeployedGroup.of(baseline, None, restarts(baseline))
        captured: dict[Deployment, list[Mapping[str, int]]] = {}
        for each in deployments:
            way = Deployment(Strategy(each["strategy"]), each["pace_ms"], each["batch"])
            captured.setdefault(way, []).append(each)
        for way, figures in captured.items():
            yield Way(group, baseline, way, figures, planned.plan(way, UNCHANGED, SEEDS))


class Order(NamedTuple):
    """Two ways whose captured figures do not overlap; ``is_same``: predicted in the same order."""

    figure: str
    less: Way
    more: Way
    is_same: bool


def orders(compared: Sequence[Way]) -> Iterator[Order]:
    for figure in ORDERED:
        for one, other in combinations(compared, 2):
            if one.group != other.group:
                continue
            less, more = sorted([one, other], key=lambda each: mean(each.values(figure)))
            if max(less.values(figure)) < min(more.values(figure)):
                is_same = less.median(figure) < more.median(figure)
                yield Order(figure, less, more, is_same)


def fill(lake: Path, play: Path) -> None:
    regroup = Path(sys.executable).with_name("regroup")
    command = [str(regroup), "nightly", "--engine", "embedded"]
    command += ["--lake", str(lake), "--cluster-id", CLUSTER, "--no-advice"]
    command += ["--segments", str(play / "segments"), "--broker-log", str(play / "server.log")]
    if (play / "end_offsets.jsonl").exists():
        command += ["--end-offsets", str(play / "end_offsets.jsonl")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main(
    play: Annotated[Path, typer.Argument(help="Folder of a play.")],
    lake: Annotated[Path | None, typer.Option(help="A lake that was filled before.")] = None,
) -> None:
    truth = json.loads((play / "truth.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        if lake is None:
            lake = Path(folder) / "lake"
        if not lake.exists():
            fill(lake, play)
        compared = list(ways(str(lake), truth))
    print("| group | deployment | figure | captured | predicted | near |")
    print("|---|---|---|---|---|---|")
    for way in compared:
        for figure in COMPARED:
            print(_row(way, figure))
    judged = list(orders(compared))
    for order in judged:
        if not order.is_same:
            print("other order:", order.figure, *(f"{w.group} {_name(w)}" for w in order[1:3]))
    for figure in ORDERED:
        own = [each.is_same for each in judged if each.figure == figure]
        print(f"{figure}: {sum(own)} of {len(own)} pairs in the captured order")
    for figure in COMPARED:
        near = [way.is_near(figure) for way in compared]
        print(f"{figure}: {sum(near)} of {len(near)} near")


def _name(way: Way) -> str:
    strategy, pace_ms, batch = way.deployment
    return f"{strategy} {batch} every {pace_ms / 1000:g} s"


def _row(way: Way, figure: str) -> str:
    low, high = (getattr(each, figure) for each in (way.planned.minimum, way.planned.maximum))
    captured = ", ".join(map(str, sorted(way.values(figure))))
    near = "yes" if way.is_near(figure) else "no"
    predicted = f"{way.median(figure)} ({low} to {high})"
    return f"| {way.group} | {_name(way)} | {figure} | {captured} | {predicted} | {near} |"


if __name__ == "__main__":
    typer.run(main)
