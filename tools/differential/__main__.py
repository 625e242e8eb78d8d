"""Plays random scenarios with Kafka and the engine, and shrinks the first difference.

    python -m tools.differential --seed 1 --count 500 --eras 4.1,3.9,2.5

Exits 0 without a difference, 1 with one, 2 if the runner is not built.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tools.differential.check import Finding, Player, findings, shrunk
from tools.differential.coverage import print_coverage
from tools.differential.engine import Engine
from tools.differential.kafka import BUILD, ERAS, Kafka, NotBuilt, Scenario
from tools.differential.scenarios import scenario
from tools.differential.traces import JsonLine


class OtherKafka:
    """Another Kafka version in the engine's place, to compare the two versions."""

    def __init__(self, era: str) -> None:
        self._kafka = Kafka(era)

    def play(self, scenario: Scenario, member_ids: list[str]) -> list[JsonLine]:
        return self._kafka.play(scenario)


def main() -> int:
    options = _options()
    try:
        equal = [_check(era, options) for era in options.eras.split(",")]
    except NotBuilt as e:
        print(e, file=sys.stderr)
        return 2
    if options.coverage:
        print_coverage({era: _tally(era) for era in options.eras.split(",")})
    return 0 if all(equal) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500, help="scenarios per era")
    parser.add_argument("--eras", default=",".join(ERAS))
    parser.add_argument("--scenarios", type=Path, help="play the scenarios of this directory")
    parser.add_argument("--against", choices=ERAS, help="another Kafka instead of the engine")
    parser.add_argument(
        "--show", type=int, default=1, help="kinds of difference to shrink and show"
    )
    parser.add_argument("--out", type=Path, help="also write each difference to a directory here")
    parser.add_argument("--coverage", action="store_true", help="count what occurred in Kafka")
    return parser.parse_args()


def _check(era: str, options: argparse.Namespace) -> bool:
    """Play one era; True if nothing differs."""
    player: Player = OtherKafka(options.against) if options.against else Engine(era)
    started = time.perf_counter()
    played, differing = 0, 0
    kinds: dict[object, Finding] = {}
    with Kafka(era, _tally(era) if options.coverage else None) as kafka:
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


def _scenarios(options: argparse.Namespace) -> Iterator[Scenario]:
    if options.scenarios:
        for path in sorted(options.scenarios.glob("*.json")):
            yield json.loads(path.read_text("utf-8"))
    else:
        for index in range(options.count):
            yield scenario(options.seed, index)


def _show(finding: Finding, era: str, options: argparse.Namespace) -> None:
    print(f"--- {era}\n{finding}\n")
    if options.out:
        finding.write(options.out / f"{era}-{finding.scenario['name']}")


def _tally(era: str) -> Path:
    return BUILD / f"tally-{era}.json"


if __name__ == "__main__":
    sys.exit(main())
