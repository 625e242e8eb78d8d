"""The member's state, shared by both threads of a Java consumer."""

from __future__ import annotations

from coordinator_core.client.context import ClientContext, InFlight, MemberGeneration
from coordinator_core.client.messages import NO_GENERATION, FindCoordinator, MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.subscription import LastAssignment, is_cooperative
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import LeaveGroup, Leaver


class Future:
    """A result that the application's thread waits for; ``value`` is the assignment
    after a join.
    """

    __slots__ = ("error", "reaction", "value")

    def __init__(self) -> None:
        self.error = Errors.NONE
        self.reaction: Reaction | None = None
        self.value = b""

    @property
    def is_done(self) -> bool:
        return self.reaction is not None

    @property
    def succeeded(self) -> bool:
        return self.reaction is Reaction.GO_ON

    def complete(self, value: bytes = b"") -> None:
        self.reaction = Reaction.GO_ON
        self.value = value

    def end(self, error: Errors, reaction: Reaction) -> None:
        self.error, self.reaction = error, reaction


class JavaMember:
    """``lost`` has requests whose connection was closed, and whose failure is not handled yet."""

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.is_cooperative = is_cooperative(context.protocols)
        self.rejoin_needed = True
        self.rejoin_reason: str | None = None
        self.needs_join_prepare = True
        self.join: Future | None = None
        self.rebalance_start_ms: int | None = None
        self.joined_topics: tuple[str, ...] | None = None
        self.last_assignment: LastAssignment | None = None
        self.fatal_find: Errors | None = None
        self.fenced_commit = False
        self.lost: list[InFlight] = []

    @property
    def is_static(self) -> bool:
        return (
            self.context.config.instance_id is not None and self.context.library.has_static_members
        )

    @property
    def instance_id(self) -> str | None:
        return self.context.config.instance_id if self.is_static else None

    @property
    def has_no_generation(self) -> bool:
        generation, member_id, _ = self.context.generation
        return generation == NO_GENERATION or member_id == ""

    @property
    def generation_is_reset(self) -> bool:
        return self.context.generation.generation == NO_GENERATION

    @property
    def is_rebalancing(self) -> bool:
        return self.context.state in (
            MemberState.PREPARING_REBALANCE,
            MemberState.COMPLETING_REBALANCE,
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        """max.poll.interval.ms, or the session timeout before KIP-62."""
        if self.context.library.has_rebalance_timeout:
            return self.context.config.max_poll_interval_ms
        return self.context.session_timeout_ms

    def request_rejoin(self, reason: str) -> None:
        self.rejoin_reason = reason
        self.rejoin_needed = True

    def reset_and_rejoin(self, reason: str, keeps_member_id: bool) -> None:
        member_id = self.context.generation.member_id if keeps_member_id else ""
        self.context.generation = MemberGeneration(member_id=member_id)
        self.context.move(MemberState.UNJOINED, reason)
        self.request_rejoin(reason)
        self.needs_join_prepare = True

    def find_coordinator(self) -> None:
        """Send FindCoordinator unless one is in flight."""
        if not self.context.waits_for(FindCoordinator):
            request = FindCoordinator(self.context.next_id(), self.context.config.group_id)
            self.context.send(request, None, self.context.config.request_timeout_ms)

    def forget_coordinator(self, connection_is_lost: bool = False) -> None:
        """Forget the coordinator and close its connection; its requests in flight are lost."""
        node = self.context.coordinator
        if node is None:
            return
        self.context.coordinator = None
        if not connection_is_lost:
            self.context.disconnect(node)
        self.lost += self.context.take_in_flight_of(node)

    def leave(self, reason: str) -> None:
        """Leave the group.  Static members send no LeaveGroup (KIP-345)."""
        context = self.context
        member_id = context.generation.member_id
        is_member = context.state is not MemberState.UNJOINED and member_id != ""
        if not self.is_static and is_member and context.coordinator is not None:
            sent_reason = reason if context.library.sends_reasons else None
            request = LeaveGroup(
                context.next_id(), context.config.group_id, (Leaver(member_id, None, sent_reason),)
            )
            context.send(request, context.coordinator, context.config.request_timeout_ms)
        self.reset_and_rejoin("consumer pro-actively leaving the group", keeps_member_id=False)
