"""The delayed operations: sessions, joins and syncs, as the eras keep them.

Up to 3.9 an operation holds on to its group and is completed when what it waits for has come.  The
new coordinator (KIP-848) has keyed timers instead: a timer is overridden or cancelled by name, and
looks up the group, whichever that is by then, when it fires.
"""

from __future__ import annotations

from coordinator_core.coordinator.classic import rebalance
from coordinator_core.coordinator.classic.group import Group, Member
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.purgatory import DelayedOperation
from coordinator_core.coordinator.turn import Turn


class _Delayed(DelayedOperation):
    __slots__ = ("group", "turn")

    def __init__(self, turn: Turn, group: Group) -> None:
        super().__init__()
        self.turn = turn
        self.group = group


# -- sessions ------------------------------------------------------------------------------------


class DelayedHeartbeat(_Delayed):
    """Waits for the next sign of life of a member, or for a pending member to join."""

    __slots__ = ("is_pending", "member_id")

    def __init__(self, turn: Turn, group: Group, member_id: str, is_pending: bool) -> None:
        super().__init__(turn, group)
        self.member_id = member_id
        self.is_pending = is_pending

    def try_complete(self) -> bool:
        return self._need_not_wait() and self.force_complete()

    def on_expiration(self) -> None:
        turn, group, member = self.turn, self.group, self.group.members.get(self.member_id)
        if group.state is GroupState.DEAD:
            turn.event("EXPIRED_UNKNOWN", group, member_id=self.member_id)
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


def renew_session(turn: Turn, group: Group, member: Member, timeout_ms: int) -> None:
    """The member was heard of: complete what waits for it, and wait for the next time."""
    key = (group.group_id, member.member_id)
    member.heartbeat_satisfied = True
    turn.sessions.check_and_complete(key)
    member.heartbeat_satisfied = False
    operation = DelayedHeartbeat(turn, group, member.member_id, False)
    turn.sessions.try_complete_else_watch(operation, key, timeout_ms)


def watch_pending(turn: Turn, group: Group, member_id: str, timeout_ms: int) -> None:
    operation = DelayedHeartbeat(turn, group, member_id, True)
    turn.sessions.try_complete_else_watch(operation, (group.group_id, member_id), timeout_ms)


def end_session(turn: Turn, group: Group, member_id: str) -> None:
    turn.sessions.check_and_complete((group.group_id, member_id))


class DeadlineHeartbeat(_Delayed):
    """Up to 2.2: waits until the member was heard of after the deadline was set.

    It holds on to the member: one that was removed meanwhile may fail a second time.
    """

    __slots__ = ("member", "session_deadline_ms")

    def __init__(self, turn: Turn, group: Group, member: Member, deadline_ms: int) -> None:
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


def renew_deadline(turn: Turn, group: Group, member: Member, timeout_ms: int) -> None:
    key = (group.group_id, member.member_id)
    member.latest_heartbeat_ms = turn.now_ms
    turn.sessions.check_and_complete(key)
    operation = DeadlineHeartbeat(turn, group, member, turn.now_ms + timeout_ms)
    turn.sessions.try_complete_else_watch(operation, key, timeout_ms)


class SessionTimer(_Delayed):
    """The new coordinator's: members and pending members alike."""

    __slots__ = ("member_id",)

    def __init__(self, turn: Turn, group: Group, member_id: str) -> None:
        super().__init__(turn, group)
        self.member_id = member_id

    def on_expiration(self) -> None:
        turn, group = self.turn, self.turn.groups.get(self.group.group_id)
        if group is None:
            return
        member = group.members.get(self.member_id)
        if self.member_id in group.pending:
            rebalance.pending_expired(turn, group, self.member_id)
        elif member is not None and not _waits(member):
            rebalance.session_expired(turn, group, member)


def _waits(member: Member) -> bool:
    """A member in its first join cannot send heartbeats either, but may be gone: not spared."""
    waits = member.awaiting_join is not None or member.awaiting_sync is not None
    return waits and not member.is_new


def schedule_session(turn: Turn, group: Group, member: Member, timeout_ms: int) -> None:
    schedule_pending(turn, group, member.member_id, timeout_ms)


def schedule_pending(turn: Turn, group: Group, member_id: str, timeout_ms: int) -> None:
    timer = SessionTimer(turn, group, member_id)
    turn.sessions.schedule(timer, (group.group_id, member_id), timeout_ms)


def cancel_session(turn: Turn, group: Group, member_id: str) -> None:
    turn.sessions.cancel((group.group_id, member_id))


# -- joins ---------------------------------------------------------------------------------------


class DelayedJoin(_Delayed):
    """Waits for all members to rejoin, at most for the longest rebalance timeout among them."""

    __slots__ = ()

    def try_complete(self) -> bool:
        return self.group.has_all_joined() and self.force_complete()

    def on_complete(self) -> None:
        rebalance.complete_join(self.turn, self.group)


