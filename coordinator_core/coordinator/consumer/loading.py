"""How the records of a consumer group change it."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.consumer.group import ConsumerGroup
from coordinator_core.coordinator.era import Fields, Replay
from coordinator_core.coordinator.turn import Turn


def replay_group(turn: Turn, key: Fields, value: Fields | None) -> None:
    """ConsumerGroupMetadata: the group's epoch and the hash of its topics."""


def start_timers(turn: Turn, group: ConsumerGroup) -> None:
    """Start the timers of a loaded group."""


REPLAYS: Mapping[str, Replay] = {"ConsumerGroupMetadata": replay_group}
