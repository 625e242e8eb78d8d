"""The application's thread: the steps of poll, in the order of Kafka's poll loop.

The thread is a generator.  Where Kafka blocks, it yields the condition that it waits for.  It
continues when the condition holds, the application is inside poll and no listener call runs.
"""

from __future__ import annotations

from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.heartbeat import HeartbeatThread
from coordinator_core.client.java.member import Future, JavaMember
from coordinator_core.client.java.rebalance import LATER, JavaRebalance, call_listener
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
        self,
        member: JavaMember,
        rebalance: JavaRebalance,
        commits: Commits,
        heartbeat: HeartbeatThread,
    ) -> None:
        self.member = member
        self.context = member.context
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
        return self.context.listener_call is None and (self.is_closing or not self.is_away)

    @property
    def is_idle(self) -> bool:
        return self.runs and self.wait.until == self._has_work and not self._has_work()

    def serve(self) -> None:
        """Run until the thread has to wait."""
        if self.runs:
            self.commits.report_outcomes()
        while self.runs and not self.context.is_closed and self._is_over(self.wait):
            self.wait = next(self.thread)
            self._change_thread()

    def set_timer(self) -> None:
        self.context.set_timer(TIMER, self.wait.deadline_ms if self.runs else None)

    def wait_for_commit(self) -> None:
        """Wait for the next automatic commit, after some commits were skipped."""
        self.wait = self._wait_for_commit()
        self.set_timer()

    def unsubscribe(self) -> None:
        self.next_thread = self._unsubscribes()
        self._change_thread()

    def close(self) -> None:
        """Close the consumer, after the current listener call if there is one."""
        self.is_closing = True
        self.next_thread = self._closes()
        self._change_thread()

    def _change_thread(self) -> None:
        if self.next_thread is not None and self.context.listener_call is None:
            self.thread, self.next_thread = self.next_thread, None
            self.wait = Wait(always)

    def _is_over(self, wait: Wait) -> bool:
        due = wait.deadline_ms is not None and wait.deadline_ms <= self.context.now_ms
        return due or wait.until()

    # poll

    def _polls(self) -> Thread:
        while True:
            try:
                yield from self._poll_once()
            except Thrown as thrown:
                self.context.raise_(thrown.error, thrown.text, thrown.is_fatal)
                self.is_away = True
            yield self._wait_for_commit()

    def _wait_for_commit(self) -> Wait:
        return Wait(self._has_work, self.commits.due_ms if self.context.topics else None)

    def _poll_once(self) -> Thread:
        self._throw_failures()
        if not self.context.topics:
            return
        if self.context.coordinator is None:
            yield from self._find_coordinator()
        if self.context.has_pattern and self.rebalance.is_needed():
            self.metadata.request_update()
            yield Wait(lambda: not self.metadata.update_requested)
        while self.rebalance.is_needed():
            if self.context.coordinator is None:
                yield from self._find_coordinator()
            yield from self.rebalance.step()
        self.commits.serve()
        if self.context.unfetched:
            yield from self._fetch_positions()

    def _has_work(self) -> bool:
        return (
            self.heartbeat.fatal is not None
            or self.member.fenced_commit
            or (bool(self.context.topics) and self._has_group_work())
        )

    def _has_group_work(self) -> bool:
        automatic = self.commits.automatic
        return (
            self.context.coordinator is None
            or self.rebalance.is_needed()
            or bool(self.context.unfetched)
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
        while self._lacks_coordinator():
            self.member.find_coordinator()
            yield Wait(lambda: not self.context.waits_for(FindCoordinator))
            if (fatal := self.member.fatal_find) is not None:
                self.member.fatal_find = None
                raise Thrown(fatal, exception_name(fatal))
            if self._lacks_coordinator():
                yield self._backoff(attempts)
                attempts += 1

    def _lacks_coordinator(self) -> bool:
        # mypy, and so mypyc, takes an attribute compared with None for None beyond a yield.
        return self.context.coordinator is None

    def _fetch_positions(self) -> Thread:
        """Fetch committed offsets; stop if a rebalance is needed."""
        attempts = 0
        while self.context.unfetched and not self.rebalance.is_needed():
            if self.context.coordinator is None:
                yield from self._find_coordinator()
            fetch = self._send_fetch()
            yield Wait(lambda waited=fetch: waited.is_done)  # type: ignore[misc]
            if fetch.reaction in LATER:
                yield self._backoff(attempts)
                attempts += 1
            elif fetch.reaction is not Reaction.GO_ON:
                raise Thrown(fetch.error, exception_name(fetch.error))

    def _send_fetch(self) -> Future:
        context, fetch = self.context, Future()
        partitions = tuple(sorted(context.unfetched))
        request = OffsetFetch(context.next_id(), context.config.group_id, partitions)
        timeout_ms = context.config.request_timeout_ms
        context.send(request, context.coordinator, timeout_ms, (fetch, partitions))
        return fetch

    def _backoff(self, attempts: int) -> Wait:
        context = self.context
        backoff_ms = context.library.backoff_ms(context.config, attempts, context.jitter())
        return Wait(never, context.now_ms + backoff_ms)

    # Leaving the group.

    def _unsubscribes(self) -> Thread:
        yield from self._give_up_partitions()
        self.member.leave("the consumer unsubscribed from all topics")
        self.member.join = None
        self.member.joined_topics = None
        self.context.topics = ()
        yield from self._polls()

    def _closes(self) -> Thread:
        """Commit, call the listener, leave.  Static members call the listener, but do not leave."""
        context = self.context
        deadline_ms = context.now_ms + context.config.close_timeout_ms
        yield from self.commits.commit_all(deadline_ms)
        self.heartbeat.stop()
        if context.config.leave_group_on_close and context.library.leaves_on_close:
            yield from self._give_up_partitions()
            self.member.leave("the consumer is being closed")
        if (node := context.coordinator) is not None:
            yield Wait(
                lambda: all(each.node != node for each in context.in_flight.values()), deadline_ms
            )
        context.in_flight.clear()
        context.timers.clear()
        context.is_closed = True
        context.effects.append(Closed())
        yield Wait(never)

    def _give_up_partitions(self) -> Thread:
        """onLeavePrepare: partitions are lost without a generation or during a rebalance."""
        member, owned = self.member, set(self.context.owned)
        if owned:
            is_lost = member.has_no_generation or member.is_rebalancing
            kind = "lost" if is_lost and self.context.library.has_lost else "revoked"
            yield from call_listener(member, kind, owned)
            self.context.own(())
