"""How records of consumer, share and streams groups change them, and what starts after loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.consumer.loading import REPLAYS as CONSUMER_REPLAYS
from coordinator_core.coordinator.consumer.records import tombstones as consumer_tombstones
from coordinator_core.coordinator.consumer.timers import start_timers as start_consumer_timers
from coordinator_core.coordinator.era import Replay
from coordinator_core.coordinator.modern.offsets import (
    replay_classic_tombstone,
    replay_offset_tombstone,
)
from coordinator_core.coordinator.modern.records import GroupRecord
from coordinator_core.coordinator.share.loading import REPLAYS as SHARE_REPLAYS
from coordinator_core.coordinator.share.loading import start_timers as start_share_timers
from coordinator_core.coordinator.share.records import tombstones as share_tombstones
from coordinator_core.coordinator.streams.loading import REPLAYS as STREAMS_REPLAYS
from coordinator_core.coordinator.streams.loading import start_timers as start_streams_timers
from coordinator_core.coordinator.streams.records import tombstones as streams_tombstones
from coordinator_core.coordinator.turn import Turn

# By the name of the record's type, as in coordinator_core.records.
REPLAYS: Mapping[str, Replay[Turn]] = {
    "OffsetCommit": replay_offset_tombstone,
    "GroupMetadata": replay_classic_tombstone,
    **CONSUMER_REPLAYS,
    **SHARE_REPLAYS,
    **STREAMS_REPLAYS,
}

# By group type: what starts the timers of a loaded group, and the tombstones of all records of an
# empty group.
START_TIMERS: Mapping[str, Callable[[Turn, Any], None]] = {
    "consumer": start_consumer_timers,
    "share": start_share_timers,
    "streams": start_streams_timers,
}
TOMBSTONES: Mapping[str, Callable[[Any], list[GroupRecord]]] = {
    "consumer": consumer_tombstones,
    "share": share_tombstones,
    "streams": streams_tombstones,
}
