"""Scripts of process lives, and the variants that play them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

TOPICS = {"orders": 12, "payments": 12, "refunds": 6}
# The broker's settings of groups of the consumer protocol equal the clients' of the classic one.
BROKER = """
group.initial.rebalance.delay.ms=3000
group.min.session.timeout.ms=6000
group.consumer.session.timeout.ms=10000
group.consumer.heartbeat.interval.ms=3000
group.consumer.min.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=1000
"""
_CLASSIC = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3000}
_CONSUMER = {"group.protocol": "consumer"}


class Variant(NamedTuple):
    """``client``: settings of the clients; ``group``: configuration of the group."""

    client: Mapping[str, Any]
    group: Mapping[str, str] = {}
    static: bool = False


VARIANTS = {
    "base": Variant({**_CLASSIC, "partition.assignment.strategy": "range"}),
    "cooperative": Variant({**_CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}),
    "consumer": Variant(_CONSUMER),
    "consumer-default": Variant(
        _CONSUMER,
        {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "5000"},
    ),
    "consumer-static": Variant(_CONSUMER, static=True),
}


class Step(NamedTuple):
    """``action``: start, stop, kill, freeze or thaw; ``at_s``: since the script began."""

    at_s: float
    action: str
    process: int


class Script(NamedTuple):
    steps: list[Step]
    window_s: int


def _each(action: str, processes: range | tuple[int, ...], at_s: float, apart_s: float = 0.3):
    for place, process in enumerate(processes):
        yield Step(at_s + place * apart_s, action, process)


def _freeze(process: int, at_s: float, length_s: float) -> Iterator[Step]:
    yield Step(at_s, "freeze", process)
    yield Step(at_s + length_s, "thaw", process)


def _surge() -> Iterator[Step]:
    """Two surge deployments (all new processes start before the old ones stop, under new names),
    and autoscaling up and down after each.
    """
    yield from _each("start", range(1, 5), 0, 0.4)
    yield from _each("start", range(5, 9), 20)
    yield from _each("stop", range(1, 5), 32, 0.5)
    yield from _each("start", range(9, 11), 60, 2)
    yield from _each("stop", range(9, 11), 85, 2)
    yield from _each("start", range(11, 15), 105)
    yield from _each("stop", range(5, 9), 113, 0.1)
    yield from _each("start", range(15, 17), 140, 1)
    yield from _each("stop", (16, 15), 165, 0.2)


def _host_loss() -> Iterator[Step]:
    """Hosts with several processes are lost and come back; processes freeze for less and for more
    than the session.
    """
    yield from _each("start", range(1, 7), 0, 0.4)
    yield from _freeze(2, 25, 5)
    yield from _freeze(5, 27, 4)
    yield from _each("kill", range(1, 4), 45, 0)
    yield from _each("start", range(1, 4), 75, 0.2)
    yield from _freeze(4, 100, 16)
    yield from _each("kill", range(5, 7), 130, 0)
    yield from _each("start", range(5, 7), 134, 0.2)
    yield from _freeze(1, 160, 14)
    yield from _freeze(3, 160, 14)
    yield from _freeze(4, 185, 6)


SCRIPTS = {
    "surge-and-autoscale": Script(sorted(_surge()), 185),
    "host-loss-and-freezes": Script(sorted(_host_loss()), 205),
}
