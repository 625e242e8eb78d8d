"""The changes that are tried for a group: GRID, fitted to its clients and applications, and changes
to the other group protocol.

At most as many as GRID has: simulations are all that a sweep's time depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coordinator_core.client import LIBRARIES
from coordinator_core.coordinator.eras import ERAS, NEWEST_ERA
from coordinator_core.protocol.client_times import commits_batches
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.deployments import present_protocol, running
from coordinator_core.whatif.in_force import without_in_force
from coordinator_core.whatif.limits import refusals
from coordinator_core.whatif.settings import (
    CLASSIC_PROTOCOL,
    CONSUMER_PROTOCOL,
    GRID,
    UNCHANGED,
    SettingsChange,
)

# Usual values of max.poll.interval.ms. The advised value is the smallest one with a reserve above
# the longest slow poll, because a larger value hides an application that hangs.
_POLL_INTERVALS_MS = (30_000, 60_000, 120_000, 300_000, 600_000)
_RESERVE = 1.5
# Changes that are omitted if changes of the group protocol are simulated, in this order: a broker
# setting for all groups, and changes close to other changes of GRID.
_GIVE_WAY = tuple(
    SettingsChange.of(text.split())
    for text in (
        "initial_rebalance_delay_ms=10000",
        "membership=static protocol=cooperative session_timeout_ms=45000",
        "membership=static session_timeout_ms=30000",
        "session_timeout_ms=30000",
        "membership=static session_timeout_ms=120000",
    )
)
_COMMIT_INTERVAL_MS = 1000
_TO_CONSUMER = SettingsChange(group_protocol=CONSUMER_PROTOCOL)
_TO_CLASSIC = SettingsChange(group_protocol=CLASSIC_PROTOCOL)
# A short session timeout, with a third of it as heartbeat interval.
_SHORT_SESSION_MS, _SHORT_HEARTBEAT_MS = 10_000, 3000
# Candidate session timeouts of static members: a static member that is away for longer is removed.
_STATIC_SESSIONS_MS = (45_000, 60_000, 120_000, 300_000, 600_000)
# The broker's default session timeouts, and a timeout between them.
_SESSIONS = (
    SettingsChange(consumer_session_timeout_ms=45_000, consumer_heartbeat_interval_ms=5000),
    SettingsChange(consumer_session_timeout_ms=25_000),
)


def candidates(baseline: Baseline) -> list[SettingsChange]:
    """The changes that nothing refuses, each once.

    Where a client requires a longer max.poll.interval.ms for a longer session, the change includes
    it.  A change of max.poll.interval.ms alone is as long as the group's slow polls require.
    """
    # A commit interval needs no further simulation: only records_reprocessed depends on it.
    commits = _accepted(baseline, _shorter_commit_interval(baseline))
    if baseline.group_protocol == CONSUMER_PROTOCOL:
        return [*_accepted(baseline, _of_consumer_group(baseline)), *commits]
    others = to_consumer(baseline) if _has_consumer_protocol(baseline) else []
    # A simulation of the consumer protocol takes longer than a simulation of the classic protocol.
    gives_way = _GIVE_WAY[: len(others) + 1] if others else ()
    of_grid = _accepted(baseline, (each for each in GRID if each not in gives_way))
    return [*of_grid, *others, *commits]


def _shorter_commit_interval(baseline: Baseline) -> Iterator[SettingsChange]:
    """No change for clients that commit each batch."""
    own_ms = 0 if baseline.consumption is None else baseline.consumption.commit_interval_ms
    if own_ms > _COMMIT_INTERVAL_MS and not commits_batches(own_ms):
        yield SettingsChange(commit_interval_ms=_COMMIT_INTERVAL_MS)


def to_consumer(baseline: Baseline) -> list[SettingsChange]:
    """The changes of a classic group to the consumer protocol: with today's timeouts, with the
    broker's default ones, and what may suit better.  Where brokers are too old, with a newer one.
    """
    era = None if _has_consumer_protocol(baseline) else NEWEST_ERA.name
    return _accepted(baseline, (replace(each, era=era) for each in _migrations(baseline)))


def _accepted(baseline: Baseline, changes: Iterator[SettingsChange]) -> list[SettingsChange]:
    fitted = [
        _with_valid_poll_interval(baseline, without_in_force(baseline, _fitted(baseline, each)))
        for each in changes
    ]
    return [
        each
        for each in dict.fromkeys(fitted)
        if each != UNCHANGED and not any(refusals(baseline, each))
    ]


def _has_consumer_protocol(baseline: Baseline) -> bool:
    return ERAS[baseline.explained.era.name].modern is not None


# -- changes of a deployment -----------------------------------------------------------------------


def settings_to_deploy(baseline: Baseline, restart_ms: int) -> list[SettingsChange]:
    """The present settings; static members (dynamic if all are static), the cooperative protocol
    and the consumer protocol, unless they are in force, or a broker or client refuses them.
    """
    is_static = _is_static(baseline)
    changes = [
        SettingsChange(membership="dynamic") if is_static else _to_static(baseline, restart_ms)
    ]
    if present_protocol(baseline) == CLASSIC_PROTOCOL:
        changes += [SettingsChange(protocol="cooperative"), _TO_CONSUMER]
    return [UNCHANGED, *_accepted(baseline, iter(changes))]


def _to_static(baseline: Baseline, restart_ms: int) -> SettingsChange:
    """With a longer session, if static members would be removed while they restart."""
    static = SettingsChange(membership="static")
    shortest_ms = min(each.lives[-1].member.session_timeout_ms for each in running(baseline))
    if shortest_ms >= 2 * restart_ms:
        return static
    longer = (each for each in _STATIC_SESSIONS_MS if each >= 2 * restart_ms)
    session_ms = next(longer, _STATIC_SESSIONS_MS[-1])
    if present_protocol(baseline) == CLASSIC_PROTOCOL:
        return replace(static, session_timeout_ms=session_ms)
    return replace(static, consumer_session_timeout_ms=session_ms)


# -- changes of the group protocol -----------------------------------------------------------------


def _migrations(baseline: Baseline) -> Iterator[SettingsChange]:
    session_ms = session_of_members(baseline)
    same = replace(
        _TO_CONSUMER,
        consumer_session_timeout_ms=session_ms,
        consumer_heartbeat_interval_ms=baseline.heartbeat_ms,
    )
    yield same
    yield _TO_CONSUMER
    if session_ms > _SHORT_SESSION_MS:
        yield _with_short_session(_TO_CONSUMER)
    elif baseline.assignors == ("range",) and len(baseline.topics) > 1:
        yield replace(same, remote_assignor="range")
    if _restarts(baseline) and not _is_static(baseline):
        yield replace(same, membership="static")


def _of_consumer_group(baseline: Baseline) -> Iterator[SettingsChange]:
    """Other settings of the protocol; and the classic protocol, with today's timeouts and with the
    clients' defaults.
    """
    session_ms = session_of_members(baseline)
    assignor = None if baseline.consumer is None else baseline.consumer.remote_assignor
    unchanged = SettingsChange()
    for each in (*_SESSIONS, _with_short_session(unchanged)):
        if each.consumer_session_timeout_ms != session_ms:
            yield each
    yield replace(unchanged, remote_assignor="uniform" if assignor == "range" else "range")
    yield SettingsChange(rebalance_timeout_ms=_POLL_INTERVALS_MS[-1])
    classic = replace(_TO_CLASSIC, session_timeout_ms=session_ms)
    yield replace(classic, assignor="range")
    yield replace(classic, protocol="cooperative")
    yield _TO_CLASSIC
    if not _is_static(baseline):
        yield replace(unchanged, membership="static")
        if session_ms != _SHORT_SESSION_MS:
            yield replace(_with_short_session(unchanged), membership="static")
        yield replace(classic, membership="static", assignor="range")


def _with_short_session(change: SettingsChange) -> SettingsChange:
    return replace(
        change,
        consumer_session_timeout_ms=_SHORT_SESSION_MS,
        consumer_heartbeat_interval_ms=_SHORT_HEARTBEAT_MS,
    )


def session_of_members(baseline: Baseline) -> int:
    """The longest session timeout of the group's members today, in ms."""
    return max(p.lives[-1].member.session_timeout_ms for p in baseline.processes)


