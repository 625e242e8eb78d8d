"""The types of groups, registered by name."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.coordinator.streams.group_type import STREAMS

GROUP_TYPES: Mapping[str, GroupType] = {
    each.name: each for each in (CLASSIC, CONSUMER, SHARE, STREAMS)
}
CONVERTING = tuple(name for name, each in GROUP_TYPES.items() if each.converts)
MODERN_TYPES = tuple(each for each in GROUP_TYPES.values() if each.has_epochs)
