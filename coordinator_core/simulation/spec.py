"""A fleet: brokers, network, topics, groups of processes, plans and faults.

``fleet_of`` reads the tables of a TOML file as in examples/fleets.  Times are ms since the fleet's
start, unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.protocol.errors import Errors
from coordinator_core.simulation.plans import (
    OBSTACLES,
    Action,
    Obstacle,
    Plan,
    ProcessSpec,
    plan_of,
)
from coordinator_core.simulation.spec_values import SpecError, SpecTable

ALL = "all"
PROTOCOLS = tuple(GROUP_TYPES)
MODERN_CLIENTS = frozenset(each.name for each in LIBRARIES.values() if each.has_consumer_protocol)
FAULTS = ("leadership_moves", "broker_stops", "append_error")


@dataclass(frozen=True, slots=True)
class Network:
    """A message takes ``latency_ms`` plus up to ``jitter_ms``.

    Probabilities: ``loss`` means that the message is lost and its connection broken; the client
    notices when its request times out.  ``duplication`` means that the broker receives a request
    twice. ``reordering`` means that the message may overtake earlier messages of its connection.
    """

    latency_ms: int = 1
    jitter_ms: int = 2
    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """``append_ms`` is the shortest and longest time until an append is acknowledged.  ``load_ms``
    is the time to load a partition.  ``failover_ms`` is the time until the partitions of a stopped
    broker have a new leader.  ``end_offsets_ms`` says how often the log end offsets of all topics
    are requested; None: never.
    """

    era: str
    brokers: int
    config: CoordinatorConfig
    append_ms: tuple[int, int]
    load_ms: int
    failover_ms: int
    segment_bytes: int
    end_offsets_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """``grows`` has pairs (time in ms, new partition count).  ``rate`` is in records per second and
    partition.

    ``topic_id``: 22 characters of base64; "": derived from the seed and the name.
    """

    name: str
    partitions: int
    grows: tuple[tuple[int, int], ...] = ()
    rate: int = 10
    topic_id: str = ""

    def produced(self, since_start_ms: int) -> int:
        """The log end offset of each partition."""
        return since_start_ms * self.rate // 1000

    def partitions_at(self, since_start_ms: int) -> int:
        """The partition count at this time."""
        return max([self.partitions, *(n for at_ms, n in self.grows if at_ms <= since_start_ms)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """``partition`` is a partition of `__consumer_offsets`, or None for all.  ``broker_id`` is the
    broker that stops or becomes leader, None for the next one.  ``length_ms`` says how long the
    broker is down or appends fail.
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
    """Processes and their actions in order of time, listed one by one instead of as plans.

    By process name: ``own`` has settings of a process that differ from its group's; ``hosts``:
    client hosts; ``member_ids`` are the ids of clients that make their ids themselves, by life.
    """

    processes: tuple[ProcessSpec, ...]
    actions: tuple[Action, ...]
    own: Mapping[str, GroupSpec]
    hosts: Mapping[str, str]
    member_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """A consumer group and its processes, numbered from 1.

    ``client`` is a name of LIBRARIES.  ``static`` means that each process has a group.instance.id,
    its name. ``commit_interval_ms`` None: no commits.  ``listener_ms`` is the duration of a
    listener call. ``restart_ms`` is the time from a failure of the process to its restart; None: no
    restart. ``handle_ms`` is the time per record; 0: none.  ``obstacles`` are the obstacles of its
    partitions. ``script`` replaces ``processes`` and ``plans``.  ``timer_delay_us``: see
    ConsumerConfig.

    ``protocol`` is classic, consumer, share or streams.  For the last three group types:
    ``remote_assignor``, and ``regex`` instead of topics, as in ConsumerConfig; ``configs`` have the
    group's own configuration, by Kafka's names, such as consumer.session.timeout.ms.
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
    timer_delay_us: int = 0
    protocol: str = "classic"
    remote_assignor: str | None = None
    regex: str | None = None
    configs: tuple[tuple[str, str], ...] = ()
    handle_ms: int = 0
    obstacles: tuple[Obstacle, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    name: str
    about: str
    length_ms: int
    seed: int
    cluster: ClusterSpec
    network: Network
    topics: tuple[Topic, ...]
    groups: tuple[GroupSpec, ...]
    faults: tuple[Fault, ...]


def fleet_of(values: Mapping[str, Any]) -> Fleet:
    """A fleet from a spec's tables. Raises SpecError with the place and the expected value."""
    spec = SpecTable(values, "")
    length_ms = spec.time_ms("length")
    cluster = _cluster(spec.table("cluster"))
    topics = tuple(_topic(table) for table in spec.tables("topics"))
    groups = [
        group for table in spec.tables("groups") for group in _groups(table, topics, cluster.era)
    ]
    faults = [
        fault
        for table in spec.tables("faults")
        for fault in _faults(table, length_ms, cluster, {group.name for group in groups})
    ]
    fleet = Fleet(
        name=spec.text("name"),
        about=spec.text("about", "-"),
        length_ms=length_ms,
        seed=spec.count("seed", 1),
        cluster=cluster,
        network=_network(spec.table("network")),
        topics=topics,
        groups=tuple(groups),
        faults=tuple(sorted(faults, key=lambda fault: fault.at_ms)),
    )
    spec.close()
    if not groups:
        raise SpecError("groups: at least one group is required")
    if len({group.name for group in groups}) < len(groups):
        raise SpecError("groups: every group must have a different name")
    return fleet


