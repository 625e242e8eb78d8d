"""The plays: topics with rates, groups, and the script of process lives that all groups play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple


@dataclass(frozen=True, kw_only=True)
class Group:
    """``client``: the program; ``mode``: how it commits (see the programs); ``delay_ms``: its
    handler's time per record; ``conf``: settings of its library; ``pill``: pills end its processes.
    """

    topic: str
    client: str
    protocol: str
    mode: str
    delay_ms: int
    conf: Mapping[str, Any] = field(default_factory=dict)
    static: bool = False
    pill: bool = False

    def description(self) -> dict[str, Any]:
        return vars(self) | {"conf": dict(self.conf)}


class Step(NamedTuple):
    """``action``: start, stop, kill, freeze, thaw or slow, of one process of each group; or without
    a process pause, resume, slow handler, fix (arguments: group, value), pill (topic, partition)
    or burst (topic, factor).
    """

    at_s: float
    action: str
    process: int | None
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Script:
    """``topics``: records per second of each partition.  ``windows``: name and begin in s.
    ``broker``: lines of server.properties.  ``apart_s``: the processes of a step do not act at the
    same moment, but one group after the other.
    """

    topics: Mapping[str, list[float]]
    groups: Mapping[str, Group]
    windows: list[tuple[str, float]]
    steps: list[Step]
    broker: str
    kafka: str
    offsets_every_s: float = 5
    apart_s: float = 0.08
    end_s: float


def _each(action: str, processes: range | tuple[int, ...], at_s: float, apart_s: float = 0.5):
    for place, process in enumerate(processes):
        yield Step(at_s + place * apart_s, action, process)


def _freeze(process: int, at_s: float, length_s: float) -> Iterator[Step]:
    yield Step(at_s, "freeze", process)
    yield Step(at_s + length_s, "thaw", process)


def _restart(processes: range, at_s: float, apart_s: float, down_s: float) -> Iterator[Step]:
    yield from _each("stop", processes, at_s, apart_s)
    yield from _each("start", processes, at_s + down_s, apart_s)


def _special(at_s: float, action: str, *arguments: Any) -> Step:
    return Step(at_s, action, None, arguments)


def _steps(*steps: Step | Iterator[Step]) -> list[Step]:
    flat = chain.from_iterable([each] if isinstance(each, Step) else each for each in steps)
    return sorted(flat, key=lambda step: step.at_s)


BROKER = """
group.initial.rebalance.delay.ms={delay_ms}
group.min.session.timeout.ms=6000
group.consumer.session.timeout.ms={session_ms}
group.consumer.heartbeat.interval.ms={heartbeat_ms}
group.consumer.min.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=1000
"""


# -- B: two processes killed at once, short and long freezes, a group killed -----------------------

_B_CLASSIC = {
    "session.timeout.ms": 8000,
    "heartbeat.interval.ms": 2000,
    "max.poll.interval.ms": 15_000,
}
_B_PYTHON = {
    "session_timeout_ms": 8000,
    "heartbeat_interval_ms": 2000,
    "max_poll_interval_ms": 15_000,
}
B = Script(
    topics={"parcels": [6, 6, 4, 4, 2, 2, 10, 8, 0.5], "trips": [5, 4, 4, 3, 3, 2]},
    groups={
        "parcels-range-auto": Group(
            topic="parcels",
            client="confluent",
            protocol="eager",
            mode="auto",
            delay_ms=4,
            conf={**_B_CLASSIC, "partition.assignment.strategy": "range"},
        ),
        "parcels-coop-batch": Group(
            topic="parcels",
            client="confluent",
            protocol="coop",
            mode="batch",
            delay_ms=9,
            conf={
                **_B_CLASSIC,
                "partition.assignment.strategy": "cooperative-sticky",
                "enable.auto.commit": "false",
            },
        ),
        "parcels-consumer-auto": Group(
            topic="parcels",
            client="confluent",
            protocol="next",
            mode="auto",
            delay_ms=6,
            conf={"group.protocol": "consumer", "max.poll.interval.ms": 15_000},
        ),
        "trips-kafka-python": Group(
            topic="trips",
            client="kafka-python",
            protocol="eager",
            mode="auto",
            delay_ms=7,
            conf=_B_PYTHON,
        ),
        "trips-aiokafka": Group(
            topic="trips",
            client="aiokafka",
            protocol="eager",
            mode="auto",
            delay_ms=3,
            conf={**_B_PYTHON, "assignor": "roundrobin"},
        ),
        "trips-pill": Group(
            topic="trips",
            client="confluent",
            protocol="eager",
            mode="store",
            delay_ms=5,
            conf={
                **_B_CLASSIC,
                "partition.assignment.strategy": "range",
                "enable.auto.offset.store": "false",
            },
            pill=True,
        ),
    },
    windows=[
        ("start", 0),
        ("steady", 25),
        ("kill two", 65),
        ("short freeze", 95),
        ("long freeze", 110),
        ("slow poll", 142),
        ("scale out", 180),
        ("scale in", 195),
        ("rolling restart", 210),
        ("kill all", 228),
        ("stop", 262),
    ],
    steps=_steps(
        _each("start", range(1, 4), 0.5),
        # Both processes are killed at the same moment, and are back after their sessions expired.
        _each("kill", (1, 2), 65, 0),
        _each("start", (1, 2), 77, 0.2),
        _special(80, "pause", "trips-kafka-python", 3),
        _special(190, "resume", "trips-kafka-python"),
        _freeze(3, 96, 5),
        _special(98, "pill", "trips", 1),
        _freeze(3, 110, 15),
        _special(140, "fix", "trips-pill"),
        Step(142, "slow", 2, (22,)),
        _each("start", (4, 5), 180, 1.5),
        _each("stop", (4, 5), 195, 1.5),
        _restart(range(1, 4), 210, 4, 1.5),
        # The processes are killed at once, and are back before their sessions expired.
        _each("kill", range(1, 4), 228, 0),
        _each("start", range(1, 4), 231, 0.2),
    ),
    broker=BROKER.format(delay_ms=2000, session_ms=8000, heartbeat_ms=2000),
    kafka="4.4.0",
    offsets_every_s=4,
    end_s=262,
)


# -- C: uneven partitions and a burst, other commit intervals, other libraries ---------------------

_C_CLASSIC = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 3000,
    "max.poll.interval.ms": 18_000,
}
_VIEWS, _METERS = "views", "meters"
C = Script(
    topics={_METERS: [10, 8, 6, 4, 3, 2, 1, 0.2], _VIEWS: [5, 5, 5, 5, 5, 5]},
    groups={
        "meters-java-coop": Group(
            topic=_METERS,
            client="java",
            protocol="coop",
            mode="auto",
            delay_ms=5,
            conf={
                **_C_CLASSIC,
                "partition.assignment.strategy": (
                    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
                ),
                "auto.commit.interval.ms": 2000,
            },
        ),
        "meters-franz": Group(
            topic=_METERS,
            client="franz",
            protocol="coop",
            mode="auto",
            delay_ms=4,
            conf={"session_ms": 10_000, "heartbeat_ms": 3000},
        ),
        "meters-consumer-15s": Group(
            topic=_METERS,
            client="confluent",
            protocol="next",
            mode="auto",
            delay_ms=6,
            conf={
                "group.protocol": "consumer",
                "max.poll.interval.ms": 18_000,
                "auto.commit.interval.ms": 15_000,
            },
        ),
        "views-kafkajs": Group(
            topic=_VIEWS,
            client="kafkajs",
            protocol="eager",
            mode="auto",
            delay_ms=3,
            conf={"sessionTimeout": 10_000, "heartbeatInterval": 3000},
        ),
        "views-static-pill": Group(
            topic=_VIEWS,
            client="confluent",
            protocol="eager",
            mode="store",
            delay_ms=5,
            conf={
                **_C_CLASSIC,
                "partition.assignment.strategy": "range",
                "enable.auto.offset.store": "false",
                "auto.commit.interval.ms": 2000,
            },
            static=True,
            pill=True,
        ),
        "views-periodic": Group(
            topic=_VIEWS,
            client="confluent",
            protocol="eager",
            mode="periodic",
            delay_ms=7,
            conf={
                **_C_CLASSIC,
                "partition.assignment.strategy": "roundrobin",
                "enable.auto.commit": "false",
                "commit_s": 8,
            },
        ),
    },
    windows=[
        ("start", 0),
        ("steady", 30),
        ("burst", 70),
        ("rolling restart", 95),
        ("kill one", 125),
        ("slow poll", 150),
        ("freeze", 190),
        ("scale in", 220),
        ("scale out", 235),
        ("whole-group restart", 250),
        ("stop", 275),
    ],
    steps=_steps(
        _each("start", range(1, 4), 0.5),
        _special(70, "burst", _METERS, 6),
        _special(70, "burst", _VIEWS, 6),
        _special(80, "burst", _METERS, 1),
        _special(80, "burst", _VIEWS, 1),
        _restart(range(1, 4), 95, 8, 3),
        # The process is back before its session expired.
        Step(125, "kill", 1),
        Step(129, "start", 1),
        _special(128, "pause", "meters-consumer-15s", 2),
        _special(240, "resume", "meters-consumer-15s"),
        _special(145, "pill", _VIEWS, 0),
        _special(188, "fix", "views-static-pill"),
        Step(150, "slow", 3, (25,)),
        _special(192, "slow handler", "views-periodic", 500),
        _special(215, "slow handler", "views-periodic", 7),
        _freeze(2, 190, 18),
        Step(220, "stop", 3),
        Step(235, "start", 3),
        Step(237, "start", 4),
        _each("stop", range(1, 5), 250, 0.1),
        _each("start", range(1, 5), 254, 0.1),
    ),
    broker=BROKER.format(delay_ms=3000, session_ms=10_000, heartbeat_ms=3000),
    kafka="4.1.2",
    end_s=275,
)

# -- D: more partitions per process, a group that is killed until its sessions expire, old clients -

_D_CLASSIC = {
    "session.timeout.ms": 12_000,
    "heartbeat.interval.ms": 4000,
    "max.poll.interval.ms": 20_000,
}
_RIDES, _BILLS = "rides", "bills"
D = Script(
    topics={
        _RIDES: [9, 7, 5, 5, 4, 4, 3, 3, 1, 0.3],
        _BILLS: [8, 4, 4, 4, 4, 4, 4, 4, 2, 2, 1, 0.5],
    },
    groups={
        "rides-java-range": Group(
            topic=_RIDES,
            client="java",
            protocol="eager",
            mode="auto",
            delay_ms=6,
            conf={
                **_D_CLASSIC,
                "partition.assignment.strategy": (
                    "org.apache.kafka.clients.consumer.RangeAssignor"
                ),
            },
        ),
        "rides-java-static": Group(
            topic=_RIDES,
            client="java",
            protocol="eager",
            mode="auto",
            delay_ms=4,
            conf={
                **_D_CLASSIC,
                "partition.assignment.strategy": (
                    "org.apache.kafka.clients.consumer.StickyAssignor"
                ),
                "auto.commit.interval.ms": 3000,
            },
            static=True,
        ),
        "rides-franz": Group(
            topic=_RIDES,
            client="franz",
            protocol="coop",
            mode="auto",
            delay_ms=5,
            conf={"session_ms": 12_000, "heartbeat_ms": 4000},
        ),
        "bills-python-batch": Group(
            topic=_BILLS,
            client="kafka-python",
            protocol="eager",
            mode="batch",
            delay_ms=8,
            conf={
                "session_timeout_ms": 12_000,
                "heartbeat_interval_ms": 4000,
                "max_poll_interval_ms": 20_000,
                "enable_auto_commit": False,
            },
        ),
        "bills-pill": Group(
            topic=_BILLS,
            client="confluent",
            protocol="eager",
            mode="store",
            delay_ms=4,
            conf={
                **_D_CLASSIC,
                "partition.assignment.strategy": "roundrobin",
                "enable.auto.offset.store": "false",
                "auto.commit.interval.ms": 4000,
            },
            pill=True,
        ),
        "bills-coop-periodic": Group(
            topic=_BILLS,
            client="confluent",
            protocol="coop",
            mode="periodic",
            delay_ms=5,
            conf={
                **_D_CLASSIC,
                "partition.assignment.strategy": "cooperative-sticky",
                "enable.auto.commit": "false",
                "commit_s": 12,
            },
        ),
    },
    windows=[
        ("start", 0),
        ("steady", 30),
        ("kill one", 65),
        ("slow poll", 100),
        ("freeze", 140),
        ("rolling restart", 175),
        ("slow handler", 215),
        ("scale out", 245),
        ("scale in", 260),
        ("kill all", 275),
        ("stop", 320),
    ],
    steps=_steps(
        _each("start", range(1, 4), 0.5),
        Step(66, "kill", 1),
        Step(84, "start", 1),
        _special(70, "pause", "bills-coop-periodic", 5),
        _special(160, "resume", "bills-coop-periodic"),
        Step(102, "slow", 2, (26,)),
        _freeze(3, 143, 20),
        _special(168, "pill", _BILLS, 6),
        _special(236, "fix", "bills-pill"),
        _restart(range(1, 4), 178, 9, 2),
        _special(217, "slow handler", "bills-python-batch", 300),
        _special(217, "slow handler", "rides-franz", 400),
        _special(232, "slow handler", "bills-python-batch", 8),
        _special(232, "slow handler", "rides-franz", 5),
        Step(246, "start", 4),
        Step(261, "stop", 2),
        # The processes are killed at once, and are back after their sessions expired.
        _each("kill", (1, 3, 4), 276, 0),
        _each("start", (1, 3, 4), 294, 0.2),
    ),
    broker=BROKER.format(delay_ms=1000, session_ms=12_000, heartbeat_ms=4000),
    kafka="4.2.2",
    end_s=320,
)
PLAYS = {"B": B, "C": C, "D": D}
