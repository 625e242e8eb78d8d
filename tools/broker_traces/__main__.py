"""Records traces of a broker, compares them with the engine, and counts differences by kind."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.coordinator.eras import era_of_version
from tools.broker_traces.broker import BUILD, fetched_jars
from tools.broker_traces.recording import Recording, record
from tools.compare_broker_traces import BrokerDifference, compared

ID = r"(?:-[0-9a-f]+){5}|[0-9]+"
NO_ANSWER = "no response"
OUT = BUILD / "broker-traces"
REQUESTS = "4.1.2"  # newest Kafka whose client library has the request versions of 0.11


def main(
    scenarios: Annotated[Path, typer.Argument(help="Folder of scenarios of classic groups.")],
    versions: Annotated[list[str], typer.Argument(help="Versions of brokers, 0.11 or later.")],
    out: Annotated[Path, typer.Option(help="Folder for traces, logs and segments.")] = OUT,
    only: Annotated[str, typer.Option(help="Play the scenarios whose name has this.")] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Play the scenarios that differ in OUT once more.")
    ] = False,
) -> None:
    read = [json.loads(path.read_bytes()) for path in sorted(scenarios.glob("*.json"))]
    recordings = []
    for version in versions:
        chosen = [each for each in read if only in each["name"]]
        if again:
            differing = {name for name, each in _compared(scenarios, out / version) if each}
            chosen = [each for each in chosen if each["name"] in differing]
        else:
            shutil.rmtree(out / version, ignore_errors=True)
        recordings.append(Recording(version, chosen, fetched_jars(version), out / version))
    record([each for each in recordings if each.scenarios], fetched_jars(REQUESTS))
    if sum([_print(version, dict(_compared(scenarios, out / version))) for version in versions]):
        sys.exit(1)


def _compared(scenarios: Path, recorded: Path) -> Iterator[tuple[str, list[BrokerDifference]]]:
    return compared(scenarios, recorded / "traces")


def _print(version: str, listed: Mapping[str, list[BrokerDifference]]) -> int:
    """Print the differences by scenario, then their kinds; returns the differing scenarios."""
    for difference in chain.from_iterable(listed.values()):
        print(f"{difference.scenario} {difference.where}")
        print(f"    broker {json.dumps(difference.broker, default=repr)}")
        print(f"    engine {json.dumps(difference.engine, default=repr)}")
    for kind, count in Counter(map(kind_of, chain.from_iterable(listed.values()))).most_common():
        print(f"{count:5} {kind}")
    differing = sum(map(bool, listed.values()))
    era = era_of_version(version).name
    print(f"Kafka {version}, era {era}: {differing} of {len(listed)} differ", flush=True)
    return differing


def kind_of(difference: BrokerDifference) -> str:
    """What differs, without ids and numbers."""
    theirs, ours = difference.broker, difference.engine
    what = difference.where.split(" ")[0]
    if what == "line":
        text = "".join(theirs or ours).replace(difference.scenario, "G")
        return f"line: {re.sub(ID, '', text)[:100]}"
    if what == "record":
        if theirs is None or ours is None:
            return "no record for one" if theirs is None else "a record for none"
        fields = [name for name in theirs._fields if getattr(theirs, name) != getattr(ours, name)]
        return f"record: {', '.join(fields)}"
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return "no answer for one" if theirs == NO_ANSWER else "an answer for none"
    fields = [
        f"{name} {theirs[name]} for {ours.get(name)}" if name in ("error", "state") else name
        for name in theirs
        if name != "at_ms" and theirs[name] != ours.get(name)
    ]
    return f"{theirs['op']}: {', '.join(fields) or 'another time'}"


if __name__ == "__main__":
    typer.run(main)
