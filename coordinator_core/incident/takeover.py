"""An engine that already has the group: a consumer group that became classic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.protocol.messages import Event, Record


@dataclass(frozen=True)
class Takeover:
    """``record`` is the group record that the conversion wrote; ``events`` are the lines that the
    conversion logged about the classic group.
    """

    coordinator: Coordinator
    at_ms: int
    record: Record
    events: Sequence[tuple[int, Event]]
