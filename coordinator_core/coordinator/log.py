"""The coordinator's log: its shards, the appends in flight, and answers that wait for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from coordinator_core.coordinator.effects import Effects
from coordinator_core.coordinator.era import GroupOrder
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import Append, Record, Request, Respond, Response

Appended = Callable[[Errors], None]
Revert = Callable[[], None]


class Shard:
    """A partition of `__consumer_offsets` from 4.0 on; before, all partitions are one shard."""

    __slots__ = ("appends", "failures", "group_order", "in_flight", "unwritten")

    def __init__(self, group_order: GroupOrder) -> None:
        self.group_order = group_order  # iteration order of the classic groups
        self.appends = 0
        self.failures = 0
        # append -> waiters for the outcome of the append
        self.in_flight: dict[int, list[Appended]] = {}
        # new groups that are not in the log yet -> number of appends before them
        self.unwritten: dict[str, int] = {}

    @property
    def snapshot(self) -> int:
        """The snapshot that a failed append reverts to: the number of appends that did not fail."""
        return self.appends - self.failures


class Log:
    """The log of the coordinator's records.

    ``reverts`` undo the records that are being replayed, if called in reverse order. ``is_sharded``
    means that answers wait for the appends of their shard (KIP-848).
    """

    __slots__ = (
        "_appends",
        "_effects",
        "_is_sharded",
        "_new_order",
        "_partitions",
        "in_flight",
        "own_append",
        "reverts",
        "shards",
    )

    def __init__(
        self,
        effects: Effects,
        partitions: int,
        new_order: Callable[[], GroupOrder],
        *,
        is_sharded: bool,
    ) -> None:
        self.reverts: list[Revert] = []
        self.shards: dict[int, Shard] = {}
        self._effects = effects
        self._partitions = partitions  # of `__consumer_offsets`
        self._new_order = new_order
        self._is_sharded = is_sharded
        self._appends = 0
        # append -> shard, and its number in the shard
        self.in_flight: dict[int, tuple[Shard, int]] = {}
        self.own_append: int | None = None  # the append of the current turn

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._partitions)

    def shard_of(self, partition: int) -> Shard:
        number = partition if self._is_sharded else 0
        shard = self.shards.get(number)
        if shard is None:
            shard = self.shards[number] = Shard(self._new_order())
        return shard

    def snapshot_of(self, partition: int) -> int:
        """The present snapshot of the partition's shard."""
        return self.shard_of(partition).snapshot

    def append(self, group_id: str, partition: int, records: list[Record], then: Appended) -> None:
        """Write records to the log; ``then`` is called with the error, or NONE."""
        self._appends += 1
        self.own_append = self._appends
        shard = self.shard_of(partition)
        shard.appends += 1
        shard.in_flight[shard.appends] = [then]
        self.in_flight[self._appends] = shard, shard.appends
        self._effects.of_turn.append(Append(self._appends, group_id, partition, tuple(records)))

    def take(self, append_id: int) -> tuple[Shard, int]:
        """End an append; returns its shard, and its number in the shard."""
        return self.in_flight.pop(append_id)

    def call_waiting(self, shard: Shard, number: int, error: Errors) -> None:
        """Call what waits for the outcome of an append."""
        for then in shard.in_flight.pop(number):
            with suppress(UnexpectedState):  # A failed append must not prevent the other appends.
                then(error)

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
        if not self.in_flight or not self._is_sharded:
            self._effects.of_turn.append(Respond(request_id, response))
            return
        in_flight = self.shard_of(self.partition_of(request.group_id)).in_flight
        if not in_flight:
            self._effects.of_turn.append(Respond(request_id, response))
            return
        own = self.own_append

        def written(error: Errors) -> None:
            failed = error is not Errors.NONE and own is not None and on_error is not None
            self._effects.respond(request_id, on_error(error) if failed and on_error else response)

        in_flight[max(in_flight)].append(written)

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
