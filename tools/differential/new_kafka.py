"""Builds a runner around another version of Kafka, plays all vectors, and counts what differs.

    python -m tools.differential.new_kafka 4.3.1 --count 100

The runners of the nearest eras are tried, the newest first, until one compiles against the
version.  Of Kafka 4.0 and later, log wordings, defaults of settings and offered API versions are
compared, too (`tools.differential.release`).  Exits 0 without a difference from the version's era
and Regroup's data, 1 with one, 2 if no runner compiles.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.coordinator.eras import ERAS, era_of_version
from coordinator_core.log_lines import holds_in
from coordinator_core.records import decode
from tools.differential.__main__ import CLASSIC, GROUP_TYPES, random_scenario, types_of
from tools.differential.check import findings
from tools.differential.engine import Engine
from tools.differential.kafka import (
    ALL_TYPES,
    ALL_TYPES_RUNNERS,
    BUILD,
    CLASSIC_RUNNERS,
    KafkaRunner,
    Scenario,
)
from tools.differential.release import compare_release
from tools.differential.traces import (
    JsonLine,
    TraceDifference,
    first_difference,
    first_difference_by_key,
)

ROOT = Path(__file__).resolve().parents[2]
_RUNNER = ROOT / "tools" / "differential" / "runner"
_DATA = ROOT / "tests" / "data"
_VECTORS = {
    "classic": ("coordinator",),
    "all types": ("coordinator-group-types", "coordinator-share-streams"),
}
_SHOWN = 5


def main(
    version: Annotated[str, typer.Argument(help="A version of Kafka in Maven Central.")],
    count: Annotated[int, typer.Option(help="Random scenarios per group type.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the random scenarios.")] = 1,
    era: Annotated[str, typer.Option(help="Compare with this era; empty: the version's.")] = "",
) -> None:
    era = era or era_of_version(version).name
    build = BUILD / f"new-{version}"
    runner = next((each for each in runners(version) if _builds(each, version, build)), None)
    if runner is None:
        print(f"no runner compiles against Kafka {version}: see {build}/build.log", file=sys.stderr)
        raise typer.Exit(2)
    print(f"runner kafka-{runner} around Kafka {version}, compared with era {era}")
    differing = 0
    with KafkaRunner(runner, build=build) as kafka:
        for name, scenarios in _all(runner, era, seed, count):
            differing += _compare(name, scenarios, kafka, era, runner)
    if runner.endswith(ALL_TYPES):
        differing += compare_release(version, build / f"kafka-{runner}" / "lib")
    raise typer.Exit(1 if differing else 0)


def runners(version: str) -> list[str]:
    """The runners to try, nearest first: those of the version's era, then older, then newer."""
    order = list(ERAS)
    place = order.index(era_of_version(version).name)
    names = [each + ALL_TYPES for each in ALL_TYPES_RUNNERS]
    if not holds_in("4.0-", version):
        names = [each for each in CLASSIC_RUNNERS if ERAS[each].modern is None]
    eras = {name: order.index(name.removesuffix(ALL_TYPES)) for name in names}
    return sorted(names, key=lambda name: (eras[name] > place, abs(eras[name] - place)))


def _builds(runner: str, version: str, build: Path) -> bool:
    build.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-q", "-B", "-f", str(_RUNNER / "pom.xml"), "package"]
    command += ["-pl", f"harness,kafka-{runner}"]
    command += [f"-Dkafka.version={version}", f"-Drunners={build}"]
    with (build / "build.log").open("a", encoding="utf-8") as log:
        return subprocess.run(command, stdout=log, stderr=log, check=False).returncode == 0


def _all(runner: str, era: str, seed: int, count: int) -> Iterator[tuple[str, list[Scenario]]]:
    """Scenarios by their origin, without those of group types that the era lacks."""
    is_classic = not runner.endswith(ALL_TYPES)
    for name, folders in _VECTORS.items():
        if is_classic and name != CLASSIC:
            continue
        vectors = [each for folder in folders for each in _vectors(_DATA / folder)]
        yield f"vectors, {name}", _of_era(vectors, era)
    for group_type in (CLASSIC,) if is_classic else (CLASSIC, *GROUP_TYPES):
        made = [random_scenario(group_type, seed, index) for index in range(count)]
        yield f"random, {group_type}", _of_era(made, era)


def _vectors(folder: Path) -> Iterator[Scenario]:
    with gzip.open(folder / "scenarios.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
    for traces in sorted(folder.glob("traces-*.jsonl.gz")):
        with gzip.open(traces, "rt", encoding="utf-8") as lines:
            yield from (row["scenario"] for row in map(json.loads, lines) if "scenario" in row)


def _of_era(scenarios: Iterable[Scenario], era: str) -> list[Scenario]:
    present = {*ERAS[era].modern_types}
    by_name = {each["name"]: each for each in scenarios if types_of(each) <= present}
    return [*by_name.values()]


def _compare(
    name: str, scenarios: list[Scenario], kafka: KafkaRunner, era: str, runner: str
) -> int:
    has_all_types = runner.endswith(ALL_TYPES)
    compare = first_difference_by_key if has_all_types else first_difference
    kinds: dict[str, list[str]] = defaultdict(list)
    player = Engine(era, has_all_types)
    for finding in findings(scenarios, kafka, player, compare):
        if finding is not None:
            kinds[kind_of(finding.difference)].append(finding.scenario["name"])
    differing = sum(map(len, kinds.values()))
    print(f"{name}: {len(scenarios)} scenarios, {differing} differ")
    for kind, names in sorted(kinds.items(), key=lambda each: -len(each[1])):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        print(f"  {len(names):4}  {kind}: {', '.join(names[:_SHOWN])}{more}")
    return differing


def kind_of(difference: TraceDifference) -> str:
    """What Kafka has at the moment of the first difference and the engine has not, and reverse."""
    kafka = _words(difference.only_expected())
    engine = _words(difference.only_actual())
    return f"Kafka {kafka or 'nothing'}; engine {engine or 'nothing'}"


def _words(events: Iterable[JsonLine]) -> str:
    counts = Counter(map(_word, events))
    return ", ".join(sorted(counts))


def _word(event: Mapping[str, object]) -> str:
    if event["event"] == "record":
        return decode(b64decode(str(event["key"])), None).name
    if event["event"] == "response":
        return f"{event['op']} {event.get('error', '')}".strip()
    return f"{event['event']} {event.get('state', '')}".strip()


if __name__ == "__main__":
    typer.run(main)
