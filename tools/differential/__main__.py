"""Plays random scenarios with Kafka and the engine, and shrinks the first difference.

    python -m tools.differential --seed 1 --count 500 --eras 4.1,3.9,2.5
    python -m tools.differential --group-type consumer --seed 1 --count 500 --eras 4.4,4.1

Exits 0 without a difference, 1 with one, 2 if the runner is not built.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.coordinator.eras import ERAS as KAFKA_ERAS
from coordinator_core.coordinator.group_types import MODERN_TYPES
from tools.differential.check import Compare, Finding, Player, findings, shrunk
from tools.differential.consumer_groups import consumer_scenario, mixed_scenario
from tools.differential.coverage import print_coverage
from tools.differential.engine import Engine
from tools.differential.kafka import (
    ALL_TYPES,
    ALL_TYPES_RUNNERS,
    BUILD,
    CLASSIC_RUNNERS,
    KafkaRunner,
    NotBuilt,
    Scenario,
)
from tools.differential.scenarios import scenario
from tools.differential.share_and_streams import share_scenario, streams_scenario
from tools.differential.traces import JsonLine, first_difference, first_difference_by_key

CLASSIC = "classic"
GROUP_TYPES: Mapping[str, Callable[[random.Random, str], Scenario]] = {
    "consumer": consumer_scenario,
    "mixed": mixed_scenario,
    "share": share_scenario,
    "streams": streams_scenario,
}


class OtherKafka:
    """Another Kafka version in the engine's place, to compare the two versions."""

    def __init__(self, runner: str) -> None:
        self._kafka = KafkaRunner(runner)

    def play(self, scenario: Scenario, member_ids: list[str]) -> list[JsonLine]:
        return self._kafka.play(scenario)


@dataclass(frozen=True)
class Options:
    group_type: str
    seed: int
    count: int
    scenarios: Path | None
    against: str | None
    show: int
    out: Path | None
    coverage: bool

    def has_all_types(self, era: str) -> bool:
        """Returns whether the era's runner plays groups of all types."""
        return self.group_type != CLASSIC or era not in CLASSIC_RUNNERS

    def runner(self, era: str) -> str:
        return era + ALL_TYPES if self.has_all_types(era) else era

    def player(self, era: str) -> Player:
        if self.against:
            return OtherKafka(self.runner(self.against))
        return Engine(era, self.has_all_types(era))

    def compare(self, era: str) -> Compare:
        return first_difference_by_key if self.has_all_types(era) else first_difference

    def eras(self) -> list[str]:
        """The eras that have the group type."""
        if self.group_type == CLASSIC:
            return list(dict.fromkeys((*ALL_TYPES_RUNNERS, *CLASSIC_RUNNERS)))
        group_type = "consumer" if self.group_type == "mixed" else self.group_type
        return [era for era in ALL_TYPES_RUNNERS if group_type in KAFKA_ERAS[era].modern_types]


def main(
    seed: Annotated[int, typer.Option(help="Seed of the scenarios.")] = 1,
    count: Annotated[int, typer.Option(help="Scenarios per era.")] = 500,
    eras: Annotated[
        str, typer.Option(help="Eras, separated by commas; empty: all of the group type.")
    ] = "",
    group_type: Annotated[
        str, typer.Option(help="classic, consumer, mixed, share or streams.")
    ] = CLASSIC,
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
    if group_type not in (CLASSIC, *GROUP_TYPES):
        raise typer.BadParameter(f"--group-type {group_type}: use {', '.join(GROUP_TYPES)}")
    options = Options(group_type, seed, count, scenarios, against, show, out, coverage)
    possible = options.eras()
    chosen = eras.split(",") if eras else possible
    for era in [*chosen, *([against] if against else [])]:
        if era not in possible:
            raise typer.BadParameter(f"era {era}: {group_type} groups have {', '.join(possible)}")
    try:
        equal = [_check(era, options) for era in chosen]
    except NotBuilt as e:
        print(e, file=sys.stderr)
        raise typer.Exit(2) from None
    if coverage:
        print_coverage({era: _tally(era) for era in chosen})
    raise typer.Exit(0 if all(equal) else 1)


def _check(era: str, options: Options) -> bool:
    """Play one era; True if nothing differs."""
    player, compare = options.player(era), options.compare(era)
    started = time.perf_counter()
    played, differing = 0, 0
    kinds: dict[object, Finding] = {}
    with KafkaRunner(options.runner(era), _tally(era) if options.coverage else None) as kafka:
        for finding in findings(_scenarios(era, options), kafka, player, compare):
            played += 1
            if finding:
                differing += 1
                kinds.setdefault(finding.difference.kind(), finding)
        for finding in list(kinds.values())[: options.show]:
            _show(shrunk(finding, kafka, player, compare), era, options)
    seconds = time.perf_counter() - started
    kinds_seen = f" in {len(kinds)} ways" if kinds else ""
    print(f"{era}: {played} scenarios, {differing} differ{kinds_seen} ({seconds:.1f} s)")
    return differing == 0


def _scenarios(era: str, options: Options) -> Iterator[Scenario]:
    """The scenarios without those of group types that the era lacks."""
    if options.scenarios:
        for path in sorted(options.scenarios.glob("*.json")):
            read = json.loads(path.read_text("utf-8"))
            if not types_of(read) - {*KAFKA_ERAS[era].modern_types}:
                yield read
    else:
        for index in range(options.count):
            yield random_scenario(options.group_type, options.seed, index)


def types_of(scenario: Scenario) -> set[str]:
    ops = {step["op"].split("_")[0] for step in scenario["steps"]}
    return ops & {each.name for each in MODERN_TYPES}


def random_scenario(group_type: str, seed: int, index: int) -> Scenario:
    if group_type == CLASSIC:
        return scenario(seed, index)
    name = f"{group_type}-{seed}-{index:05d}"
    return GROUP_TYPES[group_type](random.Random(name), name)


def _show(finding: Finding, era: str, options: Options) -> None:
    print(f"--- {era}\n{finding}\n")
    if options.out:
        finding.write(options.out / f"{era}-{finding.scenario['name']}")


def _tally(era: str) -> Path:
    return BUILD / f"tally-{era}.json"


if __name__ == "__main__":
    typer.run(main)
