"""Faults of brokers and their logs: leadership moves, broker stops, failed appends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append
from coordinator_core.simulation.cluster_view import ClusterView
from coordinator_core.simulation.event_queue import Phase
from coordinator_core.simulation.spec import Fault

_SETTLES_MS = 60_000  # time after a fault before idle time may be skipped again


class Faults:
    """``unsettled`` has spans of time around faults, merged, in order.

    ``break_connections(broker_id, now_ms)`` is called when a broker stops.
    """

    def __init__(self, cluster: ClusterView, break_connections: Callable[[int, int], None]) -> None:
        self._cluster = cluster
        self._break_connections = break_connections
        self._faults = cluster.fleet.faults
        self._of_appends = [fault for fault in self._faults if fault.kind == "append_error"]
        self.unsettled = _merged([self._span(fault) for fault in self._faults])

    def _span(self, fault: Fault) -> tuple[int, int]:
        spec = self._cluster.fleet.cluster
        lasts_ms = fault.length_ms + 2 * spec.failover_ms + 2 * spec.load_ms + _SETTLES_MS
        at_ms = self._cluster.start_ms + fault.at_ms
        return at_ms, at_ms + lasts_ms

    def quiet_until(self, now_ms: int) -> int | None:
        """The time at which the next fault begins, or the end of the simulation; it is None during
        a fault.
        """
        index = bisect_right(self.unsettled, (now_ms, now_ms))
        if index and now_ms < self.unsettled[index - 1][1]:
            return None
        return self.unsettled[index][0] if index < len(self.unsettled) else self._cluster.end_ms

    def schedule_all(self) -> None:
        for fault in self._faults:
            handler = _HANDLERS.get(fault.kind)
            if handler is not None:
                self._cluster.event_queue.schedule(
                    self._cluster.start_ms + fault.at_ms,
                    Phase.CLUSTER,
                    -1,
                    partial(handler, self, fault),
                )

    def append_error(self, append: Append, now_ms: int) -> Errors:
        since_ms = now_ms - self._cluster.start_ms
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
            leader = self._cluster.partitions[number].leader
            target = fault.broker_id or self._next(leader)
            if target is not None and self._cluster.brokers[target].is_up:
                self._lead(number, target, now_ms)

    def _partitions(self, fault: Fault) -> list[int]:
        cluster = self._cluster
        if fault.group_id is not None:
            group = cluster.groups.get(fault.group_id)
            return [] if group is None else [group.partition]
        if fault.partition is not None:
            return [fault.partition] if fault.partition in cluster.selected else []
        return sorted(cluster.selected)

    def _next(self, broker_id: int | None) -> int | None:
        """The id of the next broker that is up, in a ring, or None if all are down."""
        ids = sorted(self._cluster.brokers)
        start = ids.index(broker_id) + 1 if broker_id is not None else 0
        for candidate in (*ids[start:], *ids[:start]):
            if self._cluster.brokers[candidate].is_up:
                return candidate
        return None

    def _lead(self, number: int, target: int | None, now_ms: int) -> None:
        partition, brokers = self._cluster.partitions[number], self._cluster.brokers
        former = partition.leader
        partition.elect(target)
        if former is not None and brokers[former].is_up:
            brokers[former].resigned(number, now_ms)
        if target is not None:
            brokers[target].elected(number, now_ms)

    # -- brokers -------------------------------------------------------------------------------

    def _broker_stops(self, fault: Fault, now_ms: int) -> None:
        assert fault.broker_id is not None
        broker_id, cluster = fault.broker_id, self._cluster
        if not cluster.brokers[broker_id].is_up:
            return
        cluster.brokers[broker_id].stop(now_ms)
        self._break_connections(broker_id, now_ms)
        schedule, failover_ms = cluster.event_queue.schedule, cluster.fleet.cluster.failover_ms
        back_ms = now_ms + fault.length_ms
        schedule(now_ms + failover_ms, Phase.CLUSTER, -1, lambda at: self._hand_over(broker_id, at))
        schedule(back_ms, Phase.CLUSTER, -1, lambda at: cluster.brokers[broker_id].start(at))
        schedule(
            back_ms + failover_ms, Phase.CLUSTER, -1, lambda at: self._take_back(broker_id, at)
        )

    def _hand_over(self, broker_id: int, now_ms: int) -> None:
        if self._cluster.brokers[broker_id].is_up:
            return  # The broker restarted before the failover.
        for partition in self._cluster.partitions:
            if partition.leader == broker_id and partition.number in self._cluster.selected:
                self._lead(partition.number, self._next(broker_id), now_ms)

    def _take_back(self, broker_id: int, now_ms: int) -> None:
        """Elect the broker for the partitions that prefer it and for partitions without a
        leader.
        """
        if not self._cluster.brokers[broker_id].is_up:
            return
        for partition in self._cluster.partitions:
            prefers = 1 + partition.number % len(self._cluster.brokers) == broker_id
            if partition.number in self._cluster.selected and (prefers or partition.leader is None):
                self._lead(partition.number, broker_id, now_ms)


_HANDLERS: Mapping[str, Callable[[Faults, Fault, int], None]] = {
    "leadership_moves": Faults._leadership_moves,
    "broker_stops": Faults._broker_stops,
}


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
