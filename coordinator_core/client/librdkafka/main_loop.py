"""When librdkafka's main thread wakes up.

The main thread has no timers for heartbeats, joins and the session: it checks them whenever it
wakes up for a response or for one of its timers.  Therefore anything due may happen up to a second
later.  Source: rd_kafka_thread_main and rd_kafka_cgrp_serve.
"""

from __future__ import annotations

SECOND_MS = 1000
POLL_CHECK_MS = 500


class WakeTimes:
    """``began_ms`` is the time at which the consumer was created; ``watched_ms`` is the time at
    which the timer of max.poll.interval.ms was started, or None while the timer is stopped.
    ``delay_us`` is the delay of each timer, which is then set again, so delays add up.
    """

    def __init__(self, delay_us: int) -> None:
        self._delay_us = delay_us
        self.began_ms = 0
        self.watched_ms: int | None = None

    def first_ms(self, due_ms: int) -> int:
        """The first wake-up at or after ``due_ms``."""
        at_ms = self._first_ms(self.began_ms, SECOND_MS, due_ms)
        return at_ms if self.watched_ms is None else min(at_ms, self.first_check_ms(due_ms))

    def first_check_ms(self, due_ms: int) -> int:
        """The first check of max.poll.interval.ms at or after ``due_ms``, while it is watched."""
        assert self.watched_ms is not None
        return self._first_ms(self.watched_ms, POLL_CHECK_MS, due_ms)

    def _first_ms(self, set_ms: int, interval_ms: int, due_ms: int) -> int:
        interval_us = 1000 * interval_ms + self._delay_us
        count = -(-1000 * (due_ms - set_ms) // interval_us)
        return set_ms + max(count, 0) * interval_us // 1000

    def restart(self, now_ms: int) -> None:
        """Set all timers again, after the process was frozen."""
        self.began_ms = now_ms
        if self.watched_ms is not None:
            self.watched_ms = now_ms
