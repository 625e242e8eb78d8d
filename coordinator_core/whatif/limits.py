"""Why the group's brokers or clients would refuse a change.

Broker: a session timeout outside of ``group.min.session.timeout.ms`` and
``group.max.session.timeout.ms`` (INVALID_SESSION_TIMEOUT).  Unknown limits are Kafka's defaults,
but a value that a member of the group has is valid.  Clients: each library checks its configuration
when a consumer is created, and knows only its own assignors.
"""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.eras import ERAS, NEWEST_ERA
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import ConsumerProcess
from coordinator_core.simulation.spec import MODERN_CLIENTS
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.client_libraries import WHILE_SLOW, library_under
from coordinator_core.whatif.kafka_names import (
    COMMIT_INTERVAL,
    GROUP_PROTOCOL,
    INSTANCE_ID,
    MIGRATION_BACK,
    MIGRATION_PROCESSES,
    MIGRATION_START,
    POLL,
    SESSION,
    STRATEGY,
    kind_of,
    listed,
)
from coordinator_core.whatif.settings import (
    CLASSIC_PROTOCOL,
    CLASSIC_SESSION_MS,
    CONSUMER_PROTOCOL,
    COOPERATIVE,
    InvalidSetting,
    SettingsChange,
    refused_by_protocol,
)

_SESSION_LIMITS = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
_LIBRDKAFKA_MAX_SESSION_MS = 3_600_000
_LIBRDKAFKA_MAX_POLL_MS = _LIBRDKAFKA_MAX_COMMIT_MS = 86_400_000


def check(baseline: Baseline, change: SettingsChange) -> None:
    """Raises InvalidSetting with the limit that a broker or client of the group would enforce."""
    for refusal in refusals(baseline, change):
        raise InvalidSetting(refusal)


def refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    yield from _protocol_refusals(baseline, change)
    yield from _migration_refusals(baseline, change)
    yield from _session_refusals(baseline, change)
    if change.commit_interval_ms is not None and baseline.consumption is None:
        yield f"{COMMIT_INTERVAL}: no commits of the group show how many records it processes"
    if change.membership == "static" and not _era(baseline, change).has_static_members:
        yield f"{INSTANCE_ID}: brokers before Kafka 2.3 do not support static members"
    for process in baseline.processes:
        yield from _client_refusals(baseline, process, change)


def becomes_classic(baseline: Baseline, change: SettingsChange) -> bool:
    """Returns whether the change is from the consumer protocol to the classic one, of which the
    group has no settings yet.
    """
    if CLASSIC_PROTOCOL in baseline.protocols.values():
        return False
    protocols = baseline.group_protocol, change.protocol_of(baseline.group_protocol)
    return protocols == (CONSUMER_PROTOCOL, CLASSIC_PROTOCOL)


def _era(baseline: Baseline, change: SettingsChange) -> Era:
    return ERAS[change.era or baseline.explained.era.name]


def _protocol_refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    protocol = change.protocol_of(baseline.group_protocol)
    if change.group_protocol is None and not baseline.protocols:
        yield from refused_by_protocol(protocol, change.names())
    if CONSUMER_PROTOCOL not in (protocol, baseline.group_protocol):
        return
    value = f"{GROUP_PROTOCOL}={CONSUMER_PROTOCOL}"
    if _era(baseline, change).modern is None:
        yield f"{value}: brokers before Kafka 4.0 do not support it; add era={NEWEST_ERA.name}"
    if change.group_protocol != CONSUMER_PROTOCOL and change.migration_back is None:
        return
    changed = change.migrated_processes or baseline.libraries
    libraries = {
        library_under(baseline, name, change) for name in changed if name in baseline.libraries
    }
    for library in sorted(libraries - MODERN_CLIENTS):
        name = library if change.client_library else kind_of(library)
        yield f"{value}: {name} clients do not support this value"


def _migration_refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    names = [process.name for process in baseline.processes]
    for name in change.migrated_processes:
        if name not in names:
            yield f"{MIGRATION_PROCESSES}: no process {name}; the group has {listed(names)}"
    repeated = {
        each for each in change.migrated_processes if change.migrated_processes.count(each) > 1
    }
    for name in sorted(repeated):
        yield f"{MIGRATION_PROCESSES}: {name} is named twice"
    for name, at_ms in (
        (MIGRATION_START, change.migration_start_ms),
        (MIGRATION_BACK, change.migration_back_ms),
    ):
        if at_ms is not None and not baseline.from_ms <= at_ms <= baseline.to_ms:
            yield f"{name}: must be within the evaluated period"
    if change.migration_start is not None and not baseline.protocols:
        protocol = change.group_protocol
        if protocol == baseline.group_protocol:
            yield f"{MIGRATION_START}: the group already uses {GROUP_PROTOCOL}={protocol}"


