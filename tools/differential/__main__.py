"""Plays random scenarios with Kafka and the engine, and shrinks the first difference.

    python -m tools.differential --seed 1 --count 500 --eras 4.1,3.9,2.5

Exits 0 without a difference, 1 with one, 2 if the runner is not built.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tools.differential.check import Finding, Player, findings, shrunk
from tools.differential.coverage import print_coverage
from tools.differential.engine import Engine
from tools.differential.kafka import BUILD, ERAS, KafkaRunner, NotBuilt, Scenario
from tools.differential.scenarios import scenario
from tools.differential.traces import JsonLine


class OtherKafka:
    """Another Kafka version in the engine's place, to compare the two versions."""

    def __init__(self, era: str) -> None:
        self._kafka = KafkaRunner(era)

    def play(self, scenario: Scenario, member_ids: list[str]) -> list[JsonLine]:
        return self._kafka.play(scenario)


@dataclass(frozen=True)
class Options:
    seed: int
    count: int
    scenarios: Path | None
    against: str | None
    show: int
    out: Path | None
    coverage: bool


def main(
    seed: Annotated[int, typer.Option(help="Seed of the scenarios.")] = 1,
    count: Annotated[int, typer.Option(help="Scenarios per era.")] = 500,
    eras: Annotated[str, typer.Option(help="Eras, separated by commas.")] = ",".join(ERAS),
    scenarios: Annotated[
        Path | None, typer.Option(help="Play the scenarios of this folder.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another Kafka instead of the engine.")
    ] = None,
    show: Annotated[int, typer.Option(help="Kinds of difference to shrink and show.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write each difference to a folder in here, too.")
    ] = None,
    coverage: Annotated[bool, typer.Option(help="Count what occurred in Kafka.")] = False,
) -> None:
    if against is not None and against not in ERAS:
        raise typer.BadParameter(f"--against {against}: use {', '.join(ERAS)}")
    options = Options(seed, count, scenarios, against, show, out, coverage)
    try:
        equal = [_check(era, options) for era in eras.split(",")]
    except NotBuilt as e:
        print(e, file=sys.stderr)
        raise typer.Exit(2) from None
    if coverage:
        print_coverage({era: _tally(era) for era in eras.split(",")})
    raise typer.Exit(0 if all(equal) else 1)


def _check(era: str, options: Options) -> bool:
    """Play one era; True if nothing differs."""
    player: Player = OtherKafka(options.against) if options.against else Engine(era)
    started = time.perf_counter()
    played, differing = 0, 0
    kinds: dict[object, Finding] = {}
    with KafkaRunner(era, _tally(era) if options.coverage else None) as kafka:
        for finding in findings(_scenarios(options), kafka, player):
            played += 1
            if finding:
                differing += 1
                kinds.setdefault(finding.difference.kind(), finding)
        for finding in list(kinds.values())[: options.show]:
            _show(shrunk(finding, kafka, player), era, options)
    seconds = time.perf_counter() - started
    kinds_seen = f" in {len(kinds)} ways" if kinds else ""
    print(f"{era}: {played} scenarios, {differing} differ{kinds_seen} ({seconds:.1f} s)")
    return differing == 0


def _scenarios(options: Options) -> Iterator[Scenario]:
    if options.scenarios:
        for path in sorted(options.scenarios.glob("*.json")):
            yield json.loads(path.read_text("utf-8"))
    else:
        for index in range(options.count):
            yield scenario(options.seed, index)


def _show(finding: Finding, era: str, options: Options) -> None:
    print(f"--- {era}\n{finding}\n")
    if options.out:
        finding.write(options.out / f"{era}-{finding.scenario['name']}")


def _tally(era: str) -> Path:
    return BUILD / f"tally-{era}.json"


if __name__ == "__main__":
    typer.run(main)
