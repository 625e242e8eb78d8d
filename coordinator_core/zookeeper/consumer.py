"""A consumer of Kafka 0.8.2 with its threads: who calls, who watches, who hears, who commits.

    consumer = Consumer(ConsumerConfig("billing", "billing_host-1"), {"orders": 1}, ["zk1", "zk2"])
    effects = consumer.start(now_ms)

Messages and time in, ``Send`` and events out, in order; nothing here waits, sleeps or draws lots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.client import Answered, Client, Expired, Fired
from coordinator_core.zookeeper.connector import (
    ConsumerConfig,
    Event,
    Listen,
    Lock,
    Registered,
    SessionExpired,
    ShutDown,
    Sleep,
    State,
    Steps,
    Unlock,
    Wait,
    WatchFired,
)
from coordinator_core.zookeeper.messages import (
    Answer,
    CloseSession,
    Exists,
    GetChildren,
    GetData,
    Message,
    Send,
    ZkError,
)
from coordinator_core.zookeeper.rebalance import synced_rebalance
from coordinator_core.zookeeper.steps import (
    commit_offsets,
    listen_to_children,
    listen_to_data,
    register,
)

Effect = Send | Event
_GO_ON = Answer(ZkError.OK)


class _Thread:
    """Jobs one after the other; ``steps`` is the one under way."""

    __slots__ = ("jobs", "steps")

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], Steps[None]]] = deque()
        self.steps: Steps[None] | None = None


class Consumer:
    """``subscription``: streams by topic; ``servers``: ZooKeeper's, in the order to try them."""

    def __init__(
        self, config: ConsumerConfig, subscription: Mapping[str, int], servers: Sequence[str]
    ) -> None:
        self._effects: list[Effect] = []
        self._state = State(config, subscription, self._emit)
        self._client = Client(servers, config.zookeeper_session_timeout_ms)
        self._caller, self._watcher, self._event_thread, self._committer = (
            _Thread() for _ in range(4)
        )
        self._now_ms = 0
        self._is_triggered = False
        self._waiting_for: dict[int, _Thread] = {}
        self._sleeping: dict[_Thread, int] = {}
        self._lock_holder: _Thread | None = None
        self._lock_queue: deque[_Thread] = deque()
        self._next_commit_ms: int | None = None
        self._is_gone = False

    @property
    def fetching(self) -> tuple[TopicPartition, ...]:
        return self._state.fetching

    def start(self, now_ms: int) -> list[Effect]:
        """Connect, register, listen, and rebalance for the first time: createMessageStreams."""
        self._begin(now_ms)
        self._client.connect(now_ms)
        if self._state.config.auto_commit_enable:
            self._next_commit_ms = now_ms + self._state.config.auto_commit_interval_ms
        self._add_job(self._caller, self._join_group)
        return self._end()

    def shut_down(self, now_ms: int) -> list[Effect]:
        """Leave: after a rebalance under way, commit and close the session."""
        self._begin(now_ms)
        self._state.is_shutting_down = True
        self._next_commit_ms = None
        self._add_job(self._caller, self._leave_group)
        return self._end()

    def kill(self) -> list[Effect]:
        """What becomes of a process that dies: its connections are closed, its session is not."""
        self._effects = []
        self._state.stop_fetchers()
        self._client.close()
        self._is_gone = True
        return self._end()

    def consumed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The application has read up to these offsets; those of others are not for it to say."""
        for (topic, partition), offset in offsets.items():
            if partition in self._state.registry.get(topic, {}):
                self._state.registry[topic][partition] = offset

    def received(self, source: str, message: Message, now_ms: int) -> list[Effect]:
        self._begin(now_ms)
        for news in self._client.received(source, message, now_ms):
            match news:
                case Answered():
                    self._run(self._waiting_for.pop(news.xid), news.answer)
                case Fired():
                    self._emit(WatchFired(news.type, news.path))
                    self._tell_listener(news.path)
                case Expired():
                    self._session_expired()
        return self._end()

    def advance(self, now_ms: int) -> list[Effect]:
        """Wake who has slept enough, commit when it is time, ping."""
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
        if self._is_gone:
            return None
        found = [self._client.next_deadline_ms(), self._next_commit_ms, *self._sleeping.values()]
        return min((deadline_ms for deadline_ms in found if deadline_ms is not None), default=None)

    # What its threads do

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
        self._is_gone = True
        self._emit(ShutDown())
        yield Unlock()

    def _new_session(self) -> Steps[None]:
        """The fetchers go on meanwhile.  Source: ZKSessionExpireListener."""
        self._state.registry.clear()
        yield from register(self._state, self._now_ms)
        self._emit(Registered())
        yield from synced_rebalance(self._state)

    def _session_expired(self) -> None:
        """zkclient tells all its listeners, for they may have missed anything."""
        self._emit(SessionExpired())
        if self._client.listened:  # else nobody listens to the session either
            self._add_job(self._event_thread, self._new_session)
        for path in sorted(self._client.listened):
            self._tell_listener(path)

    def _tell_listener(self, path: str) -> None:
        self._add_job(self._event_thread, lambda: self._hear(path))

    def _hear(self, path: str) -> Steps[None]:
        """zkclient leaves the watch again by reading, before it tells the listener.

        A change that comes while the consumer rebalances is one more rebalance after it, and so
        are ten.
        """
        is_topic = path.startswith(paths.BROKER_TOPICS)
        yield Exists(path)
        answer = yield GetData(path) if is_topic else GetChildren(path)
        if is_topic and answer.error is not ZkError.OK:
            return  # a topic was deleted, which 0.8 does not take note of
        self._is_triggered = True
        self._add_job(self._watcher, self._rebalance_if_triggered)

    def _rebalance_if_triggered(self) -> Steps[None]:
        if self._is_triggered and not self._state.is_shutting_down:
            self._is_triggered = False
            yield from synced_rebalance(self._state)

    # How they are run

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

    def _add_job(self, thread: _Thread, job: Callable[[], Steps[None]]) -> None:
        thread.jobs.append(job)
        if thread.steps is None:
            self._next_job(thread)

    def _next_job(self, thread: _Thread) -> None:
        while thread.steps is None and thread.jobs:
            thread.steps = thread.jobs.popleft()()
            self._run(thread, None)

    def _run(self, thread: _Thread, answer: Answer | None) -> None:
        """On to where the thread has to wait, or to the end of its job."""
        steps = thread.steps
        if steps is None or self._is_gone:
            return
        try:
            wait = next(steps) if answer is None else steps.send(answer)
            while not self._waits(thread, wait):
                wait = steps.send(_GO_ON)
        except StopIteration:
            thread.steps = None
            self._next_job(thread)

    def _waits(self, thread: _Thread, wait: Wait) -> bool:
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
        self._waiting_for[self._client.ask(wait, self._now_ms)] = thread
        return True

    def _unlock(self) -> None:
        self._lock_holder = self._lock_queue.popleft() if self._lock_queue else None
        if self._lock_holder is not None:
            self._run(self._lock_holder, _GO_ON)
