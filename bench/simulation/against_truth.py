"""Compares the tables of one nightly run over simulated fleets with the ground truth.

    python -m bench.simulation.against_truth --fleets 100

Every fleet is a cluster with its own era and its own partitions of `__consumer_offsets`, so that
all fleets can be read as one cluster.  Every field of every generation is compared, except what
the era's brokers do not log: before 2.1 causes and failed stores; before 2.8 the member count and
before 3.0 the leader of generations whose assignment was not stored.

`--all-types`: consumer, share and streams groups, too, and classic ones that become consumer groups
and back; of them, generations are compared by OF_TARGETS, and per group the members that joined,
left and expired, the moved partitions, and the time without an owner (within a tenth).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator_core.simulation import fleet_of
from coordinator_core.simulation.random_fleets import random_fleet
from jobs.configuration.config import Config, Engine, load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.simulate.output_files import write
from jobs.simulate.spec_file import SimulationSpec

CLUSTER = "simulated"
START_MS = 1_795_161_600_000  # 2026-11-20 08:00 UTC
PARTITIONS_PER_FLEET = 3

Key = tuple[str, int, int]
"""Group, incarnation, generation."""

_LOGS_NO_CAUSE = frozenset({"0.9", "0.10", "2.0"})  # before 2.1
_LOGS_NO_MEMBER_COUNT = frozenset({"0.9", "0.10", "2.0", "2.5"})  # before 2.8
_LOGS_NO_LEADER = frozenset({"0.9", "0.10", "2.0", "2.5"})  # before 3.0


@dataclass(frozen=True)
class TruthDifference:
    key: Key
    era: str
    field: str
    truth: Any
    table: Any


@dataclass(frozen=True)
class SimulatedFleets:
    """``truth``: truth lines of generations by key; ``eras``, ``totals``: by group;
    ``configured``: groups with a configuration of their own at the broker.
    """

    truth: dict[Key, dict[str, Any]]
    eras: dict[str, str]
    totals: dict[str, dict[str, Any]]
    configured: frozenset[str]


def play(seeds: Iterable[int], folder: Path, **settings: Any) -> SimulatedFleets:
    """Simulate fleets of these seeds, one folder each; ``settings``: arguments of random_fleet."""
    seeds = list(seeds)
    count = PARTITIONS_PER_FLEET * len(seeds)
    truth: dict[Key, dict[str, Any]] = {}
    eras: dict[str, str] = {}
    totals: dict[str, dict[str, Any]] = {}
    configured: set[str] = set()
    for index, seed in enumerate(seeds):
        own = range(PARTITIONS_PER_FLEET * index, PARTITIONS_PER_FLEET * (index + 1))
        fleet = fleet_of(random_fleet(seed, partitions=(own, count), **settings))
        # Logs are identified by their first line, so each fleet starts at a different time.
        spec = SimulationSpec(fleet, START_MS + 1000 * index)
        out = folder / f"fleet-{seed}"
        write(spec, out, seed, only=frozenset(own))
        configured |= {group.name for group in fleet.groups if group.configs}
        eras |= {group.name: fleet.cluster.era for group in fleet.groups}
        truth |= dict(_generations(out / "truth.jsonl"))
        totals |= _totals(out / "truth.jsonl")
    return SimulatedFleets(truth, eras, totals, frozenset(configured))


def _totals(file: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["group"]: line for line in lines if line["truth"] == "group"}


def _generations(file: Path) -> Iterator[tuple[Key, dict[str, Any]]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            truth_line = json.loads(line)
            if truth_line["truth"] == "generation":
                yield (
                    (truth_line["group"], truth_line["incarnation"], truth_line["generation"]),
                    truth_line,
                )


def run_nightly(folder: Path, lake: Path, config: Config) -> None:
    nightly(
        NightlyOptions(
            lake=str(lake),
            cluster_id=CLUSTER,
            segments=str(folder / "*" / "segments" / "*" / "*.log"),
            broker_log=str(folder / "*" / "server*.log"),
            trace=str(folder / "*" / "trace.jsonl"),
        ),
        config,
    )


_GENERATIONS = f"""
    SELECT group_id, incarnation, generation, EPOCH_MS(preparing_time), EPOCH_MS(joined_time),
        EPOCH_MS(stable_time), EPOCH_MS(ended_time), protocol, leader, member_count, cause,
        culprit_member_id, outcome, join_ms, sync_ms
    FROM generations LEFT JOIN (
        SELECT group_id, incarnation, generation, join_ms, sync_ms FROM rebalance_latency
        WHERE cluster_id = '{CLUSTER}') USING (group_id, incarnation, generation)
    WHERE cluster_id = '{CLUSTER}'"""
_MEMBERS = f"""
    SELECT group_id, incarnation, generation, member_id, instance_id, client_id, client_host
    FROM generation_members WHERE cluster_id = '{CLUSTER}' ORDER BY member_id"""
_ASSIGNMENTS = f"""
    SELECT group_id, incarnation, generation, member_id, topic, partition
    FROM assignments WHERE cluster_id = '{CLUSTER}' AND assignor = 'actual'
    ORDER BY member_id, topic, partition"""
_OF_MEMBERS = ("member_id", "instance_id", "client_id", "client_host")
# Fields of a target assignment that are compared.
OF_TARGETS = (
    "preparing_ms",
    "joined_ms",
    "assigned_ms",
    "protocol",
    "member_count",
    "cause",
    "culprit",
    "outcome",
)
FIELDS = (
    "preparing_ms",
    "joined_ms",
    "assigned_ms",
    "ended_ms",
    "protocol",
    "leader",
    "member_count",
    "cause",
    "culprit",
    "outcome",
    "join_ms",
    "sync_ms",
)


def tables(lake: Path) -> dict[Key, dict[str, Any]]:
    """Every generation of the tables, with the fields of a truth line."""
    generations: dict[Key, dict[str, Any]] = {}
    for row in _rows(lake, _GENERATIONS):
        truth_line = dict(zip(FIELDS, row[3:], strict=True))
        generations[_key(row[:3])] = truth_line | {"members": [], "assignment": {}}
    for row in _rows(lake, _MEMBERS):
        generations[_key(row[:3])]["members"].append(dict(zip(_OF_MEMBERS, row[3:], strict=True)))
    for row in _rows(lake, _ASSIGNMENTS):
        member_id, *partition = row[3:]
        generations[_key(row[:3])]["assignment"].setdefault(member_id, []).append(partition)
    return generations


def _rows(lake: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(str(lake), sql)[1]


def _key(values: tuple[Any, ...]) -> Key:
    group, incarnation, generation = values
    return group, incarnation, generation


def differences(
    played: SimulatedFleets, actual: dict[Key, dict[str, Any]]
) -> list[TruthDifference]:
    """Differences by field; a generation that one side lacks is one difference."""
    differing = []
    for key in sorted(played.truth.keys() | actual.keys()):
        era = played.eras.get(key[0], "?")
        truth, table = played.truth.get(key), actual.get(key)
        if truth is None or table is None:
            differing.append(TruthDifference(key, era, "generation", truth, table))
            continue
        is_target = truth.get("group_type", "classic") != "classic"
        for name in OF_TARGETS if is_target else (*FIELDS, "members", "assignment"):
            true = _as_logged(truth, name, era)
            if name == "assignment":
                true = {member: each for member, each in true.items() if each}
            if true is not _NOT_LOGGED and true != table[name]:
                differing.append(TruthDifference(key, era, name, true, table[name]))
    return differing


_COUNTS = f"""
    SELECT group_id, SUM(members_joined), SUM(members_left), SUM(members_expired),
        SUM(partitions_moved), ANY_VALUE(group_type), (SELECT SUM(unowned_ms) FROM ownership_gaps g
            WHERE g.cluster_id = '{CLUSTER}' AND g.group_id = churn.group_id)
    FROM churn JOIN generations USING (cluster_id, group_id, incarnation, generation)
    WHERE cluster_id = '{CLUSTER}'
    GROUP BY group_id HAVING BOOL_AND(group_type IN ('consumer', 'streams'))"""
_OF_GROUPS = ("members_joined", "members_left", "members_expired", "recorded_moves")
UNOWNED = "unowned_partition_ms"
# tolerance as a share of the downtime, because records and callbacks differ by some ms
TOLERANCE = 0.1


def differing_totals(played: SimulatedFleets, lake: Path) -> list[TruthDifference]:
    """Of groups that were consumer or streams groups all the time.

    The truth of streams groups counts tasks, the tables partitions, so moves and unowned time are
    compared of consumer groups only; unowned time not if a group has a session timeout of its own,
    which neither records nor log name.
    """
    differing = []
    for group, *counts, group_type, unowned_ms in _rows(lake, _COUNTS):
        totals, era = played.totals[group], played.eras[group]
        key, is_streams = (group, 0, 0), group_type == "streams"
        for name, count in zip(_OF_GROUPS, counts, strict=True):
            if totals[name] != count and not (is_streams and name == "recorded_moves"):
                differing.append(TruthDifference(key, era, name, totals[name], count))
        true_ms = totals[UNOWNED]
        is_near = abs((unowned_ms or 0) - true_ms) <= max(TOLERANCE * true_ms, 1000)
        if not (is_near or is_streams or group in played.configured):
            differing.append(TruthDifference(key, era, UNOWNED, true_ms, unowned_ms))
    return differing


_NOT_LOGGED = object()


def _as_logged(truth: dict[str, Any], name: str, era: str) -> Any:
    """The field's true value, or _NOT_LOGGED if the era's brokers do not log it."""
    if name in ("cause", "culprit") and era in _LOGS_NO_CAUSE:
        return _NOT_LOGGED
    if name == "outcome" and truth[name] == "failed" and era in _LOGS_NO_CAUSE:
        return _NOT_LOGGED
    is_stored = truth["outcome"] == "stable"
    if name == "member_count" and era in _LOGS_NO_MEMBER_COUNT and not is_stored:
        return _NOT_LOGGED
    if name == "leader" and era in _LOGS_NO_LEADER and not is_stored:
        return _NOT_LOGGED
    return truth[name]


def main(
    fleets: Annotated[int, typer.Option(help="Number of fleets.")] = 100,
    first_seed: Annotated[int, typer.Option(help="Seed of the first fleet.")] = 1,
    minutes: Annotated[int, typer.Option(help="Minutes that a fleet runs.")] = 20,
    faults: bool = True,
    with_modern_groups: bool = False,
    engine: Annotated[str, typer.Option(help="spark, embedded or auto.")] = "auto",
    folder: Annotated[Path | None, typer.Option(help="Write files here and keep them.")] = None,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        start = time.monotonic()
        seeds = range(first_seed, first_seed + fleets)
        played = play(
            seeds,
            root / "fleets",
            minutes=minutes,
            faults=faults,
            with_modern_groups=with_modern_groups,
        )
        simulated = time.monotonic()
        run_nightly(root / "fleets", root / "lake", load_config(None, Engine(engine)))
        read = time.monotonic()
        differing = differences(played, tables(root / "lake"))
        if with_modern_groups:
            differing += differing_totals(played, root / "lake")
    for difference in differing[:40]:
        print(f"{difference.era} {difference.key} {difference.field}:")
        print(f"    truth {difference.truth}\n    table {difference.table}")
    kinds = Counter((each.field, each.era) for each in differing)
    for (field, era), count in sorted(kinds.items()):
        print(f"{count:6} {field} ({era})")
    groups = len({group for group, _, _ in played.truth})
    print(
        f"{fleets} fleets, {groups} groups, {len(played.truth)} generations,"
        f" {len(differing)} differences; simulated in {simulated - start:.0f} s,"
        f" read in {read - simulated:.0f} s"
    )
    sys.exit(1 if differing or not played.truth else 0)


if __name__ == "__main__":
    typer.run(main)
