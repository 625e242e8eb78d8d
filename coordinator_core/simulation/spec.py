"""A fleet: brokers, a network, topics, groups of processes, and what happens to them.

``fleet_of`` reads what a TOML file of examples/fleets holds.  Times in a spec are durations since
the fleet's start; here they are ms since the start, unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era import Config
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.simulation.plans import Action, Plan, ProcessSpec, plan_of
from coordinator_core.simulation.reading import SpecError, Table

ALL = "all"
FAULTS = ("leadership_moves", "broker_stops", "append_error")


@dataclass(frozen=True, slots=True)
class Network:
    """A message takes ``latency_ms`` and up to ``jitter_ms`` more.

    ``loss``: it vanishes, and its connection is of no more use: the client learns it when its
    request times out.  ``duplication``: the broker gets a request twice.  ``reordering``: it may
    overtake what was sent before it on its connection.
    """

    latency_ms: int = 1
    jitter_ms: int = 2
    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """``append_ms``: how long an append takes until it is acknowledged, from and to; ``load_ms``:
    how long a coordinator loads a partition; ``failover_ms``: until partitions of a broker that
    stopped have a new leader.
    """

    era: str
    brokers: int
    config: Config
    append_ms: tuple[int, int]
    load_ms: int
    failover_ms: int
    segment_bytes: int


@dataclass(frozen=True, slots=True)
class Topic:
    """``grows``: (when, to how many partitions); ``rate``: records a second, of each partition."""

    name: str
    partitions: int
    grows: tuple[tuple[int, int], ...] = ()
    rate: int = 10

    def partitions_at(self, since_start_ms: int) -> int:
        """How many there are at a moment."""
        return max([self.partitions, *(n for at_ms, n in self.grows if at_ms <= since_start_ms)])


@dataclass(frozen=True, slots=True)
class Fault:
    """``partition`` of `__consumer_offsets`, None for all; ``broker_id`` that stops or takes over,
    None for the next; ``length_ms``: how long a broker is away, or appends fail.
    """

    kind: str
    at_ms: int
    partition: int | None = None
    group_id: str | None = None
    broker_id: int | None = None
    length_ms: int = 0
    error: Errors = Errors.NONE


@dataclass(frozen=True, slots=True)
class Script:
    """Processes and all that is done to them in order of time, known one by one.

    ``own``: of a process that has other settings than its group; ``hosts``: addresses; each by the
    process's name.
    """

    processes: tuple[ProcessSpec, ...]
    actions: tuple[Action, ...]
    own: Mapping[str, GroupSpec]
    hosts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A consumer group and its processes, numbered from 1.

    ``client``: a name of LIBRARIES.  ``static``: each process has a group.instance.id, its name.
    ``commit_interval_ms`` None: nothing is committed.  ``listener_ms``: how long the application's
    rebalance listener takes.  ``restart_ms``: how long after a fatal error the process is started
    again; None: never.  ``script``: in place of ``processes`` and ``plans``.
    """

    name: str
    topics: tuple[str, ...]
    processes: int
    client: str
    assignors: tuple[str, ...] | None
    static: bool
    session_timeout_ms: int | None
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    commit_interval_ms: int | None
    metadata_max_age_ms: int
    listener_ms: int
    restart_ms: int | None
    plans: tuple[Plan, ...]
    script: Script | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    name: str
    about: str
    length_ms: int
    seed: int
    cluster: Cluster
    network: Network
    topics: tuple[Topic, ...]
    groups: tuple[GroupSpec, ...]
    faults: tuple[Fault, ...]


def fleet_of(values: Mapping[str, Any]) -> Fleet:
    """A fleet from a spec's tables.  Raises SpecError, which says where and what is wanted."""
    spec = Table(values, "")
    length_ms = spec.time_ms("length")
    cluster = _cluster(spec.table("cluster"))
    topics = tuple(_topic(table) for table in spec.tables("topics"))
    groups = [group for table in spec.tables("groups") for group in _groups(table, topics)]
    faults = [
        fault
        for table in spec.tables("faults")
        for fault in _faults(table, length_ms, cluster, {group.name for group in groups})
    ]
    fleet = Fleet(
        spec.text("name"),
        spec.text("about", "-"),
        length_ms,
        spec.count("seed", 1),
        cluster,
        _network(spec.table("network")),
        topics,
        tuple(groups),
        tuple(sorted(faults, key=lambda fault: fault.at_ms)),
    )
    spec.close()
    if not groups:
        raise SpecError("groups: at least one is wanted")
    if len({group.name for group in groups}) < len(groups):
        raise SpecError("groups: each wants a name of its own")
    return fleet


