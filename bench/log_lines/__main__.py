"""Speed of reading logs into rows in one process.

    python -m bench.log_lines [--mebibytes 32] [--before CHECKOUT] [--only NAME]

Rates are per second of CPU time, user and system, each the median of passes that take turns.
``--before``: a checkout of an earlier version, which reads the same logs in the same run.  The peer
is `grep -c` for the two words that the reader of brokers' logs searches: a ceiling for any reader
that looks at every byte.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from bench.log_lines.inputs import ROOT, Input, inputs

PLAYER = Path(__file__).with_name("player.py")
WORDS = r"oordinator\|Metadata"
PASSES = 5


class Player(subprocess.Popen[str]):
    """A process that reads logs with the code of a checkout."""

    def __init__(self, checkout: Path) -> None:
        super().__init__(
            [sys.executable, str(PLAYER)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, log: Input, path: str) -> float:
        """CPU time of reading a log."""
        assert self.stdin is not None
        assert self.stdout is not None
        print(log.kind, path, file=self.stdin, flush=True)
        return float(self.stdout.readline())


def grep_seconds(path: str) -> float:
    """CPU time of `grep -c` for the coordinator's words."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bytewise = {**os.environ, "LC_ALL": "C"}
    # Read grep's output through a pipe: grep stops at the first match if nobody reads the count.
    subprocess.run(["grep", "-c", WORDS, path], capture_output=True, env=bytewise, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(log: Input, path: str, players: list[Player]) -> None:
    """Print the rates of one log: of this version, of the earlier version, and of the peer."""
    passes = [
        [*(each.seconds(log, path) for each in players), grep_seconds(path)] for _ in range(PASSES)
    ]
    now, *before, peer = (statistics.median(each) for each in zip(*passes, strict=True))
    lines, megabytes = log.text.count(b"\n"), len(log.text) / 1e6
    compared = "".join(f" ({each / now:.2f} times the rate before)" for each in before)
    print(
        f"{log.name}: {lines / now:,.0f} lines per second of CPU time, {megabytes / now:.1f} MB/s"
        f"{compared}; grep {megabytes / peer:,.0f} MB/s",
        flush=True,
    )


def main(
    mebibytes: Annotated[int, typer.Option(help="Size of each log.")] = 32,
    before: Annotated[Path | None, typer.Option(help="A checkout of an earlier version.")] = None,
    only: Annotated[str, typer.Option(help="Part of the logs' names.")] = "",
) -> None:
    """Print lines and MB per second of CPU time for each log."""
    checkouts = [ROOT, *([before.resolve()] if before else [])]
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="bench-log-lines-") as folder:
        players = [stack.enter_context(Player(each)) for each in checkouts]
        path = Path(folder) / "input.log"
        for log in inputs(mebibytes << 20):
            if only in log.name:
                path.write_bytes(log.text)
                report(log, str(path), players)


if __name__ == "__main__":
    typer.run(main)
