"""Committing what was consumed: now and then, before a rejoin, at the end, and when asked to."""

from __future__ import annotations

from coordinator_core.client.java.member import Future, Member
from coordinator_core.client.java.threads import Thread, Wait, exception_name
from coordinator_core.client.messages import MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit

AGAIN = {Reaction.RETRY, Reaction.FIND}


class Commits:
    """``due_ms``: when the next automatic commit is due, None without automatic ones."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.shell = member.shell
        self.due_ms: int | None = None
        self.asked_for: list[Future] = []
        self.automatic: Future | None = None

    def start_interval(self) -> None:
        if self.shell.config.enable_auto_commit:
            self.due_ms = self.shell.now_ms + self.shell.config.auto_commit_interval_ms

    def serve(self) -> None:
        """Commit if it is time to, not waiting for the answer."""
        if (last := self.automatic) is not None and last.is_done:
            self.automatic = None
            if last.reaction in AGAIN and self.due_ms is not None:
                self.due_ms = self.shell.now_ms + self.shell.config.retry_backoff_ms
        if self.due_ms is not None and self.due_ms <= self.shell.now_ms:
            self.start_interval()
            self.automatic = self._send()

    def ask(self) -> None:
        """Commit once, as commitAsync does."""
        self.asked_for.append(self._send())

    def tell_outcomes(self) -> None:
        """Errors of what was asked for go to the application."""
        for commit in [each for each in self.asked_for if each.is_done]:
            self.asked_for.remove(commit)
            if not commit.succeeded and commit.reaction is not Reaction.FENCED:
                self.shell.raise_(commit.error, f"offset commit: {exception_name(commit.error)}")

    def commit_all(self, deadline_ms: int) -> Thread:
        """Wait until it is done, cannot be done, or the deadline has come."""
        if not self.shell.config.enable_auto_commit or not self.shell.positions:
            return
        while self.shell.now_ms < deadline_ms:
            commit = self._send()
            yield Wait(lambda waited=commit: waited.is_done, deadline_ms)  # type: ignore[misc]
            if commit.reaction not in AGAIN:
                return
            backoff_ms = self.shell.config.retry_backoff_ms
            yield Wait(lambda: False, min(deadline_ms, self.shell.now_ms + backoff_ms))

    def _send(self) -> Future:
        """Only a member that is not rebalancing may commit; the others hear so at once."""
        shell, commit = self.shell, Future()
        if not shell.positions:
            commit.complete()
        elif shell.coordinator is None:
            self.member.find_coordinator()
            commit.end(Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
        elif shell.state is not MemberState.STABLE:
            commit.end(Errors.REBALANCE_IN_PROGRESS, Reaction.FAIL)
        else:
            generation, member_id, _ = shell.generation
            request = OffsetCommit(
                shell.next_id(),
                shell.config.group_id,
                member_id,
                generation,
                tuple((*p, at, "") for p, at in sorted(shell.positions.items())),
                self.member.instance_id,
                shell.library.commit_version,
            )
            shell.send(request, shell.coordinator, shell.config.request_timeout_ms, commit)
        return commit
