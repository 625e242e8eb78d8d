"""The application's partitions: assigned, given up, their offsets fetched and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from coordinator_core.client.context import ClientContext
from coordinator_core.client.messages import ClientRequest
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch, TopicPartition

MAX_RETRIES = 2


class PendingCommit(NamedTuple):
    """``is_manual`` means that the application requested it, so errors are reported."""

    offsets: tuple[tuple[str, int, int, str], ...]
    is_manual: bool = False
    retries: int = 0


class PendingFetch(NamedTuple):
    partitions: tuple[TopicPartition, ...]


class AssignedPartitions:
    """``on_done`` is called when no commit and no fetch is in progress.  Commits
    precede fetches.
    """

    def __init__(self, context: ClientContext, on_done: Callable[[], None]) -> None:
        self.context = context
        self.on_done = on_done
        self.commits = 0  # in progress
        self.deferred: list[PendingCommit] = []  # commits that wait for a coordinator
        self.retries: list[tuple[int, PendingCommit]] = []  # retry times in ms, with their commits
        self.fetches = 0  # in progress
        self.fetch_ms = 0  # earliest time of the next fetch

    @property
    def is_busy(self) -> bool:
        return self.commits > 0 or self.fetches > 0 or bool(self.context.unfetched)

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        self.context.own({*self.context.owned, *partitions})

    def give_up(self, partitions: Iterable[TopicPartition], *, commits: bool) -> None:
        """Give up partitions; ``commits`` says whether their positions are committed (not for lost
        partitions).
        """
        revoked = set(partitions)
        offsets = self._offsets(revoked)
        self.context.own(each for each in self.context.owned if each not in revoked)
        if offsets and commits and self.context.config.enable_auto_commit:
            self.commit(PendingCommit(offsets))

    def commit_owned(self, is_manual: bool = False) -> None:
        if offsets := self._offsets(set(self.context.owned)):
            self.commit(PendingCommit(offsets, is_manual))

    def commit(self, commit: PendingCommit) -> None:
        self.commits += 1
        self._send(commit)

    def committed(self) -> None:
        self.commits -= 1
        self.serve()

    def retry(self, commit: PendingCommit) -> None:
        """Repeat the commit after the backoff."""
        again = commit._replace(retries=commit.retries + 1)
        self.retries.append((self.context.now_ms + self.context.config.retry_backoff_ms, again))

    def serve(self) -> None:
        """Send due commits and fetches; call ``on_done`` if nothing is in progress."""
        context = self.context
        if context.coordinator is not None:
            for commit in self._now_due():
                self._send(commit)
            idle = self.commits == 0 and self.fetches == 0
            if context.unfetched and idle and self.fetch_ms <= context.now_ms:
                self._fetch()
        if not self.is_busy:
            self.on_done()

    def fetch_again(self) -> None:
        """Repeat the fetch after the backoff."""
        self.fetch_ms = self.context.now_ms + self.context.config.retry_backoff_ms

    @property
    def has_retries(self) -> bool:
        return bool(self.retries or self.deferred or (self.context.unfetched and not self.fetches))

    def next_retry_ms(self) -> int | None:
        times_ms = [at_ms for at_ms, _ in self.retries]
        if self.context.unfetched and self.fetches == 0 and self.fetch_ms > self.context.now_ms:
            times_ms.append(self.fetch_ms)
        return min(times_ms, default=None)

    def _now_due(self) -> list[PendingCommit]:
        due = [commit for at, commit in self.retries if at <= self.context.now_ms]
        self.retries = [each for each in self.retries if each[0] > self.context.now_ms]
        deferred, self.deferred = self.deferred, []
        return deferred + due

    def _send(self, commit: PendingCommit) -> None:
        context = self.context
        if context.coordinator is None:
            self.deferred.append(commit)
            return
        generation, member_id, _ = context.generation
        self._request(
            OffsetCommit(
                request_id=context.next_id(),
                group_id=context.config.group_id,
                member_id=member_id,
                generation=generation,
                offsets=commit.offsets,
                instance_id=context.config.instance_id,
                version=context.commit_version,
            ),
            commit,
        )

    def _fetch(self) -> None:
        context = self.context
        self.fetches += 1
        partitions = tuple(sorted(context.unfetched))
        self._request(
            OffsetFetch(
                context.next_id(), context.config.group_id, partitions, *context.fetches_as
            ),
            PendingFetch(partitions),
        )

    def _request(self, request: ClientRequest, attachment: PendingCommit | PendingFetch) -> None:
        context = self.context
        context.send(request, context.coordinator, context.config.request_timeout_ms, attachment)

    def _offsets(self, partitions: set[TopicPartition]) -> tuple[tuple[str, int, int, str], ...]:
        positions = self.context.positions
        return tuple((*p, positions[p], "") for p in sorted(partitions) if p in positions)
