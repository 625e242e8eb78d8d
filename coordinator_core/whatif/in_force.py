"""The settings in force in a group, each with its evidence, and changes without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

from coordinator_core.figures import counted
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import (
    CONSUMER_ASSIGNMENT,
    CONSUMER_HEARTBEAT,
    CONSUMER_SESSION,
    INITIAL_DELAY,
    INSTANCE_ID,
    MIGRATION_POLICY,
    POLL,
    REMOTE_ASSIGNOR,
    SESSION,
    STRATEGY,
)
from coordinator_core.whatif.known_settings import BROKER_DEFAULTS, DEFAULT
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, SettingsChange

_REQUESTS = "requests of members"


class InForce(NamedTuple):
    """``name``: Kafka's; ``value`` None: not set; ``source`` is the evidence of the value."""

    name: str
    value: str | None
    source: str

    @property
    def is_assumed(self) -> bool:
        return self.source.startswith(DEFAULT)

    def __str__(self) -> str:
        text = f"no {self.name}" if self.value is None else f"{self.name}={self.value}"
        return f"{text} ({self.source})"


def settings_in_force(baseline: Baseline) -> list[InForce]:
    """The settings of the group's present protocol; if members differ, with several values."""
    return [*_of_members(baseline), *_of_protocol(baseline)]


def in_force_text(baseline: Baseline) -> str:
    """The settings in one line, assumed values last."""
    settings = settings_in_force(baseline)
    shown = [str(each) for each in settings if not each.is_assumed]
    assumed = [str(each) for each in settings if each.is_assumed]
    text = ", ".join(shown)
    return f"{text}; assumed: {', '.join(assumed)}" if assumed else text


def _of_members(baseline: Baseline) -> Iterator[InForce]:
    members = [process.lives[-1].member for process in baseline.processes]
    poll_ms = sorted({each.rebalance_timeout_ms for each in members})
    if any(each > 0 for each in poll_ms):
        yield InForce(POLL, "/".join(map(str, poll_ms)), _REQUESTS)
    static = [process for process in baseline.processes if process.instance_id]
    if static:
        yield InForce(
            INSTANCE_ID,
            f"{len(static)} of {counted(len(baseline.processes), 'process')}",
            _REQUESTS,
        )
    else:
        yield InForce(INSTANCE_ID, None, _REQUESTS)


def _of_protocol(baseline: Baseline) -> Iterator[InForce]:
    own = baseline.consumer
    if own is not None:
        yield InForce(CONSUMER_SESSION, str(own.session_timeout_ms), own.session_source)
        yield InForce(CONSUMER_HEARTBEAT, str(own.heartbeat_interval_ms), own.heartbeat_source)
        if own.remote_assignor is not None:
            yield InForce(REMOTE_ASSIGNOR, own.remote_assignor, "records")
        yield from _limits(baseline)
        return
    sessions_ms = sorted(
        {process.lives[-1].member.session_timeout_ms for process in baseline.processes}
    )
    yield InForce(SESSION, "/".join(map(str, sessions_ms)), _REQUESTS)
    if baseline.assignors:
        yield InForce(STRATEGY, baseline.assignors[0], "records")
    delay = baseline.explained.delay
    is_configured = INITIAL_DELAY in baseline.configured.of_brokers
    source = delay.why if is_configured or delay.why.startswith(DEFAULT) else "first rebalance"
    yield InForce(INITIAL_DELAY, str(delay.delay_ms), source)


def _limits(baseline: Baseline) -> Iterator[InForce]:
    for name, default_ms in BROKER_DEFAULTS.items():
        if ".min." in name or ".max." in name:
            own = baseline.configured.of_brokers.get(name)
            if own is None:
                yield InForce(name, str(default_ms), DEFAULT)
            else:
                yield InForce(name, own.value, own.source)


# -- changes ---------------------------------------------------------------------------------------


def without_in_force(baseline: Baseline, change: SettingsChange) -> SettingsChange:
    """The change without settings that are in force already."""
    return replace(change, **dict.fromkeys(_in_force(baseline, change)))


def _in_force(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    """The names of the settings of the change that change nothing."""
    protocol = change.protocol_of(baseline.group_protocol)
    present = _present(baseline, protocol)
    for name in (each.name for each in fields(change)):
        value = getattr(change, name)
        if value is not None and present.get(name) == value:
            yield name
    if change.assignors == baseline.assignors and protocol == baseline.group_protocol:
        yield from ("assignor", "protocol")
    if change.membership == "static" and all(p.instance_id for p in baseline.processes):
        yield from ("membership", "instance_ids")
    if change.group_protocol == baseline.group_protocol and not baseline.protocols:
        yield "group_protocol"


def _present(baseline: Baseline, protocol: str) -> dict[str, object]:
    """The values in force of a group that has, or would have, this protocol."""
    configured, members = baseline.configured, [p.lives[-1].member for p in baseline.processes]
    present: dict[str, object] = {}
    polls_ms = {each.rebalance_timeout_ms for each in members}
    if len(polls_ms) == 1:
        present["rebalance_timeout_ms"] = next(iter(polls_ms))
    policy = configured.of_brokers.get(MIGRATION_POLICY)
    if policy is not None:
        present["migration_policy"] = policy.value.lower()
    if protocol != CONSUMER_PROTOCOL:
        present["initial_rebalance_delay_ms"] = baseline.explained.delay.delay_ms
        sessions_ms = {each.session_timeout_ms for each in members}
        if baseline.group_protocol == protocol and len(sessions_ms) == 1:
            present["session_timeout_ms"] = next(iter(sessions_ms))
        return present
    own = baseline.consumer
    if own is not None and own.remote_assignor is not None:
        present["remote_assignor"] = own.remote_assignor
    for setting, name, own_ms in (
        ("consumer_session_timeout_ms", CONSUMER_SESSION, own and own.session_timeout_ms),
        ("consumer_heartbeat_interval_ms", CONSUMER_HEARTBEAT, own and own.heartbeat_interval_ms),
        ("consumer_assignment_interval_ms", CONSUMER_ASSIGNMENT, None),
    ):
        present[setting] = own_ms or configured.consumer_ms(name)
    return present
