"""The groups, and the deployments that all of them go through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

TOPIC, RATES = "orders", [5.0] * 12
PROCESSES = 6
SESSION_MS, HEARTBEAT_MS = 10_000, 3000
RESTART_S = 4.0
START_S = 25.0
# Delay in seconds between groups, which begin their actions one after the other.
_APART_S = 0.03
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
    """``conf``: settings of its clients, for the library ``client`` (librdkafka, java).
    ``static``: the number of its processes that are static members.  ``later_s``: its processes
    start so much later than the script says.
    """

    client: str
    conf: Mapping[str, Any]
    static: int = 0
    processes: int = PROCESSES
    later_s: float = 0

    def conf_of(self, process: str) -> dict[str, Any] | None:
        """The settings of this process; None: the group does not have it."""
        slot = int(process.split("-")[1])
        if slot >= self.processes:
            return None
        return {**self.conf, **({"group.instance.id": process} if slot < self.static else {})}


def classic(client: str, assignor: str, java: str, static: int = 0) -> Group:
    name = assignor if client == "librdkafka" else f"{_PACKAGE}.{java}Assignor"
    return Group(client, {**_CLASSIC, "partition.assignment.strategy": name}, static)


GROUPS = {
    f"{kind}-{client}": group
    for client in ("librdkafka", "java")
    for kind, group in {
        "eager": classic(client, "range", "Range"),
        "cooperative": classic(client, "cooperative-sticky", "CooperativeSticky"),
        "static": classic(client, "range", "Range", static=PROCESSES),
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
# Each repetition has another order, because earlier rebalances decide when heartbeats are due.
ORDERS = ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 3, 1, 4))


class Step(NamedTuple):
    """``action``: start or stop; ``process``: its name."""

    at_s: float
    action: str
    process: str


class Act(NamedTuple):
    """A step of one group; ``conf``: settings of its client."""

    at_s: float
    action: str
    group: str
    process: str
    client: str
    conf: dict[str, Any]


class Deployment(NamedTuple):
    strategy: Strategy
    repetition: int
    from_s: float
    to_s: float
    steps: tuple[Step, ...]


class Script(NamedTuple):
    """``groups``: by name.  From the deployment ``changed_at`` on, ``changed`` has the groups with
    their new settings; right before it, a night passes.
    """

    groups: Mapping[str, Group]
    deployments: Sequence[Deployment]
    changed: Mapping[str, Group] = {}
    changed_at: int | None = None

    def acts(self, steps: Iterable[Step], deployment: int) -> list[Act]:
        """The steps of all groups, in order of time."""
        is_changed = self.changed_at is not None and deployment >= self.changed_at
        groups = self.changed if is_changed else self.groups
        acts = [
            Act(
                step.at_s + place * _APART_S + (group.later_s if step.action == "start" else 0),
                step.action,
                name,
                step.process,
                group.client,
                conf,
            )
            for step in steps
            for place, (name, group) in enumerate(groups.items())
            if (conf := group.conf_of(step.process)) is not None
        ]
        return sorted(acts, key=lambda act: act.at_s)


def first_steps() -> list[Step]:
    return [Step(0.4 * slot, "start", name_of(slot, 1)) for slot in range(PROCESSES)]


def strategies() -> Script:
    """Each group is deployed by each strategy, three times."""
    return Script(GROUPS, list(_deployments()))


def _deployments() -> Iterator[Deployment]:
    at_s, version = START_S, 1
    for repetition, order in enumerate(ORDERS):
        for strategy in (STRATEGIES[place] for place in order):
            steps = tuple(sorted(_steps(strategy, at_s, version)))
            yield Deployment(strategy, repetition, at_s, at_s + strategy.lasts_s, steps)
            version += strategy.name == "surge"
            at_s += strategy.lasts_s


def name_of(slot: int, version: int) -> str:
    return f"orders-{slot}-v{version}"


def _steps(strategy: Strategy, at_s: float, version: int) -> Iterator[Step]:
    for slot in range(PROCESSES):
        name = name_of(slot, version)
        if strategy.name == "surge":
            yield Step(at_s + 0.2 * slot, "start", name_of(slot, version + 1))
            yield Step(at_s + strategy.pace_s + 0.2 * slot, "stop", name)
        else:
            stop_s = at_s + strategy.pace_s * (slot // strategy.batch)
            yield Step(stop_s, "stop", name)
            yield Step(stop_s + RESTART_S, "start", name)
