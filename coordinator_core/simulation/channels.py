"""Connections between a consumer and brokers: what is sent arrives later, in order, once; mostly.

A broker works on one request of a connection at a time: what comes behind one that waits for its
answer (a join, a sync) is read after that.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from coordinator_core.client import ClientRequest
from coordinator_core.simulation.chance import between, mixed, share
from coordinator_core.simulation.spec import Network

_LOSS, _COPY, _ORDER, _DELAY, _COPY_DELAY = range(5)


class Transit(NamedTuple):
    """When a message arrives, never (None), and when its copy does."""

    arrives_ms: int | None
    copy_ms: int | None = None


class Channel:
    """A connection to one broker.  ``is_open`` until either side closes it; ``is_broken``: it was
    used for what got lost, and carries nothing any more.
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
        self.busy_with: str | None = None  # the request the broker works on
        self.waiting: deque[ClientRequest] = deque()  # requests it has not read yet
        self.sent_ms = 0  # when the last request arrives, or the last answer
        self.answered_ms = 0


class Wire:
    """How long messages of one process take; ``key`` is the process's."""

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
    def has_mishaps(self) -> bool:
        return bool(self._network.loss or self._network.duplication)

    def transit(self, now_ms: int, not_before_ms: int) -> Transit:
        """Of the process's next message at this moment, request or answer."""
        self._nth = self._nth + 1 if now_ms == self._last_ms else 0
        self._last_ms = now_ms
        return self.of(now_ms, self._nth, not_before_ms)

    def of(self, now_ms: int, nth: int, not_before_ms: int = 0) -> Transit:
        """Of the ``nth`` message of a moment, from 0.  By itself it changes nothing."""
        network = self._network
        drawn = mixed(self._key, now_ms, nth)
        if network.loss and share(drawn, _LOSS) < network.loss:
            return Transit(None)
        arrives_ms = now_ms + self._delay_ms(drawn, _DELAY)
        overtakes = network.reordering and share(drawn, _ORDER) < network.reordering
        if not overtakes:
            arrives_ms = max(arrives_ms, not_before_ms)
        if network.duplication and share(drawn, _COPY) < network.duplication:
            return Transit(arrives_ms, arrives_ms + self._delay_ms(drawn, _COPY_DELAY))
        return Transit(arrives_ms)

    def is_plain(self, now_ms: int) -> bool:
        """Whether a lone request of this moment and its answer arrive once."""
        asked = self.of(now_ms, 0)
        if asked.arrives_ms is None or asked.copy_ms is not None:
            return False
        return self.of(asked.arrives_ms, 0).arrives_ms is not None

    def _delay_ms(self, drawn: int, kind: int) -> int:
        network = self._network
        return network.latency_ms + between(0, network.jitter_ms, drawn, kind)