def _network(table: SpecTable) -> Network:
    network = Network(
        max(table.time_ms("latency", "1ms"), 1),
        table.time_ms("jitter", "2ms"),
        table.probability("loss"),
        table.probability("duplication"),
        table.probability("reordering"),
    )
    table.close()
    return network


def _cluster(table: SpecTable) -> ClusterSpec:
    """The keys of ``config`` are the field names of CoordinatorConfig."""
    settings = table.table("config").raw()
    names = {each.name for each in fields(CoordinatorConfig)}
    for name, value in settings.items():
        if name not in names:
            raise SpecError(
                f"cluster.config.{name}: unknown setting; use one of {', '.join(sorted(names))}"
            )
        if not isinstance(value, int):
            raise SpecError(f"cluster.config.{name}: must be a whole number")
    cluster = ClusterSpec(
        era=table.one_of("era", ERAS, "4.1"),
        brokers=table.count("brokers", 1, minimum=1),
        config=CoordinatorConfig(**{"offsets_topic_partitions": 5, **settings}),
        append_ms=table.span_ms("append", ("1ms", "3ms")),
        load_ms=table.time_ms("load", "20ms"),
        failover_ms=table.time_ms("failover", "500ms"),
        segment_bytes=table.count("segment_bytes", 100 << 20, minimum=1),
        end_offsets_ms=table.time_or_none_ms("end_offsets"),
    )
    table.close()
    return cluster


def _topic(table: SpecTable) -> Topic:
    grows = tuple((t.time_ms("at"), t.count("to", minimum=1)) for t in table.tables("grows"))
    topic = Topic(
        table.text("name"), table.count("partitions", minimum=1), grows, table.count("rate", 10)
    )
    table.close()
    return topic


def _groups(table: SpecTable, topics: tuple[Topic, ...], era: str) -> list[GroupSpec]:
    """One group, or ``count`` groups named NAME-1, NAME-2, ..."""
    name, count = table.text("name"), table.count("count", 0)
    topic_names = {topic.name for topic in topics}
    subscribed = table.texts("topics")
    for topic in subscribed:
        if topic not in topic_names:
            raise SpecError(f"{table.where}.topics: topic {topic} is not defined under [[topics]]")
    if not subscribed:
        table.wrong("topics", "at least one topic")
    assignors = table.texts("assignors", ()) or None
    client = table.one_of("client", LIBRARIES, "java-4.1")
    shared = GroupSpec(
        name=name,
        topics=subscribed,
        processes=table.count("processes", minimum=1),
        client=client,
        assignors=assignors,
        static=table.flag("static", False),
        session_timeout_ms=table.time_or_none_ms("session_timeout"),
        heartbeat_interval_ms=table.time_ms("heartbeat_interval", "3s"),
        max_poll_interval_ms=table.time_ms("max_poll_interval", "5m"),
        commit_interval_ms=table.time_or_none_ms("commit_interval"),
        metadata_max_age_ms=table.time_ms("metadata_max_age", "5m"),
        listener_ms=table.time_ms("listener", "0ms"),
        restart_ms=table.time_or_none_ms("restart"),
        plans=tuple(plan_of(each) for each in table.tables("plans")),
        handle_ms=table.time_ms("handle", "0ms"),
        obstacles=tuple(_obstacle(each, topics) for each in table.tables("obstacles")),
        protocol=table.one_of("protocol", PROTOCOLS, "classic"),
        remote_assignor=table.text("remote_assignor") if "remote_assignor" in table else None,
        regex=table.text("regex") if "regex" in table else None,
    )
    shared = replace(shared, configs=_configs(table, shared))
    _check_protocols(table, shared, era)
    table.close()
    names = [f"{name}-{n}" for n in range(1, count + 1)] if count else [name]
    return [replace(shared, name=each) for each in names]


