"""Tries every kind of fault and counts the results.

    python -m tools.faults [KIND...] [--engine E] [--tries N] [--seed S] [--incident DIR]

With `--engine both`, runs alternate between the engines, and a run with a fault is completed by the
other engine.

Prints one line per kind of fault: the number of tries, how often the tables were the same as
without the fault, how often there was a clear error (or a violation in `regroup check`) and a
consistent lake, and how often data was lost.  Exit 1 if any was.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from jobs.checks.check import broken_laws
from tools.engines import Engines
from tools.faults import lakes, runs
from tools.faults.runs import CLEAR, LOST, SAME, RunsWithoutFault

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "mixed-clients-4.1.2"
COLUMNS = ("fault", "tries", SAME, CLEAR, LOST)
CHANGED = [
    ("broker_log_events", "member_id"), ("offsets_records", "value"), ("group_events", "reason"),
    ("group_metadata", "leader"), ("timeline", "event_time"), ("generations", "member_count"),
    ("generation_members", "client_host"), ("assignments", "process"), ("churn", "members_joined"),
    ("rebalance_latency", "join_ms"), ("rebalance_causes", "cause"),
]  # fmt: skip

Campaign = Callable[[RunsWithoutFault, Path, int, random.Random], Iterator[str]]


def damages(
    without_fault: RunsWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Each kind of damage to each table that has rows."""
    lake = without_fault.lakes[without_fault.engines[0]]
    tables = [table for table, rows in without_fault.tables.items() if rows]
    for how, damage in lakes.DAMAGES.items():
        for table in tables:
            yield _check(lake, folder, f"{how}: {table}", partial(_damage, damage, table))
    for table, column in CHANGED:
        yield _check(
            lake, folder, f"a value changed: {table}.{column}",
            partial(lakes.value_changed, table=table, column=column),
        )  # fmt: skip


def _damage(damage: Callable[[str, str], None], table: str, lake: str) -> None:
    damage(lake, table)


def _check(lake: Path, folder: Path, fault: str, damage: Callable[[str], None]) -> str:
    copy = Path(shutil.copytree(lake, folder / "damaged"))
    try:
        damage(str(copy))
        is_found = bool(broken_laws(str(copy))[1])
    finally:
        shutil.rmtree(copy)
    if not is_found:
        print(f"  not found: {fault}", file=sys.stderr)
    return CLEAR if is_found else f"{LOST}: {fault}"


KINDS: dict[str, tuple[str, int, Campaign]] = {
    "kill": ("SIGKILL at a random moment of a run", 50, runs.kills),
    "worker": ("a Python worker killed mid-stage", 5, runs.worker_kills),
    "executor": ("an executor killed mid-stage", 3, runs.executor_kills),
    "disk": ("disk of the lake full", 5, runs.full_disks),
    "temporary": ("disk of temporary files full", 5, runs.full_temporary_folders),
    "together": ("two runs at once on one lake", 4, runs.two_at_once),
    "order": ("inputs in another order, one per night", 3, runs.other_orders),
    "lake": ("a damaged table", 1, damages),
}
# Faults of worker processes, which the embedded engine does not have.
ONLY_SPARK = {"worker", "executor"}
NEEDS_ROOT = {"disk", "temporary"}


def main(
    kinds: Annotated[
        list[str] | None, typer.Argument(help=", ".join(KINDS), metavar="[KIND]...")
    ] = None,
    engine: Annotated[Engines, typer.Option(help="The engine of the runs.")] = Engines.EMBEDDED,
    tries: Annotated[
        int | None, typer.Option(help="Tries of each kind; default: 50 kills, fewer of the others.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random moments.")] = 1,
    incident: Annotated[Path, typer.Option(help="Folder with segments and server.log.")] = INCIDENT,
) -> None:
    if unknown := set(kinds or ()) - set(KINDS):
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; use {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory(prefix="regroup-faults-") as folder:
        without_fault = RunsWithoutFault(incident, Path(folder), engine.names())
        print(f"seed {seed}, {incident.name}, engine {engine}, {os.cpu_count()} processors")
        raise typer.Exit(campaign(without_fault, kinds or list(KINDS), tries, seed, Path(folder)))


def campaign(
    without_fault: RunsWithoutFault, kinds: list[str], tries: int | None, seed: int, folder: Path
) -> int:
    print("{:<40}{:>7}{:>13}{:>13}{:>6}".format(*COLUMNS))
    lost: list[str] = []
    for kind in kinds:
        about, usual_tries, act = KINDS[kind]
        if why := _not_possible(kind, without_fault.engines):
            print(f"{about:<40} skipped: {why}")
            continue
        chance = random.Random(f"{seed} {kind}")
        verdicts = list(act(without_fault, folder / kind, tries or usual_tries, chance))
        counts = Counter(verdict.split(":")[0] for verdict in verdicts)
        print(f"{about:<40}{len(verdicts):>7}{counts[SAME]:>13}{counts[CLEAR]:>13}{counts[LOST]:>6}",
              flush=True)  # fmt: skip
        lost += [verdict for verdict in verdicts if verdict.startswith(LOST)]
    print(*lost, sep="\n", end="\n" if lost else "")
    return int(bool(lost))


def _not_possible(kind: str, engines: Sequence[str]) -> str | None:
    """Why these engines or this user cannot have this fault, or None if they can."""
    if kind in ONLY_SPARK and "spark" not in engines:
        return "the embedded engine has no such process"
    if kind in NEEDS_ROOT and os.geteuid() != 0:
        return "mounting a small file system needs root"
    return None


if __name__ == "__main__":
    typer.run(main)
