"""What the group's brokers and clients would refuse of a change.

Broker: a session timeout outside of ``group.min.session.timeout.ms`` and
``group.max.session.timeout.ms`` (INVALID_SESSION_TIMEOUT).  Their defaults are assumed, but a value
that a member of the group has is valid.  Clients: each library checks its configuration when a
consumer is created, and knows only its own assignors.
"""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import ConsumerProcess
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import (
    INSTANCE_ID,
    POLL,
    SESSION,
    STRATEGY,
    kind_of,
)
from coordinator_core.whatif.settings import COOPERATIVE, InvalidSetting, SettingsChange

# group.max.session.timeout.ms by default, where it differs from today's (KIP-62, KIP-345).
_OLDER_MAX_SESSION_MS = {"0.9": 30_000, "0.10": 300_000, "2.0": 300_000}
_LIBRDKAFKA_MAX_SESSION_MS = 3_600_000
_LIBRDKAFKA_MAX_POLL_MS = 86_400_000
# Broker versions without static members: KIP-345 came with 2.3.
_ERAS_WITHOUT_STATIC_MEMBERS = ("0.9", "0.10", "2.0")


def check(baseline: Baseline, change: SettingsChange) -> None:
    """Raises InvalidSetting with the limit that a broker or client of the group would enforce."""
    for refusal in refusals(baseline, change):
        raise InvalidSetting(refusal)


def refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    yield from _session_refusals(baseline, change)
    if change.membership == "static" and _era(baseline, change) in _ERAS_WITHOUT_STATIC_MEMBERS:
        yield f"{INSTANCE_ID}: brokers before Kafka 2.3 have no static members"
    for process in baseline.processes:
        yield from _client_refusals(baseline, process, change)


def _era(baseline: Baseline, change: SettingsChange) -> str:
    return change.era or baseline.explained.era.name


def _session_refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.session_timeout_ms is None:
        return
    own_ms = [life.member.session_timeout_ms for p in baseline.processes for life in p.lives]
    config = CoordinatorConfig()
    minimum_ms = min(config.group_min_session_timeout_ms, *own_ms)
    default_ms = _OLDER_MAX_SESSION_MS.get(_era(baseline, change))
    maximum_ms = max(default_ms or config.group_max_session_timeout_ms, *own_ms)
    value = f"{SESSION}={change.session_timeout_ms}"
    if change.session_timeout_ms < minimum_ms:
        yield f"{value}: the broker refuses less than group.min.session.timeout.ms ({minimum_ms})"
    if change.session_timeout_ms > maximum_ms:
        yield f"{value}: the broker refuses more than group.max.session.timeout.ms ({maximum_ms})"


def _client_refusals(
    baseline: Baseline, process: ConsumerProcess, change: SettingsChange
) -> Iterator[str]:
    library = LIBRARIES[baseline.libraries[process.name]]
    member = process.lives[-1].member
    session_ms = change.session_timeout_ms or member.session_timeout_ms
    assignors = change.assignors or ()
    if library.is_librdkafka:
        yield from _librdkafka_refusals(member, session_ms, change)
    elif change.session_timeout_ms is not None and session_ms <= baseline.heartbeat_ms:
        yield (
            f"{SESSION}={session_ms}: {kind_of(library.name)} clients require it above"
            f" heartbeat.interval.ms ({baseline.heartbeat_ms} in this group)"
        )
    if change.membership == "static" and not library.has_static_members:
        yield f"{INSTANCE_ID}: {library.name} clients have no static members (Java: since 2.3)"
    if COOPERATIVE in assignors and not library.has_lost:
        yield f"{STRATEGY}: {library.name} clients have no {COOPERATIVE} (Java: since 2.4)"


def _librdkafka_refusals(
    member: RecordedMember, session_ms: int, change: SettingsChange
) -> Iterator[str]:
    poll_ms = change.rebalance_timeout_ms or member.rebalance_timeout_ms
    if session_ms > _LIBRDKAFKA_MAX_SESSION_MS:
        yield f"{SESSION}={session_ms}: librdkafka's maximum is {_LIBRDKAFKA_MAX_SESSION_MS}"
    if poll_ms > _LIBRDKAFKA_MAX_POLL_MS:
        yield f"{POLL}={poll_ms}: librdkafka's maximum is {_LIBRDKAFKA_MAX_POLL_MS}"
    if 0 < poll_ms < session_ms and _changes_times(change):
        yield (
            f"{SESSION}={session_ms}: librdkafka requires {POLL} ({poll_ms}) to be at least as"
            " long; set both"
        )
    if "sticky" in (change.assignors or ()):
        yield f"{STRATEGY}=sticky: librdkafka has range, roundrobin and {COOPERATIVE} only"


def _changes_times(change: SettingsChange) -> bool:
    return change.session_timeout_ms is not None or change.rebalance_timeout_ms is not None
