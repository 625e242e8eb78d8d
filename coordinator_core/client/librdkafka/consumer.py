"""librdkafka's main thread: what it does when anything comes in, and what it does by the clock."""

from __future__ import annotations

from coordinator_core.client.librdkafka.answers import Answers
from coordinator_core.client.librdkafka.group import Group
from coordinator_core.client.librdkafka.heartbeat import Heartbeats
from coordinator_core.client.librdkafka.states import HEARTBEATING, Call, JoinState, Problem
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    Metadata,
)
from coordinator_core.client.shell import InFlight, Shell
from coordinator_core.client.subscription import subscriptions
from coordinator_core.protocol.messages import JoinGroup

PROTOCOL_TYPE = "consumer"
POLL_CHECK_MS = 500
JOIN_GRACE_MS = 3000  # what a join may take beyond the poll interval
HEARTBEAT, SESSION, POLL_INTERVAL, QUERY = "heartbeat", "session", "poll interval", "query"
COMMIT, JOIN, TOPICS, RETRY = "auto commit", "join", "topics", "retry"


class LibrdkafkaConsumer:
    own_timers = frozenset({HEARTBEAT, SESSION})

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.group = Group(shell)
        self.heartbeats = Heartbeats(self.group)
        self.answers = Answers(self.group, self.heartbeats)
        self.polls = False
        self.away_ms: int | None = None  # since when the application does not poll
        self.watched_ms: int | None = None  # since when the poll interval is watched
        self.commit_ms: int | None = None
        self.topics_ms: int | None = None

    @property
    def is_idle(self) -> bool:
        shell, group = self.shell, self.group
        busy = shell.in_flight or group.queue or group.call or group.partitions.is_busy
        steady = group.join_state is JoinState.STEADY and shell.coordinator is not None
        return steady and self.polls and not busy and group.fatal is None

    # What the application does.

    def subscribe(self) -> None:
        """The first subscription starts the clocks; while it rebalances, the next one waits."""
        group, shell = self.group, self.shell
        topics, before = shell.topics, tuple(sorted(group.subscribed))
        if self.topics_ms is None:
            self.topics_ms = shell.now_ms + shell.config.metadata_max_age_ms
            if shell.config.enable_auto_commit:
                self.commit_ms = shell.now_ms + shell.config.auto_commit_interval_ms
        if group.is_rebalancing:
            shell.topics, group.next_topics = before, topics
        elif before:
            self._change_topics(before, topics)
        self.settle()

    def _change_topics(self, before: tuple[str, ...], topics: tuple[str, ...]) -> None:
        group, shell = self.group, self.shell
        if not group.is_cooperative:
            group.unsubscribe(leaves=False)
            shell.topics = topics
            return
        unwanted = [each for each in group.given or () if each[0] not in topics]
        known = {topic: shell.partitions[topic] for topic in topics if topic in shell.partitions}
        changed, group.subscribed = known != group.subscribed, known
        if unwanted:
            group.revoke(unwanted, rejoins=True)
        elif changed or set(topics) != set(before):
            group.rejoin("Subscription modified")

    def unsubscribe(self) -> None:
        self.watched_ms = None
        self.group.unsubscribe(leaves=True)
        self.settle()

    def poll(self) -> None:
        self.polls, self.away_ms = True, None
        self.settle()

    def process(self) -> None:
        self.polls = False
        self.settle()

    def listened(self) -> None:
        call = self.group.call
        if call is not None and call.is_assign and self.shell.topics:
            self.watched_ms = self.shell.now_ms
        self.group.called()
        self.settle()

    def commit(self) -> None:
        if self.group.is_lost:
            self.group.queue.append(Problem(None, "Commit failed: partition assignment lost"))
        else:
            self.group.partitions.commit_owned(is_manual=True)
        self.settle()

    def close(self) -> None:
        """Callbacks that wait are still served; then it leaves and waits for the answer."""
        group = self.group
        self.polls, self.away_ms, self.watched_ms = True, None, None
        group.is_terminating = True
        group.next_topics = None
        if self.shell.topics:
            group.unsubscribe(leaves=self.shell.config.leave_group_on_close)
        if not any(isinstance(each, Call) for each in group.queue) and group.call is None:
            group.partitions.give_up(self.shell.owned, commits=group.fatal is None)
        group.partitions.serve()
        self.settle()

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        self.answers.take(sent, response)
        self.settle()

    def disconnected(self, node: int) -> None:
        if node == self.shell.coordinator:
            self.shell.coordinator = None
        self.settle()

    # The main thread.

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        while not self.shell.is_closed:
            before = self._progress()
            self._serve_application()
            self._serve_group()
            self.group.end_if_done()
            if before == self._progress():
                break
        if not self.shell.is_closed:
            self._set_timers()

    def _progress(self) -> tuple[object, ...]:
        group = self.group
        return self.shell.requests, len(self.shell.effects), len(group.queue), group.join_state

    def _serve_application(self) -> None:
        """Errors and callbacks reach it inside poll only, one after the other."""
        group, shell = self.group, self.shell
        while self.polls and group.queue and shell.listener_call is None:
            event = group.queue.popleft()
            if isinstance(event, Call):
                group.call = event
                lost = group.is_lost and not event.is_assign
                kind = "assigned" if event.is_assign else "lost" if lost else "revoked"
                shell.call_listener(kind, event.partitions)
            else:
                shell.raise_(event.error, event.text, event.is_fatal)
        if self.polls and shell.listener_call is None:
            self.away_ms = None
        elif self.away_ms is None:
            self.away_ms = shell.now_ms

    def _serve_group(self) -> None:
        group, shell = self.group, self.shell
        self._check_poll_interval()
        if group.join_state is JoinState.STEADY:
            self._check_session()
        if shell.coordinator is None:
            self._find_coordinator()
        elif group.fatal is None:
            if group.join_state is JoinState.INIT:
                self._join()
            elif group.join_state in HEARTBEATING:
                self.heartbeats.serve()
        self._commit_now_and_then()
        self._look_at_topics_now_and_then()
        if group.partitions.has_retries:
            group.partitions.serve()

    def _poll_deadline_ms(self) -> int | None:
        """Looked at twice a second only, so it may take half a second longer."""
        if self.away_ms is None or self.watched_ms is None:
            return None
        exceeded_ms = self.away_ms + self.shell.config.max_poll_interval_ms + 1
        looks = -(-(exceeded_ms - self.watched_ms) // POLL_CHECK_MS)
        return self.watched_ms + looks * POLL_CHECK_MS

    def _check_poll_interval(self) -> None:
        """The group hears of it at once, the application when it polls again."""
        deadline_ms = self._poll_deadline_ms()
        if deadline_ms is None or deadline_ms > self.shell.now_ms:
            return
        group = self.group
        self.watched_ms = None
        group.left_for_poll = True
        group.queue.append(Problem(None, "Application maximum poll interval exceeded"))
        if self.shell.config.instance_id is None:
            group.leave()
        group.set_member_id("")
        group.revoke_all_and_rejoin_unless_rebalancing(
            "max.poll.interval.ms exceeded", is_lost=True
        )

    def _check_session(self) -> None:
        group = self.group
        if group.session_ms is None or group.session_ms > self.shell.now_ms:
            return
        group.session_ms = None
        group.set_member_id("")
        group.revoke_all_and_rejoin_unless_rebalancing(
            "Consumer group session timed out", is_lost=True
        )

    def _find_coordinator(self) -> None:
        shell = self.shell
        if not shell.waits_for(FindCoordinator) and self.group.query_interval.take(shell.now_ms):
            self.group.find_coordinator()

    def _join(self) -> None:
        group, shell = self.group, self.shell
        if group.waits_for_answer:
            return
        if group.next_topics is not None:
            shell.topics, group.next_topics = group.next_topics, None
            group.subscribed = {}
        if not shell.topics or (group.left_for_poll and not self.polls):
            return
        if not group.join_interval.take(shell.now_ms):
            return
        group.left_for_poll = False
        if not group.subscribed:
            self._ask_for_topics()
            return
        self._send_join()

    def _ask_for_topics(self) -> None:
        group, shell = self.group, self.shell
        group.move(JoinState.WAIT_METADATA)
        request = Metadata(shell.next_id(), shell.topics)
        shell.send(request, None, shell.config.request_timeout_ms)

    def _send_join(self) -> None:
        group, shell, config = self.group, self.shell, self.shell.config
        if group.rebalance_start_ms is None:
            group.rebalance_start_ms = shell.now_ms
        group.waits_for_answer = True
        group.move(JoinState.WAIT_JOIN)
        request = JoinGroup(
            shell.next_id(),
            config.group_id,
            shell.generation.member_id,
            config.instance_id,
            config.client_id,
            config.client_host,
            shell.session_timeout_ms,
            config.max_poll_interval_ms,
            PROTOCOL_TYPE,
            subscriptions(shell, group.given or (), group.last_assignment),
            requires_known_member_id=True,
        )
        shell.send(request, shell.coordinator, config.max_poll_interval_ms + JOIN_GRACE_MS)

    def _commit_now_and_then(self) -> None:
        """Not while it rebalances, for then the generation is about to change."""
        shell = self.shell
        if self.commit_ms is None or self.commit_ms > shell.now_ms:
            return
        self.commit_ms += shell.config.auto_commit_interval_ms
        if self.group.join_state is JoinState.STEADY and not self.group.is_lost:
            self.group.partitions.commit_owned()

    def _look_at_topics_now_and_then(self) -> None:
        shell = self.shell
        if self.topics_ms is None or self.topics_ms > shell.now_ms or not shell.topics:
            return
        self.topics_ms = shell.now_ms + shell.config.metadata_max_age_ms
        request = Metadata(shell.next_id(), shell.topics)
        shell.send(request, None, shell.config.request_timeout_ms)

    def _set_timers(self) -> None:
        group, shell = self.group, self.shell
        now_ms, known, state = shell.now_ms, shell.coordinator is not None, group.join_state
        alive = group.fatal is None
        set_timer = shell.set_timer
        set_timer(QUERY, None if known else self._query_ms())
        set_timer(SESSION, group.session_ms if alive and state is JoinState.STEADY else None)
        set_timer(POLL_INTERVAL, self._poll_deadline_ms())
        joins = alive and known and state is JoinState.INIT and self._may_join
        set_timer(JOIN, group.join_interval.due_ms(now_ms) if joins else None)
        set_timer(HEARTBEAT, self.heartbeats.due_ms() if alive and known else None)
        set_timer(COMMIT, self.commit_ms)
        set_timer(TOPICS, self.topics_ms if shell.topics else None)
        set_timer(RETRY, group.partitions.next_retry_ms() if known else None)

    @property
    def _may_join(self) -> bool:
        group = self.group
        away = group.left_for_poll and not self.polls
        return bool(self.shell.topics) and not group.waits_for_answer and not away

    def _query_ms(self) -> int | None:
        if self.shell.waits_for(FindCoordinator):
            return None
        return self.group.query_interval.due_ms(self.shell.now_ms)

    def skip_heartbeats(self, to_ms: int) -> int | None:
        last_ms = self.heartbeats.skip(to_ms)
        self._set_timers()
        return last_ms
