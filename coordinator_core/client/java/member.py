"""A member as its own process knows it, and what both threads may do to it."""

from __future__ import annotations

from coordinator_core.client.messages import NO_GENERATION, FindCoordinator, MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.shell import Generation, InFlight, Shell
from coordinator_core.client.subscription import LastAssignment, is_cooperative
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import LeaveGroup, Leaver


class Future:
    """What somebody on the application's thread waits for; ``value`` is bytes after a join."""

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


class Member:
    """``lost``: requests whose connection is gone, and that somebody must still be told of."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.is_cooperative = is_cooperative(shell.protocols)
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
        return self.shell.config.instance_id is not None and self.shell.library.has_static_members

    @property
    def instance_id(self) -> str | None:
        return self.shell.config.instance_id if self.is_static else None

    @property
    def has_no_generation(self) -> bool:
        generation, member_id, _ = self.shell.generation
        return generation == NO_GENERATION or member_id == ""

    @property
    def generation_is_reset(self) -> bool:
        return self.shell.generation.generation == NO_GENERATION

    @property
    def is_rebalancing(self) -> bool:
        return self.shell.state in (
            MemberState.PREPARING_REBALANCE,
            MemberState.COMPLETING_REBALANCE,
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        """Without a poll interval of its own it is the session's (KIP-62)."""
        if self.shell.library.has_heartbeat_thread:
            return self.shell.config.max_poll_interval_ms
        return self.shell.session_timeout_ms

    def request_rejoin(self, reason: str) -> None:
        self.rejoin_reason = reason
        self.rejoin_needed = True

    def reset_and_rejoin(self, reason: str, keeps_member_id: bool) -> None:
        member_id = self.shell.generation.member_id if keeps_member_id else ""
        self.shell.generation = Generation(member_id=member_id)
        self.shell.move(MemberState.UNJOINED, reason)
        self.request_rejoin(reason)
        self.needs_join_prepare = True

    def find_coordinator(self) -> None:
        """Ask, unless somebody does already."""
        if not self.shell.waits_for(FindCoordinator):
            request = FindCoordinator(self.shell.next_id(), self.shell.config.group_id)
            self.shell.send(request, None, self.shell.config.request_timeout_ms)

    def forget_coordinator(self, connection_is_lost: bool = False) -> None:
        """Closes its connection, too, so that no answer of it comes any more."""
        node = self.shell.coordinator
        if node is None:
            return
        self.shell.coordinator = None
        if not connection_is_lost:
            self.shell.disconnect(node)
        self.lost += self.shell.take_in_flight_of(node)

    def leave(self, reason: str) -> None:
        """Static members say nothing (KIP-345): their session ends it, or their next life."""
        shell = self.shell
        member_id = shell.generation.member_id
        is_member = shell.state is not MemberState.UNJOINED and member_id != ""
        if not self.is_static and is_member and shell.coordinator is not None:
            told = reason if shell.library.sends_reasons else None
            request = LeaveGroup(
                shell.next_id(), shell.config.group_id, (Leaver(member_id, None, told),)
            )
            shell.send(request, shell.coordinator, shell.config.request_timeout_ms)
        self.reset_and_rejoin("consumer pro-actively leaving the group", keeps_member_id=False)
