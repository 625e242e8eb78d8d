"""Connections between consumers and brokers, and the delays, losses and copies of messages.

A broker handles one request of a connection at a time: requests behind one that waits for its
response (JoinGroup, SyncGroup) are read after the response was sent.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from coordinator_core.client import ClientRequest
from coordinator_core.simulation.random_draws import between, fraction, mixed
from coordinator_core.simulation.spec import Network

_LOSS, _COPY, _ORDER, _DELAY, _COPY_DELAY = range(5)


class Transit(NamedTuple):
    """The time at which a message arrives, None if it is lost, and the time at which its copy
    arrives, None without a copy.
    """

    arrives_ms: int | None
    copy_ms: int | None = None


class Channel:
    """A connection to one broker.  ``is_open`` until either side closes it.  ``is_broken`` means
    that a message on the connection was lost, and all later messages are lost, too.
    """

    __slots__ = (
        "answered_ms",
        "broker_id",
        "busy_with",
        "is_broken",
        "is_open",
        "sent_ms",
        "waiting",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.is_open = True
        self.is_broken = False
        self.busy_with: str | None = None  # id of the request that the broker handles
        self.waiting: deque[ClientRequest] = deque()  # requests that the broker has not read yet
        self.sent_ms = 0  # arrival time of the last request
        self.answered_ms = 0  # arrival time of the last response


class NetworkPath:
    """Delays, losses and copies of one process's messages.  ``key`` is the process's draw key."""

    __slots__ = ("_key", "_last_ms", "_network", "_nth")

    def __init__(self, network: Network, key: int) -> None:
        self._network = network
        self._key = key
        self._last_ms = -1
        self._nth = 0

    @property
    def longest_ms(self) -> int:
        return self._network.latency_ms + self._network.jitter_ms

    @property
    def can_lose_or_duplicate(self) -> bool:
        return bool(self._network.loss or self._network.duplication)

    def transit(self, now_ms: int, not_before_ms: int) -> Transit:
        """The transit of the process's next message at this time, request or response."""
        self._nth = self._nth + 1 if now_ms == self._last_ms else 0
        self._last_ms = now_ms
        return self.of(now_ms, self._nth, not_before_ms)

    def of(self, now_ms: int, nth: int, not_before_ms: int = 0) -> Transit:
        """The transit of the ``nth`` message at this time, from 0.  Has no side effect."""
        network = self._network
        drawn = mixed(self._key, now_ms, nth)
        if network.loss and fraction(drawn, _LOSS) < network.loss:
            return Transit(None)
        arrives_ms = now_ms + self._delay_ms(drawn, _DELAY)
        overtakes = network.reordering and fraction(drawn, _ORDER) < network.reordering
        if not overtakes:
            arrives_ms = max(arrives_ms, not_before_ms)
        if network.duplication and fraction(drawn, _COPY) < network.duplication:
            return Transit(arrives_ms, arrives_ms + self._delay_ms(drawn, _COPY_DELAY))
        return Transit(arrives_ms)

    def is_plain(self, now_ms: int) -> bool:
        """Returns whether a single request at this time and its response each arrive exactly
        once.
        """
        request = self.of(now_ms, 0)
        if request.arrives_ms is None or request.copy_ms is not None:
            return False
        return self.of(request.arrives_ms, 0).arrives_ms is not None

    def _delay_ms(self, drawn: int, kind: int) -> int:
        network = self._network
        return network.latency_ms + between(0, network.jitter_ms, drawn, kind)
