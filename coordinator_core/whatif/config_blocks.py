"""The lines to paste into the configurations of consumers and brokers for a change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from coordinator_core.client import LIBRARIES
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.client_libraries import kinds_under
from coordinator_core.whatif.kafka_names import (
    COMMIT_INTERVAL,
    CONSUMER_ASSIGNMENT,
    CONSUMER_HEARTBEAT,
    CONSUMER_SESSION,
    GROUP_PROTOCOL,
    INITIAL_DELAY,
    INSTANCE_ID,
    MIGRATION_POLICY,
    POLL,
    REMOTE_ASSIGNOR,
    SESSION,
    STRATEGY,
    kind_of,
    listed,
    strategy,
)
from coordinator_core.whatif.settings import (
    CONSUMER_PROTOCOL,
    COOPERATIVE,
    ORDINAL,
    SettingsChange,
)

_ENVIRONMENT = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
_INVALID_IN_ID = re.compile(r"[^A-Za-z0-9._-]")


def client_properties(baseline: Baseline, change: SettingsChange) -> str | None:
    """Consumer properties with comments; None if the change has none.  kafka-python takes the same
    names as keyword arguments, with underscores.
    """
    lines = [
        *_client_library(change),
        *_timeouts(change),
        *_strategy(baseline, change),
        *_protocol(baseline, change),
        *_instance_id(baseline, change),
    ]
    if not lines:
        return None
    return "\n".join([f"# every consumer of group {baseline.group_id}", *lines])


def _client_library(change: SettingsChange) -> Iterator[str]:
    if change.client_library is not None:
        yield f"# with the client {change.client_library}"


def broker_properties(baseline: Baseline, change: SettingsChange) -> str | None:
    """Broker properties with comments; None if the change has none.  Brokers refuse the initial
    delay from kafka-configs.sh: "Cannot update these configs dynamically".
    """
    blocks = [_broker_configuration(change, widened_limits(baseline, change))]
    if change.protocol_of(baseline.group_protocol) == CONSUMER_PROTOCOL:
        blocks.append(_group_configuration(baseline.group_id, change))
    return "\n".join(filter(None, blocks)) or None


def _broker_configuration(change: SettingsChange, limits: Iterable[str]) -> str | None:
    """``limits``: KEY=VALUE; kafka-configs.sh refuses the group's configuration without them."""
    values = {
        INITIAL_DELAY: change.initial_rebalance_delay_ms,
        MIGRATION_POLICY: change.migration_policy,
    }
    lines = [f"{name}={value}" for name, value in values.items() if value is not None]
    lines += limits
    if not lines:
        return None
    first = "# server.properties of each broker, then restart it; kafka-configs.sh cannot change it"
    return "\n".join([first, "# for all groups of the broker", *lines])


def _group_configuration(group_id: str, change: SettingsChange) -> str | None:
    """The command that sets the group's own configuration, while it runs."""
    values = {
        CONSUMER_SESSION: change.consumer_session_timeout_ms,
        CONSUMER_HEARTBEAT: change.consumer_heartbeat_interval_ms,
        CONSUMER_ASSIGNMENT: change.consumer_assignment_interval_ms,
    }
    configured = ",".join(f"{name}={value}" for name, value in values.items() if value is not None)
    if not configured:
        return None
    return (
        "# once, for this group; takes effect at once\n"
        "kafka-configs.sh --bootstrap-server BROKER --alter --entity-type groups"
        f" --entity-name {shlex.quote(group_id)} --add-config {configured}"
    )


def _protocol(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    protocol = change.protocol_of(baseline.group_protocol)
    changes = protocol != baseline.group_protocol
    if changes and protocol == CONSUMER_PROTOCOL:
        yield "# one rolling deployment; the broker converts the group when the first process joins"
        yield f"{GROUP_PROTOCOL}={protocol}"
    elif changes:
        yield "# one rolling deployment; the broker converts the group when the last process of the"
        yield "# consumer protocol has left"
        yield f"{GROUP_PROTOCOL}={protocol}"
        yield f"# remove {REMOTE_ASSIGNOR}"
        return
    if change.remote_assignor is not None:
        yield f"{REMOTE_ASSIGNOR}={change.remote_assignor}"
    if not changes:
        return
    yield f"# remove {SESSION}, heartbeat.interval.ms, {STRATEGY}: clients refuse them"


def _instance_id(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.membership == "dynamic":
        yield f"# remove {INSTANCE_ID}"
    if change.membership != "static" or all(p.instance_id for p in baseline.processes):
        return
    if change.instance_ids == ORDINAL:
        names = [f"{baseline.group_id}-{n}" for n, _ in enumerate(baseline.processes)]
        lasting = "its replacement takes it over, as a StatefulSet's pod name"
    else:
        names = sorted({*baseline.clients().values()})
        lasting = "the same after a restart"
    ids = [_INVALID_IN_ID.sub("-", name) for name in names]
    yield f"# each process has its own {INSTANCE_ID}, {lasting}: {listed(ids)}"
    yield f"# only in {ids[0]}:"
    yield f"{INSTANCE_ID}={ids[0]}"
    yield from _id_of_environment(kinds_under(baseline, change))


def _id_of_environment(kinds: Iterable[str]) -> Iterator[str]:
    """Java clients expand variables that name a config provider (KIP-887); others do not."""
    for kind in kinds:
        if kind != "Java":
            yield f"# {kind} expands no variables: the application passes the id"
            continue
        yield "# or, in Java clients since 3.5, from an environment variable of each process:"
        yield "# config.providers=env"
        yield f"# config.providers.env.class={_ENVIRONMENT}"
        yield f"# {INSTANCE_ID}=${{env:HOSTNAME}}"


def _timeouts(change: SettingsChange) -> Iterator[str]:
    if change.session_timeout_ms is not None:
        yield f"{SESSION}={change.session_timeout_ms}"
    if change.rebalance_timeout_ms is not None:
        yield f"{POLL}={change.rebalance_timeout_ms}"
    if change.commit_interval_ms is not None:
        yield f"{COMMIT_INTERVAL}={change.commit_interval_ms}"


def _strategy(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.assignors is None or change.assignors == baseline.assignors:
        return
    kinds = kinds_under(baseline, change)
    for kind in kinds:
        if len(kinds) > 1:
            yield f"# {kind} consumers:"
        if not baseline.assignors:
            # The group was not classic, so no member has another assignor.
            yield f"{STRATEGY}={strategy(change.assignors, kind)}"
            continue
        yield from _strategy_of(kind, change.assignors, baseline.assignors)


def _strategy_of(kind: str, after: tuple[str, ...], before: Iterable[str]) -> Iterator[str]:
    if not is_online(kind, after, before):
        yield f"# {kind} cannot change to it online: stop all processes first"
        yield f"{STRATEGY}={strategy(after, kind)}"
        return
    yield "# first rolling deployment: old and new processes have one assignor in common"
    yield f"{STRATEGY}={strategy((*after, *before), kind)}"
    yield "# second rolling deployment, after the first has ended:"
    yield f"# {STRATEGY}={strategy(after, kind)}"


def is_online(kind: str, after: Iterable[str], before: Iterable[str]) -> bool:
    """Whether processes with the old and the new assignors can be members at the same time."""
    changes_protocol = (COOPERATIVE in after) != (COOPERATIVE in before)
    is_librdkafka = any(
        library.is_librdkafka for library in LIBRARIES.values() if kind_of(library.name) == kind
    )
    return not (changes_protocol and is_librdkafka)
