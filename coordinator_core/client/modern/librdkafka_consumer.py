"""librdkafka's main thread in modern groups."""

from __future__ import annotations

from typing import Any

from coordinator_core.client.context import ClientContext, InFlight, first_due_ms
from coordinator_core.client.librdkafka.consumer import (
    COMMIT,
    HEARTBEAT,
    POLL_INTERVAL,
    QUERY,
    RETRY,
    LibrdkafkaConsumer,
)
from coordinator_core.client.librdkafka.main_loop import WakeTimes
from coordinator_core.client.librdkafka.offset_responses import OffsetResponses
from coordinator_core.client.librdkafka.states import ConsumerError, JoinState
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.modern.librdkafka_group import ModernLibrdkafkaGroup
from coordinator_core.client.modern.reactions import LIBRDKAFKA_MODERN
from coordinator_core.client.reactions import Reaction, error_of, reaction_to
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch


class LibrdkafkaModernConsumer(LibrdkafkaConsumer):
    """``modern_group`` is the same as ``group``."""

    own_timers = frozenset({HEARTBEAT})

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.group = self.modern_group = ModernLibrdkafkaGroup(context)
        self.modern_responses = ModernResponses(self.modern_group)
        self.polls = False
        self.away_ms: int | None = None
        self.wakes = WakeTimes(context.config.timer_delay_us)
        self.commit_ms: int | None = None
        self.topics_ms: int | None = None
        self.metadata_ms: int | None = None

    @property
    def is_idle(self) -> bool:
        group = self.modern_group
        return super().is_idle and not group.waits_for_ack and not group.will_leave

    def subscribe(self) -> None:
        context = self.context
        if self.metadata_ms is None:
            self.wakes.began_ms = self.metadata_ms = context.now_ms
            if context.config.enable_auto_commit:
                self.commit_ms = context.now_ms + context.config.auto_commit_interval_ms
        self.modern_group.sends_all = True
        self.modern_group.expedite()
        self.settle()

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        self.modern_responses.take(sent, response)
        self.settle()

    def _serve_group(self) -> None:
        group, context = self.modern_group, self.context
        group.begin_rejoin()
        if group.join_state is JoinState.INIT:
            group.completes_rejoin = False
        if context.coordinator is None:
            self._find_coordinator()
        elif group.due_ms <= context.now_ms and group.may_send(polls=self.polls):
            group.send()
        self._check_poll_interval()
        self._auto_commit()
        self._request_metadata()
        if group.partitions.has_retries:
            group.partitions.serve()

    def _request_metadata(self) -> None:
        context, group = self.context, self.modern_group
        units = group.next_target or frozenset()
        unknown = group.protocol.unknown_topics(units, context.topic_names)
        due = self.metadata_ms is not None and self.metadata_ms <= context.now_ms
        if (due or unknown) and not context.waits_for(Metadata) and context.topics:
            self.metadata_ms = None if not unknown else context.now_ms + 1000
            request = Metadata(context.next_id(), context.topics, unknown)
            context.send(request, None, context.config.request_timeout_ms)

    def _check_poll_interval(self) -> None:
        """Stop heartbeats, report the error; the leave waits for the application's next poll."""
        deadline_ms = self._poll_deadline_ms()
        if deadline_ms is None or deadline_ms > self.context.now_ms:
            return
        group = self.modern_group
        self.wakes.watched_ms = None
        group.left_after_poll_timeout = True
        group.queue.append(ConsumerError(None, "Application maximum poll interval exceeded"))
        group.rejoins = group.leaves_when_unassigned = True
        group.expedite()
        group.begin_rejoin()

    def _set_timers(self) -> None:
        group, context = self.modern_group, self.context
        knows, set_timer = context.coordinator is not None, context.set_timer
        sends = knows and group.may_send(polls=self.polls)
        set_timer(QUERY, None if knows else self._query_ms())
        set_timer(HEARTBEAT, group.due_ms if sends else None)
        set_timer(POLL_INTERVAL, self._poll_deadline_ms())
        set_timer(COMMIT, self.commit_ms)
        set_timer(RETRY, group.partitions.next_retry_ms() if knows else None)

    def heartbeat_interval_ms(self) -> int:
        return self.modern_group.interval_ms or self.context.config.heartbeat_interval_ms

    def skip_heartbeats(self, to_ms: int) -> int | None:
        group, last_ms = self.modern_group, None
        if group.due_ms < to_ms and group.interval_ms:
            count = (to_ms - 1 - group.due_ms) // group.step_ms
            last_ms = group.last_ms = group.due_ms + count * group.step_ms
            group.again_ms = None
            self.context.metrics.heartbeats += count + 1
        if self.commit_ms is not None:
            interval_ms = self.context.config.auto_commit_interval_ms
            self.commit_ms = first_due_ms(self.commit_ms, interval_ms, to_ms)
        self._set_timers()
        return last_ms


class ModernResponses:
    """Handles responses, driven by the table LIBRDKAFKA_MODERN of reactions."""

    def __init__(self, group: ModernLibrdkafkaGroup) -> None:
        self.group = group
        self.context = group.context
        self.offsets = OffsetResponses(group)

    def take(self, sent: InFlight, response: ClientResponse | None) -> None:
        context, group, request = self.context, self.group, sent.request
        if isinstance(request, Metadata):
            self._metadata(response)
            return
        error = error_of(response)
        reaction = reaction_to(LIBRDKAFKA_MODERN, request, error)
        if context.has_lost_coordinator(sent, response):
            context.coordinator = None
        if isinstance(request, FindCoordinator):
            self._found(sent, response, error, reaction)
        elif isinstance(request, OffsetCommit):
            if error in (Errors.UNKNOWN_MEMBER_ID, Errors.STALE_MEMBER_EPOCH):
                group.expedite()
            self.offsets.committed(sent, response, error, reaction)
        elif isinstance(request, OffsetFetch):
            self.offsets.fetched(sent, response, error, reaction)
        elif sent.attachment == "leave":
            group.reset()
            group.waits_for_leave = False
        else:
            self._heartbeat_answered(sent, response, error, reaction)

    def _metadata(self, response: Any) -> None:
        if isinstance(response, MetadataResponse):
            names = {id_: name for name, id_ in response.topic_ids.items()}
            self.context.topic_names.update(names)
            self.context.partitions = dict(response.partitions)
            self.group.take_next_target()

    def _found(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        group, context = self.group, self.context
        if reaction is Reaction.GO_ON:
            context.measure("find-coordinator", sent.sent_ms)
            if context.coordinator != response.node:
                context.coordinator = response.node
                group.expedite()
            group.partitions.serve()
        elif reaction is Reaction.RAISE:
            group.queue.append(ConsumerError(error, f"FindCoordinator: {error.name}"))

    def _heartbeat_answered(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        group, context = self.group, self.context
        if response is not None:
            context.measure("heartbeat", sent.sent_ms)
        if reaction is Reaction.GO_ON:
            assignment = response.assignment
            units = None if assignment is None else group.protocol.units(assignment)
            group.answered(response.member_epoch, response.heartbeat_interval_ms, units)
            return
        group.in_flight = group.sends_ack = False
        if reaction is Reaction.RESET:
            group.rejoins = True
            group.begin_rejoin()
        elif reaction is Reaction.FATAL:
            group.fail(error)
        elif reaction is Reaction.FIND:
            group.sends_all = True
            group.find_coordinator()
            group.retry()
        elif reaction is Reaction.RETRY:
            group.retry()
        else:
            group.queue.append(ConsumerError(error, f"ConsumerGroupHeartbeat: {error.name}"))
