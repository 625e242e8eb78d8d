"""What each night costs as the history of groups of all types grows, on the embedded engine.

    python -m bench.nights.group_types [--spec FILE] [--before FOLDER]

A simulated fleet (group_types.toml beside this file) is ingested once; then each date is copied
into a new lake and computed by a fresh process of `regroup nightly`.  Prints the CPU seconds of
each night.  ``--before``: a checkout of an earlier version, whose nights run in turn with these;
the tables of both lakes must be equal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import typer

from bench.nights.__main__ import cpu_of_children_s
from tools.days.comparison import compared
from tools.days.large import land, land_lists, rows_of

ROOT = Path(__file__).parents[2]
SPEC = Path(__file__).with_name("group_types.toml")
CLUSTER = "c"


def regroup(checkout: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "jobs.command_line.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)


def simulated(spec: Path, folder: Path) -> Path:
    """A lake with the fleet's bronze tables."""
    out, lake = folder / "out", folder / "bronze"
    regroup(ROOT, "simulate", "--spec", str(spec), "--out", str(out))
    sources = ["--segments", f"{out}/segments/*/*.log", "--broker-log", f"{out}/server.log"]
    where = ["--lake", str(lake), "--cluster-id", CLUSTER]
    regroup(ROOT, "ingest", *where, *sources, "--engine", "embedded")
    return lake


def days_of(spec: Path) -> list[date]:
    fleet = tomllib.loads(spec.read_text())
    count = int(fleet["length"].removesuffix("d"))
    return [fleet["start"].date() + timedelta(days=number) for number in range(count)]


def night(checkout: Path, bronze: Path, lake: Path, day: date) -> float:
    """The CPU seconds of the date's run."""
    land(str(bronze), str(lake), day)
    began = cpu_of_children_s()
    where = ["--lake", str(lake), "--cluster-id", CLUSTER, "--date", str(day)]
    regroup(checkout, "nightly", *where, "--recompute-all", "--no-advice", "--engine", "embedded")
    return cpu_of_children_s() - began


def print_row(cells: Iterable[object]) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main(
    spec: Annotated[Path, typer.Option(help="A fleet whose length is in days.")] = SPEC,
    before: Annotated[Path | None, typer.Option(help="A checkout of an earlier version.")] = None,
) -> None:
    checkouts = ({"before": before.resolve()} if before else {}) | {"now": ROOT}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bronze = simulated(spec, folder)
        lakes = {name: folder / name for name in checkouts}
        for lake in lakes.values():
            land_lists(str(bronze), str(lake))
        print_row(["night", *(f"CPU seconds {name}" for name in checkouts)])
        print_row(["---:"] * (1 + len(checkouts)))
        for number, day in enumerate(days_of(spec), start=1):
            costs = (night(of, bronze, lakes[name], day) for name, of in checkouts.items())
            print_row([number, *(f"{cost:.1f}" for cost in costs)])
        if before:
            now = {"before": rows_of(str(lakes["before"]))}
            sys.exit(bool(compared(rows_of(str(lakes["now"])), now)))


if __name__ == "__main__":
    typer.run(main)
