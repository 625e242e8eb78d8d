"""What a rebalance costs: messages by kind, partitions consumed by nobody or more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.connector import (
    ClaimRefused,
    FetchersStarted,
    FetchersStopped,
    RebalanceBegan,
    RebalanceFailed,
    SessionExpired,
)
from coordinator_core.zookeeper.messages import (
    READS,
    Connect,
    Notification,
    Ping,
    Request,
    Send,
)


class Traffic:
    """Between consumers and ensemble, each message as it is sent; an observer of a ``World``.

    ``counts``: reads, writes, notifications, pings, connects, attempts (at a rebalance),
    claims_refused, rebalances_failed, sessions_expired.  Traffic among servers is not counted.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, now_ms: int, whose: str, effect: Any) -> None:
        kind = _kind(effect.message) if isinstance(effect, Send) else _EVENTS.get(type(effect))
        if kind is not None:
            self.counts[kind] += 1


_EVENTS = {
    RebalanceBegan: "attempts",
    ClaimRefused: "claims_refused",
    RebalanceFailed: "rebalances_failed",
    SessionExpired: "sessions_expired",
}


def _kind(message: Any) -> str | None:
    match message:
        case Request():
            return "reads" if isinstance(message.op, READS) else "writes"
        case Notification():
            return "notifications"
        case Ping():
            return "pings"
        case Connect():
            return "connects"
    return None


class Uncovered(NamedTuple):
    """Summed over partitions, in ms: consumed by nobody, and by more than one at a time."""

    unowned_ms: int
    doubly_ms: int


class Ownership:
    """Who consumes what, as the consumers themselves have it; an observer of a ``World``."""

    def __init__(self, partitions: Iterable[TopicPartition], now_ms: int = 0) -> None:
        self._holders: dict[TopicPartition, set[str]] = {}
        self._since_ms: dict[TopicPartition, int] = {}
        self._unowned_ms = self._doubly_ms = 0
        self._wrong = self._doubled = 0
        self.changed_ms = now_ms
        self.add(partitions, now_ms)

    def add(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """From now on there are these, too, and nobody consumes them yet."""
        for partition in partitions:
            self._holders[partition] = set()
            self._since_ms[partition] = now_ms
            self._count(partition)

    def __call__(self, now_ms: int, whose: str, effect: Any) -> None:
        if isinstance(effect, FetchersStarted):
            self.start(whose, effect.partitions, now_ms)
        elif isinstance(effect, FetchersStopped):
            self.stop(whose, effect.partitions, now_ms)

    def start(self, whose: str, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        for partition in partitions:
            self._settle(partition, now_ms)
            self._holders[partition].add(whose)
            self._count(partition)
        self.changed_ms = now_ms

    def stop(self, whose: str, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        for partition in partitions:
            self._settle(partition, now_ms)
            self._holders[partition].discard(whose)
            self._count(partition)
        self.changed_ms = now_ms

    @property
    def all_owned_once(self) -> bool:
        return self._wrong == 0

    @property
    def doubled(self) -> int:
        """Partitions that more than one consumes now."""
        return self._doubled

    def holders(self, partition: TopicPartition) -> frozenset[str]:
        return frozenset(self._holders[partition])

    def until(self, now_ms: int) -> Uncovered:
        for partition in self._holders:
            self._settle(partition, now_ms)
            self._count(partition)
        return Uncovered(self._unowned_ms, self._doubly_ms)

    def _settle(self, partition: TopicPartition, now_ms: int) -> None:
        """Count the time up to now; what follows changes the holders, and ``_count``s again."""
        passed_ms = now_ms - self._since_ms[partition]
        self._since_ms[partition] = now_ms
        holders = len(self._holders[partition])
        self._wrong -= holders != 1
        self._doubled -= holders > 1
        if holders == 0:
            self._unowned_ms += passed_ms
        elif holders > 1:
            self._doubly_ms += passed_ms

    def _count(self, partition: TopicPartition) -> None:
        holders = len(self._holders[partition])
        self._wrong += holders != 1
        self._doubled += holders > 1
