"""A consumer's settings, what it knows, and what is seen of it from outside."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.messages import Answer, Op, WatchType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """Named as 0.8.2's, with its defaults; times in ms.

    ``rebalance_backoff_ms`` None: zookeeper.sync.time.ms, by which a follower may be behind.
    """

    group_id: str
    consumer_id: str
    zookeeper_session_timeout_ms: int = 6000
    zookeeper_sync_time_ms: int = 2000
    rebalance_max_retries: int = 4
    rebalance_backoff_ms: int | None = None
    auto_commit_enable: bool = True
    auto_commit_interval_ms: int = 60_000
    partition_assignment_strategy: str = "range"

    @property
    def backoff_ms(self) -> int:
        if self.rebalance_backoff_ms is None:
            return self.zookeeper_sync_time_ms
        return self.rebalance_backoff_ms


# What a consumer's thread may wait for, besides the answer to a request


class Sleep(NamedTuple):
    duration_ms: int


class Listen(NamedTuple):
    """From now on read this path with a watch."""

    path: str


class Lock(NamedTuple):
    """The rebalance lock."""


class Unlock(NamedTuple):
    pass


Wait = Op | Sleep | Listen | Lock | Unlock
Steps = Generator[Wait, Answer, T]  # what a thread of the consumer does, up to where it waits


# What happened


class Registered(NamedTuple):
    pass


class WatchFired(NamedTuple):
    type: WatchType
    path: str


class SessionExpired(NamedTuple):
    """The consumer hears of it; the ensemble gave the session up some time before."""


class RebalanceBegan(NamedTuple):
    attempt: int


class RebalanceEnded(NamedTuple):
    attempt: int
    done: bool


class RebalanceFailed(NamedTuple):
    """ConsumerRebalanceFailedException: nothing is owned until something wakes the consumer."""

    attempts: int


class FetchersStopped(NamedTuple):
    partitions: tuple[TopicPartition, ...]


class FetchersStarted(NamedTuple):
    partitions: tuple[TopicPartition, ...]


class Released(NamedTuple):
    """The owner node was deleted."""

    topic: str
    partition: int


class Claimed(NamedTuple):
    """The owner node was made."""

    topic: str
    partition: int


class ClaimRefused(NamedTuple):
    """The owner node is there; ``owner`` is the thread in it, None if it went away meanwhile."""

    topic: str
    partition: int
    owner: str | None


class ShutDown(NamedTuple):
    pass


Event = (
    Registered
    | WatchFired
    | SessionExpired
    | RebalanceBegan
    | RebalanceEnded
    | RebalanceFailed
    | FetchersStopped
    | FetchersStarted
    | Released
    | Claimed
    | ClaimRefused
    | ShutDown
)


@dataclass(slots=True)
class State:
    """``registry``: of each partition owned, by topic, the offset to commit; -1 is none.

    ``fetching`` outlives the registry when a session expires: nobody stops the fetchers then.
    """

    config: ConsumerConfig
    subscription: Mapping[str, int]
    emit: Callable[[Event], None]
    registry: dict[str, dict[int, int]] = field(default_factory=dict)
    checkpointed: dict[TopicPartition, int] = field(default_factory=dict)
    fetching: tuple[TopicPartition, ...] = ()
    is_shutting_down: bool = False

    @property
    def own_path(self) -> str:
        return paths.consumer(self.config.group_id, self.config.consumer_id)

    def stop_fetchers(self) -> None:
        if self.fetching:
            self.emit(FetchersStopped(self.fetching))
            self.fetching = ()

    def start_fetchers(self) -> None:
        self.fetching = tuple((t, p) for t, found in self.registry.items() for p in found)
        self.emit(FetchersStarted(self.fetching))
