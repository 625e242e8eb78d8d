"""Throughput: groups per second of CPU time, for many small groups with different names."""

from __future__ import annotations

import gc
import random
import time

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.assignors.subscriptions import as_sent

GROUPS, MEMBERS, TOPICS, PARTITIONS = 10_000, 10, 5, 10


def groups(assignor: str) -> list[tuple[dict[str, int], list[Member]]]:
    """Partition counts and members of groups that one member left after a first assignment."""
    rnd = random.Random(1)
    inputs = []
    for group in range(GROUPS):
        counts = {f"group-{group}-topic-{i}": PARTITIONS for i in range(TOPICS)}
        ids = [f"consumer-{group}-{rnd.getrandbits(64):016x}" for _ in range(MEMBERS + 1)]
        joined = [as_sent(assignor, member, counts) for member in ids]
        assignment = ASSIGNORS[assignor](Topics(counts), joined)
        rejoined = [as_sent(assignor, member, counts, assignment[member], 1) for member in ids[1:]]
        inputs.append((counts, rejoined))
    return inputs


def measured(assignor: str) -> float:
    """Groups per second of CPU time, from partition counts and subscriptions to lists."""
    assign, inputs = ASSIGNORS[assignor], groups(assignor)
    gc.collect()
    gc.freeze()  # The garbage collector must not scan the inputs during the measurement.
    start = time.process_time()
    for counts, members in inputs:
        assign(Topics(counts), members)
    spent = time.process_time() - start
    gc.unfreeze()
    return GROUPS / spent


def main() -> None:
    print(f"{GROUPS:,} groups of {MEMBERS} members, {TOPICS * PARTITIONS} partitions; one process")
    for assignor in ASSIGNORS:
        print(f"{assignor:20} {measured(assignor):10,.0f} groups/s")