def _session_refusals(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.session_timeout_ms is None:
        return
    own_ms = [life.member.session_timeout_ms for p in baseline.processes for life in p.lives]
    known_min_ms, known_max_ms = map(baseline.configured.broker_ms, _SESSION_LIMITS)
    if known_min_ms is None:
        known_min_ms = CoordinatorConfig().group_min_session_timeout_ms
    if known_max_ms is None:
        known_max_ms = _era(baseline, change).max_session_timeout_ms
    minimum_ms, maximum_ms = min(known_min_ms, *own_ms), max(known_max_ms, *own_ms)
    value = f"{SESSION}={change.session_timeout_ms}"
    if change.session_timeout_ms < minimum_ms:
        yield f"{value}: below the broker's group.min.session.timeout.ms ({minimum_ms})"
    if change.session_timeout_ms > maximum_ms:
        yield f"{value}: above the broker's group.max.session.timeout.ms ({maximum_ms})"


def _client_refusals(
    baseline: Baseline, process: ConsumerProcess, change: SettingsChange
) -> Iterator[str]:
    library = LIBRARIES[library_under(baseline, process.name, change)]
    member = process.lives[-1].member
    present_ms = member.session_timeout_ms
    if becomes_classic(baseline, change):
        present_ms = CLASSIC_SESSION_MS
    session_ms = change.session_timeout_ms or present_ms
    is_new = change.client_library is not None
    assignors = change.assignors or (baseline.assignors if is_new else ())
    if library.is_librdkafka:
        changes_times = is_new or _changes_times(change) or becomes_classic(baseline, change)
        yield from _librdkafka_refusals(member, session_ms, change, changes_times)
        if "sticky" in assignors:
            yield f"{STRATEGY}=sticky: librdkafka supports range, roundrobin and {COOPERATIVE} only"
    elif change.session_timeout_ms is not None and session_ms <= baseline.heartbeat_ms:
        yield (
            f"{SESSION}={session_ms}: {kind_of(library.name)} clients require it above"
            f" heartbeat.interval.ms ({baseline.heartbeat_ms} in this group)"
        )
    if change.rebalance_timeout_ms is not None and not library.has_poll_interval:
        yield (
            f"{POLL}: {kind_of(library.name)} clients have no such setting: a member with a slow"
            f" handler {WHILE_SLOW[library.slow_handler]}"
        )
    is_static = change.membership == "static" or (is_new and process.instance_id is not None)
    if is_static and change.membership != "dynamic" and not library.has_static_members:
        yield (
            f"{INSTANCE_ID}: {library.name} clients do not support static members (Java: since 2.3)"
        )
    if COOPERATIVE in assignors and not library.has_lost:
        yield f"{STRATEGY}: {library.name} clients do not support {COOPERATIVE} (Java: since 2.4)"


def _librdkafka_refusals(
    member: RecordedMember, session_ms: int, change: SettingsChange, changes_times: bool
) -> Iterator[str]:
    poll_ms = change.rebalance_timeout_ms or member.rebalance_timeout_ms
    commit_ms = change.commit_interval_ms or 0
    if commit_ms > _LIBRDKAFKA_MAX_COMMIT_MS:
        yield f"{COMMIT_INTERVAL}={commit_ms}: librdkafka's maximum is {_LIBRDKAFKA_MAX_COMMIT_MS}"
    if session_ms > _LIBRDKAFKA_MAX_SESSION_MS:
        yield f"{SESSION}={session_ms}: librdkafka's maximum is {_LIBRDKAFKA_MAX_SESSION_MS}"
    if poll_ms > _LIBRDKAFKA_MAX_POLL_MS:
        yield f"{POLL}={poll_ms}: librdkafka's maximum is {_LIBRDKAFKA_MAX_POLL_MS}"
    if 0 < poll_ms < session_ms and changes_times:
        yield (
            f"{SESSION}={session_ms}: librdkafka requires {POLL} ({poll_ms}) to be at least as"
            " long; set both"
        )


def _changes_times(change: SettingsChange) -> bool:
    return change.session_timeout_ms is not None or change.rebalance_timeout_ms is not None
