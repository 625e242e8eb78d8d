"""Random fleets by seed: eras, clients, plans and faults in any mixture, for property tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.eras import ERAS, NEWEST_ERA
from coordinator_core.coordinator.group_types import CONVERTING, GROUP_TYPES
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.simulation.random_draws import between, fraction, key_of
from coordinator_core.simulation.spec import MODERN_CLIENTS

_T = TypeVar("_T")
Values = dict[str, Any]

CLASSIC_ERAS = ("0.9", "0.10", "2.0", "2.5", "3.9", "4.1")
MODERN_ERAS = tuple(era.name for era in ERAS.values() if era.modern is not None)
_PLANS = (
    "deploy", "deploy", "surge", "kill", "kill", "scale", "crash_loop", "slow_poll", "freeze",
    "cut", "twin", "autoscale",
)  # fmt: skip
_FAULTS = ("leadership_moves", "append_error", "broker_stops")


class _Draws:
    """The sequence of random draws for one fleet."""

    def __init__(self, seed: int) -> None:
        self._key = key_of("random fleet", seed)
        self._drawn = 0

    def number(self, lowest: int, highest: int) -> int:
        self._drawn += 1
        return between(lowest, highest, self._key, self._drawn)

    def one_of(self, choices: Sequence[_T]) -> _T:
        return choices[self.number(0, len(choices) - 1)]

    def happens(self, probability: float) -> bool:
        self._drawn += 1
        return fraction(self._key, self._drawn) < probability


def random_fleet(
    seed: int,
    *,
    eras: Sequence[str] = CLASSIC_ERAS,
    minutes: int = 20,
    faults: bool = True,
    partitions: tuple[range, int] = (range(3), 3),
    with_modern_groups: bool = False,
) -> Values:
    """The values of a spec for ``fleet_of``; ``minutes`` have the simulated time.

    ``partitions`` are the partitions of `__consumer_offsets` that the groups are in, and the total
    number of partitions.  Fleets without a common partition can be read as one cluster.
    ``with_modern_groups`` adds groups of all types, and classic groups that become consumer groups.
    """
    draws = _Draws(seed)
    if with_modern_groups:
        eras = MODERN_ERAS
    era = draws.one_of(eras)
    topics: list[Values] = [
        {"name": name, "partitions": draws.number(1, 16)} for name in ("orders", "payments")
    ]
    if draws.happens(0.3):
        grown = topics[0]["partitions"] + draws.number(1, 6)
        topics[0]["grows"] = [{"at": f"{draws.number(3, minutes - 3)}m", "to": grown}]
    brokers = draws.number(1, 3)
    names = _names(f"fleet-{seed}", *partitions)
    groups = [
        _group(draws, name, era, minutes)
        for name, _ in zip(names, range(draws.number(1, 3)), strict=False)
    ]
    if with_modern_groups:
        groups = [_of_any_type(draws, group, era, minutes) for group in groups]
    network: Values = {"latency": f"{draws.number(1, 5)}ms", "jitter": f"{draws.number(0, 20)}ms"}
    if faults and draws.happens(0.2):
        network |= {"loss": 0.002, "duplication": 0.002, "reordering": 0.01}
    return {
        "name": f"random-{seed}",
        "length": f"{minutes}m",
        "seed": seed,
        "cluster": {
            "era": era,
            "brokers": brokers,
            "append": ["0ms", f"{draws.number(0, 8)}ms"],
            "load": f"{draws.number(1, 200)}ms",
            "config": {
                "group_initial_rebalance_delay_ms": draws.one_of((0, 3000)),
                "offsets_topic_partitions": partitions[1],
            },
        },
        "network": network,
        "topics": topics,
        "groups": groups,
        "faults": [
            _fault(draws, brokers, minutes) for _ in range(draws.number(0, 2) if faults else 0)
        ],
    }


def _names(prefix: str, allowed: range, count: int) -> Iterator[str]:
    """Group names that hash to one of the ``allowed`` partitions."""
    for n in itertools.count(1):
        name = f"{prefix}-{n}"
        if partition_for(name, count) in allowed:
            yield name


def _group(draws: _Draws, name: str, era: str, minutes: int) -> Values:
    client = draws.one_of(ERAS[era].client_libraries)
    library = LIBRARIES[client]
    has_static = library.has_static_members and ERAS[era].has_static_members
    static = has_static and draws.happens(0.3)
    assignors = ["range", "roundrobin"]
    if library.subscription_version and draws.happens(0.4):
        assignors = ["cooperative-sticky"]
    session_s = draws.number(10, 45)
    processes = draws.number(1, 7)
    group: Values = {
        "name": name,
        "topics": ["orders", "payments"] if draws.happens(0.5) else ["orders"],
        "processes": processes,
        "client": client,
        "assignors": assignors,
        "static": static,
        "session_timeout": f"{session_s}s",
        "max_poll_interval": f"{max(session_s, draws.number(20, 90))}s",
        "metadata_max_age": "60s",
        "listener": f"{draws.one_of((0, 0, 50, 400))}ms",
        "restart": "5s",
        "plans": [{"kind": "start", "at": "1s", "spread": f"{draws.number(0, 8000)}ms"}],
    }
    if draws.happens(0.4):
        group["commit_interval"] = f"{draws.number(5, 60)}s"
    for _ in range(draws.number(1, 4)):
        group["plans"].append(_plan(draws, processes, minutes))
    return group


def _of_any_type(draws: _Draws, group: Values, era: str, minutes: int) -> Values:
    """The group as one of a random type that the era has."""
    types = ("consumer", "consumer", *ERAS[era].modern_types, "classic")
    protocol = draws.one_of(types)
    client = draws.one_of(sorted(MODERN_CLIENTS))
    group_type = GROUP_TYPES[protocol]
    if not group_type.converts:
        client = NEWEST_ERA.client_library
        group.pop("commit_interval", None)
    group |= {"client": client, "protocol": protocol, "restart": "3s"}
    group |= {"max_poll_interval": f"{draws.number(20, 90)}s"}
    if not group_type.has_static_members:
        group["static"] = False
    if group_type.converts:
        group["remote_assignor"] = draws.one_of(("uniform", "range"))
    if group_type is CONSUMER and client != "librdkafka-2" and draws.happens(0.2):
        group["regex"] = draws.one_of(("pay.*", ".*", "ord.*|pay.*"))
    if draws.happens(0.5):
        group["broker_session_timeout"] = f"{draws.number(10, 50)}s"
        group["broker_heartbeat_interval"] = f"{draws.number(2, 6)}s"
    if group_type.converts and draws.happens(0.3):
        other = next(each for each in CONVERTING if each != protocol)
        change = {"kind": "deploy", "at": f"{draws.number(60, 60 * minutes - 300)}s"}
        change |= {"gap": f"{draws.number(1, 30)}s", "down": "3s", "protocol": other}
        group["plans"] = [*group["plans"], change]
    return group


def _plan(draws: _Draws, processes: int, minutes: int) -> Values:
    kind = draws.one_of(_PLANS)
    plan: Values = {"kind": kind, "at": f"{draws.number(60, 60 * minutes - 120)}s"}
    if kind in ("deploy", "surge"):
        plan |= {"kind": "deploy", "gap": f"{draws.number(1, 30)}s"}
        plan |= {"down": f"{draws.number(1, 8)}s"}
        if kind == "surge":
            plan["overlap"] = f"{draws.number(2, 20)}s"
    elif kind == "kill":
        plan |= {"pick": draws.number(1, 2), "down": f"{draws.number(1, 60)}s"}
    elif kind == "scale":
        plan["to"] = draws.number(1, 9)
    elif kind == "autoscale":
        plan |= {"every": "90s", "times": 6, "low": processes, "high": processes + 3}
    elif kind == "crash_loop":
        plan |= {"pick": 1, "loops": draws.number(2, 4), "life": f"{draws.number(1, 20)}s"}
        plan["down"] = f"{draws.number(1, 10)}s"
    elif kind == "twin":
        plan |= {"pick": 1, "length": f"{draws.number(20, 90)}s"}
    else:
        plan |= {"pick": 1, "length": f"{draws.number(1, 120)}s"}
    return plan


def _fault(draws: _Draws, brokers: int, minutes: int) -> Values:
    kind = draws.one_of(_FAULTS)
    fault: Values = {"kind": kind, "at": f"{draws.number(60, 60 * minutes - 180)}s"}
    if kind == "append_error":
        errors = ("NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "MESSAGE_TOO_LARGE")
        fault |= {"error": draws.one_of(errors), "length": f"{draws.number(1, 20)}s"}
    elif kind == "broker_stops":
        fault |= {"broker": draws.number(1, brokers), "length": f"{draws.number(2, 60)}s"}
    return fault
