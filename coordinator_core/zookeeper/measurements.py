"""Measures a rebalance: messages by kind, and how long partitions had no owner or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.consumer_state import (
    ClaimRefused,
    FetchersStarted,
    FetchersStopped,
    RebalanceBegan,
    RebalanceFailed,
    SessionExpired,
)
from coordinator_core.zookeeper.messages import (
    READS,
    ClientOperation,
    Connect,
    Notification,
    Ping,
    SendMessage,
)


class TrafficMeter:
    """Counts messages between consumers and ensemble; an observer of a ``VirtualNetwork``.

    ``counts`` reads, writes, notifications, pings, connects, attempts (of rebalances),
    claims_refused, rebalances_failed, sessions_expired.  Messages between servers are not counted.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, now_ms: int, process_name: str, effect: Any) -> None:
        kind = (
            _kind(effect.message) if isinstance(effect, SendMessage) else _EVENTS.get(type(effect))
        )
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
        case ClientOperation():
            return "reads" if isinstance(message.op, READS) else "writes"
        case Notification():
            return "notifications"
        case Ping():
            return "pings"
        case Connect():
            return "connects"
    return None


class OwnershipTime(NamedTuple):
    """Partition-ms without a consumer, and with more than one consumer."""

    unowned_ms: int
    double_owned_ms: int


class OwnershipMeter:
    """Tracks which consumers fetch which partitions; an observer of a ``VirtualNetwork``."""

    def __init__(self, partitions: Iterable[TopicPartition], now_ms: int = 0) -> None:
        self._holders: dict[TopicPartition, set[str]] = {}
        self._since_ms: dict[TopicPartition, int] = {}
        self._unowned_ms = self._double_owned_ms = 0
        self._wrong = self._doubled = 0
        self.changed_ms = now_ms
        self.add(partitions, now_ms)

    def add(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Add partitions, which have no consumer yet."""
        for partition in partitions:
            self._holders[partition] = set()
            self._since_ms[partition] = now_ms
            self._count(partition)

    def __call__(self, now_ms: int, process_name: str, effect: Any) -> None:
        if isinstance(effect, FetchersStarted):
            self.start(process_name, effect.partitions, now_ms)
        elif isinstance(effect, FetchersStopped):
            self.stop(process_name, effect.partitions, now_ms)

    def start(self, process_name: str, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        for partition in partitions:
            self._settle(partition, now_ms)
            self._holders[partition].add(process_name)
            self._count(partition)
        self.changed_ms = now_ms

    def stop(self, process_name: str, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        for partition in partitions:
            self._settle(partition, now_ms)
            self._holders[partition].discard(process_name)
            self._count(partition)
        self.changed_ms = now_ms

    @property
    def all_owned_once(self) -> bool:
        return self._wrong == 0

    @property
    def doubled(self) -> int:
        """Number of partitions with more than one consumer now."""
        return self._doubled

    def holders(self, partition: TopicPartition) -> frozenset[str]:
        return frozenset(self._holders[partition])

    def until(self, now_ms: int) -> OwnershipTime:
        for partition in self._holders:
            self._settle(partition, now_ms)
            self._count(partition)
        return OwnershipTime(self._unowned_ms, self._double_owned_ms)

    def _settle(self, partition: TopicPartition, now_ms: int) -> None:
        """Add the time up to now; call ``_count`` after changing the holders."""
        passed_ms = now_ms - self._since_ms[partition]
        self._since_ms[partition] = now_ms
        holders = len(self._holders[partition])
        self._wrong -= holders != 1
        self._doubled -= holders > 1
        if holders == 0:
            self._unowned_ms += passed_ms
        elif holders > 1:
            self._double_owned_ms += passed_ms

    def _count(self, partition: TopicPartition) -> None:
        holders = len(self._holders[partition])
        self._wrong += holders != 1
        self._doubled += holders > 1
