"""Tries every kind of fault and counts the results.

    python -m tools.faults [KIND...] [--tries N] [--seed S] [--incident DIR]

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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from jobs.checks.check import broken_laws
from tools.faults import lakes, runs
from tools.faults.runs import CLEAR, LOST, SAME, RunWithoutFault

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "mixed-clients-4.1.2"
COLUMNS = ("fault", "tries", SAME, CLEAR, LOST)
CHANGED = [
    ("broker_log_events", "member_id"), ("offsets_records", "value"), ("group_events", "reason"),
    ("group_metadata", "leader"), ("timeline", "event_time"), ("generations", "member_count"),
    ("generation_members", "client_host"), ("assignments", "process"), ("churn", "members_joined"),
    ("rebalance_latency", "join_ms"), ("rebalance_causes", "cause"),
]  # fmt: skip

Campaign = Callable[[RunWithoutFault, Path, int, random.Random], Iterator[str]]


def damages(
    without_fault: RunWithoutFault, folder: Path, tries: int, chance: random.Random
) -> Iterator[str]:
    """Each kind of damage to each table that has rows."""
    tables = [table for table, rows in without_fault.tables.items() if rows]
    for how, damage in lakes.DAMAGES.items():
        for table in tables:
            yield _check(without_fault, folder, f"{how}: {table}", partial(_damage, damage, table))
    for table, column in CHANGED:
        yield _check(
            without_fault, folder, f"a value changed: {table}.{column}",
            partial(lakes.value_changed, table=table, column=column),
        )  # fmt: skip


def _damage(damage: Callable[[str, str], None], table: str, lake: str) -> None:
    damage(lake, table)


def _check(
    without_fault: RunWithoutFault, folder: Path, fault: str, damage: Callable[[str], None]
) -> str:
    copy = Path(shutil.copytree(without_fault.lake, folder / "damaged"))
    try:
        damage(str(copy))
        is_found = bool(broken_laws(str(copy))[1])
    finally:
        shutil.rmtree(copy)
    if not is_found:
        print(f"  not found: {fault}", file=sys.stderr)
    return CLEAR if is_found else f"{LOST}: {fault}"


KINDS: dict[str, tuple[str, int, Campaign]] = {
    "kill": ("SIGKILL at a random moment of a job", 50, runs.kills),
    "worker": ("a Python worker killed mid-stage", 5, runs.worker_kills),
    "executor": ("an executor killed mid-stage", 3, runs.executor_kills),
    "disk": ("disk full while writing", 5, runs.full_disks),
    "lake": ("a damaged table", 1, damages),
}


def main(
    kinds: Annotated[
        list[str] | None, typer.Argument(help=", ".join(KINDS), metavar="[KIND]...")
    ] = None,
    tries: Annotated[
        int | None, typer.Option(help="Tries of each kind; default: 50 kills, fewer of the others.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random moments.")] = 1,
    incident: Annotated[Path, typer.Option(help="Folder with segments and server.log.")] = INCIDENT,
) -> None:
    if unknown := set(kinds or ()) - set(KINDS):
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; use {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory(prefix="regroup-faults-") as folder:
        raise typer.Exit(campaign(kinds or list(KINDS), tries, seed, incident, Path(folder)))


def campaign(kinds: list[str], tries: int | None, seed: int, incident: Path, folder: Path) -> int:
    without_fault = RunWithoutFault(incident, folder)
    print(f"seed {seed}, {incident.name}, {os.cpu_count()} processors")
    print("{:<40}{:>7}{:>13}{:>13}{:>6}".format(*COLUMNS))
    lost: list[str] = []
    for kind in kinds:
        about, usual_tries, act = KINDS[kind]
        if kind == "disk" and os.geteuid() != 0:
            print(f"{about:<40} skipped: mounting a small file system needs root")
            continue
        chance = random.Random(f"{seed} {kind}")
        verdicts = list(act(without_fault, folder / kind, tries or usual_tries, chance))
        counts = Counter(verdict.split(":")[0] for verdict in verdicts)
        print(f"{about:<40}{len(verdicts):>7}{counts[SAME]:>13}{counts[CLEAR]:>13}{counts[LOST]:>6}",
              flush=True)  # fmt: skip
        lost += [verdict for verdict in verdicts if verdict.startswith(LOST)]
    print(*lost, sep="\n", end="\n" if lost else "")
    return int(bool(lost))


if __name__ == "__main__":
    typer.run(main)
