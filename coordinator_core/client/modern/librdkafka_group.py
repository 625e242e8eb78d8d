"""librdkafka's member of a consumer group: its join states, and the assignment it reconciles."""

from __future__ import annotations

from coordinator_core.client.context import ClientContext
from coordinator_core.client.librdkafka.group import LibrdkafkaGroup
from coordinator_core.client.librdkafka.states import JoinState, RebalanceCallback
from coordinator_core.client.modern.member_protocols import MEMBER_PROTOCOLS, NOTHING, Sent, Units
from coordinator_core.protocol.errors import Errors

TIMERS_PER_HEARTBEAT = 6  # number of timer delays (`timer_delay_us`) between two heartbeats


class ModernLibrdkafkaGroup(LibrdkafkaGroup):
    """``current``: acknowledged.  ``target`` is being taken, or waits for its acknowledgement.
    ``next_target`` has been received, but not begun.  ``waits_for_ack`` means that the next
    heartbeat in STEADY reports what the member owns; ``sends_ack`` means that the heartbeat in
    flight reports it.  ``rejoins`` means that the member was fenced or polled too late: it gives up
    its partitions when no callback waits, then joins again.
    """

    def __init__(self, context: ClientContext) -> None:
        super().__init__(context)
        self.is_cooperative = True
        self.protocol = MEMBER_PROTOCOLS[context.config.group_protocol]
        self.current: Units = NOTHING
        self.target: Units | None = None
        self.next_target: Units | None = None
        self.waits_for_ack = False
        self.sends_ack = False
        self.sends_all = False
        self.rejoins = False
        self.completes_rejoin = False
        self.in_flight = False
        self.sent_since_answer = 0
        self.interval_ms = 0
        self.again_ms: int | None = 0  # time of a heartbeat that is sent before its interval ends
        self.last_ms = 0

    @property
    def has_joined(self) -> bool:
        return self.context.generation.generation > 0

    @property
    def will_leave(self) -> bool:
        return self.leaves_when_unassigned or self.waits_for_leave

    def set_epoch(self, epoch: int) -> None:
        self.context.generation = self.context.generation._replace(generation=epoch)

    # -- heartbeats

    def expedite(self) -> None:
        """Send the next heartbeat at once; if earlier heartbeats got no answer, send it after a
        backoff.
        """
        sent = self.sent_since_answer
        backoff_ms = min(1 << (sent - 1), self.context.config.retry_backoff_max_ms) if sent else 0
        self.again_ms = self.context.now_ms + backoff_ms

    def retry(self) -> None:
        """Send the next heartbeat after the backoff."""
        self.again_ms = self.context.now_ms + self.context.config.retry_backoff_ms

    @property
    def due_ms(self) -> int:
        return self.last_ms + self.step_ms if self.again_ms is None else self.again_ms

    @property
    def step_ms(self) -> int:
        """The time from one heartbeat to the next."""
        return self.interval_ms + TIMERS_PER_HEARTBEAT * self.context.config.timer_delay_us // 1000

    def may_send(self, *, polls: bool) -> bool:
        context = self.context
        subscribed = bool(context.topics or context.config.regex) and not self.is_terminating
        away = self.left_after_poll_timeout and not polls
        waits = self.in_flight or self.completes_rejoin or self.will_leave or away
        return subscribed and not waits and self.fatal is None

    def send(self) -> None:
        """Send the heartbeat that is due."""
        context, config = self.context, self.context.config
        joins = self.join_state is JoinState.INIT
        acknowledges = self.join_state is JoinState.STEADY and self.waits_for_ack
        sent = Sent()
        if joins or self.sends_all:
            topics = () if config.regex else context.topics
            sent = Sent(
                config.max_poll_interval_ms,
                topics,
                config.regex,
                config.remote_assignor,
                self.current,
                is_full=True,
            )
        if acknowledges and self.target is not None:
            self.sends_ack = True
            sent = Sent(
                sent.rebalance_timeout_ms,
                sent.topics,
                sent.regex,
                sent.assignor,
                self.target,
                sent.is_full,
            )
        self.left_after_poll_timeout = False
        self.in_flight = True
        self.sent_since_answer += 1
        context.metrics.heartbeats += 1
        self.last_ms, self.again_ms = context.now_ms, None
        epoch = max(context.generation.generation, 0)
        request = self.protocol.heartbeat(context, epoch, sent)
        context.send(request, context.coordinator, config.request_timeout_ms)

    def answered(self, epoch: int, interval_ms: int, units: Units | None) -> None:
        """A heartbeat was answered. ``units`` is None if the assignment did not change."""
        self.in_flight = False
        self.set_epoch(epoch)
        acknowledged, self.sends_ack = self.sends_ack, False
        if self.will_leave:
            return
        self.interval_ms = interval_ms or self.interval_ms
        self.sends_all = False
        if units is not None:
            self.next_target = units if self._differs(units) else None
        if self.join_state is JoinState.STEADY and self.waits_for_ack and self.target is not None:
            if acknowledged:
                self.current, self.target, self.waits_for_ack = self.target, None, False
            else:
                self.expedite()
        self.take_next_target()
        self.sent_since_answer = 0

    def _differs(self, units: Units) -> bool:
        return units != (self.current if self.target is None else self.target)

    def take_next_target(self) -> None:
        """Begin to take the next target, if its topics are known and none is being taken."""
        units, names = self.next_target, self.context.topic_names
        if units is None or self.waits_for_ack or not self.context.topics:
            return
        if self.protocol.unknown_topics(units, names):
            return
        if not self._differs(units):
            self.next_target = None
        elif self.join_state in (JoinState.INIT, JoinState.STEADY):
            self.waits_for_ack = True
            self.target, self.next_target = units, None
            if self.prepare_start_ms is None:
                self.prepare_start_ms = self.context.now_ms
            self.take_assignment(tuple(sorted(self.protocol.partitions(units, names))))

    # -- differences from the classic protocol

    def rejoin(self, reason: str) -> None:
        self._leave_if_requested()
        self.reset()
        self.move(JoinState.INIT, reason)
        self.expedite()

    def reset(self) -> None:
        self.set_epoch(0)
        self.current, self.target, self.next_target = NOTHING, None, None
        self.waits_for_ack = self.sends_ack = self.sends_all = self.rejoins = False

    def begin_rejoin(self) -> None:
        """Give up the partitions as lost, then join again; not during a callback."""
        if not self.rejoins or self.is_rebalancing:
            return
        self.rejoins, self.completes_rejoin = False, True
        self.revoke_all_and_rejoin("member fenced", is_lost=True)

    def partitions_done(self) -> None:
        if self.join_state is JoinState.WAIT_UNASSIGN_TO_COMPLETE:
            self.rejoin("Unassignment done")
        elif self.join_state is JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE:
            self._after_partial_revocation()
        elif self.join_state in (JoinState.INIT, JoinState.STEADY):
            self._leave_if_requested()
            if self.rejoins_afterwards:
                self.rejoins_afterwards = False
                self.rejoin("Assignment done")
            elif self.waits_for_ack and not self.sends_ack:
                self.expedite()

    def _after_partial_revocation(self) -> None:
        if self.to_add is not None:
            added, self.to_add = self.to_add, None
            self._delegate(RebalanceCallback(True, added))
        elif self.rejoins_afterwards:
            self.rejoins_afterwards = False
            self.rejoin("Incremental unassignment done")
        else:
            self.move(JoinState.STEADY)

    def fail(self, error: Errors) -> None:
        """A fatal error; the application's callback is not called any more."""
        super().fail(error)
        self.partitions.give_up(self.context.owned, commits=False)

    def unsubscribe(self, *, leaves: bool) -> None:
        self.subscribed = {}
        rejoins = self.rejoins or self.completes_rejoin
        leaves = leaves and self.has_joined and not rejoins and not self.will_leave
        self.context.topics = ()
        if leaves:
            self.leaves_when_unassigned = True
            self.revoke_all_and_rejoin("unsubscribe", is_lost=False)

    def leave(self) -> None:
        context = self.context
        if self.waits_for_leave or context.coordinator is None:
            return
        self.waits_for_leave = True
        epoch = self.protocol.leave_epoch(context.config.instance_id)
        request = self.protocol.heartbeat(context, epoch, Sent())
        context.send(request, context.coordinator, context.config.request_timeout_ms, "leave")

    def _leave_if_requested(self) -> None:
        if self.leaves_when_unassigned:
            self.leaves_when_unassigned = False
            self.leave()
