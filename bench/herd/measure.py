"""The workload, and the cost of each change until every member owns its partitions.

A group forms, its members started 10 ms apart; then one member joins, one leaves and one crashes,
each after the group has settled.  Both systems run in virtual time with the same delays.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple, Protocol

from coordinator_core.zookeeper.measurements import OwnershipMeter
from coordinator_core.zookeeper.virtual_network import DelayMs, VirtualNetwork

TOPIC = "orders"
GROUP = "billing"
SESSION_TIMEOUT_MS = 6000
CONSUMED_EVERY_MS = 1000
APART_MS = 10
QUIET_MS = 10_000  # longer than a session timeout
GIVE_UP_MS = 180_000
CHANGES = ("form", "join", "leave", "crash")


class MeasuredGroup(Protocol):
    """A consumer group of either system on its own virtual network."""

    network: VirtualNetwork
    ownership: OwnershipMeter

    def start(self, name: str) -> None: ...

    def leave(self, name: str) -> None: ...

    def crash(self, name: str) -> None: ...

    def owns(self, name: str) -> bool: ...

    def counts(self) -> Counter[str]:
        """``notifications``, ``requests`` and other counters since the start."""
        ...


MakeGroup = Callable[[int, random.Random], MeasuredGroup]  # (partition count, randomness of delays)


class Outcome(NamedTuple):
    """``settled_ms`` None: the group did not settle within three minutes."""

    notifications: int
    requests: int
    settled_ms: int | None
    unowned_ms: int
    double_owned_ms: int
    failed: int

    @classmethod
    def of_many(cls, outcomes: list[Outcome]) -> Outcome:
        """The median of each field; ``settled_ms`` is None if any run did not settle."""
        settled = [outcome.settled_ms for outcome in outcomes]
        times = [ms for ms in settled if ms is not None]
        return cls(
            int(median(outcome.notifications for outcome in outcomes)),
            int(median(outcome.requests for outcome in outcomes)),
            int(median(times)) if len(times) == len(settled) else None,
            int(median(outcome.unowned_ms for outcome in outcomes)),
            int(median(outcome.double_owned_ms for outcome in outcomes)),
            sum(outcome.failed for outcome in outcomes),
        )


def delays(rng: random.Random) -> DelayMs:
    """1 to 3 ms for each message."""
    return lambda _source, _target: rng.randint(1, 3)


def changes(make_group: MakeGroup, size: int, partitions: int, seed: int) -> dict[str, Outcome]:
    """The outcome of each change; ``size``: members before the join."""
    # The schedule has its own generator of random numbers, as the network's delays have.
    rng = random.Random(seed)
    group = make_group(partitions, random.Random(seed))
    names = [f"member-{n:03}" for n in range(size + 1)]
    rng.shuffle(names)
    members = names[:-1]

    def start_all() -> None:
        for n, name in enumerate(members):
            group.network.at(group.network.now_ms + n * APART_MS, partial(group.start, name))

    outcomes = {"form": _change(group, start_all, members)}
    if outcomes["form"].settled_ms is None:
        raise RuntimeError(f"a group of {size} did not form with seed {seed}")
    for change, act, name, live in (
        ("join", group.start, names[-1], names),
        ("leave", group.leave, names[0], names[1:]),
        ("crash", group.crash, names[1], names[2:]),
    ):
        group.network.run(group.network.now_ms + rng.randrange(SESSION_TIMEOUT_MS))
        outcomes[change] = _change(group, partial(act, name), live)
    return outcomes


def _change(group: MeasuredGroup, act: Callable[[], None], live: Sequence[str]) -> Outcome:
    begin_ms = group.network.now_ms
    before, uncovered = group.counts(), group.ownership.until(begin_ms)
    act()
    settled_ms = _settle(group, live)
    counts, now = group.counts() - before, group.ownership.until(group.network.now_ms)
    return Outcome(
        counts["notifications"],
        counts["requests"],
        None if settled_ms is None else settled_ms - begin_ms,
        now.unowned_ms - uncovered.unowned_ms,
        now.double_owned_ms - uncovered.double_owned_ms,
        counts["failed"],
    )


def _settle(group: MeasuredGroup, live: Sequence[str]) -> int | None:
    """When every member owned its partitions, followed by a quiet time, or None if never."""
    give_up_ms = group.network.now_ms + GIVE_UP_MS
    while group.network.now_ms < give_up_ms:
        group.network.run(group.network.now_ms + CONSUMED_EVERY_MS)
        is_settled = group.ownership.all_owned_once and all(map(group.owns, live))
        if is_settled and group.network.now_ms >= group.ownership.changed_ms + QUIET_MS:
            return group.ownership.changed_ms
    return None
