"""Compares Kafka's assignors with Regroup's on random groups and prints every difference.

    mvn -q -f tools/assignor_differential/kafka package
    python -m tools.assignor_differential --seed 1 --count 10000
    mvn -q -f tools/assignor_differential/kafka -P4.4 package
    python -m tools.assignor_differential --kafka 4.4 --seed 1 --count 10000

Kafka's side also returns the subscription bytes of its consumers; Regroup decodes these, too.
Exits 0 if there is no difference, 1 if there is one, 2 if Kafka's side is not built.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator_core.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignment,
    AssignorError,
    Member,
    Topics,
)
from coordinator_core.assignors.subscriptions import as_read
from jobs.assignors.command import answer
from tools.assignor_differential.cases import Case, case
from tools.assignor_differential.group_cases import GROUP_CASES, is_kafkas

BUILD = Path(__file__).parents[2] / "build"
JARS = {
    "4.1": BUILD / "assignors" / "assignors.jar",
    "4.4": BUILD / "assignors-4.4" / "assignors.jar",
}


def kafkas_answers(cases: list[Case], jar: Path) -> Iterator[dict[str, Any]]:
    lines = "".join(json.dumps(each) + "\n" for each in cases)
    command = ["java", "-Xmx1g", "-jar", str(jar)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return map(json.loads, done.stdout.splitlines())


def differences(random_case: Case, kafka: Mapping[str, Any], line: str) -> list[str]:
    """Names the answers that differ from Kafka's: from the case, or from subscription bytes."""
    if random_case["assignor"] in GROUP_CASES:
        return [] if is_kafkas(random_case, kafka, line) else ["from the case"]
    differing = []
    ours = json.loads(json.dumps(answer(random_case)))
    if all("version" not in member for member in random_case["members"]) and any(
        ours.get(field) != kafka.get(field)
        for field in ("assignment", "assignment2", "rejoin", "error")
    ):
        differing.append("from the case")
    for sent, field in (("subscriptions", "assignment"), ("subscriptions2", "assignment2")):
        if sent in kafka and _from_bytes(random_case, kafka[sent]) != (
            kafka.get(field),
            _error(kafka),
        ):
            differing.append(f"from the bytes of {sent}")
    return differing


def _error(kafka: Mapping[str, Any]) -> str | None:
    error: str | None = kafka.get("error")
    return error


def _from_bytes(random_case: Case, sent: Mapping[str, str]) -> tuple[Any, str | None]:
    name = random_case["assignor"]
    topics = Topics(
        {topic: info["partitions"] for topic, info in random_case["topics"].items()},
        {topic: info["racks"] for topic, info in random_case["topics"].items()},
    )
    hashed = random_case.get("map_order") != "given" and name not in SERVER_ASSIGNORS
    try:
        lists: Assignment = ASSIGNORS[name](topics, _members(random_case, sent), hashed=hashed)
    except AssignorError as error:
        return None, error.kafka_name
    return json.loads(json.dumps(lists)), None


def _members(random_case: Case, sent: Mapping[str, str]) -> list[Member]:
    return [
        as_read(random_case["assignor"], m["id"], base64.b64decode(sent[m["id"]]), m["instance_id"])
        for m in random_case["members"]
    ]


def main(
    seed: Annotated[int, typer.Option(help="Seed of the cases.")] = 1,
    count: Annotated[int, typer.Option(help="Number of cases.")] = 1000,
    show: Annotated[int, typer.Option(help="Differing cases to print in full.")] = 3,
    kafka_line: Annotated[str, typer.Option("--kafka", help="4.1 or 4.4.")] = "4.1",
) -> None:
    if not JARS[kafka_line].exists():
        print("build Kafka's side: mvn -q -f tools/assignor_differential/kafka [-P4.4] package")
        raise typer.Exit(2)
    cases = [case(seed, number) for number in range(count)]
    equal, differing = Counter[str](), Counter[str]()
    for random_case, kafka in zip(cases, kafkas_answers(cases, JARS[kafka_line]), strict=True):
        differs = differences(random_case, kafka, kafka_line)
        (differing if differs else equal)[random_case["assignor"]] += 1
        if differs and sum(differing.values()) <= show:
            print(json.dumps({"differs": differs, "given": random_case, "kafka": kafka}))
    for assignor in sorted((*ASSIGNORS, *GROUP_CASES)):
        print(f"{assignor:20} {equal[assignor]:6} equal {differing[assignor]:6} different")
    raise typer.Exit(1 if differing else 0)


if __name__ == "__main__":
    typer.run(main)