def _network(table: Table) -> Network:
    given = Network(
        max(table.time_ms("latency", "1ms"), 1),
        table.time_ms("jitter", "2ms"),
        table.chance("loss"),
        table.chance("duplication"),
        table.chance("reordering"),
    )
    table.close()
    return given


def _cluster(table: Table) -> Cluster:
    """``config`` has the names of coordinator_core.era.Config."""
    given = table.table("config").whole()
    known = {field.name for field in fields(Config)}
    for name, value in given.items():
        if name not in known or not isinstance(value, int):
            wanted = f"a whole number for one of {', '.join(sorted(known))}"
            raise SpecError(f"cluster.config.{name}: {wanted} is wanted")
    found = Cluster(
        table.one_of("era", ERAS, "4.1"),
        table.count("brokers", 1, least=1),
        Config(**{"offsets_topic_partitions": 5, **given}),
        table.span_ms("append", ("1ms", "3ms")),
        table.time_ms("load", "20ms"),
        table.time_ms("failover", "500ms"),
        table.count("segment_bytes", 100 << 20, least=1),
    )
    table.close()
    return found


def _topic(table: Table) -> Topic:
    grows = tuple((t.time_ms("at"), t.count("to", least=1)) for t in table.tables("grows"))
    found = Topic(
        table.text("name"), table.count("partitions", least=1), grows, table.count("rate", 10)
    )
    table.close()
    return found


def _groups(table: Table, topics: tuple[Topic, ...]) -> list[GroupSpec]:
    """``count`` groups of one kind have names NAME-1, NAME-2, ..."""
    name, count = table.text("name"), table.count("count", 0)
    known = {topic.name for topic in topics}
    subscribed = table.texts("topics")
    for topic in subscribed:
        if topic not in known:
            raise SpecError(f"{table.where}.topics: no topic {topic} among topics")
    if not subscribed:
        table.wrong("topics", "at least one topic")
    assignors = table.texts("assignors", ()) or None
    client = table.one_of("client", LIBRARIES, "java-4.1")
    shared = GroupSpec(
        name,
        subscribed,
        table.count("processes", least=1),
        client,
        assignors,
        table.flag("static", False),
        table.time_or_none_ms("session_timeout"),
        table.time_ms("heartbeat_interval", "3s"),
        table.time_ms("max_poll_interval", "5m"),
        table.time_or_none_ms("commit_interval"),
        table.time_ms("metadata_max_age", "5m"),
        table.time_ms("listener", "0ms"),
        table.time_or_none_ms("restart"),
        tuple(plan_of(each) for each in table.tables("plans")),
    )
    table.close()
    names = [f"{name}-{n}" for n in range(1, count + 1)] if count else [name]
    return [replace(shared, name=each) for each in names]


def _faults(table: Table, length_ms: int, cluster: Cluster, groups: set[str]) -> list[Fault]:
    """``every`` repeats a fault, ``times`` so often at most."""
    kind = table.one_of("kind", FAULTS)
    at_ms, every_ms = table.time_ms("at"), table.time_or_none_ms("every")
    times = table.count("times", 0) or (1 if every_ms is None else length_ms)
    group = table.text("group") if "group" in table else None
    if group is not None and group not in groups:
        raise SpecError(f"{table.where}.group: no group {group}")
    broker_id = table.count("broker") if "broker" in table else None
    if broker_id is not None and not 1 <= broker_id <= cluster.brokers:
        table.wrong("broker", f"a broker, 1 to {cluster.brokers},")
    if kind == "broker_stops" and broker_id is None:
        table.wrong("broker", "the broker that stops")
    length = table.time_ms("length", "30s")
    error = Errors[table.one_of("error", Errors.__members__, "NOT_ENOUGH_REPLICAS")]
    partition = table.count("partition") if "partition" in table else None
    table.close()
    found: list[Fault] = []
    while at_ms < length_ms and len(found) < times:
        found.append(Fault(kind, at_ms, partition, group, broker_id, length, error))
        at_ms += every_ms or length_ms
    return found