def _obstacle(table: SpecTable, topics: tuple[Topic, ...]) -> Obstacle:
    kind, at_ms = table.one_of("kind", OBSTACLES), table.time_ms("at")
    length_ms = table.time_or_none_ms("length")
    topic = table.one_of("topic", [each.name for each in topics])
    partition = table.count("partition")
    table.close()
    until_ms = None if length_ms is None else at_ms + length_ms
    return Obstacle(kind, (topic, partition), at_ms, until_ms)


# Kafka's names of the broker settings of a group, by key of the spec.
_CONFIGS = {
    "broker_session_timeout": "session.timeout.ms",
    "broker_heartbeat_interval": "heartbeat.interval.ms",
    "assignment_interval": "assignment.interval.ms",
}


def _configs(table: SpecTable, group: GroupSpec) -> tuple[tuple[str, str], ...]:
    """The group's own configuration at the broker."""
    configs = []
    for key, name in _CONFIGS.items():
        value_ms = table.time_or_none_ms(key)
        if value_ms is not None:
            configs += [(each.group_prefix + name, str(value_ms)) for each in _modern_types(group)]
    return tuple(configs)


def _modern_types(group: GroupSpec) -> list[GroupType]:
    """The modern group types among the protocols of the group and its deployments."""
    protocols = {group.protocol, *(plan.protocol for plan in group.plans)} - {""}
    return [GROUP_TYPES[each] for each in sorted(protocols) if GROUP_TYPES[each].has_epochs]


def _check_protocols(table: SpecTable, group: GroupSpec, era: str) -> None:
    """Find settings that no broker of the era, or no client, supports."""
    types = _modern_types(group)
    if not types:
        return
    present = ("classic", *ERAS[era].modern_types)
    if any(each.name not in present for each in types):
        table.wrong(
            "protocol", f"{' or '.join(present)}: brokers of this era support no other group type"
        )
    if group.client not in MODERN_CLIENTS:
        table.wrong("client", f"one of {', '.join(sorted(MODERN_CLIENTS))} for this protocol")
    if group.client == "librdkafka-2" and types != [CONSUMER]:
        table.wrong("client", "a Java client for share and streams groups")
    changes = len({group.protocol, *(each.name for each in types)}) > 1
    if changes and not GROUP_TYPES[group.protocol].converts:
        table.wrong("protocol", "classic or consumer: other groups cannot change their protocol")


def _faults(
    table: SpecTable, length_ms: int, cluster: ClusterSpec, groups: set[str]
) -> list[Fault]:
    """One fault, or with ``every`` its repetitions, at most ``times``."""
    kind = table.one_of("kind", FAULTS)
    at_ms, every_ms = table.time_ms("at"), table.time_or_none_ms("every")
    times = table.count("times", 0) or (1 if every_ms is None else length_ms)
    group = table.text("group") if "group" in table else None
    if group is not None and group not in groups:
        raise SpecError(f"{table.where}.group: group {group} is not defined under [[groups]]")
    broker_id = table.count("broker") if "broker" in table else None
    if broker_id is not None and not 1 <= broker_id <= cluster.brokers:
        table.wrong("broker", f"a broker id, 1 to {cluster.brokers}")
    if kind == "broker_stops" and broker_id is None:
        table.wrong("broker", "a broker other than the broker that stops")
    length = table.time_ms("length", "30s")
    error = Errors[table.one_of("error", Errors.__members__, "NOT_ENOUGH_REPLICAS")]
    partition = table.count("partition") if "partition" in table else None
    table.close()
    faults: list[Fault] = []
    while at_ms < length_ms and len(faults) < times:
        faults.append(
            Fault(
                kind=kind,
                at_ms=at_ms,
                partition=partition,
                group_id=group,
                broker_id=broker_id,
                length_ms=length,
                error=error,
            )
        )
        at_ms += every_ms or length_ms
    return faults
