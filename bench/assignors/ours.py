"""Times Regroup's assignors as the peers are timed.  Arguments: SECONDS ASSIGNOR FILE."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.assignors.subscriptions import as_sent


def members_of(case: dict[str, Any], assignor: str) -> list[Member]:
    """Decoded subscriptions; equal topic names are one object, as the decoder returns them."""
    one = sys.intern
    return [
        as_sent(
            assignor,
            m["id"],
            [one(topic) for topic in m["topics"]],
            [(one(topic), partition) for topic, partition in m["owned"]],
            m["generation"],
        )
        for m in case["members"]
    ]


def measured(run: Callable[[], object], seconds: float) -> float:
    """Median milliseconds, after a warm-up of the same length."""
    _times(run, seconds)
    return statistics.median(_times(run, seconds))


def _times(run: Callable[[], object], seconds: float) -> list[float]:
    times: list[float] = []
    spent = 0.0
    while spent < 8 and len(times) < 5000 and (len(times) < 3 or spent < seconds):
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        times.append(took * 1e3)
        spent += took
    return times


def main() -> None:
    seconds, assignor = float(sys.argv[1]), sys.argv[2]
    with open(sys.argv[3]) as file:
        case = json.load(file)
    members = members_of(case, assignor)
    counts = {sys.intern(topic): info["partitions"] for topic, info in case["topics"].items()}
    assign, topics = ASSIGNORS[assignor], Topics(counts)
    row = {
        "median_ms": measured(lambda: assign(topics, members), seconds),
        "cold_ms": measured(lambda: assign(Topics(counts), members), seconds),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
