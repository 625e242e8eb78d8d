"""The Java client's heartbeat request manager: when heartbeats are sent, and with what."""

from __future__ import annotations

from coordinator_core.client.context import ClientContext
from coordinator_core.client.modern.member_protocols import Sent, Units
from coordinator_core.client.modern.membership import (
    HEARTBEAT_NOW,
    OUT_OF_GROUP,
    LocalAssignment,
    MembershipManager,
    MembershipState,
)

HEARTBEAT, POLL_INTERVAL = "heartbeat", "poll interval"


class Heartbeats:
    """``due_ms`` is the time of the next heartbeat by the interval, ``retry_ms`` the time of a
    repetition after a failure.  ``poll_ms`` is the time at which the application stopped polling.
    ``has_sent`` means that a heartbeat was sent since the last error, so that the coordinator knows
    the fields.
    """

    def __init__(self, membership: MembershipManager) -> None:
        self.membership = membership
        self.context: ClientContext = membership.context
        self.interval_ms = 0
        self.due_ms = 0
        self.retry_ms = 0
        self.attempts = 0
        self.in_flight: str | None = None
        self.poll_ms: int | None = None
        self.sent_assignment: LocalAssignment | None = None
        self.has_sent = False

    def serve(self) -> None:
        """Send the heartbeat that is due."""
        membership, context = self.membership, self.context
        if context.coordinator is None or membership.state in OUT_OF_GROUP:
            if membership.state is MembershipState.LEAVING:
                membership.move(MembershipState.UNSUBSCRIBED)
            return
        if self._poll_is_late:
            membership.leave_as_poll_expired()
            self._send(ignored=True)
            self.reset()
        elif membership.state is MembershipState.LEAVING or self._is_due:
            self._send(ignored=False)

    @property
    def _is_due(self) -> bool:
        due_ms = self.next_ms()
        return due_ms is not None and due_ms <= self.context.now_ms

    @property
    def _poll_is_late(self) -> bool:
        leaves = (MembershipState.LEAVING, MembershipState.PREPARE_LEAVING)
        deadline_ms = self.poll_deadline_ms()
        late = deadline_ms is not None and deadline_ms <= self.context.now_ms
        return late and self.membership.state not in leaves

    def poll_deadline_ms(self) -> int | None:
        if self.poll_ms is None or self.membership.state in OUT_OF_GROUP:
            return None
        return self.poll_ms + self.context.config.max_poll_interval_ms

    def next_ms(self) -> int | None:
        """When the next heartbeat may be sent, or None while one is in flight."""
        if self.in_flight is not None or self.membership.state in OUT_OF_GROUP:
            return None
        if self.membership.state in HEARTBEAT_NOW:
            return self.context.now_ms if self.retry_ms <= self.context.now_ms else self.retry_ms
        return max(self.due_ms, self.retry_ms)

    def set_timers(self) -> None:
        knows = self.context.coordinator is not None
        self.context.set_timer(HEARTBEAT, self.next_ms() if knows else None)
        self.context.set_timer(POLL_INTERVAL, self.poll_deadline_ms() if knows else None)

    def answered(self, interval_ms: int) -> None:
        self.attempts = self.retry_ms = 0
        if interval_ms != self.interval_ms:
            self.due_ms = self.context.now_ms + interval_ms
            self.interval_ms = interval_ms

    def failed(self) -> None:
        """Send all fields again, after the backoff."""
        context = self.context
        self.reset()
        self.due_ms = context.now_ms
        backoff_ms = context.library.backoff_ms(context.config, self.attempts, context.jitter())
        self.retry_ms = context.now_ms + backoff_ms
        self.attempts += 1

    def reset(self) -> None:
        """The next heartbeat has all fields and waits for nothing."""
        self.has_sent, self.sent_assignment = False, None
        self.retry_ms = 0

    def skip(self, to_ms: int) -> int | None:
        """Treat heartbeats due before ``to_ms`` as answered; returns the time of the last one."""
        if self.due_ms >= to_ms or not self.interval_ms:
            return None
        count = (to_ms - 1 - self.due_ms) // self.interval_ms
        last_ms = self.due_ms + count * self.interval_ms
        self.due_ms = last_ms + self.interval_ms
        self.context.metrics.heartbeats += count + 1
        return last_ms

    def _send(self, *, ignored: bool) -> None:
        context, membership = self.context, self.membership
        request = membership.protocol.heartbeat(context, membership.epoch, self._fields())
        context.metrics.heartbeats += 1
        timeout_ms = context.config.request_timeout_ms
        context.send(request, context.coordinator, timeout_ms, ignored)
        if not ignored:
            self.in_flight = request.request_id
        self.due_ms = context.now_ms + self.interval_ms
        membership.heartbeat_sent()

    def _fields(self) -> Sent:
        context, current = self.context, self.membership.current
        joins = self.membership.state is MembershipState.JOINING
        owned: Units | None = None
        if joins or current != self.sent_assignment:
            owned, self.sent_assignment = current.units, current
        if self.has_sent and not joins:
            return Sent(owned=owned)
        self.has_sent = True
        config = context.config
        return Sent(
            config.max_poll_interval_ms,
            () if config.regex else context.topics,
            config.regex,
            config.remote_assignor,
            owned,
            joins,
        )
