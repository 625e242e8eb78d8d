"""Idle time is skipped: a stable group in which nothing but heartbeats can happen for a while.

Everything that can end the idle time is known in advance: planned actions, faults and the
consumers' own timers.  Until shortly before the first of them, every heartbeat would be answered
without an error; consumers and coordinator are set to the state after those heartbeats.  The last
heartbeats before the end are simulated, so that the group continues exactly as without skipping.
"""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.simulation.cluster_view import ClusterView
from coordinator_core.simulation.process import SimulatedProcess
from coordinator_core.simulation.simulated_group import SimulatedGroup

_SIMULATED = 1  # heartbeats per member before the end of the idle time
_MIN_SKIPPED = 3  # heartbeats; skipping fewer is not worth the checks


class IdleSkipper:
    """``next_fault_ms(now_ms)``: when the next fault begins, None during a fault.

    ``skips_commits``: also skip automatic commits, whose records are then missing from the output.
    """

    def __init__(
        self,
        cluster: ClusterView,
        next_fault_ms: Callable[[int], int | None],
        *,
        skips_commits: bool,
    ) -> None:
        self._cluster = cluster
        self._skips_commits = skips_commits
        self._next_fault_ms = next_fault_ms
        self.skipped_ms = 0

    def consider(self, group: SimulatedGroup, now_ms: int) -> None:
        """Skip the idle time that begins now, if the group is idle."""
        if group.open or now_ms < group.idle_not_before_ms:
            return
        running = [process for process in group.processes if process.consumer is not None]
        interval_ms = group.spec.heartbeat_interval_ms
        until_ms = self._idle_until(group, running, now_ms)
        if until_ms is None or until_ms - now_ms < (_SIMULATED + _MIN_SKIPPED) * interval_ms:
            group.idle_not_before_ms = now_ms + interval_ms
            return
        if self._is_stable(group, running):
            until_ms -= _SIMULATED * interval_ms
            self._skip(group, running, self._before_loss(running, now_ms, until_ms), now_ms)

    def _idle_until(
        self, group: SimulatedGroup, running: list[SimulatedProcess], now_ms: int
    ) -> int | None:
        """When anything other than a heartbeat may happen; None if the group is not idle now."""
        fault_ms = self._next_fault_ms(now_ms)
        if fault_ms is None:
            return None
        ends = [fault_ms, *group.later_ms]
        if group.next_action_ms is not None:
            ends.append(self._cluster.start_ms + group.next_action_ms)
        for process in running:
            consumer = process.consumer
            assert consumer is not None
            away = now_ms < max(process.frozen_until_ms, process.cut_until_ms)
            if away or not consumer.is_idle:
                return None
            other_ms = consumer.next_other_deadline_ms(skips_commits=self._skips_commits)
            if other_ms is not None:
                ends.append(other_ms)
        return min(ends)

    def _is_stable(self, group: SimulatedGroup, running: list[SimulatedProcess]) -> bool:
        """Whether the group is Stable and its members are exactly the running processes."""
        coordinator_group = self._coordinator_group(group)
        return (
            coordinator_group is not None
            and coordinator_group.state is GroupState.STABLE
            and not coordinator_group.pending
            and len(coordinator_group.members) == len(running)
            and all(
                p.consumer is not None and p.consumer.member_id in coordinator_group.members
                for p in running
            )
        )

    def _coordinator_group(self, group: SimulatedGroup) -> ClassicGroup | None:
        leader = self._cluster.partitions[group.partition].leader
        return None if leader is None else self._cluster.brokers[leader].group(group.spec.name)

    def _before_loss(self, running: list[SimulatedProcess], now_ms: int, until_ms: int) -> int:
        """``until_ms``, or before the first heartbeat that is lost, unanswered or duplicated."""
        for process in running:
            interval_ms = process.group.heartbeat_interval_ms
            if not process.network_path.can_lose_or_duplicate:
                continue
            at_ms = process.wake_ms or now_ms
            while at_ms < until_ms and process.network_path.is_plain(at_ms):
                at_ms += interval_ms
            until_ms = min(until_ms, at_ms - _SIMULATED * interval_ms)
        return until_ms

    def _skip(
        self, group: SimulatedGroup, running: list[SimulatedProcess], until_ms: int, now_ms: int
    ) -> None:
        arrived_ms_by_member: dict[str, int] = {}
        for process in running:
            consumer = process.consumer
            assert consumer is not None
            sent_ms = consumer.skip_heartbeats(until_ms)
            if sent_ms is not None:
                arrived_ms = process.network_path.of(sent_ms, 0).arrives_ms
                assert arrived_ms is not None
                arrived_ms_by_member[consumer.member_id] = arrived_ms
            process.set_wake()
        leader = self._cluster.partitions[group.partition].leader
        assert leader is not None
        self._cluster.brokers[leader].coordinator.expect_heartbeats(
            group.spec.name, arrived_ms_by_member, now_ms
        )
        self.skipped_ms += max(until_ms - now_ms, 0)
        group.idle_not_before_ms = until_ms
