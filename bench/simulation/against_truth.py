"""Simulated fleets through one nightly: do the tables say what the simulations know?

    python -m bench.simulation.against_truth --fleets 100

Every fleet is a cluster of its own era with its own partitions of `__consumer_offsets`, so that
all can be read at once as one.  Every field of every generation is compared; what the era's
brokers do not say is left out: before 2.1 causes, and that an assignment could not be stored;
before 2.8 how many joined, and before 3.0 who led, where no assignment was stored.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator_core.simulation import fleet_of
from coordinator_core.simulation.random_fleets import random_fleet
from jobs.command_line.config import load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from jobs.simulate.command import Spec, write

CLUSTER = "simulated"
START_MS = 1_795_161_600_000  # 2026-11-20 08:00 UTC
PARTITIONS_A_FLEET = 3

Key = tuple[str, int, int]
"""Group, incarnation, generation."""

_SAYS_NO_CAUSE = frozenset({"0.9", "0.10", "2.0"})  # before 2.1
_COUNTS_NO_MEMBERS = frozenset({"0.9", "0.10", "2.0", "2.5"})  # when they join, before 2.8
_NAMES_NO_LEADER = frozenset({"0.9", "0.10", "2.0", "2.5"})  # in the line, before 3.0


@dataclass(frozen=True)
class Difference:
    key: Key
    era: str
    field: str
    truth: Any
    table: Any


@dataclass(frozen=True)
class Played:
    """``truth``: what was told of each generation; ``eras``: each group's."""

    truth: dict[Key, dict[str, Any]]
    eras: dict[str, str]


def play(seeds: Iterable[int], folder: Path, **settings: Any) -> Played:
    """Fleets of these seeds, written to folders side by side; ``settings``: random_fleet's."""
    seeds = list(seeds)
    count = PARTITIONS_A_FLEET * len(seeds)
    truth: dict[Key, dict[str, Any]] = {}
    eras: dict[str, str] = {}
    for place, seed in enumerate(seeds):
        wanted = range(PARTITIONS_A_FLEET * place, PARTITIONS_A_FLEET * (place + 1))
        fleet = fleet_of(random_fleet(seed, partitions=(wanted, count), **settings))
        # A log is known by its first line: no two of them may begin alike.
        spec = Spec(fleet, START_MS + 1000 * place)
        out = folder / f"fleet-{seed}"
        write(spec, out, seed, only=frozenset(wanted))
        eras |= {group.name: fleet.cluster.era for group in fleet.groups}
        truth |= dict(_generations(out / "truth.jsonl"))
    return Played(truth, eras)


def _generations(file: Path) -> Iterator[tuple[Key, dict[str, Any]]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            if told["truth"] == "generation":
                yield (told["group"], told["incarnation"], told["generation"]), told


def run_nightly(folder: Path, lake: Path) -> None:
    nightly(
        NightlyOptions(
            str(lake),
            CLUSTER,
            segments=str(folder / "*" / "segments" / "*" / "*.log"),
            broker_log=str(folder / "*" / "server*.log"),
            trace=str(folder / "*" / "trace.jsonl"),
        ),
        load_config(None),
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
    """Every generation as the tables have it, in the truth's form."""
    found: dict[Key, dict[str, Any]] = {}
    for row in _rows(lake, _GENERATIONS):
        told = dict(zip(FIELDS, row[3:], strict=True))
        found[_key(row[:3])] = told | {"members": [], "assignment": {}}
    for row in _rows(lake, _MEMBERS):
        found[_key(row[:3])]["members"].append(dict(zip(_OF_MEMBERS, row[3:], strict=True)))
    for row in _rows(lake, _ASSIGNMENTS):
        member_id, *partition = row[3:]
        found[_key(row[:3])]["assignment"].setdefault(member_id, []).append(partition)
    return found


def _rows(lake: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(str(lake), sql)[1]


def _key(values: tuple[Any, ...]) -> Key:
    group, incarnation, generation = values
    return group, incarnation, generation


def differences(played: Played, found: dict[Key, dict[str, Any]]) -> list[Difference]:
    """Field by field; a generation that only one side knows differs as a whole."""
    differing = []
    for key in sorted(played.truth.keys() | found.keys()):
        era = played.eras.get(key[0], "?")
        truth, table = played.truth.get(key), found.get(key)
        if truth is None or table is None:
            differing.append(Difference(key, era, "generation", truth, table))
            continue
        for name in (*FIELDS, "members", "assignment"):
            true = _as_told(truth, name, era)
            if name == "assignment":
                true = {member: given for member, given in true.items() if given}
            if true is not _NOT_TOLD and true != table[name]:
                differing.append(Difference(key, era, name, true, table[name]))
    return differing


_NOT_TOLD = object()


def _as_told(truth: dict[str, Any], name: str, era: str) -> Any:
    """What the era's brokers can tell of a field, or _NOT_TOLD."""
    if name in ("cause", "culprit") and era in _SAYS_NO_CAUSE:
        return _NOT_TOLD
    if name == "outcome" and truth[name] == "failed" and era in _SAYS_NO_CAUSE:
        return _NOT_TOLD
    is_stored = truth["outcome"] == "stable"
    if name == "member_count" and era in _COUNTS_NO_MEMBERS and not is_stored:
        return _NOT_TOLD
    if name == "leader" and era in _NAMES_NO_LEADER and not is_stored:
        return _NOT_TOLD
    return truth[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--folder", type=Path, help="keep what is written here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        begun = time.monotonic()
        seeds = range(given.first_seed, given.first_seed + given.fleets)
        played = play(seeds, folder / "fleets", minutes=given.minutes, faults=not given.no_faults)
        simulated = time.monotonic()
        run_nightly(folder / "fleets", folder / "lake")
        read = time.monotonic()
        differing = differences(played, tables(folder / "lake"))
    for difference in differing[:40]:
        print(f"{difference.era} {difference.key} {difference.field}:")
        print(f"    truth {difference.truth}\n    table {difference.table}")
    kinds = Counter((each.field, each.era) for each in differing)
    for (field, era), count in sorted(kinds.items()):
        print(f"{count:6} {field} ({era})")
    groups = len({group for group, _, _ in played.truth})
    print(
        f"{given.fleets} fleets, {groups} groups, {len(played.truth)} generations,"
        f" {len(differing)} differences; played in {simulated - begun:.0f} s,"
        f" read in {read - simulated:.0f} s"
    )
    sys.exit(1 if differing or not played.truth else 0)


if __name__ == "__main__":
    main()