class InitialDelayedJoin(_Delayed):
    """KIP-134: waits for the initial delay, and again while new members come, within the limit."""

    __slots__ = ("delay_ms", "remaining_ms")

    def __init__(self, turn: Turn, group: Group, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(turn, group)
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        group = self.group
        if not (group.new_member_added and self.remaining_ms):
            rebalance.complete_join(self.turn, group)
            return
        group.new_member_added = False
        delay_ms, remaining_ms = _extension(self)
        operation = InitialDelayedJoin(self.turn, group, delay_ms, remaining_ms)
        self.turn.joins.try_complete_else_watch(operation, group.group_id, delay_ms)


def _extension(join: InitialDelayedJoin | InitialJoinTimer) -> tuple[int, int]:
    """The next delay and what remains after it."""
    configured_ms = join.turn.config.group_initial_rebalance_delay_ms
    return min(configured_ms, join.remaining_ms), max(join.remaining_ms - join.delay_ms, 0)


def start_join(turn: Turn, group: Group, is_initial: bool) -> None:
    if is_initial:
        delay_ms, remaining_ms = _initial_delay(turn, group)
        operation: DelayedOperation = InitialDelayedJoin(turn, group, delay_ms, remaining_ms)
    else:
        delay_ms = group.rebalance_timeout_ms()
        operation = DelayedJoin(turn, group)
    turn.joins.try_complete_else_watch(operation, group.group_id, delay_ms)


def _initial_delay(turn: Turn, group: Group) -> tuple[int, int]:
    delay_ms = turn.config.group_initial_rebalance_delay_ms
    return delay_ms, max(group.rebalance_timeout_ms() - delay_ms, 0)


def check_join(turn: Turn, group: Group) -> None:
    if group.state is GroupState.PREPARING_REBALANCE:
        turn.joins.check_and_complete(group.group_id)


class JoinTimer(_Delayed):
    __slots__ = ()

    def on_expiration(self) -> None:
        group = self.turn.groups.get(self.group.group_id)
        if group is not None:
            complete_keyed_join(self.turn, group)


class InitialJoinTimer(_Delayed):
    __slots__ = ("delay_ms", "remaining_ms")

    def __init__(self, turn: Turn, group: Group, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(turn, group)
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def on_expiration(self) -> None:
        turn, group = self.turn, self.turn.groups.get(self.group.group_id)
        if group is None:
            return
        if group.new_member_added and self.remaining_ms:
            group.new_member_added = False
            delay_ms, remaining_ms = _extension(self)
            timer = InitialJoinTimer(turn, group, delay_ms, remaining_ms)
            turn.joins.schedule(timer, group.group_id, delay_ms)
        else:
            complete_keyed_join(turn, group)


def complete_if_all_joined(turn: Turn, group: Group, cause: rebalance.Cause) -> None:
    """The new coordinator does not mind the initial delay when a member fails in it."""
    if group.has_all_joined():
        complete_keyed_join(turn, group)


def complete_keyed_join(turn: Turn, group: Group) -> None:
    turn.joins.cancel(group.group_id)
    rebalance.complete_join(turn, group)


def schedule_join(turn: Turn, group: Group, is_initial: bool) -> None:
    if is_initial:
        delay_ms, remaining_ms = _initial_delay(turn, group)
        timer = InitialJoinTimer(turn, group, delay_ms, remaining_ms)
        turn.joins.schedule(timer, group.group_id, delay_ms)
    elif group.has_all_joined():
        complete_keyed_join(turn, group)
    else:
        turn.joins.schedule(JoinTimer(turn, group), group.group_id, group.rebalance_timeout_ms())


def check_keyed_join(turn: Turn, group: Group) -> None:
    """Complete the join if all are there; an initial rebalance runs its delay."""
    is_on = group.state is GroupState.PREPARING_REBALANCE
    if is_on and group.previous_state is not GroupState.EMPTY and group.has_all_joined():
        complete_keyed_join(turn, group)


# -- syncs (KAFKA-12890) -------------------------------------------------------------------------


class DelayedSync(_Delayed):
    """Waits for all members' syncs in a generation."""

    __slots__ = ("generation",)

    def __init__(self, turn: Turn, group: Group) -> None:
        super().__init__(turn, group)
        self.generation = group.generation

    def try_complete(self) -> bool:
        group = self.group
        waits = self.generation == group.generation and group.pending_sync
        in_sync_phase = group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
        return not (waits and in_sync_phase) and self.force_complete()

    def on_expiration(self) -> None:
        rebalance.sync_expired(self.turn, self.group, self.generation)


def start_sync(turn: Turn, group: Group) -> None:
    timeout_ms = group.rebalance_timeout_ms()
    turn.syncs.try_complete_else_watch(DelayedSync(turn, group), group.group_id, timeout_ms)


def check_sync(turn: Turn, group: Group) -> None:
    turn.syncs.check_and_complete(group.group_id)


class SyncTimer(_Delayed):
    __slots__ = ("generation",)

    def __init__(self, turn: Turn, group: Group) -> None:
        super().__init__(turn, group)
        self.generation = group.generation

    def on_expiration(self) -> None:
        group = self.turn.groups.get(self.group.group_id)
        if group is not None:
            rebalance.sync_expired(self.turn, group, self.generation)


def schedule_sync(turn: Turn, group: Group) -> None:
    turn.syncs.schedule(SyncTimer(turn, group), group.group_id, group.rebalance_timeout_ms())


def check_keyed_sync(turn: Turn, group: Group) -> None:
    if not group.pending_sync:
        turn.syncs.cancel(group.group_id)
