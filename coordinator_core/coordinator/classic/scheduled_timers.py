"""Timers of 4.x (KIP-848): keyed timers, as the Java coordinator schedules them.

A timer holds a group id and looks up the group when it fires; by then it may be another incarnation
of the group.
"""

from __future__ import annotations

from typing import ClassVar, cast

from coordinator_core.coordinator.classic import rebalance
from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.timers import JoinWait, initial_delay
from coordinator_core.coordinator.keyed_timers import KeyedTimer, KeyedTimers
from coordinator_core.coordinator.turn import Turn


class ScheduledTimers:
    """The ``Timers`` of era 4.1."""

    __slots__ = ("_joins", "_sessions", "_syncs", "_turn")

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._sessions = KeyedTimers(turn.wheel)
        self._joins = KeyedTimers(turn.wheel)
        self._syncs = KeyedTimers(turn.wheel)

    def __len__(self) -> int:
        return len(self._sessions) + len(self._joins) + len(self._syncs)

    def renew_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        # Each heartbeat calls this function, and usually finds the timer of the previous heartbeat.
        if not self._sessions.renew((group.group_id, member.member_id), timeout_ms):
            self.watch_pending(group, member.member_id, timeout_ms)

    def watch_pending(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Members and pending members have the same kind of timer."""
        key = (group.group_id, member_id)
        if not self._sessions.renew(key, timeout_ms):
            timer = SessionTimer(self._turn, group.group_id, member_id)
            self._sessions.schedule(timer, key, timeout_ms)

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._sessions.cancel((group.group_id, member_id))

    def start_join(self, group: ClassicGroup, is_initial: bool) -> None:
        if is_initial:
            configured_ms = self._turn.config.group_initial_rebalance_delay_ms
            self.start_initial_join(group, *initial_delay(configured_ms, group))
        elif group.has_all_joined():
            self._complete_join(group)
        else:
            timer = JoinTimer(self._turn, group.group_id)
            self._joins.schedule(timer, group.group_id, group.rebalance_timeout_ms())

    def start_initial_join(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        timer = InitialJoinTimer(self._turn, group.group_id, delay_ms, remaining_ms)
        self._joins.schedule(timer, group.group_id, delay_ms)

    def check_join(self, group: ClassicGroup) -> None:
        """Complete the join if all members have joined; an initial delay always runs out."""
        is_preparing = group.state is GroupState.PREPARING_REBALANCE
        if is_preparing and group.previous_state is not GroupState.EMPTY and group.has_all_joined():
            self._complete_join(group)

    def cancel_join(self, group: ClassicGroup) -> None:
        self._joins.cancel(group.group_id)

    def _complete_join(self, group: ClassicGroup) -> None:
        self._joins.cancel(group.group_id)
        rebalance.complete_join(self._turn, group)

    def start_sync(self, group: ClassicGroup) -> None:
        timer = SyncTimer(self._turn, group.group_id, group.generation)
        self._syncs.schedule(timer, group.group_id, group.rebalance_timeout_ms())

    def check_sync(self, group: ClassicGroup) -> None:
        if not group.pending_sync:
            self._syncs.cancel(group.group_id)

    def cancel_all(self, group: ClassicGroup) -> None:
        for member_id in (*group.members, *group.pending):
            self._sessions.cancel((group.group_id, member_id))
        self._joins.cancel(group.group_id)
        self._syncs.cancel(group.group_id)

    def join_waits(self, group_id: str) -> tuple[JoinWait, ...]:
        timer = self._joins.get(group_id)
        return () if timer is None else (cast(JoinWait, timer),)


class _GroupTimer(KeyedTimer):
    __slots__ = ("group_id", "turn")

    def __init__(self, turn: Turn, group_id: str) -> None:
        super().__init__()
        self.turn = turn
        self.group_id = group_id

    def fire(self) -> None:
        group = self.turn.groups.classic.get(self.group_id)
        if group is not None:
            self.react(group)

    def react(self, group: ClassicGroup) -> None:
        raise NotImplementedError


class SessionTimer(_GroupTimer):
    __slots__ = ("member_id",)

    def __init__(self, turn: Turn, group_id: str, member_id: str) -> None:
        super().__init__(turn, group_id)
        self.member_id = member_id

    def react(self, group: ClassicGroup) -> None:
        member = group.members.get(self.member_id)
        if self.member_id in group.pending:
            rebalance.pending_expired(self.turn, group, self.member_id)
        elif member is not None and not _awaits_answer(member):
            rebalance.session_expired(self.turn, group, member)


def _awaits_answer(member: ClassicMember) -> bool:
    """Waiting members send no heartbeats; a member in its first join may have stopped."""
    awaits = member.awaiting_join is not None or member.awaiting_sync is not None
    return awaits and not member.is_new


class JoinTimer(_GroupTimer):
    __slots__ = ()

    is_initial: ClassVar[bool] = False

    def react(self, group: ClassicGroup) -> None:
        rebalance.complete_join(self.turn, group)


class InitialJoinTimer(_GroupTimer):
    """KIP-134: as InitialDelayedJoin."""

    __slots__ = ("delay_ms", "remaining_ms")

    is_initial: ClassVar[bool] = True

    def __init__(self, turn: Turn, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(turn, group_id)
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def react(self, group: ClassicGroup) -> None:
        rebalance.initial_delay_ended(self.turn, group, self.delay_ms, self.remaining_ms)


class SyncTimer(_GroupTimer):
    __slots__ = ("generation",)

    def __init__(self, turn: Turn, group_id: str, generation: int) -> None:
        super().__init__(turn, group_id)
        self.generation = generation

    def react(self, group: ClassicGroup) -> None:
        rebalance.sync_expired(self.turn, group, self.generation)
