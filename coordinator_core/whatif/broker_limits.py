"""Broker limits of a consumer group's own configuration, and the lines that widen them.

kafka-configs.sh refuses a value outside of these limits, and brokers refuse to change the limits
while they run (Kafka 4.1.2, tests/end_to_end/test_dynamic_settings.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, SettingsChange

# For each setting, the part of its limits' names that follows min. or max.
_LIMITS = {
    "consumer_session_timeout_ms": "session.timeout.ms",
    "consumer_heartbeat_interval_ms": "heartbeat.interval.ms",
}
# Effort of changing a broker setting, which affects all groups and needs a restart.
_LIMITS_COST = 4


def cost_of(baseline: Baseline, change: SettingsChange) -> int:
    """The effort of the change in this group, including the effort of the limits."""
    return change.cost + (_LIMITS_COST if widened_limits(baseline, change) else 0)


def widened_limits(baseline: Baseline, change: SettingsChange) -> list[str]:
    """KEY=VALUE for server.properties.  Unknown limits are Kafka's defaults; a value that the group
    has already is within them.
    """
    if change.protocol_of(baseline.group_protocol) != CONSUMER_PROTOCOL:
        return []
    return list(_widened(baseline, change))


def _widened(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    own = baseline.consumer
    present = {
        "consumer_session_timeout_ms": own and own.session_timeout_ms,
        "consumer_heartbeat_interval_ms": own and own.heartbeat_interval_ms,
    }
    for setting, name in _LIMITS.items():
        minimum_ms = baseline.configured.limit_ms(f"group.consumer.min.{name}")
        maximum_ms = baseline.configured.limit_ms(f"group.consumer.max.{name}")
        value_ms = getattr(change, setting)
        present_ms = present[setting] or minimum_ms
        if value_ms is not None and value_ms < min(minimum_ms, present_ms):
            yield f"group.consumer.min.{name}={value_ms}"
        elif value_ms is not None and value_ms > max(maximum_ms, present_ms):
            yield f"group.consumer.max.{name}={value_ms}"
