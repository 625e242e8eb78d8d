"""Split brain: one consumer is cut off from ZooKeeper, but not from the brokers it fetches from."""

from __future__ import annotations

import random
from functools import partial
from typing import NamedTuple

from bench.herd.measure import APART_MS, QUIET_MS
from bench.herd.zookeeper_group import SERVERS, ZooKeeperGroup

MEMBERS = 10
LATER_MS = 60_000
STEP_MS = 10


class Split(NamedTuple):
    """``double_owned_ms``, ``unowned_ms``: partition-ms; ``doubled_ms``: time with any overlap."""

    cut_ms: int
    double_owned_ms: int
    doubled_ms: int
    unowned_ms: int
    claims_refused: int


def split(cut_ms: int, partitions: int, seed: int) -> Split:
    """One of ten members of a settled group cannot reach the ensemble for ``cut_ms``."""
    group = ZooKeeperGroup(partitions, random.Random(seed))
    names = [f"member-{n:03}" for n in range(MEMBERS)]
    for n, name in enumerate(names):
        group.network.at(n * APART_MS, partial(group.start, name))
    while not (
        group.ownership.all_owned_once
        and group.network.now_ms > group.ownership.changed_ms + QUIET_MS
    ):
        group.network.run(group.network.now_ms + QUIET_MS)
    begin_ms = group.network.now_ms
    before, refused = group.ownership.until(begin_ms), group.counts()["claims_refused"]
    group.network.cut(names[0], SERVERS)
    group.network.at(begin_ms + cut_ms, partial(group.network.heal, names[0]))
    doubled_ms = 0
    for now_ms in range(begin_ms, begin_ms + cut_ms + LATER_MS, STEP_MS):
        group.network.run(now_ms)
        doubled_ms += STEP_MS if group.ownership.doubled else 0
    after = group.ownership.until(group.network.now_ms)
    return Split(
        cut_ms,
        after.double_owned_ms - before.double_owned_ms,
        doubled_ms,
        after.unowned_ms - before.unowned_ms,
        group.counts()["claims_refused"] - refused,
    )
