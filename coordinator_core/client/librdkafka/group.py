"""A member's way through rebalances: its join states and what moves it between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from coordinator_core.client.librdkafka.partitions import Partitions
from coordinator_core.client.librdkafka.states import (
    MEMBER_STATES,
    REBALANCING,
    REBALANCING_IF_JOINED,
    WAIT_CALL,
    Call,
    Interval,
    JoinState,
    Problem,
)
from coordinator_core.client.messages import NO_GENERATION, Closed, FindCoordinator, MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.shell import Shell
from coordinator_core.client.subscription import LastAssignment, is_cooperative
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinResponse, LeaveGroup, Leaver, TopicPartition

JOIN_INTERVAL_MS = 1000
QUERY_INTERVAL_MS = 500


class Group:
    """``given``: the group's assignment, which the application may not have taken yet.

    ``queue``: what the application is to hear at its next poll, in order.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.is_cooperative = is_cooperative(shell.protocols)
        self.join_state = JoinState.INIT
        self.given: tuple[TopicPartition, ...] | None = None
        self.queue: deque[Call | Problem] = deque()
        self.call: Call | None = None  # the callback that runs
        self.partitions = Partitions(shell, self.partitions_done)
        self.subscribed: dict[str, int] = {}  # topics that exist, as of the last look at them
        self.next_topics: tuple[str, ...] | None = None  # subscribed to while rebalancing
        self.last_assignment: LastAssignment | None = None
        self.to_assign: JoinResponse | None = None
        self.to_add: tuple[TopicPartition, ...] | None = None  # after a revocation
        self.rejoins_afterwards = False
        self.is_lost = False
        self.fatal: Errors | None = None
        self.waits_for_answer = False  # to JoinGroup or SyncGroup
        self.waits_for_leave = False
        self.leaves_when_unassigned = False
        self.is_terminating = False
        self.left_for_poll = False
        self.session_ms: int | None = None
        self.join_interval = Interval(JOIN_INTERVAL_MS)
        self.query_interval = Interval(QUERY_INTERVAL_MS)
        self.rebalance_start_ms: int | None = None
        self.prepare_start_ms: int | None = None

    @property
    def has_joined(self) -> bool:
        return self.shell.generation.member_id != ""

    @property
    def is_rebalancing(self) -> bool:
        state = self.join_state
        return state in REBALANCING or (self.has_joined and state in REBALANCING_IF_JOINED)

    def move(self, state: JoinState, reason: str | None = None) -> None:
        if state is self.join_state:
            return
        before, self.join_state = MEMBER_STATES[self.join_state], state
        if MEMBER_STATES[state] is not before:
            self.shell.move(MEMBER_STATES[state], reason)

    def set_member_id(self, member_id: str) -> None:
        self.shell.generation = self.shell.generation._replace(member_id=member_id)

    def renew_session(self, *, revives: bool) -> None:
        """An expired session is over until the next assignment."""
        if revives or self.session_ms is not None:
            self.session_ms = self.shell.now_ms + self.shell.session_timeout_ms

    def find_coordinator(self) -> None:
        """Ask, unless it is asked already; the one that is known stays in use until then."""
        shell = self.shell
        if not shell.waits_for(FindCoordinator):
            self.query_interval.last_ms = shell.now_ms
            request = FindCoordinator(shell.next_id(), shell.config.group_id)
            shell.send(request, None, shell.config.request_timeout_ms)

    def fail(self, error: Errors) -> None:
        """For good: no callbacks, no requests any more."""
        self.fatal = error
        self.shell.move(MemberState.UNJOINED, error.name)
        self.queue.append(Problem(error, f"Fatal consumer error: {error.name}", True))

    def forget(self, error: Errors, what: Reaction) -> None:
        """What RESET and RENEW forget; FENCED is the end."""
        if what is Reaction.RESET:
            self.shell.generation = self.shell.generation._replace(generation=NO_GENERATION)
        elif what is Reaction.RENEW:
            self.set_member_id("")
        elif what is Reaction.FENCED:
            self.fail(error)

    # Towards a rejoin.

    def rejoin(self, reason: str) -> None:
        """Does no more than to begin again; without topics it ends there."""
        if not self.shell.topics and self.next_topics is None:
            self._leave_if_told()
        if self.prepare_start_ms is None:
            self.prepare_start_ms = self.shell.now_ms
        self.move(JoinState.INIT, reason)

    def revoke_all_and_rejoin(self, reason: str, *, is_lost: bool) -> None:
        """Even an empty assignment is revoked, if it is an eager group's."""
        if self.prepare_start_ms is None:
            self.prepare_start_ms = self.shell.now_ms
        if not self.is_cooperative:
            self.is_lost = self.is_lost or is_lost
            if self.given is not None and self.join_state not in WAIT_CALL:
                self._delegate(Call(False, self.given))
            else:
                self.join_interval.reset()
                self.rejoin(reason)
        elif self.given:
            self.is_lost = self.is_lost or is_lost
            self._delegate(Call(False, self.given), rejoins=not self.is_terminating)
        elif not self.is_terminating:
            self.rejoin(reason)

    def revoke_all_and_rejoin_unless_rebalancing(self, reason: str, *, is_lost: bool) -> None:
        if not self.is_rebalancing:
            self.revoke_all_and_rejoin(reason, is_lost=is_lost)

    def group_is_rebalancing(self) -> None:
        if not self.is_cooperative:
            self.revoke_all_and_rejoin_unless_rebalancing("rebalance in progress", is_lost=False)
        elif not self.is_rebalancing:
            self.rejoin("Group is rebalancing")

    # An assignment arrives.

    def take_assignment(self, partitions: tuple[TopicPartition, ...]) -> None:
        if not self.is_cooperative:
            self._delegate(Call(True, tuple(sorted(partitions))))
            return
        before = set(self.given or ())
        added = tuple(sorted(set(partitions) - before))
        revoked = tuple(sorted(before.difference(partitions)))
        if revoked:
            self.to_add = added
            self._delegate(Call(False, revoked))
        else:
            self._delegate(Call(True, added))

    def revoke(self, partitions: Iterable[TopicPartition], *, rejoins: bool) -> None:
        """Of a cooperative group, some of its partitions."""
        self._delegate(Call(False, tuple(sorted(partitions))), rejoins=rejoins)

    def _delegate(self, call: Call, *, rejoins: bool = False) -> None:
        """The application is to take or give up partitions; after a fatal error nobody asks it."""
        self.rejoins_afterwards = rejoins
        if self.fatal is not None:
            self.partitions.give_up(self.shell.owned, commits=False)
        else:
            wait = JoinState.WAIT_ASSIGN_CALL if call.is_assign else JoinState.WAIT_UNASSIGN_CALL
            self.move(wait)
            self.queue.append(call)
        if not self.is_cooperative:
            self.given = call.partitions if call.is_assign else None
        elif call.is_assign:
            self.given = (*(self.given or ()), *call.partitions)
        else:
            gone = set(call.partitions)
            self.given = tuple(each for each in self.given or () if each not in gone)

    def called(self) -> None:
        """The callback has returned, having taken or given up what it was told to."""
        call, self.call = self.call, None
        if call is None:
            return
        commits, self.is_lost = not self.is_lost and self.fatal is None, False
        if self.is_terminating or self.fatal is not None:
            self.to_add = None
            self.move(JoinState.WAIT_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(self.shell.owned, commits=commits)
        elif call.is_assign:
            self.move(JoinState.STEADY)
            if not self.is_cooperative:
                self.shell.own(())
            self.partitions.take(call.partitions)
            self._completed()
        elif self.is_cooperative:
            self.move(JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(call.partitions, commits=commits)
        else:
            self.move(JoinState.WAIT_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(self.shell.owned, commits=commits)
        self.partitions.serve()

    def _completed(self) -> None:
        if self.prepare_start_ms is not None:
            self.shell.measure("rebalance-with-callbacks", self.prepare_start_ms)
            self.prepare_start_ms = None

    def partitions_done(self) -> None:
        """Neither commits nor offset fetches are under way: what waited for that goes on."""
        if self.join_state is JoinState.WAIT_UNASSIGN_TO_COMPLETE:
            self._leave_if_told()
            self.join_interval.reset()
            self.rejoin("Unassignment done")
        elif self.join_state is JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE:
            self._after_partial_revocation()
        elif self.join_state is JoinState.STEADY:
            if self.next_topics is not None:
                self.join_interval.reset()
                self.rejoin("Applying next subscription")
            elif self.rejoins_afterwards:
                self.rejoins_afterwards = False
                self.join_interval.reset()
                self.rejoin("rejoining group to redistribute previously owned partitions")

    def _after_partial_revocation(self) -> None:
        """What the group gave instead comes next, even if that is nothing, and then a rejoin."""
        if self.to_add is not None:
            added, self.to_add = self.to_add, None
            self._delegate(Call(True, added), rejoins=True)
        elif self.rejoins_afterwards:
            self.rejoins_afterwards = False
            self.join_interval.reset()
            self.rejoin("Incremental unassignment done")
        elif self.next_topics is not None:
            self.join_interval.reset()
            self.rejoin("Applying next subscription")
        else:
            self.move(JoinState.STEADY)

    # Subscribing and leaving.

    def unsubscribe(self, *, leaves: bool) -> None:
        self.shell.topics = ()
        self.subscribed = {}
        self.to_assign = None
        if leaves and self.has_joined:
            self.leaves_when_unassigned = True
        if not self.is_lost:
            self.revoke_all_and_rejoin("unsubscribe", is_lost=False)

    def leave(self) -> None:
        """A member that has left has no id any more."""
        shell, member_id = self.shell, self.shell.generation.member_id
        self.set_member_id("")
        if self.waits_for_leave or shell.coordinator is None:
            return
        self.waits_for_leave = True
        request = LeaveGroup(shell.next_id(), shell.config.group_id, (Leaver(member_id),))
        shell.send(request, shell.coordinator, shell.session_timeout_ms)

    def _leave_if_told(self) -> None:
        """Static members do not leave when they end (KIP-345)."""
        if not self.leaves_when_unassigned:
            return
        self.leaves_when_unassigned = False
        if self.shell.config.instance_id is None or not self.is_terminating:
            self.leave()

    def end_if_done(self) -> None:
        shell = self.shell
        busy = self.join_state in WAIT_CALL or self.call is not None or self.partitions.is_busy
        if not self.is_terminating or busy or self.waits_for_leave or shell.owned:
            return
        shell.in_flight.clear()
        shell.timers.clear()
        shell.is_closed = True
        shell.effects.append(Closed())
