"""Partitions of the application: taken, given up, their offsets fetched and committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from coordinator_core.client.messages import ClientRequest
from coordinator_core.client.shell import Shell
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch, TopicPartition

MAX_RETRIES = 2


class Commit(NamedTuple):
    """``is_manual``: the application wants to hear of errors."""

    offsets: tuple[tuple[str, int, int, str], ...]
    is_manual: bool = False
    retries: int = 0


class Fetch(NamedTuple):
    partitions: tuple[TopicPartition, ...]


class Partitions:
    """``on_done``: nothing is under way any more.  Commits end before offsets are fetched."""

    def __init__(self, shell: Shell, on_done: Callable[[], None]) -> None:
        self.shell = shell
        self.on_done = on_done
        self.commits = 0  # under way
        self.deferred: list[Commit] = []  # wait for a coordinator
        self.retries: list[tuple[int, Commit]] = []  # and when
        self.fetches = 0
        self.fetch_ms = 0  # not before

    @property
    def is_busy(self) -> bool:
        return self.commits > 0 or self.fetches > 0 or bool(self.shell.unfetched)

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        self.shell.own({*self.shell.owned, *partitions})

    def give_up(self, partitions: Iterable[TopicPartition], *, commits: bool) -> None:
        """What was consumed of them is committed, unless they are lost already."""
        gone = set(partitions)
        offsets = self._offsets(gone)
        self.shell.own(each for each in self.shell.owned if each not in gone)
        if offsets and commits and self.shell.config.enable_auto_commit:
            self.commit(Commit(offsets))

    def commit_owned(self, is_manual: bool = False) -> None:
        if offsets := self._offsets(set(self.shell.owned)):
            self.commit(Commit(offsets, is_manual))

    def commit(self, commit: Commit) -> None:
        self.commits += 1
        self._send(commit)

    def committed(self) -> None:
        self.commits -= 1
        self.serve()

    def retry(self, commit: Commit) -> None:
        """After the backoff."""
        again = commit._replace(retries=commit.retries + 1)
        self.retries.append((self.shell.now_ms + self.shell.config.retry_backoff_ms, again))

    def serve(self) -> None:
        """Send what can be sent; tell if nothing is left to wait for."""
        shell = self.shell
        if shell.coordinator is not None:
            for commit in self._now_due():
                self._send(commit)
            idle = self.commits == 0 and self.fetches == 0
            if shell.unfetched and idle and self.fetch_ms <= shell.now_ms:
                self._fetch()
        if not self.is_busy:
            self.on_done()

    def fetch_again(self) -> None:
        """After the backoff."""
        self.fetch_ms = self.shell.now_ms + self.shell.config.retry_backoff_ms

    @property
    def has_retries(self) -> bool:
        return bool(self.retries or self.deferred or (self.shell.unfetched and not self.fetches))

    def next_retry_ms(self) -> int | None:
        moments = [at for at, _ in self.retries]
        if self.shell.unfetched and self.fetches == 0 and self.fetch_ms > self.shell.now_ms:
            moments.append(self.fetch_ms)
        return min(moments, default=None)

    def _now_due(self) -> list[Commit]:
        due = [commit for at, commit in self.retries if at <= self.shell.now_ms]
        self.retries = [each for each in self.retries if each[0] > self.shell.now_ms]
        deferred, self.deferred = self.deferred, []
        return deferred + due

    def _send(self, commit: Commit) -> None:
        shell = self.shell
        if shell.coordinator is None:
            self.deferred.append(commit)
            return
        generation, member_id, _ = shell.generation
        self._ask(
            OffsetCommit(
                shell.next_id(),
                shell.config.group_id,
                member_id,
                generation,
                commit.offsets,
                shell.config.instance_id,
                shell.library.commit_version,
            ),
            commit,
        )

    def _fetch(self) -> None:
        shell = self.shell
        self.fetches += 1
        wanted = tuple(sorted(shell.unfetched))
        self._ask(OffsetFetch(shell.next_id(), shell.config.group_id, wanted), Fetch(wanted))

    def _ask(self, request: ClientRequest, what: Commit | Fetch) -> None:
        shell = self.shell
        shell.send(request, shell.coordinator, shell.config.request_timeout_ms, what)

    def _offsets(self, partitions: set[TopicPartition]) -> tuple[tuple[str, int, int, str], ...]:
        known = self.shell.positions
        return tuple((*p, known[p], "") for p in sorted(partitions) if p in known)
