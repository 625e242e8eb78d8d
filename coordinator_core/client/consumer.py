"""A consumer without a network, a clock or an application: calls and answers in, effects out.

    consumer = Consumer(ConsumerConfig(group_id="g", client_id="c"), LIBRARIES["java-3.9"])
    effects = consumer.subscribe(["orders"], now_ms)
    effects = consumer.poll(now_ms)

Perform effects in order.  Before an answer or a call of some moment, let the timers due before it
fire: ``advance``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from coordinator_core.assignors import CLIENT_ASSIGNORS, Assignor
from coordinator_core.client.config import ClientLibrary, ConsumerConfig
from coordinator_core.client.java.consumer import JavaConsumer
from coordinator_core.client.librdkafka.consumer import LibrdkafkaConsumer
from coordinator_core.client.messages import ClientEffect, ClientResponse, MemberState
from coordinator_core.client.metrics import Metrics
from coordinator_core.client.shell import InFlight, Shell
from coordinator_core.protocol.messages import TopicPartition


class Rules(Protocol):
    """A kind of library: what it does at every call, and ``settle`` at a timer."""

    own_timers: frozenset[str]  # of heartbeats that change nothing

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
    def skip_heartbeats(self, to_ms: int) -> int | None: ...


def no_jitter() -> float:
    return 0.0


class Consumer:
    """``jitter`` gives a number from -1 to 1; ``assignors`` are those of the leader, by name."""

    __slots__ = ("_rules", "_shell")

    def __init__(
        self,
        config: ConsumerConfig,
        library: ClientLibrary,
        jitter: Callable[[], float] = no_jitter,
        assignors: Mapping[str, Assignor] = CLIENT_ASSIGNORS,
    ) -> None:
        self._shell = Shell(config, library, jitter, assignors)
        make = LibrdkafkaConsumer if library.is_librdkafka else JavaConsumer
        self._rules: Rules = make(self._shell)

    # What the application does.

    def subscribe(
        self, topics: Iterable[str], now_ms: int, *, is_pattern: bool = False
    ) -> list[ClientEffect]:
        """Instead of the topics subscribed so far.

        ``is_pattern``: they are what a pattern matches; who knows it looks at topics before a join.
        """
        effects = self._begin(now_ms)
        self._shell.has_pattern = is_pattern
        self._shell.topics = tuple(sorted(set(topics)))
        self._rules.subscribe()
        return effects

    def unsubscribe(self, now_ms: int) -> list[ClientEffect]:
        effects = self._begin(now_ms)
        self._rules.unsubscribe()
        return effects

    def poll(self, now_ms: int) -> list[ClientEffect]:
        """The application polls again and again from now on, until ``process`` or ``close``."""
        effects = self._begin(now_ms)
        self._rules.poll()
        return effects

    def process(self, now_ms: int) -> list[ClientEffect]:
        """The application works on what it was given, and does not poll."""
        effects = self._begin(now_ms)
        self._rules.process()
        return effects

    def listened(self, now_ms: int) -> list[ClientEffect]:
        """The listener call that is open has returned.  ValueError if none is."""
        effects = self._begin(now_ms)
        self._shell.listener_returned()
        self._rules.listened()
        return effects

    def consumed(self, positions: Mapping[TopicPartition, int]) -> None:
        """Next offsets to read; of partitions that are owned and have a position."""
        known = self._shell.positions
        known.update({p: at for p, at in positions.items() if p in known})

    def commit(self, now_ms: int) -> list[ClientEffect]:
        """Commit the positions, once; an error comes as Raised."""
        effects = self._begin(now_ms)
        self._rules.commit()
        return effects

    def close(self, now_ms: int) -> list[ClientEffect]:
        """Ends with ``Closed``, maybe later.  Listener calls still come."""
        effects = self._begin(now_ms)
        self._rules.close()
        return effects

    # What the network does.

    def received(
        self, request_id: str, response: ClientResponse, now_ms: int
    ) -> list[ClientEffect]:
        """An answer; one that nobody waits for any more is ignored."""
        effects = self._begin(now_ms)
        sent = self._shell.in_flight.pop(request_id, None)
        if sent is not None:
            self._rules.answered(sent, response)
        return effects

    def disconnected(self, node: int, now_ms: int) -> list[ClientEffect]:
        """The connection to the node is lost, or could not be made."""
        effects = self._begin(now_ms)
        for sent in self._shell.take_in_flight_of(node):
            self._rules.answered(sent, None)
        self._rules.disconnected(node)
        return effects

    def lost(self, request_id: str, now_ms: int) -> list[ClientEffect]:
        """The same for one request."""
        effects = self._begin(now_ms)
        sent = self._shell.in_flight.pop(request_id, None)
        if sent is not None:
            self._rules.answered(sent, None)
        return effects

    # Time.

    def advance(self, now_ms: int) -> list[ClientEffect]:
        """Fire all timers due by ``now_ms``, each at its own deadline."""
        effects: list[ClientEffect] = []
        while (due_ms := self._shell.next_deadline_ms()) is not None and due_ms <= now_ms:
            fired = self._begin(max(due_ms, self._shell.now_ms))
            self._fire()
            effects += fired
        self._begin(now_ms)
        return effects

    def next_deadline_ms(self) -> int | None:
        return self._shell.next_deadline_ms()

    def _fire(self) -> None:
        shell = self._shell
        timed_out = [each for each in shell.in_flight.values() if each.deadline_ms <= shell.now_ms]
        for sent in timed_out:
            if shell.in_flight.pop(sent.request.request_id, None) is None:
                continue
            if sent.node is not None:
                shell.disconnect(sent.node)
                for other in shell.take_in_flight_of(sent.node):
                    self._rules.answered(other, None)
            self._rules.answered(sent, None)
        self._rules.settle()

    # What it tells of itself.

    @property
    def state(self) -> MemberState:
        return self._shell.state

    @property
    def member_id(self) -> str:
        return self._shell.generation.member_id

    @property
    def generation(self) -> int:
        return self._shell.generation.generation

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        return self._shell.owned

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        return self._shell.positions

    @property
    def coordinator(self) -> int | None:
        return self._shell.coordinator

    @property
    def is_closed(self) -> bool:
        return self._shell.is_closed

    @property
    def metrics(self) -> Metrics:
        return self._shell.metrics

    # Idle hours.

    @property
    def is_idle(self) -> bool:
        """It would send nothing but heartbeats until ``next_other_deadline_ms``."""
        return self._rules.is_idle

    def next_other_deadline_ms(self) -> int | None:
        """The earliest timer that is not a heartbeat's or the session's."""
        others = [
            at for name, at in self._shell.timers.items() if name not in self._rules.own_timers
        ]
        return min(others, default=None)

    def skip_heartbeats(self, to_ms: int) -> int | None:
        """As if each heartbeat due before ``to_ms`` was sent when due and answered at once.

        Only while ``is_idle``.  The moment of the last one; None if none was due.
        """
        return self._rules.skip_heartbeats(to_ms)

    def _begin(self, now_ms: int) -> list[ClientEffect]:
        return self._shell.begin(now_ms)
