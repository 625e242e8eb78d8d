"""Predict every capture with truth, and print how often the ranges hold the truth."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import schemas.prediction_ranges as data
from tools.coverage import widening
from tools.coverage.captures import COSTS, DATA, TWIN_RUNS, costs, incidents, twins, unpacked
from tools.coverage.rows import ROWS, Row, plan_rows, read_rows, what_if_rows, write_rows
from tools.deployments.compare import fill

PARTS = (*TWIN_RUNS, "data-costs", "incidents", "deployments")


def main(
    incidents_folder: Annotated[
        Path | None, typer.Option("--incidents", help="A folder with more captures.")
    ] = None,
    lakes: Annotated[Path | None, typer.Option(help="Keep the lakes in this folder.")] = None,
    part: Annotated[list[str] | None, typer.Option(help=f"Only {', '.join(PARTS)}.")] = None,
    stored: Annotated[bool, typer.Option(help="Judge the stored rows; predict nothing.")] = False,
) -> None:
    """Rows of captures that are not predicted again stay as they are stored."""
    began_s = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for each in [] if stored else part or PARTS:
            _renew(each, list(_rows(each, lakes or Path(folder), incidents_folder)))
    print(f"{time.process_time() - began_s:.1f} s of CPU time for all predictions")
    rows = read_rows(ROWS)
    explained = [row for row in rows if row.explained]
    table = json.dumps(widening.nested(widening.shares(explained)), indent=1)
    data.FILE.write_text(f"{table}\n")
    for line in widening.table(list(widening.judged(explained))):
        print(line)
    print(f"{len(rows) - len(explained)} further figures are of groups that no model explains")


def _renew(part: str, rows: list[Row]) -> None:
    """Without rows, those of the part stay as they are stored."""
    if rows:
        others = [row for row in read_rows(ROWS) if row.part != part]
        order = {name: place for place, name in enumerate(PARTS)}
        write_rows(ROWS, sorted([*others, *rows], key=lambda row: order[row.part]))


def _rows(part: str, lakes: Path, incidents_folder: Path | None) -> Iterator[Row]:
    if part in TWIN_RUNS:
        yield from what_if_rows(part, list(twins(part, lakes)), lakes)
    elif part == "data-costs":
        yield from what_if_rows(part, [costs(play, lakes) for play in COSTS], lakes)
    elif part == "deployments":
        play = unpacked(DATA / "deployments" / "4.4.0.tar.gz", lakes / part)
        if not (play / "lake").exists():
            fill(play / "lake", play)
        truth = json.loads((play / "truth.json").read_text())
        yield from plan_rows(part, play / "lake", truth)
    elif incidents_folder is not None:
        yield from what_if_rows(part, list(incidents(incidents_folder)), lakes)


if __name__ == "__main__":
    typer.run(main)
