"""The simulated cluster as its parts (faults, idle time, message delivery) see it."""

from __future__ import annotations

from typing import Protocol

from coordinator_core.simulation.broker import SimulatedBroker
from coordinator_core.simulation.event_queue import Callback, EventQueue, Phase
from coordinator_core.simulation.offsets_partition import OffsetsPartition
from coordinator_core.simulation.simulated_group import SimulatedGroup
from coordinator_core.simulation.spec import Fleet, Topic
from coordinator_core.simulation.tracing import TraceRecorder


class ClusterView(Protocol):
    """``selected`` has simulated partitions of `__consumer_offsets`. ``tracing`` None: no trace."""

    fleet: Fleet
    start_ms: int
    end_ms: int
    event_queue: EventQueue
    topics: dict[str, Topic]
    topic_ids: dict[str, str]
    partitions: list[OffsetsPartition]
    selected: frozenset[int]
    brokers: dict[int, SimulatedBroker]
    groups: dict[str, SimulatedGroup]
    tracing: TraceRecorder | None

    def schedule(
        self, group_id: str, at_ms: int, phase: Phase, actor: int, callback: Callback
    ) -> None: ...
