"""The changes that are tried for a group: GRID, fitted to its clients and applications."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coordinator_core.client import LIBRARIES
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.limits import refusals
from coordinator_core.whatif.settings import GRID, SettingsChange

# Usual values of max.poll.interval.ms; the advised one is the smallest that leaves a reserve above
# the longest slow poll: a longer one hides an application that hangs.
_POLL_INTERVALS_MS = (30_000, 60_000, 120_000, 300_000, 600_000)
_RESERVE = 1.5


def candidates(baseline: Baseline) -> list[SettingsChange]:
    """The changes of GRID that nothing refuses, each once.

    Where a client requires a longer max.poll.interval.ms for a longer session, the change includes
    it.  A change of max.poll.interval.ms alone is as long as the group's slow polls require.
    """
    fitted = [_with_valid_poll_interval(baseline, _fitted(baseline, each)) for each in GRID]
    return [each for each in dict.fromkeys(fitted) if not any(refusals(baseline, each))]


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
