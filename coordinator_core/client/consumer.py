"""A consumer without network, clock or application: calls and responses in, effects out.

    consumer = Consumer(ConsumerConfig(group_id="g", client_id="c"), LIBRARIES["java-3.9"])
    effects = consumer.subscribe(["orders"], now_ms)
    effects = consumer.poll(now_ms)

Perform the effects in order.  Before a call or a response with a given time, call ``advance`` to
fire the timers that are due earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from coordinator_core.assignors import LIBRDKAFKA_ASSIGNORS, SIMULATED_ASSIGNORS, Assignor
from coordinator_core.client.config import ConsumerConfig
from coordinator_core.client.context import ClientContext, InFlight
from coordinator_core.client.java.consumer import JavaConsumer
from coordinator_core.client.libraries import ClientLibrary
from coordinator_core.client.librdkafka.consumer import LibrdkafkaConsumer
from coordinator_core.client.messages import ClientEffect, ClientResponse, MemberState
from coordinator_core.client.metrics import Metrics
from coordinator_core.client.modern.java_consumer import JavaModernConsumer
from coordinator_core.client.modern.librdkafka_consumer import LibrdkafkaModernConsumer
from coordinator_core.protocol.messages import TopicPartition


class ClientRules(Protocol):
    """The behavior of a client library: one method per call, and ``settle`` for the firing of a
    timer.

    ``own_timers`` are names of the timers of heartbeats and of the session; ``commit_timers`` are
    names of the timers of automatic commits.
    """

    own_timers: frozenset[str]
    commit_timers: frozenset[str]

    @property
    def is_idle(self) -> bool: ...
    def subscribe(self) -> None: ...
    def unsubscribe(self) -> None: ...
    def poll(self) -> None: ...
    def process(self) -> None: ...
    def listened(self) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...
    def answered(self, sent: InFlight, response: ClientResponse | None) -> None: ...
    def disconnected(self, node: int) -> None: ...
    def settle(self) -> None: ...
    def thawed(self) -> None: ...
    def skip_heartbeats(self, to_ms: int) -> int | None: ...
    def heartbeat_interval_ms(self) -> int: ...


def no_jitter() -> float:
    return 0.0


# Keys: whether the library is librdkafka, and whether the group is a consumer, share or streams
# group.
_RULES: Mapping[tuple[bool, bool], Callable[[ClientContext], ClientRules]] = {
    (False, False): JavaConsumer,
    (True, False): LibrdkafkaConsumer,
    (False, True): JavaModernConsumer,
    (True, True): LibrdkafkaModernConsumer,
}


class Consumer:
    """``jitter`` returns a number from -1 to 1.  ``assignors`` has the assignors of a leader by
    name; None means the library's own assignors.
    """

    __slots__ = ("_context", "_rules")

    def __init__(
        self,
        config: ConsumerConfig,
        library: ClientLibrary,
        jitter: Callable[[], float] = no_jitter,
        assignors: Mapping[str, Assignor] | None = None,
    ) -> None:
        if assignors is None:
            assignors = LIBRDKAFKA_ASSIGNORS if library.is_librdkafka else SIMULATED_ASSIGNORS
        self._context = ClientContext(config, library, jitter, assignors)
        make = _RULES[library.is_librdkafka, self._context.is_modern]
        self._rules: ClientRules = make(self._context)

    # Calls of the application.

    def subscribe(
        self, topics: Iterable[str], now_ms: int, *, is_pattern: bool = False
    ) -> list[ClientEffect]:
        """Replace the subscription.

        ``is_pattern`` means that the topics are those that match a pattern; the consumer requests
        metadata before each join.
        """
        effects = self._begin(now_ms)
        self._context.has_pattern = is_pattern
        self._context.topics = tuple(sorted(set(topics)))
        self._rules.subscribe()
        return effects

    def unsubscribe(self, now_ms: int) -> list[ClientEffect]:
        effects = self._begin(now_ms)
        self._rules.unsubscribe()
        return effects

    def poll(self, now_ms: int) -> list[ClientEffect]:
        """The application polls continuously from now on, until ``process`` or ``close``."""
        effects = self._begin(now_ms)
        self._rules.poll()
        return effects

    def process(self, now_ms: int) -> list[ClientEffect]:
        """The application processes records and does not poll from now on."""
        effects = self._begin(now_ms)
        self._rules.process()
        return effects

    def listened(self, now_ms: int) -> list[ClientEffect]:
        """The current listener call has returned.  Raises ValueError without a current call."""
        effects = self._begin(now_ms)
        self._context.listener_returned()
        self._rules.listened()
        return effects

    def consumed(self, positions: Mapping[TopicPartition, int]) -> None:
        """Set the next offsets to read; partitions without a position are ignored."""
        current = self._context.positions
        current.update({p: offset for p, offset in positions.items() if p in current})

    def commit(self, now_ms: int) -> list[ClientEffect]:
        """Commit the positions once; a failure is reported with Raised."""
        effects = self._begin(now_ms)
        self._rules.commit()
        return effects

    def close(self, now_ms: int) -> list[ClientEffect]:
        """Close the consumer.

        Listener calls may follow; ``Closed`` is the last effect of a close.
        """
        effects = self._begin(now_ms)
        self._rules.close()
        return effects

    # Events of the network.

    def received(
        self, request_id: str, response: ClientResponse, now_ms: int
    ) -> list[ClientEffect]:
        """A response arrived.  Responses to requests that are no longer in flight are ignored."""
        effects = self._begin(now_ms)
        sent = self._context.in_flight.pop(request_id, None)
        if sent is not None:
            self._rules.answered(sent, response)
        return effects

    def disconnected(self, node: int, now_ms: int) -> list[ClientEffect]:
        """The connection to the node was lost or could not be opened."""
        effects = self._begin(now_ms)
        for sent in self._context.take_in_flight_of(node):
            self._rules.answered(sent, None)
        self._rules.disconnected(node)
        return effects

    def lost(self, request_id: str, now_ms: int) -> list[ClientEffect]:
        """One request got no response."""
        effects = self._begin(now_ms)
        sent = self._context.in_flight.pop(request_id, None)
        if sent is not None:
            self._rules.answered(sent, None)
        return effects

    # Time.

    def advance(self, now_ms: int) -> list[ClientEffect]:
        """Fire all timers due by ``now_ms``, each timer at its own deadline."""
        effects: list[ClientEffect] = []
        while (due_ms := self._context.next_deadline_ms()) is not None and due_ms <= now_ms:
            fired = self._begin(max(due_ms, self._context.now_ms))
            self._fire()
            effects += fired
        self._begin(now_ms)
        return effects

    def thawed(self, now_ms: int) -> list[ClientEffect]:
        """The process was frozen until now, so timers that were due in the meantime fire once,
        now.
        """
        effects = self._begin(now_ms)
        self._rules.thawed()
        self._fire()
        return effects

    def next_deadline_ms(self) -> int | None:
        return self._context.next_deadline_ms()

    def _fire(self) -> None:
        context = self._context
        timed_out = [
            each for each in context.in_flight.values() if each.deadline_ms <= context.now_ms
        ]
        for sent in timed_out:
            if context.in_flight.pop(sent.request.request_id, None) is None:
                continue
            if sent.node is not None:
                context.disconnect(sent.node)
                for other in context.take_in_flight_of(sent.node):
                    self._rules.answered(other, None)
            self._rules.answered(sent, None)
        self._rules.settle()

    # State.

    @property
    def state(self) -> MemberState:
        return self._context.state

    @property
    def member_id(self) -> str:
        return self._context.generation.member_id

    @property
    def generation(self) -> int:
        return self._context.generation.generation

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        return self._context.owned

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        return self._context.positions

    @property
    def coordinator(self) -> int | None:
        return self._context.coordinator

    @property
    def is_closed(self) -> bool:
        return self._context.is_closed

    @property
    def metrics(self) -> Metrics:
        return self._context.metrics

    # Skipping idle time.

    @property
    def is_idle(self) -> bool:
        """Returns whether the consumer sends nothing but heartbeats, and automatic commits if they
        are skipped, until ``next_other_deadline_ms``.
        """
        return self._rules.is_idle

    def next_other_deadline_ms(self, *, skips_commits: bool = False) -> int | None:
        """The earliest timer except those of heartbeats and session, or None without one.

        ``skips_commits`` also excludes the timers of automatic commits.
        """
        rules = self._rules
        own = rules.own_timers | rules.commit_timers if skips_commits else rules.own_timers
        others = [at for name, at in self._context.timers.items() if name not in own]
        return min(others, default=None)

    @property
    def heartbeat_interval_ms(self) -> int:
        """The heartbeat interval in use: configured, or set by the broker."""
        return self._rules.heartbeat_interval_ms()

    def skip_heartbeats(self, to_ms: int) -> int | None:
        """Treat each heartbeat and each automatic commit due before ``to_ms`` as sent when due and
        answered at once.

        Call this function only while ``is_idle``.  Returns the time of the last heartbeat, or None
        without a heartbeat.
        """
        return self._rules.skip_heartbeats(to_ms)

    def _begin(self, now_ms: int) -> list[ClientEffect]:
        return self._context.begin(now_ms)
