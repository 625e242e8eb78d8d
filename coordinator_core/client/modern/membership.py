"""The Java client's membership manager: the member's states, and how it reconciles assignments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from coordinator_core.client.context import ClientContext
from coordinator_core.client.messages import MemberState
from coordinator_core.client.modern.member_protocols import JOINS, MEMBER_PROTOCOLS, NOTHING, Units
from coordinator_core.client.modern.offsets import Offsets
from coordinator_core.protocol.messages import TopicPartition


class MembershipState(Enum):
    """org.apache.kafka.clients.consumer.internals.MemberState; the value describes it."""

    UNSUBSCRIBED = "not in the group"
    JOINING = "sends a heartbeat with epoch 0"
    RECONCILING = "has a new assignment that the application has not taken yet"
    ACKNOWLEDGING = "has taken its assignment and acknowledges it with the next heartbeat"
    STABLE = "has its assignment"
    PREPARE_LEAVING = "gives up its partitions, then leaves"
    LEAVING = "sends a heartbeat with epoch -1 or -2"
    FENCED = "removed by the coordinator, gives up its partitions, then joins again"
    STALE = "left because the application does not poll; joins again when it polls"
    FATAL = "cannot be used any more"

    __hash__ = object.__hash__


S = MembershipState
OUT_OF_GROUP = frozenset({S.UNSUBSCRIBED, S.FENCED, S.FATAL, S.STALE})
HEARTBEAT_NOW = frozenset({S.JOINING, S.ACKNOWLEDGING, S.LEAVING})
TAKES_ASSIGNMENTS = frozenset({S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE})
MEMBER_STATES: Mapping[MembershipState, MemberState] = {
    S.UNSUBSCRIBED: MemberState.UNJOINED,
    S.JOINING: MemberState.PREPARING_REBALANCE,
    S.RECONCILING: MemberState.COMPLETING_REBALANCE,
    S.ACKNOWLEDGING: MemberState.COMPLETING_REBALANCE,
    S.STABLE: MemberState.STABLE,
    S.PREPARE_LEAVING: MemberState.UNJOINED,
    S.LEAVING: MemberState.UNJOINED,
    S.FENCED: MemberState.UNJOINED,
    S.STALE: MemberState.UNJOINED,
    S.FATAL: MemberState.UNJOINED,
}


class LocalAssignment(NamedTuple):
    """``number`` counts the assignments received since the member joined; -1 means that it received
    none.
    """

    number: int = -1
    units: Units = NOTHING


NO_ASSIGNMENT = LocalAssignment()


class PendingCallback(NamedTuple):
    """A callback that waits for the application's thread; ``then`` runs when the callback has
    returned.
    """

    kind: str
    partitions: tuple[TopicPartition, ...]
    then: Callable[[], None]


class MembershipManager:
    """``callbacks`` are for the application's thread, in order.  ``reconciles`` means that the
    member is taking a target. ``left_group`` means that the leave has been sent, or need not be
    sent.
    """

    def __init__(self, context: ClientContext, offsets: Offsets) -> None:
        self.context = context
        self.offsets = offsets
        self.protocol = MEMBER_PROTOCOLS[context.config.group_protocol]
        self.state = S.UNSUBSCRIBED
        self.current = NO_ASSIGNMENT
        self.target = NO_ASSIGNMENT
        self.callbacks: deque[PendingCallback] = deque()
        self.reconciles = False
        self.rejoined = False  # while it reconciled
        self.poll_expired = False
        self.reconcile_start_ms = 0

    def move(self, state: MembershipState, reason: str | None = None) -> None:
        before = MEMBER_STATES[self.state]
        self.state = state
        if MEMBER_STATES[state] is not before:
            self.context.move(MEMBER_STATES[state], reason)

    @property
    def epoch(self) -> int:
        return self.context.generation.generation

    def set_epoch(self, epoch: int) -> None:
        self.context.generation = self.context.generation._replace(generation=epoch)

    # -- joining and leaving

    def join(self) -> None:
        if self.state is S.FATAL:
            return
        self.rejoined = self.reconciles
        self.set_epoch(JOINS)
        self.target = NO_ASSIGNMENT
        self.move(S.JOINING)

    def fence(self, reason: str) -> None:
        """The coordinator has removed the member."""
        if self.state in (S.PREPARE_LEAVING, S.LEAVING, S.UNSUBSCRIBED):
            self.move(S.UNSUBSCRIBED)
            return
        self.move(S.FENCED, reason)
        self.set_epoch(JOINS)
        self._lose(self._rejoin_if_fenced)

    def _rejoin_if_fenced(self) -> None:
        if self.state is S.FENCED:
            self.join()

    def fail(self, reason: str) -> None:
        """A fatal error: the member sends nothing more."""
        leaves = self.state in (S.LEAVING, S.PREPARE_LEAVING, S.UNSUBSCRIBED)
        self.move(S.FATAL, reason)
        if not leaves:
            self._lose(lambda: None)

    def prepare_leave(self) -> None:
        """Stop reconciling; the partitions are given up next."""
        if self.state not in OUT_OF_GROUP:
            self.move(S.PREPARE_LEAVING)

    def leave(self) -> None:
        """Leave with the next heartbeat, which is due now."""
        if self.state in OUT_OF_GROUP:
            self.clear()
            return
        self.set_epoch(self.protocol.leave_epoch(self.context.config.instance_id))
        self.clear()
        self.move(S.LEAVING)

    def leave_as_poll_expired(self) -> None:
        self.poll_expired = True
        self.set_epoch(self.protocol.leave_epoch(self.context.config.instance_id))
        self.current = NO_ASSIGNMENT
        self.move(S.LEAVING, "consumer poll timeout has expired.")

    def became_stale(self) -> None:
        """The leave has been sent; the application's thread gives up the partitions."""
        self.move(S.STALE)
        self._lose(lambda: None)

    def polled(self) -> None:
        """The application polls; a member that had left because of missing polls joins again."""
        self.poll_expired = False
        if self.state is S.STALE and not self.callbacks:
            self.join()

    def clear(self) -> None:
        self.context.own(())
        self.current = self.target = NO_ASSIGNMENT

    def _lose(self, then: Callable[[], None]) -> None:
        def lost() -> None:
            self.clear()
            then()

        self._call("lost", self.context.owned, lost, skips_empty=True)

    # -- heartbeats

    def heartbeat_sent(self) -> None:
        if self.state is S.ACKNOWLEDGING:
            self.move(S.STABLE if self.is_reconciled else S.RECONCILING)
        elif self.state is S.LEAVING:
            if self.poll_expired:
                self.became_stale()
            else:
                self.move(S.UNSUBSCRIBED)

    def answered(self, epoch: int, units: Units | None) -> None:
        """A heartbeat was answered. ``units`` is None if the assignment did not change."""
        if self.state is S.LEAVING or self.state in OUT_OF_GROUP or epoch < 0:
            return
        self.set_epoch(epoch)
        if units is None or self.state not in TAKES_ASSIGNMENTS:
            return
        if self.target.number == -1 or units != self.target.units:
            self.target = LocalAssignment(self.target.number + 1, units)
        if not self.is_reconciled:
            if self.state is not S.RECONCILING:
                self.reconcile_start_ms = self.context.now_ms
            self.move(S.RECONCILING)
        elif self.state in (S.RECONCILING, S.JOINING):
            self.move(S.STABLE)

    @property
    def is_reconciled(self) -> bool:
        return self.current == self.target

    # -- reconciliation

    @property
    def waits_for_poll(self) -> bool:
        """Returns whether the application's next poll has something to do for the member."""
        stale = self.state is S.STALE and not self.callbacks
        return bool(self.callbacks) or stale or self.can_reconcile

    @property
    def can_reconcile(self) -> bool:
        ready = self.state is S.RECONCILING and not self.is_reconciled and not self.reconciles
        return ready and not self._waits_for_names()

    def _waits_for_names(self) -> bool:
        """Returns whether no topic of the target is known but those that the member has already."""
        names = self.context.topic_names
        if not self.protocol.unknown_topics(self.target.units, names):
            return False
        resolved = self.protocol.resolved(self.target.units, names)
        return self.current.number == self.target.number and resolved == self.current.units

    def reconcile(self, *, polls: bool) -> None:
        """Begin to take the target; with automatic commits only while the application polls."""
        if not self.can_reconcile or (self.offsets.is_automatic and not polls):
            return
        names = self.context.topic_names
        units = self.protocol.resolved(self.target.units, names)
        taken = LocalAssignment(self.target.number, units)
        if self.current.number != -1 and units == self.current.units:
            self.current = taken  # Only topics whose names are unknown were added.
            self.move(S.ACKNOWLEDGING)
            return
        self.reconciles, self.rejoined = True, False
        self.offsets.commit_before_rebalance(lambda: self._revoke(taken))

    def _revoke(self, taken: LocalAssignment) -> None:
        if self._is_aborted():
            return
        owned = set(self.context.owned)
        assigned = self.protocol.partitions(taken.units, self.context.topic_names)
        revoked = owned - assigned
        self._call("revoked", revoked, lambda: self._assign(taken, assigned), skips_empty=True)

    def _assign(self, taken: LocalAssignment, assigned: set[TopicPartition]) -> None:
        if self._is_aborted():
            return
        added = assigned.difference(self.context.owned)
        self.context.own(assigned)
        self._call("assigned", added, lambda: self._complete(taken))

    def _complete(self, taken: LocalAssignment) -> None:
        if self._is_aborted():
            return
        self.reconciles = False
        self.current = taken
        self.offsets.start_interval()
        self.move(S.ACKNOWLEDGING)
        self.context.rebalanced(self.reconcile_start_ms)

    def _is_aborted(self) -> bool:
        if self.state is S.RECONCILING and not self.rejoined:
            return False
        self.reconciles = self.rejoined = False
        return True

    def _call(
        self,
        kind: str,
        partitions: set[TopicPartition] | tuple[TopicPartition, ...],
        then: Callable[[], None],
        *,
        skips_empty: bool = False,
    ) -> None:
        if not self.protocol.has_callbacks or (skips_empty and not partitions):
            then()
        else:
            self.callbacks.append(PendingCallback(kind, tuple(sorted(partitions)), then))
