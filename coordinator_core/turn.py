"""What a handler works with: era, time, groups, what is delayed, and the effects so far.

One ``Turn`` serves a coordinator for life; ``begin`` opens the next request or timer on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.era import Config, Era
from coordinator_core.errors import Errors
from coordinator_core.group import Group
from coordinator_core.hash_order import TimelineKeys
from coordinator_core.java import partition_for
from coordinator_core.messages import (
    Append,
    Effect,
    Event,
    Record,
    Respond,
    Response,
)
from coordinator_core.offsets import OffsetStore
from coordinator_core.purgatory import Purgatory
from coordinator_core.states import GroupState, Input
from coordinator_core.timing_wheel import TimingWheel

MemberIds = Callable[[str, str], str]  # (group id, client or instance id) -> a new member id
Appended = Callable[[Errors], None]


class Turn:
    __slots__ = (
        "appends",
        "config",
        "effects",
        "era",
        "grid",
        "group_order",
        "groups",
        "in_flight",
        "joins",
        "member_ids",
        "now_ms",
        "offsets_retention_ms",
        "offsets_without_groups",
        "own_append",
        "sessions",
        "syncs",
        "unwritten",
        "wheel",
    )

    def __init__(self, config: Config, era: Era, member_ids: MemberIds) -> None:
        self.config = config
        self.era = era
        self.grid = era.grid
        retention_ms = config.offsets_retention_ms
        self.offsets_retention_ms = (
            era.offsets_retention_ms if retention_ms is None else retention_ms
        )
        self.member_ids = member_ids
        self.groups: dict[str, Group] = {}
        self.group_order = era.group_order()
        self.offsets_without_groups: dict[str, OffsetStore] = {}
        self.wheel = TimingWheel()
        self.sessions = Purgatory(self.wheel)
        self.joins = Purgatory(self.wheel)
        self.syncs = Purgatory(self.wheel)
        self.now_ms = 0
        self.effects: list[Effect] = []
        self.appends = 0
        self.in_flight: dict[int, list[Appended]] = {}  # append id -> what waits for its outcome
        self.own_append: int | None = None  # the append of this turn
        self.unwritten: dict[str, int] = {}  # new groups not in the log yet -> appends made before

    def begin(self, now_ms: int) -> list[Effect]:
        """Open the next turn; its effects go to the list returned."""
        self.now_ms = now_ms
        self.wheel.now_ms = now_ms
        self.own_append = None
        self.effects = []
        return self.effects

    def react(self, input_: Input, group: Group, what: Any) -> None:
        self.grid[input_][group.state](self, group, what)

    def new_group(self, group_id: str) -> Group:
        group = self.make_group(group_id)
        if not self.era.has_empty_state:
            group.state = GroupState.STABLE  # KAFKA-2720: without members
        self.groups[group_id] = group
        if self.era.is_new_coordinator:
            self.unwritten[group_id] = self.appends
        self.group_order.add(group_id)
        return group

    def make_group(self, group_id: str) -> Group:
        """A group that is not among the groups (yet)."""
        partition = partition_for(group_id, self.config.offsets_topic_partitions)
        offsets = OffsetStore(self.era.partition_order())
        if not self.era.has_empty_state:  # KAFKA-2720: offsets outlived their group
            offsets = self.offsets_without_groups.setdefault(group_id, offsets)
        return Group(group_id, partition, self.now_ms, self.era.member_order(), offsets)

    def remove_group(self, group: Group) -> None:
        del self.groups[group.group_id]
        self.group_order.discard(group.group_id)

    def put_back(self, groups: list[Group]) -> None:
        """Groups whose tombstones could not be written are still there."""
        for group in groups:
            self.groups[group.group_id] = group
            self.group_order.add(group.group_id)
        if isinstance(self.group_order, TimelineKeys):
            self.group_order.put_back([group.group_id for group in groups])

    def readable(self, group_id: str) -> Group | None:
        """The group as reads see it: the new coordinator shows nothing before it is in the log."""
        return None if group_id in self.unwritten else self.groups.get(group_id)

    def respond(self, request_id: str, response: Response) -> None:
        self.effects.append(Respond(request_id, response))

    def answer(
        self,
        request_id: str,
        response: Response,
        on_error: Callable[[Errors], Response] | None = None,
    ) -> None:
        """Respond, in the new coordinator not before what was written so far is in the log.

        ``on_error`` makes the answer if this turn's own append fails.
        """
        if not self.in_flight or not self.era.is_new_coordinator:
            self.effects.append(Respond(request_id, response))
            return
        own = self.own_append

        def written(error: Errors) -> None:
            failed = error is not Errors.NONE and own is not None and on_error is not None
            self.respond(request_id, on_error(error) if failed and on_error else response)

        self.in_flight[max(self.in_flight)].append(written)

    def append(self, group: Group, records: list[Record], then: Appended) -> None:
        """Have records written; ``then`` hears whether they were."""
        self.appends += 1
        self.own_append = self.appends
        self.in_flight[self.appends] = [then]
        self.effects.append(Append(self.appends, group.group_id, group.partition, tuple(records)))

    def appended(self, append_id: int, error: Errors) -> None:
        """The append ended: tell those that wait for it."""
        self._settle_unwritten(append_id, error)
        for then in self.in_flight.pop(append_id):
            then(error)

    def _settle_unwritten(self, append_id: int, error: Errors) -> None:
        for group_id, before in list(self.unwritten.items()):
            if before < append_id:
                del self.unwritten[group_id]
                if error is not Errors.NONE and group_id in self.groups:
                    self.remove_group(self.groups[group_id])

    def event(self, kind: str, group: Group, **fields: Any) -> None:
        self.effects.append(
            Event(kind, group.group_id, group.state.value, group.generation, fields)
        )

    def move(self, group: Group, target: GroupState) -> None:
        """Move the group to another state, and say so."""
        group.move_to(target, self.now_ms)
        self.effects.append(Event("STATE", group.group_id, target.value, group.generation, {}))
