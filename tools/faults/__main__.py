"""Every fault, tried and counted.

    python -m tools.faults [KIND...] [--tries N] [--seed S] [--incident DIR]

A line for each kind of fault: how often it was tried, how often the tables came out as without it,
how often there was a clear error (or a line of `regroup check`) and a lake right for what it holds,
and how often something was lost.  Exit 1 if anything was.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from jobs.checks.check import broken_laws
from tools.faults import lakes, runs
from tools.faults.runs import CLEAR, LOST, SAME, Undisturbed

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "mixed-clients-4.1.2"
COLUMNS = ("fault", "tries", SAME, CLEAR, LOST)
CHANGED = [
    ("broker_log_events", "member_id"), ("offsets_records", "value"), ("group_events", "reason"),
    ("group_metadata", "leader"), ("timeline", "event_time"), ("generations", "member_count"),
    ("generation_members", "client_host"), ("assignments", "process"), ("churn", "members_joined"),
    ("rebalance_latency", "join_ms"), ("rebalance_causes", "cause"),
]  # fmt: skip

Tried = Callable[[Undisturbed, Path, int, random.Random], Iterator[str]]


def damages(whole: Undisturbed, folder: Path, tries: int, chance: random.Random) -> Iterator[str]:
    """Each kind of damage by hand to each table that has rows."""
    tables = [table for table, rows in whole.tables.items() if rows]
    for how, plant in lakes.DAMAGES.items():
        for table in tables:
            yield _found(whole, folder, f"{how}: {table}", partial(_planted, plant, table))
    for table, column in CHANGED:
        yield _found(
            whole, folder, f"a value changed: {table}.{column}",
            partial(lakes.value_changed, table=table, column=column),
        )  # fmt: skip


def _planted(plant: Callable[[str, str], None], table: str, lake: str) -> None:
    plant(lake, table)


def _found(whole: Undisturbed, folder: Path, what: str, plant: Callable[[str], None]) -> str:
    copy = Path(shutil.copytree(whole.lake, folder / "damaged"))
    try:
        plant(str(copy))
        found = bool(broken_laws(str(copy))[1])
    finally:
        shutil.rmtree(copy)
    if not found:
        print(f"  not found: {what}", file=sys.stderr)
    return CLEAR if found else f"{LOST}: {what}"


KINDS: dict[str, tuple[str, int, Tried]] = {
    "kill": ("SIGKILL at a random moment of a job", 50, runs.kills),
    "worker": ("a Python worker killed mid-stage", 5, runs.worker_kills),
    "executor": ("an executor killed mid-stage", 3, runs.executor_kills),
    "disk": ("disk full while writing", 5, runs.full_disks),
    "lake": ("a table damaged by hand", 1, damages),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--tries", type=int, help="of each kind; default: 50 kills, fewer others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--incident", type=Path, default=INCIDENT)
    given = parser.parse_args()
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory(prefix="regroup-faults-") as folder:
        return campaign(given.kinds or list(KINDS), given, Path(folder))


def campaign(kinds: list[str], given: argparse.Namespace, folder: Path) -> int:
    whole = Undisturbed(given.incident, folder)
    print(f"seed {given.seed}, {given.incident.name}, {os.cpu_count()} processors")
    print("{:<40}{:>7}{:>13}{:>13}{:>6}".format(*COLUMNS))
    lost: list[str] = []
    for kind in kinds:
        about, tries, act = KINDS[kind]
        if kind == "disk" and os.geteuid() != 0:
            print(f"{about:<40} skipped: mounting a small file system needs root")
            continue
        chance = random.Random(f"{given.seed} {kind}")
        verdicts = list(act(whole, folder / kind, given.tries or tries, chance))
        counts = Counter(verdict.split(":")[0] for verdict in verdicts)
        print(f"{about:<40}{len(verdicts):>7}{counts[SAME]:>13}{counts[CLEAR]:>13}{counts[LOST]:>6}",
              flush=True)  # fmt: skip
        lost += [verdict for verdict in verdicts if verdict.startswith(LOST)]
    print(*lost, sep="\n", end="\n" if lost else "")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
