"""Episodes of a simulated fleet compared with what its processes did.

    python -m bench.episodes [--groups 1000] [--era 4.1] [--seed 1]

Each group of fleet.toml has one plan.  Its episodes must have the kinds that the plan causes, and
the processes on which the simulation acted, by its ground truth.  Each rebalance must be in exactly
one episode.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from coordinator_core.simulation import fleet_of
from jobs.configuration.config import Config, load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.simulate.output_files import write
from jobs.simulate.spec_file import SimulationSpec

FLEET = Path(__file__).parent / "fleet.toml"
START_MS = 1_795_161_600_000  # 2026-11-20 08:00 UTC
CLUSTER = "simulated"
# Episodes after the group's start, by the group's name in fleet.toml.
EXPECTED = {
    "quiet": [],
    "deployed": ["rolling_deployment"],
    "surged": ["rolling_deployment"],
    # The brokers' evidence does not decide between these kinds.
    "killed": ["process_lost_or_frozen"],
    "restarted": ["restart"],
    "scaled": ["scale_out"],
    "shrunk": ["scale_in"],
    "slow": ["slow_poll"],
    "frozen": ["process_frozen"],
    "flapping": ["flapping_member"],
    "static": ["rolling_deployment"],
    # A static member does not leave: the second process is closed, and its session expires.
    "twin": ["instance_id_conflict", "process_lost"],
    "grown": ["topic_change"],
    "stopped": ["shutdown"],
    "bounced": ["whole_group_restart"],
}


class Inferred(NamedTuple):
    kinds: Sequence[str]
    processes: frozenset[str]


def simulate(groups: int, era: str, seed: int, folder: Path) -> dict[str, frozenset[str]]:
    """Write a fleet of at least this many groups.  Returns its groups with the processes on which
    their plans acted; a process that replaces another one, or has its instance id, counts as it.
    """
    values: dict[str, Any] = tomllib.loads(FLEET.read_text(encoding="utf-8"))
    values["cluster"]["era"] = era
    times = -(-groups // sum(each["count"] for each in values["groups"]))
    for each in values["groups"]:
        each["count"] *= times
    fleet = fleet_of({name: value for name, value in values.items() if name != "start"})
    write(SimulationSpec(fleet, START_MS), folder, seed)
    acted = {group.name: set[str]() for group in fleet.groups}
    for line in _actions(folder / "truth.jsonl"):
        acted[line["group"]].add(line["process"])
    return {
        group: frozenset(each.removesuffix("-v2").removesuffix("-twin") for each in names)
        for group, names in acted.items()
    }


def _actions(truth: Path) -> Iterator[dict[str, Any]]:
    with truth.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["truth"] == "action" and line["at_ms"] > START_MS:
                yield line


def read(folder: Path, lake: Path, config: Config) -> None:
    sources = {
        "segments": str(folder / "segments" / "*" / "*.log"),
        "broker_log": str(folder / "server*.log"),
    }
    nightly(NightlyOptions(lake=str(lake), cluster_id=CLUSTER, advice=False, **sources), config)


def episodes(lake: Path) -> dict[str, Inferred]:
    """By group, without its start."""
    rows = query(
        str(lake),
        "SELECT group_id, LIST(kind ORDER BY from_time, episode), FLATTEN(LIST(processes))"
        " FROM episodes WHERE kind <> 'group_start' GROUP BY group_id",
    )[1]
    return {
        group: Inferred(kinds, frozenset(name.split("@")[0] for name in names))
        for group, kinds, names in rows
    }


def rebalances(lake: Path) -> tuple[int, int]:
    """All rebalances, and those that are in exactly one episode."""
    ((count, once),) = query(
        str(lake),
        """
        SELECT COUNT(*), COUNT(*) FILTER (places = 1) FROM (
            SELECT g.group_id, COUNT(e.generation) AS places
            FROM generations g LEFT JOIN (
                SELECT cluster_id, group_id, incarnation, UNNEST(generations) AS generation
                FROM episodes) e USING (cluster_id, group_id, incarnation, generation)
            GROUP BY g.group_id, g.incarnation, g.generation)""",
    )[1]
    return count, once


def differences(
    acted: Mapping[str, frozenset[str]], inferred: Mapping[str, Inferred]
) -> Iterator[tuple[str, Inferred, Inferred]]:
    """Group, expected and inferred, where they differ."""
    for group, processes in acted.items():
        expected = Inferred(EXPECTED[stem(group)], processes)
        actual = inferred.get(group, Inferred([], frozenset()))
        if expected != actual:
            yield group, expected, actual


def stem(group: str) -> str:
    """The name of a group in fleet.toml."""
    return group.rsplit("-", 1)[0]


def main(
    groups: Annotated[int, typer.Option(help="Number of groups, at least.")] = 1000,
    era: Annotated[str, typer.Option(help="Era of the brokers.")] = "4.1",
    seed: int = 1,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        acted = simulate(groups, era, seed, Path(folder) / "fleet")
        read(Path(folder) / "fleet", lake, load_config(None))
        differing = list(differences(acted, episodes(lake)))
        count, once = rebalances(lake)
    for group, expected, actual in differing:
        print(f"{group}: expected {expected}, inferred {actual}")
    print("| plan | episodes | groups | as expected |")
    print("|---|---|---:|---:|")
    differ = Counter(stem(group) for group, _, _ in differing)
    for name, number in Counter(map(stem, acted)).items():
        print(f"| {name} | {', '.join(EXPECTED[name])} | {number} | {number - differ[name]} |")
    print(f"{count} rebalances, {once} of them in exactly one episode")
    raise typer.Exit(1 if differing or once != count else 0)


if __name__ == "__main__":
    typer.run(main)
