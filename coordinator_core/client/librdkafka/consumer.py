"""librdkafka's main thread: reacts to calls and responses, and serves its timers."""

from __future__ import annotations

from coordinator_core.client.context import ClientContext, InFlight, first_due_ms
from coordinator_core.client.librdkafka.group import LibrdkafkaGroup
from coordinator_core.client.librdkafka.heartbeat import LibrdkafkaHeartbeats
from coordinator_core.client.librdkafka.main_loop import WakeTimes
from coordinator_core.client.librdkafka.responses import LibrdkafkaResponses
from coordinator_core.client.librdkafka.states import (
    HEARTBEATING,
    ConsumerError,
    JoinState,
    RebalanceCallback,
)
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    Metadata,
)
from coordinator_core.client.subscription import subscriptions
from coordinator_core.protocol.messages import JoinGroup

PROTOCOL_TYPE = "consumer"
JOIN_GRACE_MS = 3000  # time added to the poll interval before a join times out
HEARTBEAT, SESSION, POLL_INTERVAL, QUERY = "heartbeat", "session", "poll interval", "query"
COMMIT, JOIN, TOPICS, RETRY = "auto commit", "join", "topics", "retry"


class LibrdkafkaConsumer:
    own_timers = frozenset({HEARTBEAT, SESSION})
    commit_timers = frozenset({COMMIT})

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.group = LibrdkafkaGroup(context)
        self.heartbeats = LibrdkafkaHeartbeats(self.group)
        self.responses = LibrdkafkaResponses(self.group, self.heartbeats)
        self.polls = False
        self.away_ms: int | None = None  # time in ms at which the application stopped polling
        self.wakes = WakeTimes(context.config.timer_delay_us)
        self.commit_ms: int | None = None
        self.topics_ms: int | None = None

    @property
    def is_idle(self) -> bool:
        context, group = self.context, self.group
        busy = context.in_flight or group.queue or group.call or group.partitions.is_busy
        steady = group.join_state is JoinState.STEADY and context.coordinator is not None
        return steady and self.polls and not busy and group.fatal is None

    # Calls of the application.

    def subscribe(self) -> None:
        """The first subscription starts the timers.

        During a rebalance, a new subscription is deferred.
        """
        group, context = self.group, self.context
        topics, before = context.topics, tuple(sorted(group.subscribed))
        if self.topics_ms is None:
            self.wakes.began_ms = context.now_ms
            self.topics_ms = context.now_ms + context.config.metadata_max_age_ms
            if context.config.enable_auto_commit:
                self.commit_ms = context.now_ms + context.config.auto_commit_interval_ms
        if group.is_rebalancing:
            context.topics, group.next_topics = before, topics
        elif before:
            self._change_topics(before, topics)
        self.settle()

    def _change_topics(self, before: tuple[str, ...], topics: tuple[str, ...]) -> None:
        group, context = self.group, self.context
        if not group.is_cooperative:
            group.unsubscribe(leaves=False)
            context.topics = topics
            return
        unsubscribed = [each for each in group.group_assignment or () if each[0] not in topics]
        counts = {
            topic: context.partitions[topic] for topic in topics if topic in context.partitions
        }
        changed, group.subscribed = counts != group.subscribed, counts
        if unsubscribed:
            group.revoke(unsubscribed, rejoins=True)
        elif changed or set(topics) != set(before):
            group.rejoin("Subscription modified")

    def unsubscribe(self) -> None:
        self.wakes.watched_ms = None
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
        if call is not None and call.is_assign and self.context.topics:
            self.wakes.watched_ms = self.context.now_ms
        self.group.called()
        self.settle()

    def commit(self) -> None:
        if self.group.is_lost:
            self.group.queue.append(ConsumerError(None, "Commit failed: partition assignment lost"))
        else:
            self.group.partitions.commit_owned(is_manual=True)
        self.settle()

    def close(self) -> None:
        """Serve waiting callbacks, then leave and wait for the response."""
        group = self.group
        self.polls, self.away_ms, self.wakes.watched_ms = True, None, None
        group.is_terminating = True
        group.next_topics = None
        if self.context.topics:
            group.unsubscribe(leaves=self.context.config.leave_group_on_close)
        if (
            not any(isinstance(each, RebalanceCallback) for each in group.queue)
            and group.call is None
        ):
            group.partitions.give_up(self.context.owned, commits=group.fatal is None)
        group.partitions.serve()
        self.settle()

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        self.responses.take(sent, response)
        self.settle()

    def disconnected(self, node: int) -> None:
        if node == self.context.coordinator:
            self.context.coordinator = None
        self.settle()

    def thawed(self) -> None:
        self.wakes.restart(self.context.now_ms)

    # The main thread.

    def settle(self) -> None:
        """Serve the application and the group until nothing changes."""
        while not self.context.is_closed:
            before = self._progress()
            self._serve_application()
            self._serve_group()
            self.group.end_if_done()
            if before == self._progress():
                break
        if not self.context.is_closed:
            self._set_timers()

    def _progress(self) -> tuple[object, ...]:
        group = self.group
        return self.context.requests, len(self.context.effects), len(group.queue), group.join_state

    def _serve_application(self) -> None:
        """Hand over errors and callbacks one by one, only while the application polls."""
        group, context = self.group, self.context
        while self.polls and group.queue and context.listener_call is None:
            event = group.queue.popleft()
            if isinstance(event, RebalanceCallback):
                group.call = event
                lost = group.is_lost and not event.is_assign
                kind = "assigned" if event.is_assign else "lost" if lost else "revoked"
                context.call_listener(kind, event.partitions)
            else:
                context.raise_(event.error, event.text, event.is_fatal)
        if self.polls and context.listener_call is None:
            self.away_ms = None
        elif self.away_ms is None:
            self.away_ms = context.now_ms

    def _serve_group(self) -> None:
        """This happens at each wake-up of the main thread: the group first, then the timers that
        are due.
        """
        group, context = self.group, self.context
        if group.join_state is JoinState.STEADY:
            self._check_session()
        if context.coordinator is None:
            self._find_coordinator()
        elif group.fatal is None:
            if group.join_state is JoinState.INIT:
                self._join()
            elif group.join_state in HEARTBEATING:
                self.heartbeats.serve()
        self._check_poll_interval()
        self._auto_commit()
        self._refresh_topics()
        if group.partitions.has_retries:
            group.partitions.serve()

    def _poll_deadline_ms(self) -> int | None:
        """The next check of the poll interval at which it is exceeded."""
        wakes = self.wakes
        if self.away_ms is None or wakes.watched_ms is None:
            return None
        exceeded_ms = self.away_ms + self.context.config.max_poll_interval_ms + 1
        return wakes.first_check_ms(exceeded_ms)

    def _check_poll_interval(self) -> None:
        """Leave the group at once; report the error when the application polls again."""
        deadline_ms = self._poll_deadline_ms()
        if deadline_ms is None or deadline_ms > self.context.now_ms:
            return
        group = self.group
        self.wakes.watched_ms = None
        group.left_after_poll_timeout = True
        group.queue.append(ConsumerError(None, "Application maximum poll interval exceeded"))
        if self.context.config.instance_id is None:
            group.leave()
        group.set_member_id("")
        group.revoke_all_and_rejoin_unless_rebalancing(
            "max.poll.interval.ms exceeded", is_lost=True
        )

    def _check_session(self) -> None:
        group = self.group
        if group.session_ms is None or group.session_ms > self.context.now_ms:
            return
        group.session_ms = None
        group.set_member_id("")
        group.revoke_all_and_rejoin_unless_rebalancing(
            "Consumer group session timed out", is_lost=True
        )

    def _find_coordinator(self) -> None:
        context = self.context
        if not context.waits_for(FindCoordinator) and self.group.query_interval.take(
            context.now_ms
        ):
            self.group.find_coordinator()

    def _join(self) -> None:
        group, context = self.group, self.context
        if group.waits_for_answer:
            return
        if group.next_topics is not None:
            context.topics, group.next_topics = group.next_topics, None
            group.subscribed = {}
        if not context.topics or (group.left_after_poll_timeout and not self.polls):
            return
        if not group.join_interval.take(context.now_ms):
            return
        group.left_after_poll_timeout = False
        if not group.subscribed:
            self._request_topics()
            return
        self._send_join()

    def _request_topics(self) -> None:
        group, context = self.group, self.context
        group.move(JoinState.WAIT_METADATA)
        request = Metadata(context.next_id(), context.topics)
        context.send(request, None, context.config.request_timeout_ms)

    def _send_join(self) -> None:
        group, context, config = self.group, self.context, self.context.config
        if group.rebalance_start_ms is None:
            group.rebalance_start_ms = context.now_ms
        group.waits_for_answer = True
        group.move(JoinState.WAIT_JOIN)
        request = JoinGroup(
            request_id=context.next_id(),
            group_id=config.group_id,
            member_id=context.generation.member_id,
            instance_id=config.instance_id,
            client_id=config.client_id,
            client_host=config.client_host,
            session_timeout_ms=context.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            protocol_type=PROTOCOL_TYPE,
            protocols=subscriptions(context, group.group_assignment or (), group.last_assignment),
            requires_known_member_id=True,
        )
        context.send(request, context.coordinator, config.max_poll_interval_ms + JOIN_GRACE_MS)

    def _auto_commit(self) -> None:
        """Send the automatic commit if it is due; during a rebalance, send no commit."""
        context = self.context
        if self.commit_ms is None or self.commit_ms > context.now_ms:
            return
        self.commit_ms = context.now_ms + context.config.auto_commit_interval_ms
        if self.group.join_state is JoinState.STEADY and not self.group.is_lost:
            self.group.partitions.commit_owned()

    def _refresh_topics(self) -> None:
        context = self.context
        if self.topics_ms is None or self.topics_ms > context.now_ms or not context.topics:
            return
        self.topics_ms = context.now_ms + context.config.metadata_max_age_ms
        request = Metadata(context.next_id(), context.topics)
        context.send(request, None, context.config.request_timeout_ms)

    def _set_timers(self) -> None:
        group, context = self.group, self.context
        now_ms, has_coordinator, state = (
            context.now_ms,
            context.coordinator is not None,
            group.join_state,
        )
        alive = group.fatal is None
        set_timer = context.set_timer
        set_timer(QUERY, None if has_coordinator else self._query_ms())
        self._set_when_awake(
            SESSION, group.session_ms if alive and state is JoinState.STEADY else None
        )
        set_timer(POLL_INTERVAL, self._poll_deadline_ms())
        joins = alive and has_coordinator and state is JoinState.INIT and self._may_join
        self._set_when_awake(JOIN, group.join_interval.due_ms(now_ms) if joins else None)
        heartbeats = alive and has_coordinator
        set_timer(HEARTBEAT, self.heartbeats.due_ms(self.wakes) if heartbeats else None)
        set_timer(COMMIT, self.commit_ms)
        set_timer(TOPICS, self.topics_ms if context.topics else None)
        set_timer(RETRY, group.partitions.next_retry_ms() if has_coordinator else None)

    def _set_when_awake(self, name: str, due_ms: int | None) -> None:
        self.context.set_timer(name, None if due_ms is None else self.wakes.first_ms(due_ms))

    @property
    def _may_join(self) -> bool:
        group = self.group
        away = group.left_after_poll_timeout and not self.polls
        return bool(self.context.topics) and not group.waits_for_answer and not away

    def _query_ms(self) -> int | None:
        if self.context.waits_for(FindCoordinator):
            return None
        return self.group.query_interval.due_ms(self.context.now_ms)

    def heartbeat_interval_ms(self) -> int:
        return self.context.config.heartbeat_interval_ms

    def skip_heartbeats(self, to_ms: int) -> int | None:
        last_ms = self.heartbeats.skip(to_ms, self.wakes)
        if self.commit_ms is not None:
            interval_ms = self.context.config.auto_commit_interval_ms
            self.commit_ms = first_due_ms(self.commit_ms, interval_ms, to_ms)
        self._set_timers()
        return last_ms
