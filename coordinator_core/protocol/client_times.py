"""At which intervals clients send requests by default, and how exactly evidence shows it; in ms."""

from __future__ import annotations

from typing import Any

# heartbeat.interval.ms, which no request of the classic protocol contains.
HEARTBEAT_MS = 3000
# auto.commit.interval.ms, and how exactly clients keep it.
COMMIT_INTERVAL_MS, COMMIT_JITTER_MS = 5000, 250
# One commit request writes a record per partition: their times are this close to each other.
SAME_COMMIT_MS = 20
# The last commit of an application that stops polling is max.poll.interval.ms before its client
# leaves, give or take an interval of commits and the time of a check.
COMMIT_SLACK_MS = 6000
# Times of one member this close are the same moment: a leave that ended a join, a last contact that
# was the end of a join.
SAME_MOMENT_MS = 50


def exceeded_poll_interval(quiet_ms: Any, poll_ms: Any) -> Any:
    """Whether a client without a commit in the ``quiet_ms`` before it left, or before its last
    heartbeat, had an application that exceeded ``poll_ms``, its max.poll.interval.ms.

    Takes numbers and returns a bool, or takes and returns columns of an engine.
    """
    less_ms, more_ms = poll_ms - COMMIT_SLACK_MS, poll_ms + COMMIT_SLACK_MS
    return (quiet_ms > COMMIT_SLACK_MS) & (quiet_ms >= less_ms) & (quiet_ms <= more_ms)
