"""A consumer of Kafka 0.8.2 with its threads: caller, watcher, zkclient's event thread, committer.

    config = ZooKeeperConsumerConfig("billing", "billing_host-1")
    consumer = ZooKeeperConsumer(config, {"orders": 1}, ["zk1", "zk2"])
    effects = consumer.start(now_ms)

Input: messages and time.  Output: ``SendMessage`` and events, in order.  No clock, no randomness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.client import (
    ReplyReceived,
    SessionLost,
    WatchTriggered,
    ZooKeeperClient,
)
from coordinator_core.zookeeper.consumer_state import (
    ConsumerState,
    Event,
    Listen,
    Lock,
    Registered,
    SessionExpired,
    ShutDown,
    Sleep,
    Steps,
    Unlock,
    Wait,
    WatchFired,
    ZooKeeperConsumerConfig,
)
from coordinator_core.zookeeper.messages import (
    CloseSession,
    Exists,
    GetChildren,
    GetData,
    Message,
    SendMessage,
    ZkError,
    ZooKeeperAnswer,
)
from coordinator_core.zookeeper.rebalance import synced_rebalance
from coordinator_core.zookeeper.zk_utils import (
    commit_offsets,
    listen_to_children,
    listen_to_data,
    register,
)

Effect = SendMessage | Event
_GO_ON = ZooKeeperAnswer(ZkError.OK)


class _JobThread:
    """Runs jobs one after the other; ``steps`` have the current job."""

    __slots__ = ("jobs", "steps")

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], Steps[None]]] = deque()
        self.steps: Steps[None] | None = None


class ZooKeeperConsumer:
    """``subscription`` has streams by topic.  ``servers``: ZooKeeper servers in the
    order to try.
    """

    def __init__(
        self,
        config: ZooKeeperConsumerConfig,
        subscription: Mapping[str, int],
        servers: Sequence[str],
    ) -> None:
        self._effects: list[Effect] = []
        self._state = ConsumerState(config=config, subscription=subscription, emit=self._emit)
        self._client = ZooKeeperClient(servers, config.zookeeper_session_timeout_ms)
        self._caller, self._watcher, self._event_thread, self._committer = (
            _JobThread() for _ in range(4)
        )
        self._now_ms = 0
        self._is_triggered = False
        self._waiting_for: dict[int, _JobThread] = {}
        self._sleeping: dict[_JobThread, int] = {}
        self._lock_holder: _JobThread | None = None
        self._lock_queue: deque[_JobThread] = deque()
        self._next_commit_ms: int | None = None
        self._is_closed = False

    @property
    def fetching(self) -> tuple[TopicPartition, ...]:
        return self._state.fetching

    def start(self, now_ms: int) -> list[Effect]:
        """Connect, register, listen, rebalance for the first time (createMessageStreams)."""
        self._begin(now_ms)
        self._client.connect(now_ms)
        if self._state.config.auto_commit_enable:
            self._next_commit_ms = now_ms + self._state.config.auto_commit_interval_ms
        self._add_job(self._caller, self._join_group)
        return self._end()

    def shut_down(self, now_ms: int) -> list[Effect]:
        """Leave the group: after the current rebalance, commit and close the session."""
        self._begin(now_ms)
        self._state.is_shutting_down = True
        self._next_commit_ms = None
        self._add_job(self._caller, self._leave_group)
        return self._end()

    def kill(self) -> list[Effect]:
        """The process dies: its connections are closed, its session stays open."""
        self._effects = []
        self._state.stop_fetchers()
        self._client.close()
        self._is_closed = True
        return self._end()

    def consumed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the offsets to commit; partitions that are not owned are ignored."""
        for (topic, partition), offset in offsets.items():
            if partition in self._state.registry.get(topic, {}):
                self._state.registry[topic][partition] = offset

    def received(self, source: str, message: Message, now_ms: int) -> list[Effect]:
        self._begin(now_ms)
        for event in self._client.received(source, message, now_ms):
            match event:
                case ReplyReceived():
                    self._run(self._waiting_for.pop(event.xid), event.answer)
                case WatchTriggered():
                    self._emit(WatchFired(event.type, event.path))
                    self._notify_listener(event.path)
                case SessionLost():
                    self._session_expired()
        return self._end()

    def advance(self, now_ms: int) -> list[Effect]:
        """Wake threads whose sleep is over, commit when due, ping."""
        self._begin(now_ms)
        for thread in [t for t, deadline_ms in self._sleeping.items() if deadline_ms <= now_ms]:
            del self._sleeping[thread]
            self._run(thread, _GO_ON)
        if self._next_commit_ms is not None and self._next_commit_ms <= now_ms:
            self._next_commit_ms += self._state.config.auto_commit_interval_ms
            self._add_job(self._committer, lambda: commit_offsets(self._state))
        self._client.advance(now_ms)
        return self._end()

    def next_deadline_ms(self) -> int | None:
        if self._is_closed:
            return None
        deadlines = [
            self._client.next_deadline_ms(),
            self._next_commit_ms,
            *self._sleeping.values(),
        ]
        return min((each for each in deadlines if each is not None), default=None)

    # Jobs of the threads

    def _join_group(self) -> Steps[None]:
        """Source: consume, registerConsumerInZK and reinitializeConsumer."""
        yield from register(self._state, self._now_ms)
        self._emit(Registered())
        yield from listen_to_children(paths.ids(self._state.config.group_id))
        for topic in sorted(self._state.subscription):
            yield from listen_to_data(paths.topic(topic))
        yield from synced_rebalance(self._state)

    def _leave_group(self) -> Steps[None]:
        yield Lock()
        self._state.stop_fetchers()
        if self._state.config.auto_commit_enable:
            yield from commit_offsets(self._state)
        yield CloseSession()
        self._client.close()
        self._is_closed = True
        self._emit(ShutDown())
        yield Unlock()

    def _new_session(self) -> Steps[None]:
        """Register again and rebalance; the fetchers go on meanwhile.

        Source: ZKSessionExpireListener.
        """
        self._state.registry.clear()
        yield from register(self._state, self._now_ms)
        self._emit(Registered())
        yield from synced_rebalance(self._state)

    def _session_expired(self) -> None:
        """zkclient notifies all listeners, since any of them may have missed a change."""
        self._emit(SessionExpired())
        if self._client.listened:  # Without other listeners there is no session listener.
            self._add_job(self._event_thread, self._new_session)
        for path in sorted(self._client.listened):
            self._notify_listener(path)

    def _notify_listener(self, path: str) -> None:
        self._add_job(self._event_thread, lambda: self._on_change(path))

    def _on_change(self, path: str) -> Steps[None]:
        """zkclient sets the watch again with a read before it notifies the listener.

        Any number of changes during a rebalance cause one more rebalance after it.
        """
        is_topic = path.startswith(paths.BROKER_TOPICS)
        yield Exists(path)
        answer = yield GetData(path) if is_topic else GetChildren(path)
        if is_topic and answer.error is not ZkError.OK:
            return  # A topic was deleted; 0.8 ignores the deletion.
        self._is_triggered = True
        self._add_job(self._watcher, self._rebalance_if_triggered)

    def _rebalance_if_triggered(self) -> Steps[None]:
        if self._is_triggered and not self._state.is_shutting_down:
            self._is_triggered = False
            yield from synced_rebalance(self._state)

    # Scheduling of the threads

    def _begin(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._effects = []

    def _end(self) -> list[Effect]:
        self._drain()
        return self._effects

    def _emit(self, event: Event) -> None:
        self._drain()
        self._effects.append(event)

    def _drain(self) -> None:
        self._effects += self._client.sends
        self._client.sends.clear()

    def _add_job(self, thread: _JobThread, job: Callable[[], Steps[None]]) -> None:
        thread.jobs.append(job)
        if thread.steps is None:
            self._next_job(thread)

    def _next_job(self, thread: _JobThread) -> None:
        while thread.steps is None and thread.jobs:
            thread.steps = thread.jobs.popleft()()
            self._run(thread, None)

    def _run(self, thread: _JobThread, answer: ZooKeeperAnswer | None) -> None:
        """Run the thread until it has to wait or its job ends."""
        steps = thread.steps
        if steps is None or self._is_closed:
            return
        try:
            wait = next(steps) if answer is None else steps.send(answer)
            while not self._waits(thread, wait):
                wait = steps.send(_GO_ON)
        except StopIteration:
            thread.steps = None
            self._next_job(thread)

    def _waits(self, thread: _JobThread, wait: Wait) -> bool:
        match wait:
            case Sleep():
                self._sleeping[thread] = self._now_ms + wait.duration_ms
                return True
            case Lock():
                if self._lock_holder is None:
                    self._lock_holder = thread
                    return False
                self._lock_queue.append(thread)
                return True
            case Unlock():
                self._unlock()
                return False
            case Listen():
                self._client.listened.add(wait.path)
                return False
        self._waiting_for[self._client.submit(wait, self._now_ms)] = thread
        return True

    def _unlock(self) -> None:
        self._lock_holder = self._lock_queue.popleft() if self._lock_queue else None
        if self._lock_holder is not None:
            self._run(self._lock_holder, _GO_ON)
