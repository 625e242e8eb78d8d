"""Scripts of process lives, and the variants that play them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

TOPICS = {"orders": 12, "payments": 12, "refunds": 6}
# The broker's settings for consumer groups equal the settings of the classic clients.
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
    "static": Variant({**_CLASSIC, "partition.assignment.strategy": "range"}, static=True),
    "consumer": Variant(_CONSUMER),
    "consumer-range": Variant({**_CONSUMER, "group.remote.assignor": "range"}),
    "consumer-default": Variant(
        _CONSUMER,
        {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "5000"},
    ),
    "consumer-static": Variant(_CONSUMER, static=True),
}


class Step(NamedTuple):
    """``action``: start, stop, kill, freeze, thaw, slow (it does not poll) or slow over.
    ``at_s``: since the script began.
    """

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


def _slow(process: int, at_s: float, length_s: float = 35) -> Iterator[Step]:
    yield Step(at_s, "slow", process)
    yield Step(at_s + length_s, "slow over", process)


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


def _flapping() -> Iterator[Step]:
    """A process is killed three times and returns within its session; slow polls longer than
    max.poll.interval.ms, freezes for less and for more than the session, all stop and start.
    """
    yield from _each("start", range(1, 5), 0, 0.1)
    for at_s in (18, 25, 32):
        yield from (Step(at_s, "kill", 1), Step(at_s + 1, "start", 1))
    yield from _slow(2, 42)
    yield from (Step(84, "start", 5), Step(86, "start", 6))
    yield from _freeze(3, 98, 6)
    yield from _freeze(4, 112, 16)
    yield from _slow(1, 132)
    yield Step(140, "stop", 6)
    yield from _each("stop", range(1, 6), 176, 0)
    yield from _each("start", range(1, 6), 181, 0)


def _slow_polls() -> Iterator[Step]:
    """Slow polls during a rolling deployment, a scale-out and a freeze, for less than
    max.poll.interval.ms, and for longer than it and a session.
    """
    yield from _each("start", range(1, 6), 0, 0.3)
    yield from _slow(4, 18, 50)
    for place, process in enumerate((1, 2, 3)):
        at_s = 24 + 6 * place
        yield from (Step(at_s, "stop", process), Step(at_s + 2, "start", process))
    yield from _slow(5, 76, 20)
    yield from _freeze(2, 80, 13)
    yield from _each("start", range(6, 8), 105, 1)
    yield from _slow(6, 114, 38)
    yield from _slow(3, 116, 38)
    yield from _freeze(7, 126, 5)
    yield from (Step(160, "stop", 7), Step(163, "kill", 6), Step(168, "start", 6))
    yield from _freeze(1, 178, 12)
    yield from _freeze(5, 179, 12)


SCRIPTS = {
    "surge-and-autoscale": Script(sorted(_surge()), 185),
    "host-loss-and-freezes": Script(sorted(_host_loss()), 205),
    "flapping-and-slow-poll": Script(sorted(_flapping()), 203),
    "slow-polls-and-freezes": Script(sorted(_slow_polls()), 205),
}
