"""State common to all client libraries: time, requests in flight, timers, effects, member state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from coordinator_core.assignors import Assignor
from coordinator_core.client.config import ConsumerConfig
from coordinator_core.client.libraries import ClientLibrary
from coordinator_core.client.messages import (
    ClientEffect,
    ClientRequest,
    Disconnect,
    ListenerCall,
    Measured,
    MemberState,
    MemberStateChanged,
    Raised,
    Send,
)
from coordinator_core.client.metrics import Metrics
from coordinator_core.protocol.errors import CoordinatorBug, Errors
from coordinator_core.protocol.messages import TopicPartition


def first_due_ms(due_ms: int, interval_ms: int, from_ms: int) -> int:
    """The first time not before ``from_ms`` of a timer due at ``due_ms`` and every interval."""
    return due_ms + max(-(-(from_ms - due_ms) // interval_ms), 0) * interval_ms


class MemberGeneration(NamedTuple):
    """A member's generation, member id and protocol; -1, "" and None before a join, as in Kafka."""

    generation: int = -1
    member_id: str = ""
    protocol: str | None = None


_NONE = (None, -1)


class InFlight(NamedTuple):
    """A request without a response yet.

    ``node`` is None for any broker.  ``sent_as`` has the member's generation when the request was
    sent.  ``attachment`` is data that only the sender uses.
    """

    request: ClientRequest
    node: int | None
    sent_ms: int
    deadline_ms: int
    sent_as: MemberGeneration
    attachment: Any


class ClientContext:
    """One consumer's state, independent of the client library."""

    def __init__(
        self,
        config: ConsumerConfig,
        library: ClientLibrary,
        jitter: Callable[[], float],
        assignors: Mapping[str, Assignor],
    ) -> None:
        self.config = config
        self.library = library
        self.jitter = jitter
        self.assignors = assignors
        self.name = config.name or config.client_id
        self.protocols = library.assignors if config.assignors is None else config.assignors
        configured_ms = config.session_timeout_ms
        self.session_timeout_ms = (
            library.session_timeout_ms if configured_ms is None else configured_ms
        )

        self.now_ms = 0
        self.effects: list[ClientEffect] = []
        self.in_flight: dict[str, InFlight] = {}
        self.timers: dict[str, int] = {}
        self.requests = 0

        self.state = MemberState.UNJOINED
        self.generation = MemberGeneration()
        self.is_modern = config.group_protocol != "classic"
        if self.is_modern:
            self.generation = MemberGeneration(0, config.member_id)
        self.coordinator: int | None = None
        self.topics: tuple[str, ...] = ()
        self.has_pattern = False  # whether the topics are matches of a pattern
        self.partitions: dict[str, int] = {}  # partition counts by topic
        self.topic_names: dict[str, str] = {}  # by topic id
        self.owned: tuple[TopicPartition, ...] = ()
        self.positions: dict[TopicPartition, int] = {}
        self.unfetched: set[TopicPartition] = set()  # owned partitions without a position
        # the listener call in progress, with its start time
        self.listener_call: tuple[ListenerCall, int] | None = None
        self.is_closed = False
        self.metrics = Metrics()

    def begin(self, now_ms: int) -> list[ClientEffect]:
        if now_ms < self.now_ms:
            raise CoordinatorBug(f"time runs backwards: {self.now_ms} -> {now_ms}")
        self.now_ms = now_ms
        self.effects = []
        return self.effects

    # Requests.

    def next_id(self) -> str:
        self.requests += 1
        return f"{self.name}:{self.requests}"

    def send(
        self, request: ClientRequest, node: int | None, timeout_ms: int, attachment: Any = None
    ) -> None:
        """The id of ``request`` comes from ``next_id``."""
        deadline_ms = self.now_ms + timeout_ms
        self.in_flight[request.request_id] = InFlight(
            request, node, self.now_ms, deadline_ms, self.generation, attachment
        )
        self.effects.append(Send(request, node))

    @property
    def commit_version(self) -> int:
        """The version of OffsetCommit; 9 is the first version with member epochs (KIP-848)."""
        return 9 if self.is_modern else self.library.commit_version

    @property
    def fetches_as(self) -> tuple[str | None, int]:
        """The member id and epoch of OffsetFetch; no member in the classic protocol."""
        return (self.generation.member_id, self.generation.generation) if self.is_modern else _NONE

    def waits_for(self, kind: type[ClientRequest]) -> bool:
        return any(type(each.request) is kind for each in self.in_flight.values())

    def take_in_flight_of(self, node: int) -> list[InFlight]:
        """Remove and return the requests in flight to the node, in the order they were sent."""
        keys = [key for key, each in self.in_flight.items() if each.node == node]
        return [self.in_flight.pop(key) for key in keys]

    def has_lost_coordinator(self, sent: InFlight, response: object) -> bool:
        """Returns whether the request went to the coordinator and got no response."""
        return response is None and sent.node is not None and sent.node == self.coordinator

    def disconnect(self, node: int) -> None:
        self.effects.append(Disconnect(node))

    # Timers.

    def next_deadline_ms(self) -> int | None:
        deadlines = [*self.timers.values()]
        if self.in_flight:
            deadlines += [each.deadline_ms for each in self.in_flight.values()]
        return min(deadlines, default=None)

    def set_timer(self, name: str, deadline_ms: int | None) -> None:
        if deadline_ms is None:
            self.timers.pop(name, None)
        else:
            self.timers[name] = deadline_ms

    # Member state, measurements, listener calls.

    def move(self, state: MemberState, reason: str | None = None) -> None:
        self.state = state
        self.report_state(reason)

    def report_state(self, reason: str | None = None) -> None:
        generation, member_id, _ = self.generation
        self.effects.append(MemberStateChanged(self.state, generation, member_id, reason))

    def measure(self, step: str, start_ms: int, detail: str = "") -> None:
        self.effects.append(
            Measured(step, start_ms, self.now_ms, self.generation.generation, detail)
        )

    def raise_(self, error: Errors | None, text: str, is_fatal: bool = False) -> None:
        self.effects.append(Raised(error, text, is_fatal))

    def call_listener(self, kind: str, partitions: Iterable[TopicPartition]) -> None:
        call = ListenerCall(kind, tuple(sorted(partitions)))
        self.listener_call = call, self.now_ms
        self.metrics.rebalance_cnt += 1
        self.effects.append(call)

    def listener_returned(self) -> None:
        if self.listener_call is None:
            raise ValueError("no listener call is in progress")
        (kind, partitions), start_ms = self.listener_call
        self.listener_call = None
        calls, ms = self.metrics.listener_calls, self.metrics.listener_ms
        calls[kind] = calls.get(kind, 0) + 1
        ms[kind] = ms.get(kind, 0) + self.now_ms - start_ms
        self.measure("listener", start_ms, f"{kind} {len(partitions)}")

    def own(self, partitions: Iterable[TopicPartition]) -> None:
        """Set the owned partitions; partitions that were not owned before have no position yet."""
        self.owned = tuple(sorted(partitions))
        owned = set(self.owned)
        self.positions = {p: at for p, at in self.positions.items() if p in owned}
        self.unfetched = owned - self.positions.keys()

    def rebalanced(self, start_ms: int) -> None:
        """SyncGroup succeeded; ``start_ms`` is the time of the first JoinGroup since the last
        successful rebalance.
        """
        self.metrics.rebalances += 1
        self.metrics.rebalance_latencies_ms.append(self.now_ms - start_ms)
        self.measure("rebalance", start_ms)
