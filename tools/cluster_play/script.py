"""The groups of each script, and the phases with their actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_PACKAGE = "org.apache.kafka.clients.consumer"
_CLASSIC = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3000}
CONSUMER = {"group.protocol": "consumer"}
# Number of the process of each group that runs on the host that is killed.
KILLED = 2


class Group(NamedTuple):
    """``killed``: the numbers of the processes that run in the host that is killed."""

    topic: str
    processes: int
    conf: Mapping[str, Any]
    is_static: bool = False
    killed: range = range(KILLED, KILLED + 1)


class Step(NamedTuple):
    """``process``: its number, from 1; ``value``: a feature, a group, or settings of a client."""

    at_s: float
    action: str
    group: str = ""
    process: int = 0
    value: Any = None


class Phase(NamedTuple):
    """``waits``: the phase also lasts until all brokers have been rolled."""

    name: str
    lasts_s: float
    steps: list[Step]
    waits: bool = False


class Script(NamedTuple):
    """``rates``: records per second of each partition, by topic; ``kafka``: the versions of the
    brokers at the beginning and after the roll; ``features``: of StorageTool; ``is_light``: the
    members only speak the protocol, see `tools.cluster_play.members`.
    """

    groups: Mapping[str, Group]
    rates: Mapping[str, list[float]]
    phases: list[Phase]
    kafka: tuple[str, str]
    features: tuple[str, ...] = ()
    is_light: bool = False
    brokers: str = ""


def classic(assignor: str) -> dict[str, Any]:
    return {**_CLASSIC, "partition.assignment.strategy": f"{_PACKAGE}.{assignor}Assignor"}


# -- a rolling upgrade -----------------------------------------------------------------------------

_UPGRADED = {
    "bills-eager": Group("bills", 6, classic("Range")),
    "orders-coop": Group("orders", 6, classic("CooperativeSticky")),
    "stock-static": Group("stock", 4, classic("Range"), is_static=True),
}
_NEW = {
    "clicks-consumer": Group("clicks", 6, CONSUMER),
    "carts-static": Group("carts", 4, CONSUMER, is_static=True),
}
_RATES = {
    "bills": [1.0] * 12,
    "orders": [1.0] * 24,
    "stock": [1.0] * 12,
    "clicks": [1.0] * 12,
    "carts": [1.0] * 8,
}
_BROKER = """
group.initial.rebalance.delay.ms=3000
group.consumer.session.timeout.ms=12000
group.consumer.heartbeat.interval.ms=3000
group.consumer.min.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=1000
group.consumer.migration.policy=bidirectional
"""


def upgrade(is_late: bool = False) -> Script:
    """``is_late``: group.version is 0 until after the upgrade, so that groups of the consumer
    protocol begin then.
    """
    groups = {**_UPGRADED, **_NEW}
    first = _UPGRADED if is_late else groups
    rolled = [
        Step(0, "roll"),
        *_deployed("orders-coop", 6, 8, 8, 3),
        *_deployed("stock-static", 4, 40, 9, 4),
    ]
    after = [
        *_deployed("bills-eager", 6, 5, 6, 2),
        *_deployed("stock-static", 4, 7, 7, 3),
    ]
    if is_late:
        after += [*_started(_NEW, 0), *_deployed("clicks-consumer", 6, 15, 6, 3)]
    else:
        rolled += [
            *_deployed("clicks-consumer", 6, 12, 8, 3),
            *_deployed("carts-static", 4, 44, 9, 4),
        ]
        after += _deployed("clicks-consumer", 6, 9, 6, 3)
    phases = [
        Phase("startup", 32, list(_started(first, 0))),
        Phase(
            "deployments before",
            48,
            [*_deployed("bills-eager", 6, 2, 6, 2), *_deployed("stock-static", 4, 4, 8, 3)],
        ),
        Phase("upgrade", 90, rolled, waits=True),
        Phase(
            "features",
            10,
            [
                Step(1, "finalize", value=feature)
                for feature in ("metadata.version", "group.version", "share.version")
            ],
        ),
        Phase("deployments after", 58, after),
        Phase("migration", 62, list(_migrated("bills-eager", 6, 2, 8, 3))),
        Phase(
            "migration of one process and back",
            25,
            [
                Step(1, "stop", "orders-coop", 5),
                Step(4, "start", "orders-coop", 5, {**CONSUMER}),
                Step(11, "stop", "orders-coop", 5),
                Step(12, "start", "orders-coop", 5),
            ],
        ),
        Phase(
            "consumers killed",
            45,
            [
                Step(2, "kill host"),
                *(Step(22, "start", group, KILLED) for group in groups if group != "bills-eager"),
                Step(22, "start", "bills-eager", KILLED, {**CONSUMER}),
            ],
        ),
        Phase(
            "broker killed",
            50,
            [Step(2, "kill broker", value="stock-static"), Step(22, "start broker")],
        ),
    ]
    features = ("group.version=0",) if is_late else ()
    return Script(groups, _RATES, phases, ("4.1.2", "4.4.0"), features, brokers=_BROKER)


# -- a large group ---------------------------------------------------------------------------------

_MEMBERS, _PARTITIONS = 500, 2000
_LARGE = {
    "session.timeout.ms": 20_000,
    "heartbeat.interval.ms": 4000,
    "auto.commit.interval.ms": 10_000,
}


def large() -> Script:
    """A group of 500 on 2,000 partitions, deployed in batches; ten of its processes killed."""
    killed = range(_MEMBERS - 9, _MEMBERS + 1)
    groups = {"fleet": Group("events", _MEMBERS, _LARGE, killed=killed)}
    starts = [Step(0.02 * n, "start", "fleet", n + 1) for n in range(_MEMBERS)]
    phases = [
        Phase("startup", 60, starts),
        Phase("deployment", 130, list(_batches("fleet", 25, 10, 2, 5))),
        Phase(
            "processes killed",
            80,
            [
                Step(2, "kill host"),
                *(Step(45 + 0.02 * n, "start", "fleet", each) for n, each in enumerate(killed)),
            ],
        ),
    ]
    return Script(
        groups,
        {"events": [0.0] * _PARTITIONS},
        phases,
        ("4.4.0", "4.4.0"),
        is_light=True,
        brokers="group.initial.rebalance.delay.ms=3000\n",
    )


# -- a small cluster -------------------------------------------------------------------------------


def short() -> Script:
    """Groups of all kinds on one broker, deployed once."""
    phases = [
        Phase("startup", 20, list(_started({**_UPGRADED, **_NEW}, 0))),
        Phase(
            "deployments",
            40,
            [
                *_deployed("bills-eager", 6, 1, 5, 2),
                *_deployed("stock-static", 4, 2, 6, 3),
                *_deployed("clicks-consumer", 6, 3, 5, 2),
            ],
        ),
    ]
    groups = {**_UPGRADED, **_NEW}
    return Script(groups, _RATES, phases, ("4.4.0", "4.4.0"), brokers=_BROKER)


SCRIPTS = {
    "upgrade": upgrade,
    "upgrade-late": lambda: upgrade(is_late=True),
    "large": large,
    "short": short,
}


# -- steps -----------------------------------------------------------------------------------------


def _started(groups: Mapping[str, Group], from_s: float) -> Iterator[Step]:
    for name, group in groups.items():
        for number in range(1, group.processes + 1):
            yield Step(from_s + 0.4 * number, "start", name, number)


def _deployed(
    group: str, processes: int, from_s: float, pace_s: float, away_s: float
) -> Iterator[Step]:
    for number in range(1, processes + 1):
        stop_s = from_s + pace_s * (number - 1)
        yield Step(stop_s, "stop", group, number)
        yield Step(stop_s + away_s, "start", group, number)


def _migrated(
    group: str, processes: int, from_s: float, pace_s: float, away_s: float
) -> Iterator[Step]:
    """The online migration: each process comes back with the consumer protocol."""
    for step in _deployed(group, processes, from_s, pace_s, away_s):
        yield step._replace(value={**CONSUMER}) if step.action == "start" else step


def _batches(group: str, batch: int, pace_s: float, from_s: float, away_s: float) -> Iterator[Step]:
    """The first ten batches of processes restart."""
    for number in range(10 * batch):
        stop_s = from_s + pace_s * (number // batch) + 0.02 * (number % batch)
        yield Step(stop_s, "stop", group, number + 1)
        yield Step(stop_s + away_s, "start", group, number + 1)
