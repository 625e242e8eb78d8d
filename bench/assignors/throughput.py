"""Very many small groups in one process: groups a second, each with names of its own."""

from __future__ import annotations

import gc
import random
import time

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.assignors.subscriptions import as_sent

GROUPS, MEMBERS, TOPICS, PARTITIONS = 10_000, 10, 5, 10


def groups(assignor: str) -> list[tuple[dict[str, int], list[Member]]]:
    """Each group lost one member after a first assignment."""
    rnd = random.Random(1)
    made = []
    for group in range(GROUPS):
        counts = {f"group-{group}-topic-{i}": PARTITIONS for i in range(TOPICS)}
        ids = [f"consumer-{group}-{rnd.getrandbits(64):016x}" for _ in range(MEMBERS + 1)]
        joined = [as_sent(assignor, member, counts) for member in ids]
        given = ASSIGNORS[assignor](Topics(counts), joined)
        left = [as_sent(assignor, member, counts, given[member], 1) for member in ids[1:]]
        made.append((counts, left))
    return made


def measured(assignor: str) -> float:
    """Groups a second of processor time, from partition counts and subscriptions to lists."""
    assign, made = ASSIGNORS[assignor], groups(assignor)
    gc.collect()
    gc.freeze()  # the inputs, which wait here only for the clock's sake
    start = time.process_time()
    for counts, members in made:
        assign(Topics(counts), members)
    spent = time.process_time() - start
    gc.unfreeze()
    return GROUPS / spent


def main() -> None:
    print(f"{GROUPS:,} groups of {MEMBERS} members, {TOPICS * PARTITIONS} partitions; one process")
    for assignor in ASSIGNORS:
        print(f"{assignor:20} {measured(assignor):10,.0f} groups/s")
