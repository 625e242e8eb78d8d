"""Predictions across the group protocols, beside real runs: from a classic and a consumer group.

Each script ran on real brokers as several groups side by side, of the classic and of the consumer
protocol.  Each variant is predicted from the nightly tables of the group `...-base` (classic,
eager) alone, and again from those of the group `...-consumer` alone.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench.twins.tables import Truth, cells, heading, wrong_order
from coordinator_core.whatif import Figures, SettingsChange, predict_each
from jobs.configuration.config import load_config
from jobs.nightly import NightlyOptions, nightly
from jobs.what_if.command import WhatIfOptions, evaluate

TWINS = Path(__file__).parents[2] / "tests" / "data" / "twins"
# Broker versions by script: archives of a script differ by broker version, or only by chance.
SCRIPTS = {
    "next-rolling-deploy-and-crash": ("4.1.2", "4.4.0"),
    "next-surge-and-autoscale": ("4.4.0", "4.4.0-again"),
    "next-host-loss-and-freezes": ("4.1.2", "4.1.2-again"),
}
COLUMNS = ("rebalances", "not Stable, s", "moved", "no owner, s", "refused")
COUNTED = (
    "rebalances", "not_stable_ms", "partitions_moved", "unowned_partition_ms",
    "static_joins_refused",
)  # fmt: skip
_CLASSIC = "group.protocol=classic session.timeout.ms=10000"
_CONSUMER = "group.protocol=consumer"
_SHORT = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"
_LONG = "consumer.session.timeout.ms=25000 consumer.heartbeat.interval.ms=3000"
_DEFAULT = "consumer.session.timeout.ms=45000 consumer.heartbeat.interval.ms=5000"
# Settings by the group from which the variants are predicted.  The broker's session timeout was 10
# s.
SETTINGS = {
    "base": {
        "base": "",
        "cooperative": "protocol=cooperative",
        "static": "membership=static",
        "consumer": f"{_CONSUMER} {_SHORT}",
        "consumer-range": f"{_CONSUMER} {_SHORT} group.remote.assignor=range",
        "consumer-static": f"{_CONSUMER} {_SHORT} membership=static",
        "consumer-session": f"{_CONSUMER} {_LONG}",
        "consumer-default": f"{_CONSUMER} {_DEFAULT}",
    },
    "consumer": {
        "base": f"{_CLASSIC} assignor=range",
        "cooperative": f"{_CLASSIC} protocol=cooperative",
        "static": f"{_CLASSIC} assignor=range membership=static",
        "consumer": "",
        "consumer-range": "group.remote.assignor=range",
        "consumer-static": f"membership=static {_SHORT}",
        "consumer-session": _LONG,
        "consumer-default": _DEFAULT,
    },
}


class Play(NamedTuple):
    """A group family's run of a script.  ``truth``: of all variants, within ``t0_ms``, ``end_ms``.
    ``cluster_id``: where its evidence is in the lake.
    """

    family: str
    run: str
    cluster_id: str
    truth: Truth
    t0_ms: int
    end_ms: int

    @property
    def era(self) -> str:
        return self.run[:3]


def plays_of(script: str, folder: Path, lake: str) -> list[Play]:
    """Read the evidence of the script's runs into the lake."""
    return [play for run in SCRIPTS[script] for play in _plays_of_run(script, run, folder, lake)]


def _plays_of_run(script: str, run: str, folder: Path, lake: str) -> Iterator[Play]:
    name = f"{script}-{run}"
    with tarfile.open(TWINS / f"{name}.tar.gz") as packed:
        packed.extractall(folder / name, filter="data")
    for number, (inner, counted) in enumerate(_counted(folder / name, script, run)):
        cluster_id = f"{name} {number}"
        options = NightlyOptions(
            lake=lake,
            cluster_id=cluster_id,
            segments=str(inner / "segments"),
            broker_log=str(inner / "server.log"),
        )
        nightly(options, load_config(None))
        t0_ms = counted["t0_wall_ms"]
        for family in sorted({group.partition("-")[0] for group in counted["groups"]}):
            truth = {
                group.removeprefix(f"{family}-"): Figures(*figures)
                for group, figures in counted["groups"].items()
                if group.startswith(f"{family}-")
            }
            yield Play(family, run, cluster_id, truth, t0_ms, t0_ms + counted["window_ms"])


def _counted(folder: Path, script: str, run: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Each play's folder and counted figures: in truth.json, or for both plays of the first script
    beside its archives.
    """
    if (folder / "truth.json").exists():
        counted = json.loads((folder / "truth.json").read_text())
        groups = counted["groups"].items()
        figures = {group: [of["window"][name] for name in COUNTED] for group, of in groups}
        yield folder, counted | {"groups": figures}
        return
    figures = json.loads((TWINS / f"{script}-figures.json").read_text())[run]
    for play in json.loads((TWINS / "callbacks.json").read_text())[f"{script}-{run}"]:
        own = {group: figures[group] for group in play["unowned_partition_ms"]}
        yield folder / next(iter(own)).partition("-")[0], play | {"groups": own}


def predicted(play: Play, lake: str, source: str, seeds: int) -> dict[str, Figures]:
    """By variant: the median of the seeds, from the evidence of the source group alone."""
    variants = [variant for variant in SETTINGS[source] if variant in play.truth]
    texts = [SETTINGS[source][variant] for variant in variants]
    changes = [SettingsChange.of(f"{text} {_era(play, text, source)}".split()) for text in texts]
    last = datetime.fromtimestamp(play.end_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    group = f"{play.family}-{source}"
    # Give a change, so that what-if tries no other changes.
    options = WhatIfOptions(
        lake=lake,
        cluster_id=play.cluster_id,
        group_id=group,
        settings=("restart_ms=3000",),
        seeds=1,
        last=last,
    )
    baseline = evaluate(options).baseline
    predictions = predict_each(baseline, changes, seeds=seeds)
    return {v: each.median for v, each in zip(variants, predictions, strict=True)}


def _era(play: Play, text: str, source: str) -> str:
    """The log of a broker does not tell 4.1 from 4.4 where all groups are classic."""
    return f"era={play.era}" if source == "base" and _CONSUMER in text else ""


def show(plays: Sequence[Play], lake: str, seeds: int) -> None:
    """Cells marked with ! are out of bounds (see `tables.bound`)."""
    for source in SETTINGS:
        print(f"\nfrom the evidence of the group ...-{source}\n\n{heading(COLUMNS)}")
        within: list[bool] = []
        orders = []
        for play in plays:
            outcomes = predicted(play, lake, source, seeds)
            others = [each.truth for each in plays if each.family == play.family]
            for variant, outcome in outcomes.items():
                true = [truth[variant] for truth in (play.truth, *others)]
                texts, inside = cells(outcome, true, len(COLUMNS))
                within += inside
                print(f"| {play.family} | {variant} | {play.run} | {' | '.join(texts)} |")
            wrong = wrong_order(outcomes, play.truth, others)
            order = f"wrong: {', '.join(wrong)}" if wrong else "correct"
            orders.append(f"{play.family} {play.run}: order {order}")
        print(f"\n{sum(within)} of {len(within)} figures within the bounds")
        print("\n".join(orders))
