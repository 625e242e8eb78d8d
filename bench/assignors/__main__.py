"""Times the assignors alone, beside other programs' assignors, or on many small groups.

README.md in this folder has the commands and the results.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bench.assignors import inputs, peers, throughput
from coordinator_core.assignors import ASSIGNORS

FILES = peers.ROOT / "build" / "assignors-peers" / "inputs"
STICKY = ("sticky", "cooperative-sticky", "uniform")


def main(
    build: Annotated[bool, typer.Option(help="Build the peers.")] = False,
    throughput_: Annotated[bool, typer.Option("--throughput", help="Many small groups.")] = False,
    with_peers: Annotated[bool, typer.Option("--peers", help="Time the peers, too.")] = False,
    seconds: Annotated[float, typer.Option(help="Seconds per warm-up and timing.")] = 0.4,
    limit: Annotated[float, typer.Option(help="Maximum seconds per timing of a peer.")] = 60,
    repeats: Annotated[int, typer.Option(help="Rounds; the best median counts.")] = 1,
    assignors: Annotated[str, typer.Option(help="Names, separated by commas.")] = ",".join(
        ASSIGNORS
    ),
    parts: Annotated[list[str] | None, typer.Argument(help="Parts of inputs' names.")] = None,
) -> None:
    if build:
        peers.build()
    if throughput_:
        throughput.main()
    if not (build or throughput_):
        inputs.write(FILES)
        names = [n for n in inputs.names() if any(part in n for part in parts or [""])]
        timing = Timing(with_peers, seconds, limit, repeats)
        table(names, assignors.split(","), timing)


@dataclass(frozen=True)
class Timing:
    """Seconds and rounds per timing, and whether peers are timed."""

    peers: bool
    seconds: float
    limit: float
    repeats: int


def table(names: list[str], assignors: list[str], timing: Timing) -> None:
    """Markdown; milliseconds."""
    columns = list(peers.ASSIGNORS_OF) if timing.peers else []
    heads = ["input", "assignor", "ours", "ours, cold", *columns]
    if columns:
        heads += ["ours / best peer", "cold / best peer"]
    print("| " + " | ".join(heads) + " |")
    print("|---|---" + "|---:" * (len(heads) - 2) + "|")
    for assignor in assignors:
        for name in names:
            if name.endswith("fresh") or assignor in STICKY:
                print(row(assignor, name, columns, timing), flush=True)


def row(assignor: str, name: str, columns: list[str], timing: Timing) -> str:
    """One line; a peer that is not built or lacks the assignor has a dash.

    The rounds of all programs alternate, so other load affects all programs equally.
    """
    file = FILES / f"{name}.json"
    ours, cold = math.inf, math.inf
    theirs: dict[str, float | None] = dict.fromkeys(columns)
    for _ in range(timing.repeats):
        measured = _ours(assignor, file, timing.seconds)
        ours, cold = min(ours, measured["median_ms"]), min(cold, measured["cold_ms"])
        for peer in columns:
            ms = peers.median_ms(peer, assignor, file, timing.seconds, timing.limit)
            measured_ms = [each for each in (ms, theirs[peer]) if each is not None]
            theirs[peer] = min(measured_ms, default=None)
    cells = [name, assignor, *(shown(ms, timing.limit) for ms in (ours, cold, *theirs.values()))]
    if columns:
        best = min((ms for ms in theirs.values() if ms is not None), default=math.nan)
        cells += [f"{ms / best:.2f}" for ms in (ours, cold)]
    return "| " + " | ".join(cells) + " |"


def _ours(assignor: str, file: Path, seconds: float) -> dict[str, float]:
    line = [*peers.pinned(), sys.executable, "-m", "bench.assignors.ours", str(seconds)]
    done = subprocess.run(
        [*line, assignor, str(file)], cwd=peers.ROOT, check=True, capture_output=True, text=True
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def shown(ms: float | None, limit: float) -> str:
    if ms is None:
        return "-"
    if math.isinf(ms):
        return f">{limit:.0f} s"
    return f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 100 else f"{ms:.0f}"


if __name__ == "__main__":
    typer.run(main)