def _is_static(baseline: Baseline) -> bool:
    return all(process.instance_id for process in baseline.processes)


def _restarts(baseline: Baseline) -> bool:
    return any(len(process.lives) > 1 for process in baseline.processes)


# -- changes fitted to the group -------------------------------------------------------------------


def _with_valid_poll_interval(baseline: Baseline, change: SettingsChange) -> SettingsChange:
    session_ms = change.session_timeout_ms
    if session_ms is None or change.rebalance_timeout_ms is not None:
        return change
    needs_more = any(poll_ms < session_ms for poll_ms in _librdkafka_poll_intervals(baseline))
    return replace(change, rebalance_timeout_ms=session_ms) if needs_more else change


def _librdkafka_poll_intervals(baseline: Baseline) -> Iterator[int]:
    for process in baseline.processes:
        if LIBRARIES[baseline.libraries[process.name]].is_librdkafka:
            yield process.lives[-1].member.rebalance_timeout_ms


def _fitted(baseline: Baseline, change: SettingsChange) -> SettingsChange:
    if change != SettingsChange(rebalance_timeout_ms=change.rebalance_timeout_ms):
        return change
    longest_ms = max(_slow_polls_ms(baseline), default=0)
    present_ms = max(p.lives[-1].member.rebalance_timeout_ms for p in baseline.processes)
    for interval_ms in _POLL_INTERVALS_MS:
        if longest_ms and interval_ms > max(present_ms, _RESERVE * longest_ms):
            return replace(change, rebalance_timeout_ms=interval_ms)
    return change


def _slow_polls_ms(baseline: Baseline) -> Iterator[int]:
    for process in baseline.processes:
        for life in process.lives:
            for slow_poll in life.slow_polls:
                if slow_poll.to is not None:
                    yield slow_poll.to.at_ms - slow_poll.began.at_ms
