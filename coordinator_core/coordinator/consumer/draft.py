"""A request to a consumer group while it is handled: the records to write."""

from __future__ import annotations

from coordinator_core.coordinator.consumer.group import ConsumerGroup
from coordinator_core.coordinator.era import ModernRules
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.turn import Turn


class Draft:
    """The records that a request will write, and the values that it computes on its way.

    ``group`` is the group before the request's records, maybe not registered yet.  ``are_equal``
    None: as of the group.
    """

    __slots__ = ("are_equal", "epoch", "group", "group_id", "records", "rules", "turn")

    def __init__(self, turn: Turn, group: ConsumerGroup, records: list[ModernRecord]) -> None:
        assert turn.era.modern is not None
        self.turn = turn
        self.rules: ModernRules = turn.era.modern
        self.group = group
        self.group_id = group.group_id
        self.records = records
        self.epoch = group.epoch
        self.are_equal: bool | None = None  # whether all members subscribe to the same topics
