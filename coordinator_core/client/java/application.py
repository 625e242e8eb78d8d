"""The application's thread: what happens inside poll, step by step, in the order of Kafka's loop.

The thread is a generator.  Where Kafka blocks, it yields what it waits for; it goes on when that
is so, while the application is inside poll and no listener call is open.
"""

from __future__ import annotations

from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.heartbeat import HeartbeatThread
from coordinator_core.client.java.member import Future, Member
from coordinator_core.client.java.rebalance import LATER, Rebalance, call_listener
from coordinator_core.client.java.threads import (
    Thread,
    Thrown,
    Wait,
    always,
    exception_name,
    never,
)
from coordinator_core.client.messages import Closed, FindCoordinator
from coordinator_core.client.reactions import Reaction
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetFetch

TIMER = "application"


class Application:
    def __init__(
        self, member: Member, rebalance: Rebalance, commits: Commits, heartbeat: HeartbeatThread
    ) -> None:
        self.member = member
        self.shell = member.shell
        self.rebalance = rebalance
        self.metadata = rebalance.metadata
        self.commits = commits
        self.heartbeat = heartbeat
        self.is_away = True
        self.is_closing = False
        self.thread: Thread = self._polls()
        self.next_thread: Thread | None = None
        self.wait = Wait(always)

    @property
    def runs(self) -> bool:
        return self.shell.listener_call is None and (self.is_closing or not self.is_away)

    @property
    def is_idle(self) -> bool:
        return self.runs and self.wait.until == self._has_work and not self._has_work()

    def serve(self) -> None:
        """Go on as far as it is possible now."""
        if self.runs:
            self.commits.tell_outcomes()
        while self.runs and not self.shell.is_closed and self._is_over(self.wait):
            self.wait = next(self.thread)
            self._change_thread()
        self.shell.set_timer(TIMER, self.wait.deadline_ms if self.runs else None)

    def unsubscribe(self) -> None:
        self.next_thread = self._unsubscribes()
        self._change_thread()

    def close(self) -> None:
        """A listener call that is open comes to its end first."""
        self.is_closing = True
        self.next_thread = self._closes()
        self._change_thread()

    def _change_thread(self) -> None:
        if self.next_thread is not None and self.shell.listener_call is None:
            self.thread, self.next_thread = self.next_thread, None
            self.wait = Wait(always)

    def _is_over(self, wait: Wait) -> bool:
        due = wait.deadline_ms is not None and wait.deadline_ms <= self.shell.now_ms
        return due or wait.until()

    # poll

    def _polls(self) -> Thread:
        while True:
            try:
                yield from self._poll_once()
            except Thrown as thrown:
                self.shell.raise_(thrown.error, thrown.text, thrown.is_fatal)
                self.is_away = True
            yield Wait(self._has_work, self.commits.due_ms if self.shell.topics else None)

    def _poll_once(self) -> Thread:
        self._throw_failures()
        if not self.shell.topics:
            return
        if self.shell.coordinator is None:
            yield from self._find_coordinator()
        if self.shell.has_pattern and self.rebalance.is_needed():
            self.metadata.want()
            yield Wait(lambda: not self.metadata.is_wanted)
        while self.rebalance.is_needed():
            if self.shell.coordinator is None:
                yield from self._find_coordinator()
            yield from self.rebalance.step()
        self.commits.serve()
        if self.shell.unfetched:
            yield from self._fetch_positions()

    def _has_work(self) -> bool:
        return (
            self.heartbeat.fatal is not None
            or self.member.fenced_commit
            or (bool(self.shell.topics) and self._has_group_work())
        )

    def _has_group_work(self) -> bool:
        automatic = self.commits.automatic
        return (
            self.shell.coordinator is None
            or self.rebalance.is_needed()
            or bool(self.shell.unfetched)
            or (automatic is not None and automatic.is_done)
        )

    def _throw_failures(self) -> None:
        error = self.heartbeat.fatal
        if error is None and self.member.fenced_commit:
            error = Errors.FENCED_INSTANCE_ID
        self.heartbeat.fatal, self.member.fenced_commit = None, False
        if error is not None:
            raise Thrown(error, exception_name(error), is_fatal=True)

    def _find_coordinator(self) -> Thread:
        attempts = 0
        while self.shell.coordinator is None:
            self.member.find_coordinator()
            yield Wait(lambda: not self.shell.waits_for(FindCoordinator))
            if (fatal := self.member.fatal_find) is not None:
                self.member.fatal_find = None
                raise Thrown(fatal, exception_name(fatal))
            if self.shell.coordinator is None:
                yield self._backoff(attempts)
                attempts += 1

    def _fetch_positions(self) -> Thread:
        """A rebalance that is wanted meanwhile goes first."""
        attempts = 0
        while self.shell.unfetched and not self.rebalance.is_needed():
            if self.shell.coordinator is None:
                yield from self._find_coordinator()
            fetch = self._send_fetch()
            yield Wait(lambda waited=fetch: waited.is_done)  # type: ignore[misc]
            if fetch.reaction in LATER:
                yield self._backoff(attempts)
                attempts += 1
            elif fetch.reaction is not Reaction.GO_ON:
                raise Thrown(fetch.error, exception_name(fetch.error))

    def _send_fetch(self) -> Future:
        shell, fetch = self.shell, Future()
        wanted = tuple(sorted(shell.unfetched))
        request = OffsetFetch(shell.next_id(), shell.config.group_id, wanted)
        timeout_ms = shell.config.request_timeout_ms
        shell.send(request, shell.coordinator, timeout_ms, (fetch, wanted))
        return fetch

    def _backoff(self, attempts: int) -> Wait:
        shell = self.shell
        backoff_ms = shell.library.backoff_ms(shell.config, attempts, shell.jitter())
        return Wait(never, shell.now_ms + backoff_ms)

    # The end of a membership.

    def _unsubscribes(self) -> Thread:
        yield from self._give_up_partitions()
        self.member.leave("the consumer unsubscribed from all topics")
        self.member.join = None
        self.member.joined_topics = None
        self.shell.topics = ()
        yield from self._polls()

    def _closes(self) -> Thread:
        """Static members do not leave, but their listener hears of it all the same."""
        shell = self.shell
        deadline_ms = shell.now_ms + shell.config.close_timeout_ms
        yield from self.commits.commit_all(deadline_ms)
        self.heartbeat.stop()
        if shell.config.leave_group_on_close:
            yield from self._give_up_partitions()
            self.member.leave("the consumer is being closed")
        if (node := shell.coordinator) is not None:
            yield Wait(
                lambda: all(each.node != node for each in shell.in_flight.values()), deadline_ms
            )
        shell.in_flight.clear()
        shell.timers.clear()
        shell.is_closed = True
        shell.effects.append(Closed())
        yield Wait(never)

    def _give_up_partitions(self) -> Thread:
        """onLeavePrepare: lost, if they are not surely ours any more."""
        member, owned = self.member, set(self.shell.owned)
        if owned:
            unsure = member.has_no_generation or member.is_rebalancing
            kind = "lost" if unsure and self.shell.library.has_lost else "revoked"
            yield from call_listener(member, kind, owned)
            self.shell.own(())
