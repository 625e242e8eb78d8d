"""Share of the assignors in the CPU time of assign_partitions: the limit of a faster one's gain.

    python -m bench.assignors.job_share

Measures the job's Python work (decoding, steps and chains of all assignors, figures, Arrow rows)
in one process without Spark.  The JVM's part, which writes the tables, is additional.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from bench.assign_job import SCHEMA, generations_of
from coordinator_core.assignors import ASSIGNORS
from jobs.assignors.rerun import Rerun

ROUNDS = 5
# values: groups, generations per group, members, topics, partitions per topic
INPUTS = {
    "10 members, 50 partitions": (100, 2, range(10, 11), 5, 10),
    "10 to 20 members, 50 partitions": (1, 200, range(10, 21), 5, 10),
    "100 members, 1,000 partitions": (1, 10, range(95, 106), 10, 100),
    "1,000 members, 2,000 partitions": (1, 5, range(995, 1006), 10, 200),
}


def frame(groups: int, generations: int, members: range, topics: int, partitions: int) -> pa.Table:
    rnd = random.Random(1)
    counts = {f"topic-{i}": partitions for i in range(topics)}
    rows = [
        row
        for group in range(groups)
        for row in generations_of(f"group-{group}", generations, members, rnd, counts)
    ]
    table = pa.Table.from_pylist(rows, SCHEMA)
    table = table.append_column("chunk", pa.array([0] * len(rows), pa.int64()))
    return table.append_column("carried", pa.array([False] * len(rows)))


class Timed:
    """An assignor that adds its CPU time to ``seconds``."""

    seconds = 0.0

    def __init__(self, assign: Callable[..., Any]) -> None:
        self._assign = assign

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return self._assign(*arguments, **options)
        finally:
            Timed.seconds += time.process_time() - start


def main() -> None:
    ASSIGNORS.update({name: Timed(assign) for name, assign in ASSIGNORS.items()})
    print("| input | ms per generation | of these assignors | share |")
    print("|---|---:|---:|---:|")
    for name, shape in INPUTS.items():
        table, totals, shares = frame(*shape), [], []
        for _ in range(ROUNDS):
            Timed.seconds, start = 0.0, time.process_time()
            Rerun(tuple(ASSIGNORS))(table)
            totals.append((time.process_time() - start) / len(table))
            shares.append(Timed.seconds / len(table) / totals[-1])
        total, share = min(totals), statistics.median(shares)
        print(
            f"| {name} | {1e3 * total:.2f} | {1e3 * total * share:.2f} | {share:.0%} |", flush=True
        )


if __name__ == "__main__":
    main()
