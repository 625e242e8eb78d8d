"""A test harness: one coordinator and consumers on a virtual clock, with fixed delays.

The broker handles one request of a connection at a time, as Kafka's brokers do: requests behind a
waiting JoinGroup are read after its response.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count

from coordinator_core.client import (
    Closed,
    Disconnect,
    FindCoordinator,
    FindCoordinatorResponse,
    ListenerCall,
    Metadata,
    MetadataResponse,
    Send,
)
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Event, Respond

NODE = 1
LOST = "lost"  # The connection breaks before a response.
NEVER = "never"  # There is neither a response nor a broken connection.


class BrokerConnection:
    def __init__(self):
        self.waiting = deque()
        self.busy = None


class ClientHarness:
    """``log``: (ms, name, effect) of every effect but Send; ``requests``: (ms, name, request)."""

    def __init__(self, era="4.1", topics=None, delay_ms=1, member_ids=None, **config):
        self.member_ids = member_ids or self._numbered_ids()
        self.coordinator = Coordinator(CoordinatorConfig(**config), ERAS[era], self.member_ids)
        self.topics = dict(topics or {"orders": 4})
        self.delay_ms = delay_ms
        self.now_ms = 0
        self.consumers = {}
        self.connections = {}
        self.owners = {}  # request id -> name of the client
        self.heap = []
        self.order = count()
        self.log = []
        self.requests = []
        self.responses = []
        self.events = []
        self.listener_ms = {}
        self.intercept = None  # (name, request) -> response that replaces the coordinator's

    @staticmethod
    def _numbered_ids():
        numbers = count(1)
        return lambda group_id, prefix: f"{prefix}-{next(numbers)}"

    def add(self, consumer, name, topics=("orders",), polls=True, is_pattern=False):
        self.consumers[name] = consumer
        self.connections[name] = BrokerConnection()
        self.do(name, consumer.subscribe(topics, self.now_ms, is_pattern=is_pattern))
        if polls:
            self.do(name, consumer.poll(self.now_ms))
        return consumer

    def crash(self, name):
        """End a process; requests that the broker has not read yet are lost."""
        del self.consumers[name]
        self.connections[name].waiting.clear()

    def call(self, name, method, *args):
        """A call of the application, like ``close``."""
        if name in self.consumers:
            self.do(name, getattr(self.consumers[name], method)(*args, self.now_ms))

    def at(self, ms, action, *args):
        heapq.heappush(self.heap, (ms, next(self.order), action, args))

    def run(self, to_ms):
        while (next_ms := self._next_ms()) is not None and next_ms <= to_ms:
            self.now_ms = max(self.now_ms, next_ms)
            if self.heap and self.heap[0][0] <= self.now_ms:
                _, _, action, args = heapq.heappop(self.heap)
                action(*args)
                continue
            self.broker(self.coordinator.advance(self.now_ms))
            for name in list(self.consumers):
                if name in self.consumers:
                    self.do(name, self.consumers[name].advance(self.now_ms))
        self.now_ms = max(self.now_ms, to_ms)

    def _next_ms(self):
        moments = [self.heap[0][0]] if self.heap else []
        moments += [self.coordinator.next_deadline_ms()]
        moments += [consumer.next_deadline_ms() for consumer in self.consumers.values()]
        return min((ms for ms in moments if ms is not None), default=None)

    def later(self, action, *args):
        self.at(self.now_ms + self.delay_ms, action, *args)

    def do(self, name, effects):
        for effect in effects:
            if isinstance(effect, Send):
                self.requests.append((self.now_ms, name, effect.request))
                self.owners[effect.request.request_id] = name
                self.later(self._arrive, name, effect)
                continue
            self.log.append((self.now_ms, name, effect))
            if isinstance(effect, ListenerCall):
                self.at(self.now_ms + self.listener_ms.get(name, 0), self.call, name, "listened")
            elif isinstance(effect, Disconnect):
                self.connections[name].waiting.clear()
                self.connections[name] = BrokerConnection()
            elif isinstance(effect, Closed):
                del self.consumers[name]

    def _arrive(self, name, send):
        request = send.request
        if self.intercept and (answer := self.intercept(name, request)) is not None:
            if answer is not NEVER:
                self.later(self._answer, name, request.request_id, answer)
        elif isinstance(request, FindCoordinator):
            response = FindCoordinatorResponse(Errors.NONE, NODE)
            self.later(self._answer, name, request.request_id, response)
        elif isinstance(request, Metadata):
            counts = {topic: self.topics[topic] for topic in request.topics if topic in self.topics}
            self.later(self._answer, name, request.request_id, MetadataResponse(counts))
        else:
            connection = self.connections[name]
            connection.waiting.append(request)
            self._work(connection)

    def _work(self, connection):
        while connection.busy is None and connection.waiting:
            request = connection.waiting.popleft()
            connection.busy = request.request_id
            self.broker(self.coordinator.handle(request, self.now_ms))

    def broker(self, effects):
        for effect in effects:
            if isinstance(effect, Append):
                self.broker(self.coordinator.appended(effect, Errors.NONE, self.now_ms))
            elif isinstance(effect, Event):
                self.events.append((self.now_ms, effect))
            elif isinstance(effect, Respond):
                name = self.owners.pop(effect.request_id)
                self.responses.append((self.now_ms, name, effect.response))
                self.later(self._answer, name, effect.request_id, effect.response)
                connection = self.connections[name]
                if connection.busy == effect.request_id:
                    self.later(self._read_on, connection)

    def _read_on(self, connection):
        connection.busy = None
        self._work(connection)

    def _answer(self, name, request_id, response):
        if name not in self.consumers:
            return
        if response is LOST:
            self.do(name, self.consumers[name].lost(request_id, self.now_ms))
        else:
            self.do(name, self.consumers[name].received(request_id, response, self.now_ms))

    def calls(self, name):
        """The listener's calls: (kind, partitions)."""
        return [tuple(e) for _, n, e in self.log if n == name and isinstance(e, ListenerCall)]

    def of(self, name, kind):
        """Effects, or requests, of a kind."""
        sent = [r for _, n, r in self.requests if n == name and isinstance(r, kind)]
        return sent + [e for _, n, e in self.log if n == name and isinstance(e, kind)]

    def request_names(self, name):
        """The kinds of its requests, in order."""
        return [type(r).__name__ for _, n, r in self.requests if n == name]

    def consume(self, name, offset=7):
        """Every partition that has a position is read up to ``offset``."""
        consumer = self.consumers[name]
        consumer.consumed(dict.fromkeys(consumer.positions, offset))


def once(kind, answer, after=0):
    """An ``intercept`` that answers one request of this type; ``after``: how many precede it."""
    seen = count()

    def intercept(name, request):
        if isinstance(request, kind) and next(seen) == after:
            return answer(request) if callable(answer) else answer
        return None

    return intercept
