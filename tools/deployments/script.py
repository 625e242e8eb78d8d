"""The groups, and the deployments that all of them go through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

TOPIC, RATES = "orders", [5.0] * 12
PROCESSES = 6
SESSION_MS, HEARTBEAT_MS = 10_000, 3000
RESTART_S = 4.0
START_S = 25.0
BROKER = f"""
group.initial.rebalance.delay.ms=3000
group.min.session.timeout.ms=6000
group.consumer.session.timeout.ms={SESSION_MS}
group.consumer.heartbeat.interval.ms={HEARTBEAT_MS}
group.consumer.min.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=1000
"""
_CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
_PACKAGE = "org.apache.kafka.clients.consumer"


class Group(NamedTuple):
    """``conf``: settings of its clients, for the library ``client`` (librdkafka, java)."""

    client: str
    conf: Mapping[str, Any]
    static: bool = False


def _group(client: str, assignor: str, java: str, static: bool = False) -> Group:
    name = assignor if client == "librdkafka" else f"{_PACKAGE}.{java}Assignor"
    return Group(client, {**_CLASSIC, "partition.assignment.strategy": name}, static)


GROUPS = {
    f"{kind}-{client}": group
    for client in ("librdkafka", "java")
    for kind, group in {
        "eager": _group(client, "range", "Range"),
        "cooperative": _group(client, "cooperative-sticky", "CooperativeSticky"),
        "static": _group(client, "range", "Range", static=True),
        "consumer": Group(client, {"group.protocol": "consumer"}),
    }.items()
}


class Strategy(NamedTuple):
    """``lasts_s``: until the next deployment begins."""

    name: str
    pace_s: float
    batch: int
    lasts_s: float


STRATEGIES = (
    Strategy("one_by_one", 10, 1, 70.3),
    Strategy("batches", 10, 2, 42.7),
    Strategy("surge", 8, PROCESSES, 33.1),
    Strategy("recreate", 0, PROCESSES, 26.4),
    Strategy("one_by_one", 5, 1, 46.9),
)
# Each repetition has another order: earlier rebalances decide when heartbeats are due.
ORDERS = ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 3, 1, 4))


class Step(NamedTuple):
    """``action``: start or stop; ``process``: its name."""

    at_s: float
    action: str
    process: str


class Deployment(NamedTuple):
    strategy: Strategy
    repetition: int
    from_s: float
    to_s: float
    steps: tuple[Step, ...]


def first_steps() -> list[Step]:
    return [Step(0.4 * slot, "start", _name(slot, 1)) for slot in range(PROCESSES)]


def deployments() -> Iterator[Deployment]:
    at_s, version = START_S, 1
    for repetition, order in enumerate(ORDERS):
        for strategy in (STRATEGIES[place] for place in order):
            steps = tuple(sorted(_steps(strategy, at_s, version)))
            yield Deployment(strategy, repetition, at_s, at_s + strategy.lasts_s, steps)
            version += strategy.name == "surge"
            at_s += strategy.lasts_s


def _name(slot: int, version: int) -> str:
    return f"orders-{slot}-v{version}"


def _steps(strategy: Strategy, at_s: float, version: int) -> Iterator[Step]:
    for slot in range(PROCESSES):
        name = _name(slot, version)
        if strategy.name == "surge":
            yield Step(at_s + 0.2 * slot, "start", _name(slot, version + 1))
            yield Step(at_s + strategy.pace_s + 0.2 * slot, "stop", name)
        else:
            stop_s = at_s + strategy.pace_s * (slot // strategy.batch)
            yield Step(stop_s, "stop", name)
            yield Step(stop_s + RESTART_S, "start", name)
