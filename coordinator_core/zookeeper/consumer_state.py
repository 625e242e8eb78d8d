"""The configuration and state of an 0.8.2 consumer, its waits, and the events that it emits."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.messages import Op, WatchType, ZooKeeperAnswer

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperConsumerConfig:
    """Settings of 0.8.2 under their own names, with its defaults; times in ms.

    ``rebalance_backoff_ms`` None: zookeeper.sync.time.ms, the assumed lag of a follower.
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


# Values, besides operations, that a consumer's thread may yield


class Sleep(NamedTuple):
    duration_ms: int


class Listen(NamedTuple):
    """Read this path with a watch from now on."""

    path: str


class Lock(NamedTuple):
    """Acquire the rebalance lock."""


class Unlock(NamedTuple):
    pass


Wait = Op | Sleep | Listen | Lock | Unlock
Steps = Generator[Wait, ZooKeeperAnswer, T]  # work of a thread, which yields where the thread waits


# Events


class Registered(NamedTuple):
    pass


class WatchFired(NamedTuple):
    type: WatchType
    path: str


class SessionExpired(NamedTuple):
    """The consumer learns that its session has expired, some time after the ensemble ended it."""


class RebalanceBegan(NamedTuple):
    attempt: int


class RebalanceEnded(NamedTuple):
    attempt: int
    done: bool


class RebalanceFailed(NamedTuple):
    """ConsumerRebalanceFailedException: the consumer owns nothing until a watch fires."""

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
    """The owner node was created."""

    topic: str
    partition: int


class ClaimRefused(NamedTuple):
    """The owner node exists; ``owner`` is the thread in it, None if it was deleted meanwhile."""

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


@dataclass(slots=True, kw_only=True)
class ConsumerState:
    """``registry`` is the topic -> owned partition -> offset to commit, -1 for none.

    ``fetching`` is the partitions being fetched.  When a session expires, the registry is cleared,
    but the fetchers go on.
    """

    config: ZooKeeperConsumerConfig
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
        self.fetching = tuple((t, p) for t, offsets in self.registry.items() for p in offsets)
        self.emit(FetchersStarted(self.fetching))
