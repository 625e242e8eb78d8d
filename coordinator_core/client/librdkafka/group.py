"""The member's join states and the transitions between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from coordinator_core.client.context import ClientContext
from coordinator_core.client.librdkafka.partitions import AssignedPartitions
from coordinator_core.client.librdkafka.states import (
    MEMBER_STATES,
    REBALANCING,
    REBALANCING_IF_JOINED,
    WAIT_CALL,
    ConsumerError,
    Interval,
    JoinState,
    RebalanceCallback,
)
from coordinator_core.client.messages import NO_GENERATION, Closed, FindCoordinator, MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.subscription import LastAssignment, is_cooperative
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinResponse, LeaveGroup, Leaver, TopicPartition

JOIN_INTERVAL_MS = 1000
QUERY_INTERVAL_MS = 500
# librdkafka sends LeaveGroup on a best-effort basis, with a shorter timeout than other requests.
_LEAVE_TIMEOUT_MS = 5000


class LibrdkafkaGroup:
    """``group_assignment`` is the last assignment received, which may not have been passed to the
    application yet.

    ``queue`` has callbacks and errors for the application's next polls, in order.
    """

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.is_cooperative = is_cooperative(context.protocols)
        self.join_state = JoinState.INIT
        self.group_assignment: tuple[TopicPartition, ...] | None = None
        self.queue: deque[RebalanceCallback | ConsumerError] = deque()
        self.call: RebalanceCallback | None = None  # callback that the application is executing
        self.partitions = AssignedPartitions(context, self.partitions_done)
        # existing topics of the subscription, from the last metadata
        self.subscribed: dict[str, int] = {}
        # topics to which the application subscribed during a rebalance
        self.next_topics: tuple[str, ...] | None = None
        self.last_assignment: LastAssignment | None = None
        self.to_assign: JoinResponse | None = None
        self.to_add: tuple[TopicPartition, ...] | None = None  # after a revocation
        self.rejoins_afterwards = False
        self.is_lost = False
        self.fatal: Errors | None = None
        # whether the application's callback must answer a JoinGroup or SyncGroup response
        self.waits_for_answer = False
        self.waits_for_leave = False
        self.leaves_when_unassigned = False
        self.is_terminating = False
        self.left_after_poll_timeout = False
        self.session_ms: int | None = None
        self.join_interval = Interval(JOIN_INTERVAL_MS)
        self.query_interval = Interval(QUERY_INTERVAL_MS)
        self.rebalance_start_ms: int | None = None
        self.prepare_start_ms: int | None = None

    @property
    def has_joined(self) -> bool:
        return self.context.generation.member_id != ""

    @property
    def is_rebalancing(self) -> bool:
        state = self.join_state
        return state in REBALANCING or (self.has_joined and state in REBALANCING_IF_JOINED)

    def move(self, state: JoinState, reason: str | None = None) -> None:
        if state is self.join_state:
            return
        before, self.join_state = MEMBER_STATES[self.join_state], state
        if MEMBER_STATES[state] is not before:
            self.context.move(MEMBER_STATES[state], reason)

    def set_member_id(self, member_id: str) -> None:
        self.context.generation = self.context.generation._replace(member_id=member_id)

    def renew_session(self, *, revives: bool) -> None:
        """Extend the session; extend an expired session only with ``revives``, after an
        assignment.
        """
        if revives or self.session_ms is not None:
            self.session_ms = self.context.now_ms + self.context.session_timeout_ms

    def find_coordinator(self) -> None:
        """Send FindCoordinator unless one is in flight; the current coordinator stays in use."""
        context = self.context
        if not context.waits_for(FindCoordinator):
            self.query_interval.last_ms = context.now_ms
            request = FindCoordinator(context.next_id(), context.config.group_id)
            context.send(request, None, context.config.request_timeout_ms)

    def fail(self, error: Errors) -> None:
        """Fail permanently: no more callbacks or requests."""
        self.fatal = error
        self.context.move(MemberState.UNJOINED, error.name)
        self.queue.append(ConsumerError(error, f"Fatal consumer error: {error.name}", True))

    def forget(self, error: Errors, reaction: Reaction) -> None:
        """Reset the generation (RESET), the member id (RENEW), or fail (FENCED)."""
        if reaction is Reaction.RESET:
            self.context.generation = self.context.generation._replace(generation=NO_GENERATION)
        elif reaction is Reaction.RENEW:
            self.set_member_id("")
        elif reaction is Reaction.FENCED:
            self.fail(error)

    # Rejoining.

    def rejoin(self, reason: str) -> None:
        """Move to INIT, from where the member joins if it has topics."""
        if not self.context.topics and self.next_topics is None:
            self._leave_if_requested()
        if self.prepare_start_ms is None:
            self.prepare_start_ms = self.context.now_ms
        self.move(JoinState.INIT, reason)

    def revoke_all_and_rejoin(self, reason: str, *, is_lost: bool) -> None:
        """An eager member revokes even an empty assignment."""
        if self.prepare_start_ms is None:
            self.prepare_start_ms = self.context.now_ms
        if not self.is_cooperative:
            self.is_lost = self.is_lost or is_lost
            if self.group_assignment is not None and self.join_state not in WAIT_CALL:
                self._delegate(RebalanceCallback(False, self.group_assignment))
            else:
                self.join_interval.reset()
                self.rejoin(reason)
        elif self.group_assignment:
            self.is_lost = self.is_lost or is_lost
            self._delegate(
                RebalanceCallback(False, self.group_assignment), rejoins=not self.is_terminating
            )
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

    # Assignment and revocation.

    def take_assignment(self, partitions: tuple[TopicPartition, ...]) -> None:
        if not self.is_cooperative:
            self._delegate(RebalanceCallback(True, tuple(sorted(partitions))))
            return
        before = set(self.group_assignment or ())
        added = tuple(sorted(set(partitions) - before))
        revoked = tuple(sorted(before.difference(partitions)))
        if revoked:
            self.to_add = added
            self._delegate(RebalanceCallback(False, revoked))
        else:
            self._delegate(RebalanceCallback(True, added))

    def revoke(self, partitions: Iterable[TopicPartition], *, rejoins: bool) -> None:
        """Revoke some partitions of a cooperative member."""
        self._delegate(RebalanceCallback(False, tuple(sorted(partitions))), rejoins=rejoins)

    def _delegate(self, call: RebalanceCallback, *, rejoins: bool = False) -> None:
        """Queue a callback for the application; after a fatal error, give up without a callback."""
        self.rejoins_afterwards = rejoins
        if self.fatal is not None:
            self.partitions.give_up(self.context.owned, commits=False)
        else:
            wait = JoinState.WAIT_ASSIGN_CALL if call.is_assign else JoinState.WAIT_UNASSIGN_CALL
            self.move(wait)
            self.queue.append(call)
        if not self.is_cooperative:
            self.group_assignment = call.partitions if call.is_assign else None
        elif call.is_assign:
            self.group_assignment = (*(self.group_assignment or ()), *call.partitions)
        else:
            revoked = set(call.partitions)
            self.group_assignment = tuple(
                each for each in self.group_assignment or () if each not in revoked
            )

    def called(self) -> None:
        """The callback has returned."""
        call, self.call = self.call, None
        if call is None:
            return
        commits, self.is_lost = not self.is_lost and self.fatal is None, False
        if self.is_terminating or self.fatal is not None:
            self.to_add = None
            self.move(JoinState.WAIT_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(self.context.owned, commits=commits)
        elif call.is_assign:
            self.move(JoinState.STEADY)
            if not self.is_cooperative:
                self.context.own(())
            self.partitions.take(call.partitions)
            self._completed()
        elif self.is_cooperative:
            self.move(JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(call.partitions, commits=commits)
        else:
            self.move(JoinState.WAIT_UNASSIGN_TO_COMPLETE)
            self.partitions.give_up(self.context.owned, commits=commits)
        self.partitions.serve()

    def _completed(self) -> None:
        if self.prepare_start_ms is not None:
            self.context.measure("rebalance-with-callbacks", self.prepare_start_ms)
            self.prepare_start_ms = None

    def partitions_done(self) -> None:
        """Continue the work that waited for the end of commits and offset fetches."""
        if self.join_state is JoinState.WAIT_UNASSIGN_TO_COMPLETE:
            self._leave_if_requested()
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
        """Assign the added partitions, even an empty set, then rejoin."""
        if self.to_add is not None:
            added, self.to_add = self.to_add, None
            self._delegate(RebalanceCallback(True, added), rejoins=True)
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
        self.context.topics = ()
        self.subscribed = {}
        self.to_assign = None
        if leaves and self.has_joined:
            self.leaves_when_unassigned = True
        if not self.is_lost:
            self.revoke_all_and_rejoin("unsubscribe", is_lost=False)

    def leave(self) -> None:
        """Send LeaveGroup and drop the member id."""
        context, member_id = self.context, self.context.generation.member_id
        self.set_member_id("")
        if self.waits_for_leave or context.coordinator is None:
            return
        self.waits_for_leave = True
        request = LeaveGroup(context.next_id(), context.config.group_id, (Leaver(member_id),))
        context.send(request, context.coordinator, _LEAVE_TIMEOUT_MS)

    def _leave_if_requested(self) -> None:
        """Leave after ``unsubscribe``; static members do not leave at close (KIP-345)."""
        if not self.leaves_when_unassigned:
            return
        self.leaves_when_unassigned = False
        if self.context.config.instance_id is None or not self.is_terminating:
            self.leave()

    def end_if_done(self) -> None:
        context = self.context
        busy = self.join_state in WAIT_CALL or self.call is not None or self.partitions.is_busy
        if not self.is_terminating or busy or self.waits_for_leave or context.owned:
            return
        context.in_flight.clear()
        context.timers.clear()
        context.is_closed = True
        context.effects.append(Closed())
