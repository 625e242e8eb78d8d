"""Offset commits: automatic commits by interval, before a rejoin and at close; and manual
commits.
"""

from __future__ import annotations

from coordinator_core.client.context import first_due_ms
from coordinator_core.client.java.member import Future, JavaMember
from coordinator_core.client.java.threads import Thread, Wait, exception_name
from coordinator_core.client.messages import MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit

RETRIED = {Reaction.RETRY, Reaction.FIND}


class Commits:
    """``due_ms`` is the time of the next automatic commit, or None without automatic commits."""

    def __init__(self, member: JavaMember) -> None:
        self.member = member
        self.context = member.context
        self.due_ms: int | None = None
        self.manual_commits: list[Future] = []
        self.automatic: Future | None = None

    def start_interval(self) -> None:
        if self.context.config.enable_auto_commit:
            self.due_ms = self.context.now_ms + self.context.config.auto_commit_interval_ms

    def skip(self, to_ms: int) -> None:
        """Treat automatic commits due before ``to_ms`` as successful."""
        if self.due_ms is not None:
            interval_ms = self.context.config.auto_commit_interval_ms
            self.due_ms = first_due_ms(self.due_ms, interval_ms, to_ms)

    def serve(self) -> None:
        """Send the automatic commit if it is due, without waiting for the response."""
        if (last := self.automatic) is not None and last.is_done:
            self.automatic = None
            if last.reaction in RETRIED and self.due_ms is not None:
                self.due_ms = self.context.now_ms + self.context.config.retry_backoff_ms
        if self.due_ms is not None and self.due_ms <= self.context.now_ms:
            self.start_interval()
            self.automatic = self._send()

    def commit_async(self) -> None:
        """Commit once, like commitAsync."""
        self.manual_commits.append(self._send())

    def report_outcomes(self) -> None:
        """Raise errors of manual commits to the application."""
        for commit in [each for each in self.manual_commits if each.is_done]:
            self.manual_commits.remove(commit)
            if not commit.succeeded and commit.reaction is not Reaction.FENCED:
                self.context.raise_(commit.error, f"offset commit: {exception_name(commit.error)}")

    def commit_all(self, deadline_ms: int) -> Thread:
        """Commit and wait until the commit succeeds, fails permanently, or its deadline passes."""
        if not self.context.config.enable_auto_commit or not self.context.positions:
            return
        while self.context.now_ms < deadline_ms:
            commit = self._send()
            yield Wait(lambda waited=commit: waited.is_done, deadline_ms)  # type: ignore[misc]
            if commit.reaction not in RETRIED:
                return
            backoff_ms = self.context.config.retry_backoff_ms
            yield Wait(lambda: False, min(deadline_ms, self.context.now_ms + backoff_ms))

    def _send(self) -> Future:
        """Send a commit; a member that is rebalancing gets an error at once instead."""
        context, commit = self.context, Future()
        if not context.positions:
            commit.complete()
        elif context.coordinator is None:
            self.member.find_coordinator()
            commit.end(Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
        elif context.state is not MemberState.STABLE:
            commit.end(Errors.REBALANCE_IN_PROGRESS, Reaction.FAIL)
        else:
            generation, member_id, _ = context.generation
            request = OffsetCommit(
                request_id=context.next_id(),
                group_id=context.config.group_id,
                member_id=member_id,
                generation=generation,
                offsets=tuple((*p, at, "") for p, at in sorted(context.positions.items())),
                instance_id=self.member.instance_id,
                version=context.library.commit_version,
            )
            context.send(request, context.coordinator, context.config.request_timeout_ms, commit)
        return commit
