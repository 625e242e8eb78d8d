"""The handlers of consumer, share and streams groups together."""

from __future__ import annotations

from functools import lru_cache

from coordinator_core.coordinator.consumer import requests as consumer
from coordinator_core.coordinator.group_handlers import HandlersByType
from coordinator_core.coordinator.modern.offsets import (
    replay_classic_tombstone,
    replay_offset_tombstone,
)
from coordinator_core.coordinator.share import requests as share
from coordinator_core.coordinator.streams import requests as streams
from coordinator_core.coordinator.turn import Turn

_HANDLERS = (consumer.HANDLERS, share.HANDLERS, streams.HANDLERS)


@lru_cache
def handlers_of(group_types: tuple[str, ...]) -> HandlersByType[Turn]:
    """The handlers of group types, by their names."""
    return HandlersByType(
        [each for each in _HANDLERS if each.group_type.name in group_types],
        shared_replays={
            "OffsetCommit": replay_offset_tombstone,
            "GroupMetadata": replay_classic_tombstone,
        },
    )
