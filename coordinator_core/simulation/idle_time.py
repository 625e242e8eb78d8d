"""Skips idle time: a stable group in which nothing but heartbeats can happen for some time.

Everything that can end the idle time is known in advance: planned actions, faults and the
consumers' own timers.  Until shortly before the first of them, every heartbeat would be answered
without an error; consumers and coordinator are set to the state after those heartbeats.  The last
heartbeats before the end are simulated, so that the group continues exactly as without skipping.
"""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.simulation.cluster_view import ClusterView
from coordinator_core.simulation.process import SimulatedProcess
from coordinator_core.simulation.simulated_group import SimulatedGroup

_SIMULATED = 1  # number of heartbeats per member that are simulated before the end of the idle time
_MIN_SKIPPED = 3  # number of heartbeats; skipping fewer heartbeats is not worth the checks
_STABLE = "STABLE"  # state of a member that has its target assignment
# number of heartbeat intervals after the last record: share state is initialised within them
_SETTLES = 5
_FAR_MS = 1 << 40
_REGEX_REFRESH_MS = 600_000  # group.consumer.regex.refresh.interval.ms


class IdleSkipper:
    """``next_fault_ms(now_ms)`` says when the next fault begins, None during a fault.

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
        interval_ms = _heartbeat_interval_ms(group, running)
        until_ms = self._idle_until(group, running, now_ms)
        if until_ms is None or until_ms - now_ms < (_SIMULATED + _MIN_SKIPPED) * interval_ms:
            group.idle_not_before_ms = now_ms + interval_ms
            return
        if self._is_stable(group, running):
            until_ms -= _SIMULATED * interval_ms
            until_ms = min(until_ms, self._deadline_ms(group, now_ms, until_ms) - interval_ms)
            if until_ms <= now_ms:
                return
            self._skip(group, running, self._before_loss(running, now_ms, until_ms), now_ms)

    def _idle_until(
        self, group: SimulatedGroup, running: list[SimulatedProcess], now_ms: int
    ) -> int | None:
        """The time at which anything other than a heartbeat may happen, or None if the group is not
        idle now.
        """
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
            if away or process.is_behind or not consumer.is_idle:
                return None
            other_ms = consumer.next_other_deadline_ms(skips_commits=self._skips_commits)
            if other_ms is not None:
                ends.append(other_ms)
        return min(ends)

    def _is_stable(self, group: SimulatedGroup, running: list[SimulatedProcess]) -> bool:
        """Returns whether the group is Stable and its members are exactly the running processes."""
        modern = self._modern_group(group)
        if modern is not None:
            return _is_stable_modern(modern, running)
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

    def _modern_group(self, group: SimulatedGroup) -> ModernGroup | None:
        leader = self._cluster.partitions[group.partition].leader
        return None if leader is None else self._cluster.brokers[leader].modern_group(group.name)

    def _deadline_ms(self, group: SimulatedGroup, now_ms: int, until_ms: int) -> int:
        """When the next heartbeat would change the group: regular expressions are resolved again,
        or the hash of the topics is computed again, at the next heartbeat after this time.
        """
        modern = self._modern_group(group)
        if modern is None:
            return until_ms + _FAR_MS
        deadline_ms = until_ms + _FAR_MS
        settled_ms = group.written_ms + _SETTLES * group.spec.heartbeat_interval_ms
        loses = any(process.network_path.can_lose_or_duplicate for process in group.processes)
        if modern.needs_refresh(now_ms) or now_ms < settled_ms or loses:
            return now_ms
        if modern.refresh_deadline_ms > now_ms:
            deadline_ms = min(deadline_ms, modern.refresh_deadline_ms)
        deadline_ms = min([deadline_ms, *self._topics_grow_ms(now_ms)])
        if modern.classic_members():
            return now_ms
        resolved_ms = modern.regexes_resolved_ms()
        return min([deadline_ms, *(each + _REGEX_REFRESH_MS for each in resolved_ms)])

    def _topics_grow_ms(self, now_ms: int) -> list[int]:
        """The times at which topics grow from now on; the next heartbeat computes the hash of the
        topics again.
        """
        start_ms = self._cluster.start_ms
        times_ms = [
            start_ms + at_ms for topic in self._cluster.topics.values() for at_ms, _ in topic.grows
        ]
        return [at_ms for at_ms in times_ms if at_ms >= now_ms]

    def _before_loss(self, running: list[SimulatedProcess], now_ms: int, until_ms: int) -> int:
        """``until_ms``, or before the first heartbeat that is lost, unanswered or duplicated."""
        for process in running:
            assert process.consumer is not None
            interval_ms = process.consumer.heartbeat_interval_ms
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
        coordinator = self._cluster.brokers[leader].coordinator
        if self._modern_group(group) is None:
            coordinator.expect_heartbeats(group.name, arrived_ms_by_member, now_ms)
        else:
            session_ms = coordinator.session_timeout_ms(group.name)
            for member_id, arrived_ms in arrived_ms_by_member.items():
                coordinator.end_session_at(group.name, member_id, arrived_ms + session_ms)
        self.skipped_ms += max(until_ms - now_ms, 0)
        group.idle_not_before_ms = until_ms


def _heartbeat_interval_ms(group: SimulatedGroup, running: list[SimulatedProcess]) -> int:
    """The longest interval of the group's members."""
    intervals = [process.consumer.heartbeat_interval_ms for process in running if process.consumer]
    return max(intervals, default=group.spec.heartbeat_interval_ms)


def _is_stable_modern(group: ModernGroup, running: list[SimulatedProcess]) -> bool:
    """Returns whether all members are the running processes, and each has reached the group's
    epoch.
    """
    members = group.member_rows()
    stable = (
        all(epoch == group.epoch and state == _STABLE for _, epoch, state in members)
        and group.epoch == group.assignment_epoch
    )
    ids = {process.consumer.member_id for process in running if process.consumer}
    return stable and ids == {member_id for member_id, *_ in members}
