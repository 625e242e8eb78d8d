"""The command; see README.md beside it."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

from bench.assignors import inputs, peers, throughput
from coordinator_core.assignors import ASSIGNORS

FILES = peers.ROOT / "build" / "assignors-peers" / "inputs"
LOOK_BACK = ("sticky", "cooperative-sticky", "uniform")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true", help="build the peers")
    parser.add_argument("--peers", action="store_true", help="time the peers too")
    parser.add_argument("--throughput", action="store_true", help="many small groups")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each warm-up and timing")
    parser.add_argument("--limit", type=float, default=60, help="seconds a peer may take in all")
    parser.add_argument("--repeats", type=int, default=1, help="rounds; the best median counts")
    parser.add_argument("--assignors", default=",".join(ASSIGNORS))
    parser.add_argument("inputs", nargs="*", help="names or parts of names; all by default")
    options = parser.parse_args()
    if options.build:
        peers.build()
    if options.throughput:
        throughput.main()
    if not (options.build or options.throughput):
        inputs.write(FILES)
        table(options)


def table(options: argparse.Namespace) -> None:
    """Markdown; milliseconds."""
    wanted = [n for n in inputs.names() if any(part in n for part in options.inputs or [""])]
    columns = list(peers.ASSIGNORS_OF) if options.peers else []
    heads = ["input", "assignor", "ours", "ours, cold", *columns]
    if columns:
        heads += ["ours / best peer", "cold / best peer"]
    print("| " + " | ".join(heads) + " |")
    print("|---|---" + "|---:" * (len(heads) - 2) + "|")
    for assignor in options.assignors.split(","):
        for name in wanted:
            if name.endswith("fresh") or assignor in LOOK_BACK:
                print(row(assignor, name, columns, options), flush=True)


def row(assignor: str, name: str, columns: list[str], options: argparse.Namespace) -> str:
    """A peer not built or without such an assignor has a dash.

    Everybody's rounds alternate, so that a slow spell of the machine meets all alike.
    """
    file = FILES / f"{name}.json"
    ours, cold = math.inf, math.inf
    theirs: dict[str, float | None] = dict.fromkeys(columns)
    for _ in range(options.repeats):
        measured = _ours(assignor, file, options.seconds)
        ours, cold = min(ours, measured["median_ms"]), min(cold, measured["cold_ms"])
        for peer in columns:
            ms = peers.median_ms(peer, assignor, file, options.seconds, options.limit)
            known = [known for known in (ms, theirs[peer]) if known is not None]
            theirs[peer] = min(known, default=None)
    cells = [name, assignor, *(shown(ms, options.limit) for ms in (ours, cold, *theirs.values()))]
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
    main()
