"""Default intervals of clients' requests, and the tolerance of their times in evidence; in ms."""

from __future__ import annotations

from collections.abc import Callable
from operator import mod
from typing import Any

# heartbeat.interval.ms, which no request of the classic protocol contains.
HEARTBEAT_MS = 3000
# auto.commit.interval.ms, and the jitter of client timers.
COMMIT_INTERVAL_MS, COMMIT_JITTER_MS = 5000, 250
# Intervals of automatic commits are multiples of TIMER_STEP_MS, with this tolerance for timers.
TIMER_STEP_MS, TIMER_TOLERANCE_MS = 500, 15
# Clients with a longer commit interval do not commit after each batch.
BATCH_INTERVAL_MS = 2500
# One commit request writes a record per partition; the records' times differ by at most this.
SAME_COMMIT_MS = 20
# Time from the record of an assignment to the client's first completed fetch.
FETCH_MS = 350
# If an application stops polling, its client leaves max.poll.interval.ms after the last commit,
# with a tolerance of one commit interval and the time of a check.
COMMIT_SLACK_MS = 6000
# Times of one member within this difference are the same moment: a leave that ended a join, or a
# last contact at the end of a join.
SAME_MOMENT_MS = 50


def exceeded_poll_interval(quiet_ms: Any, poll_ms: Any) -> Any:
    """Returns whether a client's application exceeded its max.poll.interval.ms, ``poll_ms``.

    ``quiet_ms`` is the time from the last commit until the client left, or until its last
    heartbeat. It takes numbers and returns a bool, or takes and returns columns of an engine.
    """
    less_ms, more_ms = poll_ms - COMMIT_SLACK_MS, poll_ms + COMMIT_SLACK_MS
    return (quiet_ms > COMMIT_SLACK_MS) & (quiet_ms >= less_ms) & (quiet_ms <= more_ms)


def is_commit_interval(since_ms: Any, modulo: Callable[[Any, Any], Any] = mod) -> Any:
    """Returns whether automatic commits with the default interval are this far apart.  ``modulo``:
    the positive remainder.  Takes and returns numbers, or columns of an engine.
    """
    phase_ms = modulo(since_ms + COMMIT_JITTER_MS, COMMIT_INTERVAL_MS)
    return (since_ms >= COMMIT_INTERVAL_MS - COMMIT_JITTER_MS) & (phase_ms <= 2 * COMMIT_JITTER_MS)


def commits_batches(interval_ms: Any) -> Any:
    """Returns whether clients with this time between two commits commit each batch as soon as they
    have handled it.  Automatic commits follow a timer.  Takes and returns a number or an array.
    """
    is_timer = (interval_ms + TIMER_TOLERANCE_MS) % TIMER_STEP_MS <= 2 * TIMER_TOLERANCE_MS
    return (interval_ms <= BATCH_INTERVAL_MS) & (is_timer ^ True)
