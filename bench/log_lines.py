"""Speed of reading logs into rows in one process.

The logs are a broker's (coordinator lines, lines of other loggers, and both) and a client's (a
consumer's line after every 199 lines of its application).

    python -m bench.log_lines [--mebibytes 32]

The inputs repeat the server.log of an incident of examples/: its coordinator lines; its other
lines; and a mixed log with one coordinator line after every 49 others.  That is a broker whose
groups rebalance now and then; in the incident itself one line in five is the coordinator's.  A
list of settings stays with its line.

Rates are per second of CPU time, each the median of passes that take turns.  The peer is `grep -c`
for the two words that the reader searches: a ceiling for any reader that looks at every byte.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Annotated

import typer

from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.client_logs.client_log import client_rows

LOG = Path(__file__).parents[1] / "examples" / "mixed-clients-3.9.1" / "server.log"
COORDINATOR = b"(kafka.coordinator.group."
WORDS = r"oordinator\|Metadata"
OTHERS_PER_COORDINATOR_LINE = 49
OTHERS_PER_CONSUMER_LINE = 199
PASSES = 5


def entries() -> list[bytes]:
    """The lines of the log, each with the indented lines that belong to it."""
    lines = LOG.read_bytes().splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if line.startswith(b"[")]
    ends = [*starts[1:], len(lines)]
    return [b"".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def inputs(size: int) -> dict[str, bytes]:
    """The three logs by name, of at least ``size`` bytes each."""
    coordinator = [entry for entry in entries() if COORDINATOR in entry]
    others = [entry for entry in entries() if COORDINATOR not in entry]
    other, one = cycle(others), cycle(coordinator)
    mixed = chain.from_iterable(
        chain(islice(other, OTHERS_PER_COORDINATOR_LINE), islice(one, 1)) for _ in cycle([None])
    )
    return {
        "coordinator lines": _first(cycle(coordinator), size),
        "other lines": _first(cycle(others), size),
        "mixed, 1 in 50": _first(mixed, size),
    }


def client_input(size: int) -> bytes:
    """The log of an application whose consumer logs one line in 200."""
    date = b"2026-11-26T21:25:41.905Z  INFO 1 --- [orders] [main] "
    other = date + b"c.acme.orders.OrderHandler   : handled order 123456 of customer 998 in 12 ms\n"
    own = date + (
        b"o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer clientId=orders-1, groupId=orders] "
        b"Successfully joined group with generation Generation{generationId=7, memberId='orders-1-"
        b"0e3d3ebe-f593-4ca0-83ab-d9e56b4d3c7b', protocol='range'}\n"
    )
    return _first(cycle([*[other] * OTHERS_PER_CONSUMER_LINE, own]), size)


def _first(lines: Iterable[bytes], size: int) -> bytes:
    text = bytearray()
    for line in lines:
        text += line
        if len(text) >= size:
            break
    return bytes(text)


def read_rows(path: str) -> float:
    """Seconds of CPU time of a broker's log."""
    began = time.process_time()
    for _ in log_rows(path, "UTC", DateRange(None, None)):
        pass
    return time.process_time() - began


def read_client_rows(path: str) -> float:
    """Seconds of CPU time of a client's log."""
    began = time.process_time()
    for _ in client_rows(path, "UTC", DateRange(None, None)):
        pass
    return time.process_time() - began


def grep(path: str) -> float:
    """Seconds of CPU time of `grep -c` for the coordinator's words."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bytewise = {**os.environ, "LC_ALL": "C"}
    # Into a pipe: grep stops at the first match if nobody reads the count.
    subprocess.run(["grep", "-c", WORDS, path], capture_output=True, env=bytewise, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds(path: str, measures: Iterable[Callable[[str], float]]) -> list[float]:
    """The median of each measure; the measures take turns."""
    passes = [[measure(path) for measure in measures] for _ in range(PASSES)]
    return [statistics.median(of_measure) for of_measure in zip(*passes, strict=True)]


def main(
    mebibytes: Annotated[int, typer.Option(help="Size of each input.")] = 32,
) -> None:
    """Print lines and MB per second of CPU time for each log, and the peer's."""
    size = mebibytes << 20
    reads = {name: (read_rows, text) for name, text in inputs(size).items()}
    reads["client log, 1 in 200"] = read_client_rows, client_input(size)
    for name, (read, text) in reads.items():
        with tempfile.NamedTemporaryFile("wb", suffix=".log") as file:
            file.write(text)
            file.flush()
            rows, peer = seconds(file.name, (read, grep))
            lines, megabytes = text.count(b"\n"), len(text) / 1e6
            print(
                f"{name}: {lines / rows:,.0f} per second of CPU time, {megabytes / rows:.1f} MB/s; "
                f"grep {megabytes / peer:,.0f} MB/s"
            )


if __name__ == "__main__":
    typer.run(main)
