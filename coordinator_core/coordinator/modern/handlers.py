"""The handlers of consumer, share and streams groups together."""

from __future__ import annotations

from coordinator_core.coordinator.consumer import requests as consumer
from coordinator_core.coordinator.group_handlers import HandlersByType
from coordinator_core.coordinator.modern.offsets import (
    replay_classic_tombstone,
    replay_offset_tombstone,
)
from coordinator_core.coordinator.share import requests as share
from coordinator_core.coordinator.streams import requests as streams
from coordinator_core.coordinator.turn import Turn

HANDLERS: HandlersByType[Turn] = HandlersByType(
    (consumer.HANDLERS, share.HANDLERS, streams.HANDLERS),
    shared_replays={
        "OffsetCommit": replay_offset_tombstone,
        "GroupMetadata": replay_classic_tombstone,
    },
)
