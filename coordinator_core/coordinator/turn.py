"""The coordinator's state: groups, shards, timers and appends in flight; and the turn's effects.

A turn is the handling of one request, timer or finished append.  One ``Turn`` object serves a
coordinator for all its turns; ``begin`` opens the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.era import CoordinatorConfig, Era, GroupOrder
from coordinator_core.coordinator.metadata_image import NO_TOPICS, MetadataImage
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.records import GroupRecord
from coordinator_core.coordinator.modern.timers import ModernTimers
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.coordinator.timing_wheel import TimingWheel
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import (
    Append,
    Effect,
    Event,
    Record,
    Request,
    Respond,
    Response,
)

MemberIds = Callable[[str, str], str]  # (group id, client or instance id) -> a new member id
Appended = Callable[[Errors], None]
Revert = Callable[[], None]


class Shard:
    """A partition of `__consumer_offsets` from 4.0 on; before, all partitions are one shard."""

    __slots__ = ("appends", "failures", "group_order", "in_flight", "unwritten")

    def __init__(self, group_order: GroupOrder) -> None:
        self.group_order = group_order
        self.appends = 0
        self.failures = 0
        self.in_flight: dict[int, list[Appended]] = {}  # append -> waiters for its outcome
        self.unwritten: dict[str, int] = {}  # new groups not in the log yet -> appends before them

    @property
    def snapshot(self) -> int:
        """The snapshot that a failed append reverts to: the number of appends that did not fail."""
        return self.appends - self.failures

    def restore(self, groups: list[ClassicGroup]) -> None:
        """Put groups back whose removal failed with its append."""
        for group in groups:
            self.group_order.add(group.group_id)
        if isinstance(self.group_order, TimelineKeys):
            self.group_order.put_back([group.group_id for group in groups], self.snapshot)


class Turn:
    """The state that handlers, reactions and timers work with."""

    __slots__ = (
        "appends",
        "background",
        "config",
        "effects",
        "era",
        "failed",
        "grid",
        "group_configs",
        "groups",
        "image",
        "in_flight",
        "kept_offsets",
        "member_ids",
        "modern",
        "modern_timers",
        "now_ms",
        "offsets_retention_ms",
        "offsets_without_groups",
        "own_append",
        "put_back",
        "resolving",
        "reverts",
        "shards",
        "timers",
        "unwritten_removals",
        "version_with_new_topics",
        "wheel",
    )

    def __init__(self, config: CoordinatorConfig, era: Era, member_ids: MemberIds) -> None:
        self.config = config
        self.era = era
        self.grid = era.grid
        retention_ms = config.offsets_retention_ms
        self.offsets_retention_ms = (
            era.offsets_retention_ms if retention_ms is None else retention_ms
        )
        self.member_ids = member_ids
        self.groups: dict[str, ClassicGroup] = {}
        self.shards: dict[int, Shard] = {}
        self.offsets_without_groups: dict[str, OffsetStore] = {}  # KAFKA-2720: by group id
        self.wheel = TimingWheel()
        self.now_ms = 0
        self.effects: list[Effect] = []
        self.appends = 0
        self.in_flight: dict[int, tuple[Shard, int]] = {}  # append id -> shard, number in the shard
        self.failed: set[str] = set()  # requests that the coordinator failed on
        self.own_append: int | None = None  # the append of this turn
        self.timers = era.timers(self)
        # Consumer, share and streams groups (KIP-848, KIP-932, KIP-1071).
        self.modern: dict[str, ModernGroup] = {}
        self.modern_timers = ModernTimers(self.wheel)
        self.image: MetadataImage = NO_TOPICS
        self.group_configs: dict[str, dict[str, str]] = {}  # by group id, Kafka's names
        self.background: list[Callable[[], None]] = []  # work that Kafka gives to other threads
        self.reverts: list[Revert] = []  # of the records that are replayed now
        # Removed groups that reads see until an append succeeds.
        self.unwritten_removals: dict[str, ModernGroup] = {}
        # Groups whose removal was reverted: Kafka lists them twice until an append succeeds.
        self.put_back: dict[str, ClassicGroup | ModernGroup] = {}
        self.kept_offsets: dict[str, OffsetStore] = {}  # of groups between two types
        self.resolving: set[str] = set()  # groups whose regular expressions are being resolved
        self.version_with_new_topics = -1  # of the image

    def begin(self, now_ms: int) -> list[Effect]:
        """Open the next turn; returns the list that its effects go to."""
        self.now_ms = now_ms
        self.wheel.now_ms = now_ms
        self.own_append = None
        self.effects = []
        return self.effects

    def react(self, input_: Input, group: ClassicGroup, subject: Any) -> None:
        self.grid[input_][group.state](self, group, subject)

    def new_group(self, group_id: str) -> ClassicGroup:
        group = self.make_group(group_id)
        if not self.era.has_empty_state:
            group.state = GroupState.STABLE  # KAFKA-2720: without members
        self.groups[group_id] = group
        self.kept_offsets.pop(group_id, None)
        shard = self.shard_of(group.partition)
        if self.era.answers_after_append:
            shard.unwritten[group_id] = shard.appends
        shard.group_order.add(group_id)
        return group

    def shard_of(self, partition: int) -> Shard:
        number = partition if self.era.answers_after_append else 0
        shard = self.shards.get(number)
        if shard is None:
            shard = self.shards[number] = Shard(self.era.group_order())
        return shard

    def groups_of(self, shard: Shard) -> list[ClassicGroup]:
        """The shard's groups in the order in which Kafka iterates over them."""
        return [self.groups[group_id] for group_id in shard.group_order]

    def all_groups(self) -> list[ClassicGroup]:
        shards = [self.shards[partition] for partition in sorted(self.shards)]
        return [group for shard in shards for group in self.groups_of(shard)]

    def make_group(self, group_id: str) -> ClassicGroup:
        """A new group that is not registered yet."""
        partition = partition_for(group_id, self.config.offsets_topic_partitions)
        kept = self.kept_offsets.get(group_id)
        offsets = OffsetStore(self.era.partition_order()) if kept is None else kept
        if not self.era.has_empty_state:  # KAFKA-2720: offsets outlived their group
            offsets = self.offsets_without_groups.setdefault(group_id, offsets)
        return ClassicGroup(group_id, partition, self.now_ms, self.era.member_order(), offsets)

    def remove_group(self, group: ClassicGroup) -> None:
        del self.groups[group.group_id]
        shard = self.shard_of(group.partition)
        shard.group_order.discard(group.group_id)
        shard.unwritten.pop(group.group_id, None)

    def discard_group(self, group: ClassicGroup) -> None:
        """Remove a group without moving it to another state, as 4.x does."""
        self.remove_group(group)
        dead = GroupState.DEAD.value
        self.effects.append(Event("STATE", group.group_id, dead, group.generation, {}))

    def restore_groups(self, groups: list[ClassicGroup]) -> None:
        """Restore removed groups of a shard whose tombstones could not be written."""
        for group in groups:
            self.groups[group.group_id] = self.put_back[group.group_id] = group
            self.event("STATE", group)
        if groups:
            self.shard_of(groups[0].partition).restore(groups)

    def readable(self, group_id: str) -> ClassicGroup | None:
        """The group as reads see it: in 4.x only once it is in the log."""
        group = self.groups.get(group_id)
        if group is None or group_id in self.shard_of(group.partition).unwritten:
            return None
        return group

    def respond(self, request_id: str, response: Response) -> None:
        if request_id not in self.failed:
            self.effects.append(Respond(request_id, response))

    def fail(self, request_id: str, response: Response) -> None:
        """Respond to a request that failed within; if it is parked, it gets no second answer."""
        self.respond(request_id, response)
        self.failed.add(request_id)

    def answer(
        self,
        request: Request,
        response: Response,
        on_error: Callable[[Errors], Response] | None = None,
    ) -> None:
        """Respond; in 4.x once all earlier appends of the group's shard have ended.

        ``on_error`` makes the response if this turn's own append fails.
        """
        request_id = request.request_id
        if not self.in_flight or not self.era.answers_after_append:
            self.effects.append(Respond(request_id, response))
            return
        partition = partition_for(request.group_id, self.config.offsets_topic_partitions)
        in_flight = self.shard_of(partition).in_flight
        if not in_flight:
            self.effects.append(Respond(request_id, response))
            return
        own = self.own_append

        def written(error: Errors) -> None:
            failed = error is not Errors.NONE and own is not None and on_error is not None
            self.respond(request_id, on_error(error) if failed and on_error else response)

        in_flight[max(in_flight)].append(written)

    def append(self, group: ClassicGroup, records: list[Record], then: Appended) -> None:
        """Write records to the log; ``then`` is called with the error, or NONE."""
        self.append_to(group.group_id, group.partition, records, then)

    def append_to(
        self, group_id: str, partition: int, records: list[Record], then: Appended
    ) -> None:
        """``append`` to a partition of `__consumer_offsets`."""
        self.appends += 1
        self.own_append = self.appends
        shard = self.shard_of(partition)
        shard.appends += 1
        shard.in_flight[shard.appends] = [then]
        self.in_flight[self.appends] = shard, shard.appends
        self.effects.append(Append(self.appends, group_id, partition, tuple(records)))

    def appended(self, append_id: int, error: Errors) -> None:
        """End an append: call those that wait for it."""
        shard, number = self.in_flight.pop(append_id)
        self._settle_unwritten(shard, number, error)
        if error is Errors.NONE:
            if self.unwritten_removals:
                self.unwritten_removals.clear()
            if self.put_back:
                self.put_back.clear()
            if shard.failures:
                self._forget_reverted()
        for then in shard.in_flight.pop(number):
            with suppress(UnexpectedState):  # a failed one must not stop the others
                then(error)
        if error is not Errors.NONE and self.unwritten_removals:
            self._restore_unwritten(shard)

    def _forget_reverted(self) -> None:
        """Kafka's snapshot before this append is gone, and what reverts left in it."""
        for group in self.modern.values():
            group.forget_reverted()

    def _settle_unwritten(self, shard: Shard, number: int, error: Errors) -> None:
        """A success settles all groups created before it; a failure removes the latest ones."""
        if error is not Errors.NONE:
            shard.failures += 1
        for group_id, before in list(shard.unwritten.items()):
            if error is Errors.NONE:
                if before < number:
                    del shard.unwritten[group_id]
            elif before == number - 1:
                del shard.unwritten[group_id]
                if group_id in self.groups:
                    self.keep_offsets(group_id, self.groups[group_id].offsets)
                    self.discard_group(self.groups[group_id])

    def _restore_unwritten(self, shard: Shard) -> None:
        """Kafka reverts to a snapshot that still has groups that were dropped without a record."""
        for group_id, group in list(self.unwritten_removals.items()):
            present = self.groups.get(group_id) or self.modern.get(group_id)
            if self.shard_of(group.partition) is shard and present is None:
                self.modern[group_id] = self.put_back[group_id] = group
                del self.unwritten_removals[group_id]

    def readable_modern(self, group_id: str) -> ModernGroup | None:
        """The consumer, share or streams group as reads see it."""
        return self.modern.get(group_id) or self.unwritten_removals.get(group_id)

    def setting_ms(self, group_id: str, group_type: str, name: str) -> int:
        """A setting of the group, else of its type; ``name``: Kafka's, without the prefix."""
        own = self.group_configs.get(group_id)
        if own is not None and f"{group_type}.{name}" in own:
            return int(own[f"{group_type}.{name}"])
        settings = self.config.modern.of(group_type)
        if name == "session.timeout.ms":
            return settings.session_timeout_ms
        if name == "heartbeat.interval.ms":
            return settings.heartbeat_interval_ms
        return settings.assignment_interval_ms

    def offsets_for(self, group_id: str) -> OffsetStore:
        """The offsets of the group id, whatever the group's type; a new store if it has none."""
        group = self.groups.get(group_id) or self.modern.get(group_id)
        if group is not None:
            return group.offsets
        offsets = self.kept_offsets.get(group_id)
        return OffsetStore(self.era.partition_order()) if offsets is None else offsets

    def groupless_offsets(self, group_id: str) -> OffsetStore | None:
        """The offsets of a group id without a group."""
        kept = self.kept_offsets.get(group_id)
        return self.offsets_without_groups.get(group_id) if kept is None else kept

    def keep_offsets(self, group_id: str, offsets: OffsetStore) -> None:
        """Keep the offsets of a group that is removed, for a group of another type."""
        if offsets:
            self.kept_offsets[group_id] = offsets

    def is_simple(self, group: ClassicGroup) -> bool:
        """Whether the group only holds offsets of a simple consumer: it has no record."""
        return group.protocol_type is None and not group.members and not group.pending

    def register(self, group: ClassicGroup) -> None:
        """Add a group that was converted from another type, or whose conversion failed."""
        self.groups[group.group_id] = group
        self.shard_of(group.partition).group_order.add(group.group_id)

    def after_appends(self, group_id: str, then: Callable[[], None]) -> None:
        """Call ``then`` once the shard's appends have succeeded; at once if none is in flight."""
        in_flight = self.shard_of(self.partition_of(group_id)).in_flight
        if not in_flight:
            then()
            return

        def appended(error: Errors) -> None:
            if error is Errors.NONE:
                then()

        in_flight[max(in_flight)].append(appended)

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self.config.offsets_topic_partitions)

    def replayed(self, records: list[GroupRecord]) -> list[Revert]:
        """Apply records to the groups; returns what undoes that, if done in reverse order."""
        self.reverts = []
        for record in records:
            self.era.replays[record.name](self, record.key, record.value)
        reverts, self.reverts = self.reverts, []
        return reverts

    def add_modern(self, group: ModernGroup) -> None:
        """Register a group while its first record is replayed."""
        self.modern[group.group_id] = group
        kept = self.kept_offsets.pop(group.group_id, None)

        def revert() -> None:
            self._drop_modern(group.group_id)
            if kept is not None:
                self.kept_offsets[group.group_id] = kept

        self.reverts.append(revert)

    def remove_modern(self, group: ModernGroup) -> None:
        """Remove a group while the tombstone of its last record is replayed."""
        self._drop_modern(group.group_id)
        self.keep_offsets(group.group_id, group.offsets)

        def revert() -> None:
            self.modern[group.group_id] = self.put_back[group.group_id] = group

        self.reverts.append(revert)

    def _drop_modern(self, group_id: str) -> None:
        self.modern.pop(group_id, None)

    def modern_event(self, kind: str, group_id: str, **fields: Any) -> None:
        """An event of a consumer, share or streams group, with the fields of its log line."""
        group = self.modern.get(group_id)
        state = "" if group is None else group.state_name()
        epoch = 0 if group is None else group.epoch
        self.effects.append(Event(kind, group_id, state, epoch, fields))

    def event(self, kind: str, group: ClassicGroup, **fields: Any) -> None:
        self.effects.append(
            Event(kind, group.group_id, group.state.value, group.generation, fields)
        )

    def move(self, group: ClassicGroup, target: GroupState) -> None:
        """Move the group to another state; an illegal move raises after an event with its state."""
        try:
            group.move_to(target, self.now_ms)
        finally:
            self.event("STATE", group)
