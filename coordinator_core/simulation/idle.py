"""Idle time, skipped: a stable group in which nothing but heartbeats can happen for a while.

Whatever can end the quiet is known beforehand: what is done to processes, faults, and the
consumers' own timers.  Until shortly before the first of these every heartbeat would be answered
without news; consumers and coordinator are put where those heartbeats would have brought them.
The last ones before the quiet ends are played, so that the group goes on exactly as it would have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator_core.coordinator.classic.group import Group
from coordinator_core.coordinator.classic.states import GroupState

if TYPE_CHECKING:
    from coordinator_core.simulation.process import Process
    from coordinator_core.simulation.world import GroupWorld, World

_PLAYED = 1  # heartbeat of each before the quiet ends
_WORTH_IT = 3  # fewer are not worth the look


class Idle:
    def __init__(self, world: World) -> None:
        self._world = world
        self.skipped_ms = 0

    def consider(self, group: GroupWorld, now_ms: int) -> None:
        """Skip the group's idle time from now on, if there is some."""
        if group.open or now_ms < group.idle_not_before_ms:
            return
        running = [process for process in group.processes if process.consumer is not None]
        interval_ms = group.spec.heartbeat_interval_ms
        until_ms = self._quiet_until(group, running, now_ms)
        if until_ms is None or until_ms - now_ms < (_PLAYED + _WORTH_IT) * interval_ms:
            group.idle_not_before_ms = now_ms + interval_ms
            return
        if self._is_stable(group, running):
            until_ms -= _PLAYED * interval_ms
            self._skip(group, running, self._before_mishap(running, now_ms, until_ms), now_ms)

    def _quiet_until(self, group: GroupWorld, running: list[Process], now_ms: int) -> int | None:
        """When something else than a heartbeat may come first; None if it is not quiet now."""
        fault_ms = self._world.faults.quiet_until(now_ms)
        if fault_ms is None:
            return None
        ends = [fault_ms, *group.later_ms]
        if group.next_action_ms is not None:
            ends.append(self._world.start_ms + group.next_action_ms)
        for process in running:
            consumer = process.consumer
            assert consumer is not None
            away = now_ms < max(process.frozen_until_ms, process.cut_until_ms)
            if away or not consumer.is_idle:
                return None
            other_ms = consumer.next_other_deadline_ms()
            if other_ms is not None:
                ends.append(other_ms)
        return min(ends)

    def _is_stable(self, group: GroupWorld, running: list[Process]) -> bool:
        """Its members, as the coordinator has them, are the running processes."""
        known = self._coordinators(group)
        return (
            known is not None
            and known.state is GroupState.STABLE
            and not known.pending
            and len(known.members) == len(running)
            and all(
                p.consumer is not None and p.consumer.member_id in known.members for p in running
            )
        )

    def _coordinators(self, group: GroupWorld) -> Group | None:
        leader = self._world.partitions[group.partition].leader
        return None if leader is None else self._world.brokers[leader].group(group.spec.name)

    def _before_mishap(self, running: list[Process], now_ms: int, until_ms: int) -> int:
        """Not beyond the first heartbeat that gets lost, or whose answer does, or that doubles."""
        for process in running:
            interval_ms = process.group.heartbeat_interval_ms
            if not process.wire.has_mishaps:
                continue
            at_ms = process.wake_ms or now_ms
            while at_ms < until_ms and process.wire.is_plain(at_ms):
                at_ms += interval_ms
            until_ms = min(until_ms, at_ms - _PLAYED * interval_ms)
        return until_ms

    def _skip(self, group: GroupWorld, running: list[Process], until_ms: int, now_ms: int) -> None:
        heard_ms: dict[str, int] = {}
        for process in running:
            consumer = process.consumer
            assert consumer is not None
            sent_ms = consumer.skip_heartbeats(until_ms)
            if sent_ms is not None:
                arrived_ms = process.wire.of(sent_ms, 0).arrives_ms
                assert arrived_ms is not None
                heard_ms[consumer.member_id] = arrived_ms
            process.set_wake()
        leader = self._world.partitions[group.partition].leader
        assert leader is not None
        self._world.brokers[leader].coordinator.expect_heartbeats(group.spec.name, heard_ms, now_ms)
        self.skipped_ms += max(until_ms - now_ms, 0)
        group.idle_not_before_ms = until_ms
