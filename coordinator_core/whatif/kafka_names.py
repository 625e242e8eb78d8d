"""Kafka's names of the settings, and the lines to paste into configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coordinator_core.client.libraries import PROFILES

SESSION = "session.timeout.ms"
HEARTBEAT = "heartbeat.interval.ms"
POLL = "max.poll.interval.ms"
COMMIT_INTERVAL = "auto.commit.interval.ms"
INITIAL_DELAY = "group.initial.rebalance.delay.ms"
STRATEGY = "partition.assignment.strategy"
INSTANCE_ID = "group.instance.id"
GROUP_PROTOCOL = "group.protocol"
REMOTE_ASSIGNOR = "group.remote.assignor"
CONSUMER_SESSION = "consumer.session.timeout.ms"
CONSUMER_HEARTBEAT = "consumer.heartbeat.interval.ms"
CONSUMER_ASSIGNMENT = "consumer.assignment.interval.ms"
MIGRATION_POLICY = "group.consumer.migration.policy"
# Settings of what-if that Kafka does not have.
MIGRATION_START = "migration.start"
MIGRATION_BACK = "migration.back"
MIGRATION_INTERVAL = "migration.interval.ms"
MIGRATION_PROCESSES = "migration.processes"

# Settings of a change, by Kafka's name.
SETTING_OF = {
    SESSION: "session_timeout_ms",
    POLL: "rebalance_timeout_ms",
    COMMIT_INTERVAL: "commit_interval_ms",
    INITIAL_DELAY: "initial_rebalance_delay_ms",
    STRATEGY: "assignor",
    INSTANCE_ID: "membership",
    GROUP_PROTOCOL: "group_protocol",
    REMOTE_ASSIGNOR: "remote_assignor",
    CONSUMER_SESSION: "consumer_session_timeout_ms",
    CONSUMER_HEARTBEAT: "consumer_heartbeat_interval_ms",
    CONSUMER_ASSIGNMENT: "consumer_assignment_interval_ms",
    MIGRATION_POLICY: "migration_policy",
    MIGRATION_START: "migration_start",
    MIGRATION_BACK: "migration_back",
    MIGRATION_INTERVAL: "migration_interval_ms",
    MIGRATION_PROCESSES: "migration_processes",
}
# Kafka's names, by setting of a change. Kafka's name.
NAME_OF = {setting: name for name, setting in SETTING_OF.items()}
_PACKAGE = "org.apache.kafka.clients.consumer."
_CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_ASSIGNOR_OF = {class_name: name for name, class_name in _CLASSES.items()}


def short_settings(text: str) -> Iterator[tuple[str, str]]:
    """The name and value of each setting that one KEY=VALUE text changes; unknown names as given.

    ``group.instance.id`` has the source of instance ids as its value, because each process needs a
    value of its own; without a value, members are dynamic.
    """
    name, _, value = text.partition("=")
    if name == INSTANCE_ID:
        if value:
            yield "instance_ids", value
        yield "membership", "static" if value else "dynamic"
    elif name == STRATEGY:
        yield "assignor", _ASSIGNOR_OF.get(value.removeprefix(_PACKAGE), value)
    else:
        yield SETTING_OF.get(name, name), value


def kind_of(library: str) -> str:
    """The client of a library of LIBRARIES, without its version: ``Java``, ``librdkafka``, ..."""
    kind = PROFILES[library].kind
    return "Java" if kind == "java" else kind


def strategy(assignors: Iterable[str], kind: str) -> str:
    """The value of partition.assignment.strategy for this kind of client."""
    return ",".join(_PACKAGE + _CLASSES[name] if kind == "Java" else name for name in assignors)


def listed(names: Sequence[str], separator: str = ", ", at_most: int = 3) -> str:
    """The first names; then how many more there are."""
    more = len(names) - at_most
    return separator.join(names[:at_most]) + (f" and {more} more" if more > 0 else "")


def seconds(ms: int) -> str:
    """Whole seconds; below ten with a tenth if it is not zero."""
    return f"{round(ms / 1000, 1):g} s" if ms < 10_000 else f"{ms / 1000:.0f} s"
