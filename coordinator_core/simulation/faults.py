"""What befalls brokers and their logs: leadership moves, brokers that stop, appends that fail."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append
from coordinator_core.simulation.agenda import Phase
from coordinator_core.simulation.spec import Fault

if TYPE_CHECKING:
    from coordinator_core.simulation.world import World

_SETTLES_MS = 60_000  # after a fault, before idle time may be skipped again


class Faults:
    """``restless``: spans of time around faults, merged, in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._faults = world.fleet.faults
        self._of_appends = [fault for fault in self._faults if fault.kind == "append_error"]
        self.restless = _merged([self._span(fault) for fault in self._faults])

    def _span(self, fault: Fault) -> tuple[int, int]:
        cluster = self._world.fleet.cluster
        lasts_ms = fault.length_ms + 2 * cluster.failover_ms + 2 * cluster.load_ms + _SETTLES_MS
        at_ms = self._world.start_ms + fault.at_ms
        return at_ms, at_ms + lasts_ms

    def quiet_until(self, now_ms: int) -> int | None:
        """When the next fault comes, at the end at the latest; None in the midst of one."""
        place = bisect_right(self.restless, (now_ms, now_ms))
        if place and now_ms < self.restless[place - 1][1]:
            return None
        return self.restless[place][0] if place < len(self.restless) else self._world.end_ms

    def note(self) -> None:
        for fault in self._faults:
            happens = _HAPPENS.get(fault.kind)
            if happens is not None:
                self._world.agenda.note(
                    self._world.start_ms + fault.at_ms,
                    Phase.WORLD,
                    -1,
                    partial(happens, self, fault),
                )

    def append_error(self, append: Append, now_ms: int) -> Errors:
        since_ms = now_ms - self._world.start_ms
        for fault in self._of_appends:
            if (
                fault.at_ms <= since_ms < fault.at_ms + fault.length_ms
                and fault.partition in (None, append.partition)
                and fault.group_id in (None, append.group_id)
            ):
                return fault.error
        return Errors.NONE

    # -- leadership ----------------------------------------------------------------------------

    def _leadership_moves(self, fault: Fault, now_ms: int) -> None:
        for number in self._partitions(fault):
            leader = self._world.partitions[number].leader
            target = fault.broker_id or self._next(leader)
            if target is not None and self._world.brokers[target].is_up:
                self._lead(number, target, now_ms)

    def _partitions(self, fault: Fault) -> list[int]:
        world = self._world
        if fault.group_id is not None:
            named = world.groups.get(fault.group_id)
            return [] if named is None else [named.partition]
        if fault.partition is not None:
            return [fault.partition] if fault.partition in world.shown else []
        return sorted(world.shown)

    def _next(self, broker_id: int | None) -> int | None:
        """The next broker that is up, round and round."""
        ids = sorted(self._world.brokers)
        start = ids.index(broker_id) + 1 if broker_id is not None else 0
        for candidate in (*ids[start:], *ids[:start]):
            if self._world.brokers[candidate].is_up:
                return candidate
        return None

    def _lead(self, number: int, target: int | None, now_ms: int) -> None:
        partition, brokers = self._world.partitions[number], self._world.brokers
        former = partition.leader
        partition.move(target)
        if former is not None and brokers[former].is_up:
            brokers[former].resigned(number, now_ms)
        if target is not None:
            brokers[target].elected(number, now_ms)

    # -- brokers -------------------------------------------------------------------------------

    def _broker_stops(self, fault: Fault, now_ms: int) -> None:
        assert fault.broker_id is not None
        broker_id, world = fault.broker_id, self._world
        if not world.brokers[broker_id].is_up:
            return
        world.brokers[broker_id].stop(now_ms)
        world.post.cut_off(broker_id, now_ms)
        note, failover_ms = world.agenda.note, world.fleet.cluster.failover_ms
        back_ms = now_ms + fault.length_ms
        note(now_ms + failover_ms, Phase.WORLD, -1, lambda at: self._hand_over(broker_id, at))
        note(back_ms, Phase.WORLD, -1, lambda at: world.brokers[broker_id].start(at))
        note(back_ms + failover_ms, Phase.WORLD, -1, lambda at: self._take_back(broker_id, at))

    def _hand_over(self, broker_id: int, now_ms: int) -> None:
        if self._world.brokers[broker_id].is_up:
            return  # it was back before anybody noticed
        for partition in self._world.partitions:
            if partition.leader == broker_id and partition.number in self._world.shown:
                self._lead(partition.number, self._next(broker_id), now_ms)

    def _take_back(self, broker_id: int, now_ms: int) -> None:
        """Its preferred replicas lead again, and so do those that nobody led meanwhile."""
        if not self._world.brokers[broker_id].is_up:
            return
        for partition in self._world.partitions:
            prefers = 1 + partition.number % len(self._world.brokers) == broker_id
            if partition.number in self._world.shown and (prefers or partition.leader is None):
                self._lead(partition.number, broker_id, now_ms)


_HAPPENS: Mapping[str, Callable[[Faults, Fault, int], None]] = {
    "leadership_moves": Faults._leadership_moves,
    "broker_stops": Faults._broker_stops,
}


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
