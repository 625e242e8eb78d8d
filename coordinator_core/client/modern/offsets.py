"""The Java client's commits and fetches of offsets in groups of the consumer protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.client.context import ClientContext, first_due_ms
from coordinator_core.client.reactions import Reaction
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch

COMMIT, RETRY, FETCH = "auto commit", "commit again", "fetch again"
RETRIED = (Reaction.RETRY, Reaction.FIND)
Done = Callable[[], None]


class Offsets:
    """``waiting`` is a commit before another action, with this action and its deadline."""

    def __init__(self, context: ClientContext, has_offsets: bool) -> None:
        self.context = context
        self.is_automatic = has_offsets and context.config.enable_auto_commit
        self.has_offsets = has_offsets
        self.due_ms: int | None = None
        self.waiting: tuple[Done, int] | None = None
        self.waiting_ms: int | None = None  # time of the next attempt
        self.fetch_ms = 0

    @property
    def is_busy(self) -> bool:
        return self.waiting is not None or (self.has_offsets and bool(self.context.unfetched))

    def start_interval(self) -> None:
        if self.is_automatic:
            self.due_ms = self.context.now_ms + self.context.config.auto_commit_interval_ms

    def skip(self, to_ms: int) -> None:
        """Treat automatic commits due before ``to_ms`` as successful."""
        if self.due_ms is not None:
            interval_ms = self.context.config.auto_commit_interval_ms
            self.due_ms = first_due_ms(self.due_ms, interval_ms, to_ms)

    def commit_before_rebalance(self, done: Done) -> None:
        """Commit, if commits are automatic; ``done`` is called when the commit succeeded or failed
        permanently.
        """
        self.commit_and_wait(done, self.context.config.max_poll_interval_ms)

    def commit_and_wait(self, done: Done, within_ms: int) -> None:
        if not self.is_automatic or not self.context.positions:
            done()
            return
        self.waiting = done, self.context.now_ms + within_ms
        self.waiting_ms = self.context.now_ms
        self.serve(polls=False)

    def commit_once(self) -> None:
        if self.context.positions and self.context.coordinator is not None:
            self._send(is_manual=True)

    def serve(self, *, polls: bool) -> None:
        """Send what is due; send automatic commits and fetches only while the application polls."""
        context = self.context
        if self.waiting is not None and self.waiting[1] <= context.now_ms:
            self._done()
        if context.coordinator is None:
            return
        if self.waiting_ms is not None and self.waiting_ms <= context.now_ms:
            self.waiting_ms = None
            self._send()
        if polls and self.due_ms is not None and self.due_ms <= context.now_ms:
            self.start_interval()
            if context.positions and self.waiting is None:
                self._send()
        self._fetch(polls)

    def _fetch(self, polls: bool) -> None:
        context = self.context
        if not self.has_offsets:
            context.unfetched.clear()
        ready = context.unfetched and self.fetch_ms <= context.now_ms
        if polls and ready and not context.waits_for(OffsetFetch):
            partitions = tuple(sorted(context.unfetched))
            group_id = context.config.group_id
            request = OffsetFetch(context.next_id(), group_id, partitions, *context.fetches_as)
            context.send(request, context.coordinator, context.config.request_timeout_ms)

    def set_timers(self, *, polls: bool) -> None:
        context = self.context
        knows = context.coordinator is not None
        context.set_timer(COMMIT, self.due_ms if polls and knows else None)
        deadline_ms = None if self.waiting is None else self.waiting[1]
        context.set_timer(RETRY, self.waiting_ms if knows and self.waiting_ms else deadline_ms)
        later = bool(context.unfetched) and self.fetch_ms > context.now_ms
        context.set_timer(FETCH, self.fetch_ms if polls and knows and later else None)

    def _send(self, *, is_manual: bool = False) -> None:
        context = self.context
        epoch, member_id, _ = context.generation
        request = OffsetCommit(
            request_id=context.next_id(),
            group_id=context.config.group_id,
            member_id=member_id,
            generation=epoch,
            offsets=tuple((*p, at, "") for p, at in sorted(context.positions.items())),
            instance_id=context.config.instance_id,
            version=context.commit_version,
        )
        timeout_ms = context.config.request_timeout_ms
        context.send(request, context.coordinator, timeout_ms, is_manual)

    def committed(self, error: Errors, reaction: Reaction, *, is_manual: bool) -> None:
        if reaction is Reaction.GO_ON:
            self.context.metrics.commits += 1
        elif is_manual:
            self.context.raise_(error, f"offset commit: {error.name}")
        if self.waiting is None or is_manual:
            return
        if reaction in RETRIED:
            self.waiting_ms = self.context.now_ms + self.context.config.retry_backoff_ms
        else:
            self._done()

    def _done(self) -> None:
        assert self.waiting is not None
        done, _ = self.waiting
        self.waiting = self.waiting_ms = None
        done()

    def fetched(self, response: Any, reaction: Reaction) -> None:
        context = self.context
        if reaction is not Reaction.GO_ON:
            self.fetch_ms = context.now_ms + context.config.retry_backoff_ms
            return
        for topic, partition, offset, _, _ in response.partitions:
            if (topic, partition) in context.unfetched:
                context.positions[topic, partition] = max(offset, 0)
                context.unfetched.discard((topic, partition))
