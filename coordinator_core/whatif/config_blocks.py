"""The lines to paste into the configurations of consumers and brokers for a change."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.deployment_forms import Form, client_blocks
from coordinator_core.whatif.kafka_names import (
    CONSUMER_ASSIGNMENT,
    CONSUMER_HEARTBEAT,
    CONSUMER_SESSION,
    INITIAL_DELAY,
    MIGRATION_POLICY,
)
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, SettingsChange


def client_properties(
    baseline: Baseline, change: SettingsChange, form: Form | None = None
) -> str | None:
    """The blocks of `client_blocks`, with an empty line between them, or None if no consumer
    changes. kafka-python takes properties as keyword arguments, with underscores.
    """
    return "\n\n".join(client_blocks(baseline, change, form)) or None


def broker_properties(baseline: Baseline, change: SettingsChange) -> str | None:
    """Broker properties with comments, or None if the change has none.  Brokers refuse the initial
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
