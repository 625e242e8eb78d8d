"""Lines of broker logs into rows, in one process: coordinator lines, and lines of other loggers.

    python -m bench.log_lines [--mebibytes 32]

The input is the server.log of an incident of examples/, its coordinator lines and its other lines
repeated into one file each.  Rates are per second of CPU time, the median of three passes.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from jobs.sources.broker_log import log_rows
from jobs.sources.rows import DateRange

LOG = Path(__file__).parents[1] / "examples" / "mixed-clients-3.9.1" / "server.log"
COORDINATOR = "GroupCoordinator"
PASSES = 3


def lines_per_second(path: str, lines: int) -> float:
    began = time.process_time()
    for _ in log_rows(path, "UTC", DateRange(None, None)):
        pass
    return lines / (time.process_time() - began)


def main(
    mebibytes: Annotated[int, typer.Option(help="Size of each of the two inputs.")] = 32,
) -> None:
    """Print lines and MB per second of CPU time for both kinds of lines."""
    lines = LOG.read_text(encoding="utf-8").splitlines(keepends=True)
    kinds = {
        "coordinator lines": [line for line in lines if COORDINATOR in line],
        "other lines": [line for line in lines if COORDINATOR not in line],
    }
    for name, once in kinds.items():
        text = "".join(once)
        repeats = max(1, (mebibytes << 20) // len(text.encode()))
        with tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8") as file:
            file.write(text * repeats)
            file.flush()
            count = len(once) * repeats
            rate = statistics.median(lines_per_second(file.name, count) for _ in range(PASSES))
            megabytes = len(text.encode()) / len(once) * rate / 1e6
            print(f"{name}: {rate:,.0f} per second of CPU time, {megabytes:.1f} MB/s")


if __name__ == "__main__":
    typer.run(main)
