"""Timers up to 3.9: delayed operations in purgatories, as the Scala coordinator keeps them.

An operation keeps a reference to its group, even if the group was removed meanwhile, and completes
when its condition holds.
"""

from __future__ import annotations

from typing import ClassVar, cast

from coordinator_core.coordinator.classic import rebalance
from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.purgatory import DelayedOperation, Purgatory
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.timers import JoinWait, initial_delay
from coordinator_core.coordinator.turn import Turn


class DelayedOperations:
    """The ``Timers`` of eras 2.2 to 3.9 except 2.4."""

    __slots__ = ("_joins", "_sessions", "_syncs", "_turn")

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._sessions = Purgatory(turn.wheel)
        self._joins = Purgatory(turn.wheel)
        self._syncs = Purgatory(turn.wheel)

    def __len__(self) -> int:
        return len(self._sessions) + len(self._joins) + len(self._syncs)

    def renew_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        """Complete the wait for the member's next request, and start another."""
        key = (group.group_id, member.member_id)
        member.heartbeat_satisfied = True
        self._sessions.check_and_complete(key)
        member.heartbeat_satisfied = False
        operation = DelayedHeartbeat(self._turn, group, member.member_id, False)
        self._sessions.try_complete_else_watch(operation, key, timeout_ms)

    def watch_pending(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        operation = DelayedHeartbeat(self._turn, group, member_id, True)
        self._sessions.try_complete_else_watch(operation, (group.group_id, member_id), timeout_ms)

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._sessions.check_and_complete((group.group_id, member_id))

    def start_join(self, group: ClassicGroup, is_initial: bool) -> None:
        if is_initial:
            configured_ms = self._turn.config.group_initial_rebalance_delay_ms
            self.start_initial_join(group, *initial_delay(configured_ms, group))
        else:
            self._joins.try_complete_else_watch(
                DelayedJoin(self._turn, group), group.group_id, group.rebalance_timeout_ms()
            )

    def start_initial_join(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        operation = InitialDelayedJoin(self._turn, group, delay_ms, remaining_ms)
        self._joins.try_complete_else_watch(operation, group.group_id, delay_ms)

    def check_join(self, group: ClassicGroup) -> None:
        if group.state is GroupState.PREPARING_REBALANCE:
            self._joins.check_and_complete(group.group_id)

    def cancel_join(self, group: ClassicGroup) -> None:
        self._joins.cancel(group.group_id)

    def start_sync(self, group: ClassicGroup) -> None:
        self._syncs.try_complete_else_watch(
            DelayedSync(self._turn, group), group.group_id, group.rebalance_timeout_ms()
        )

    def check_sync(self, group: ClassicGroup) -> None:
        self._syncs.check_and_complete(group.group_id)

    def cancel_all(self, group: ClassicGroup) -> None:
        for member_id in (*group.members, *group.pending):
            self._sessions.cancel((group.group_id, member_id))
        self._joins.cancel(group.group_id)
        self._syncs.cancel(group.group_id)

    def join_waits(self, group_id: str) -> tuple[JoinWait, ...]:
        return cast(tuple[JoinWait, ...], self._joins.watched(group_id))


class DelayedOperationsIn24(DelayedOperations):
    """The ``Timers`` of era 2.4: the first session of a member begins with its next request.

    When a member's first join completes, it still has the later deadline for new members.  The new
    wait for its session counts as satisfied and ends at once.
    """

    __slots__ = ()

    def renew_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        if member.is_new and timeout_ms < self._turn.config.group_new_member_join_timeout_ms:
            member.heartbeat_satisfied = True
            self.end_session(group, member.member_id)
            member.heartbeat_satisfied = False
        else:
            super().renew_session(group, member, timeout_ms)


class DelayedOperationsBefore22(DelayedOperations):
    """The ``Timers`` of eras 0.9 to 2.1: sessions end at deadlines set in advance."""

    __slots__ = ()

    def renew_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        key, now_ms = (group.group_id, member.member_id), self._turn.now_ms
        member.latest_heartbeat_ms = now_ms
        self._sessions.check_and_complete(key)
        operation = DeadlineHeartbeat(self._turn, group, member, now_ms + timeout_ms)
        self._sessions.try_complete_else_watch(operation, key, timeout_ms)


class _GroupOperation(DelayedOperation):
    __slots__ = ("group", "turn")

    def __init__(self, turn: Turn, group: ClassicGroup) -> None:
        super().__init__()
        self.turn = turn
        self.group = group


# -- sessions ------------------------------------------------------------------------------------


class DelayedHeartbeat(_GroupOperation):
    """Waits for the next request of a member, or for a pending member to join."""

    __slots__ = ("is_pending", "member_id")

    def __init__(self, turn: Turn, group: ClassicGroup, member_id: str, is_pending: bool) -> None:
        super().__init__(turn, group)
        self.member_id = member_id
        self.is_pending = is_pending

    def try_complete(self) -> bool:
        return self._need_not_wait() and self.force_complete()

    def on_expiration(self) -> None:
        turn, group, member = self.turn, self.group, self.group.members.get(self.member_id)
        if group.state is GroupState.DEAD:
            turn.effects.event("EXPIRED_UNKNOWN", group, member_id=self.member_id)
        elif self.is_pending:
            rebalance.pending_expired(turn, group, self.member_id)
        elif member is not None and not member.is_alive():
            rebalance.session_expired(turn, group, member)

    def _need_not_wait(self) -> bool:
        if self.group.state is GroupState.DEAD:
            return True
        member = self.group.members.get(self.member_id)
        if self.is_pending:
            return member is not None
        return member is None or member.is_alive() or member.is_leaving


class DeadlineHeartbeat(_GroupOperation):
    """Up to 2.1 a heartbeat waits for a request of the member after the request that set the
    deadline.

    The operation keeps a reference to the member: a removed member may expire a second time.
    """

    __slots__ = ("member", "session_deadline_ms")

    def __init__(
        self, turn: Turn, group: ClassicGroup, member: ClassicMember, deadline_ms: int
    ) -> None:
        super().__init__(turn, group)
        self.member = member
        self.session_deadline_ms = deadline_ms

    def try_complete(self) -> bool:
        return (self._is_alive() or self.member.is_leaving) and self.force_complete()

    def on_expiration(self) -> None:
        if not self._is_alive():
            rebalance.session_expired(self.turn, self.group, self.member)

    def _is_alive(self) -> bool:
        member = self.member
        if member.awaiting_join is not None or member.awaiting_sync is not None:
            return True
        return member.latest_heartbeat_ms + member.session_timeout_ms > self.session_deadline_ms


# -- joins ---------------------------------------------------------------------------------------


class DelayedJoin(_GroupOperation):
    """Waits for all members to rejoin, at most for the longest rebalance timeout among them."""

    __slots__ = ()

    is_initial: ClassVar[bool] = False

    def try_complete(self) -> bool:
        return self.group.has_all_joined() and self.force_complete()

    def on_complete(self) -> None:
        rebalance.complete_join(self.turn, self.group)


class InitialDelayedJoin(_GroupOperation):
    """KIP-134: waits for the initial delay, and again if members joined, within the limit."""

    __slots__ = ("delay_ms", "remaining_ms")

    is_initial: ClassVar[bool] = True

    def __init__(self, turn: Turn, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(turn, group)
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        rebalance.initial_delay_ended(self.turn, self.group, self.delay_ms, self.remaining_ms)


# -- syncs (KAFKA-12890) -------------------------------------------------------------------------


class DelayedSync(_GroupOperation):
    """Waits for all members' syncs in a generation."""

    __slots__ = ("generation",)

    def __init__(self, turn: Turn, group: ClassicGroup) -> None:
        super().__init__(turn, group)
        self.generation = group.generation

    def try_complete(self) -> bool:
        group = self.group
        waits = self.generation == group.generation and group.pending_sync
        in_sync_phase = group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
        return not (waits and in_sync_phase) and self.force_complete()

    def on_expiration(self) -> None:
        rebalance.sync_expired(self.turn, self.group, self.generation)
