"""The coordinator's groups of all types; reads also see groups that were just removed."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.effects import Effects
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.log import Log, Shard
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Event


class GroupRegistry:
    """The groups by id: ``classic``, and ``modern`` (consumer, share and streams groups).

    Offsets may exist without a group.  ``kept_offsets``: while a group changes its type.
    ``offsets_without_groups``: in eras whose offsets outlived their group (KAFKA-2720).
    """

    __slots__ = (
        "_effects",
        "_era",
        "_log",
        "classic",
        "kept_offsets",
        "modern",
        "offsets_without_groups",
        "put_back",
        "unwritten_removals",
    )

    def __init__(
        self, era: Era, log: Log, effects: Effects, modern: dict[str, ModernGroup]
    ) -> None:
        self._era, self._log, self._effects = era, log, effects
        self.classic: dict[str, ClassicGroup] = {}
        self.modern = modern
        self.kept_offsets: dict[str, OffsetStore] = {}
        self.offsets_without_groups: dict[str, OffsetStore] = {}
        # Removed groups that reads still see until an append succeeds.
        self.unwritten_removals: dict[str, ModernGroup] = {}
        # Groups whose removal was reverted: Until an append succeeds, Kafka lists such a group
        # twice.
        self.put_back: dict[str, ClassicGroup | ModernGroup] = {}

    # -- groups of all types

    def get(self, group_id: str) -> ClassicGroup | ModernGroup | None:
        return self.classic.get(group_id) or self.modern.get(group_id)

    def seen(self) -> list[ClassicGroup | ModernGroup]:
        """The groups that reads see; a group whose removal was reverted is listed twice."""
        classic = [self.readable_classic(group_id) for group_id in self.classic]
        return [
            *[group for group in classic if group is not None],
            *self.modern.values(),
            *self.unwritten_removals.values(),
            *self.put_back.values(),
        ]

    def offsets_for(self, group_id: str) -> OffsetStore:
        """The offsets of the group id, whatever the group's type; a new store if it has none."""
        group = self.get(group_id)
        if group is not None:
            return group.offsets
        offsets = self.kept_offsets.get(group_id)
        return OffsetStore(self._era.partition_order()) if offsets is None else offsets

    def groupless_offsets(self, group_id: str) -> OffsetStore | None:
        """The offsets of a group id without a group."""
        kept = self.kept_offsets.get(group_id)
        return self.offsets_without_groups.get(group_id) if kept is None else kept

    def keep_offsets(self, group_id: str, offsets: OffsetStore) -> None:
        """Keep the offsets of a group that is removed, for a group of another type."""
        if offsets:
            self.kept_offsets[group_id] = offsets

    # -- classic groups

    def new_classic(self, group_id: str, now_ms: int) -> ClassicGroup:
        group = self.unregistered_classic(group_id, now_ms)
        if not self._era.has_empty_state:
            group.state = GroupState.STABLE  # KAFKA-2720: without members
        self.kept_offsets.pop(group_id, None)
        shard = self._log.shard_of(group.partition)
        if self._era.answers_after_append:
            shard.unwritten[group_id] = shard.appends
        self.add_classic(group)
        return group

    def unregistered_classic(self, group_id: str, now_ms: int) -> ClassicGroup:
        kept = self.kept_offsets.get(group_id)
        offsets = OffsetStore(self._era.partition_order()) if kept is None else kept
        # KAFKA-2720: before this change, offsets outlived their group
        if not self._era.has_empty_state:
            offsets = self.offsets_without_groups.setdefault(group_id, offsets)
        partition = self._log.partition_of(group_id)
        return ClassicGroup(group_id, partition, now_ms, self._era.member_order(), offsets)

    def add_classic(self, group: ClassicGroup) -> None:
        self.classic[group.group_id] = group
        self._log.shard_of(group.partition).group_order.add(group.group_id)

    def remove_classic(self, group: ClassicGroup) -> None:
        del self.classic[group.group_id]
        shard = self._log.shard_of(group.partition)
        shard.group_order.discard(group.group_id)
        shard.unwritten.pop(group.group_id, None)

    def discard_classic(self, group: ClassicGroup) -> None:
        """Remove a group without moving it to another state, as 4.x does."""
        self.remove_classic(group)
        dead = GroupState.DEAD.value
        self._effects.of_turn.append(Event("STATE", group.group_id, dead, group.generation, {}))

    def restore_classic(self, groups: list[ClassicGroup]) -> None:
        """Restore removed groups of a shard whose tombstones could not be written."""
        for group in groups:
            self.classic[group.group_id] = self.put_back[group.group_id] = group
            self._effects.event("STATE", group)
        if not groups:
            return
        shard = self._log.shard_of(groups[0].partition)
        for group in groups:
            shard.group_order.add(group.group_id)
        if isinstance(shard.group_order, TimelineKeys):
            shard.group_order.put_back([group.group_id for group in groups], shard.snapshot)

    def readable_classic(self, group_id: str) -> ClassicGroup | None:
        """The group as reads see it: in 4.x only once it is in the log."""
        group = self.classic.get(group_id)
        if group is None or group_id in self._log.shard_of(group.partition).unwritten:
            return None
        return group

    def classic_of(self, shard: Shard) -> list[ClassicGroup]:
        """The shard's groups in the order in which Kafka iterates over them."""
        return [self.classic[group_id] for group_id in shard.group_order]

    def all_classic(self) -> list[ClassicGroup]:
        shards = [self._log.shards[partition] for partition in sorted(self._log.shards)]
        return [group for shard in shards for group in self.classic_of(shard)]

    # -- consumer, share and streams groups

    def add_modern(self, group: ModernGroup) -> None:
        """Register a group while its first record is replayed."""
        self.modern[group.group_id] = group
        kept = self.kept_offsets.pop(group.group_id, None)

        def revert() -> None:
            self.modern.pop(group.group_id, None)
            if kept is not None:
                self.kept_offsets[group.group_id] = kept

        self._log.reverts.append(revert)

    def remove_modern(self, group: ModernGroup) -> None:
        """Remove a group while the tombstone of its last record is replayed."""
        self.modern.pop(group.group_id, None)
        self.keep_offsets(group.group_id, group.offsets)
        self._log.reverts.append(lambda: self.restore_modern(group))

    def restore_modern(self, group: ModernGroup) -> None:
        """Restore a group whose removal could not be written."""
        self.modern[group.group_id] = self.put_back[group.group_id] = group

    def readable_modern(self, group_id: str) -> ModernGroup | None:
        return self.modern.get(group_id) or self.unwritten_removals.get(group_id)

    # -- the outcome of an append

    def settle(self, shard: Shard, number: int, error: Errors) -> None:
        """Apply the outcome of the shard's append with this number, before the operations that wait
        for it.
        """
        self._settle_unwritten(shard, number, error)
        if error is not Errors.NONE:
            return
        if self.unwritten_removals:
            self.unwritten_removals.clear()
        if self.put_back:
            self.put_back.clear()
        # Kafka's snapshot before this append is gone, and so are the values that reverts left.
        if shard.failures:
            for group in self.modern.values():
                group.forget_reverted()

    def _settle_unwritten(self, shard: Shard, number: int, error: Errors) -> None:
        """A success settles all groups created before it; a failure removes the latest of them."""
        if error is not Errors.NONE:
            shard.failures += 1
        for group_id, before in list(shard.unwritten.items()):
            if error is Errors.NONE:
                if before < number:
                    del shard.unwritten[group_id]
            elif before == number - 1:
                del shard.unwritten[group_id]
                if group_id in self.classic:
                    self.keep_offsets(group_id, self.classic[group_id].offsets)
                    self.discard_classic(self.classic[group_id])

    def restore_unwritten(self, shard: Shard) -> None:
        """Kafka reverts to a snapshot that still has groups that were dropped without a record."""
        for group_id, group in list(self.unwritten_removals.items()):
            if self._log.shard_of(group.partition) is shard and self.get(group_id) is None:
                self.restore_modern(group)
                del self.unwritten_removals[group_id]
