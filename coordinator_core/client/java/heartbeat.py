"""The heartbeat thread: it keeps the session alive, and leaves if the application does not poll."""

from __future__ import annotations

from coordinator_core.client.java.member import JavaMember
from coordinator_core.client.libraries import SlowHandler
from coordinator_core.client.messages import MemberState
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Heartbeat

HEARTBEAT, SESSION, POLL_INTERVAL, LOOKUP = "heartbeat", "session", "poll interval", "lookup"
POLL_EXPIRED = "consumer poll timeout has expired."


class HeartbeatThread:
    """``fatal`` is an error to raise at the application's next poll.

    ``poll_ms`` says when the application left poll, or None while it is inside poll.
    """

    def __init__(self, member: JavaMember) -> None:
        self.member = member
        self.context = member.context
        self.is_enabled = False
        self.fatal: Errors | None = None
        self.poll_ms: int | None = None
        self.due_ms = 0
        self.session_ms = 0
        self.lookup_ms = 0

    def enable(self) -> None:
        self.is_enabled = True
        self.due_ms = self.context.now_ms + self.context.config.heartbeat_interval_ms
        self.reset_session()

    def stop(self) -> None:
        self.is_enabled = False

    def reset_session(self) -> None:
        self.session_ms = self.context.now_ms + self.context.session_timeout_ms

    def failed(self) -> None:
        """Schedule the next heartbeat after the backoff."""
        self.due_ms = self.context.now_ms + self.context.config.retry_backoff_ms

    def serve(self) -> None:
        """Do everything that is due."""
        while self._is_awake() and self._serve_once():
            pass

    def skip(self, to_ms: int) -> int | None:
        """Treat heartbeats due before ``to_ms`` as answered; returns the time of the last one."""
        interval_ms = self.context.config.heartbeat_interval_ms
        if not self._is_awake() or self.due_ms >= to_ms:
            return None
        skipped = (to_ms - 1 - self.due_ms) // interval_ms + 1
        last_ms = self.due_ms + (skipped - 1) * interval_ms
        self.due_ms = last_ms + interval_ms
        self.session_ms = last_ms + self.context.session_timeout_ms
        self.context.metrics.heartbeats += skipped
        self.set_timers()
        return last_ms

    def _is_awake(self) -> bool:
        if self.context.state in (MemberState.UNJOINED, MemberState.PREPARING_REBALANCE):
            self.is_enabled = False
        is_silent = self.context.library.slow_handler is SlowHandler.EXPIRES
        beats = not is_silent or self.poll_ms is None
        return self.is_enabled and self.fatal is None and beats

    def _serve_once(self) -> bool:
        now_ms = self.context.now_ms
        if self.context.coordinator is None:
            return self._look_up()
        if self.session_ms <= now_ms:
            self.member.forget_coordinator()  # the connection may be dead
            return True
        poll_deadline_ms = self._poll_deadline_ms()
        if poll_deadline_ms is not None and poll_deadline_ms <= now_ms:
            self.member.leave(POLL_EXPIRED)
        elif self.due_ms <= now_ms:
            self._send()
        return False

    def _look_up(self) -> bool:
        if self.lookup_ms <= self.context.now_ms:
            self.member.find_coordinator()
            self.lookup_ms = self.context.now_ms + self.context.config.retry_backoff_ms
        return False

    def _poll_deadline_ms(self) -> int | None:
        if self.poll_ms is None or not self.context.library.has_poll_interval:
            return None
        return self.poll_ms + self.context.config.max_poll_interval_ms

    def _send(self) -> None:
        context = self.context
        generation, member_id, _ = context.generation
        instance_id = self.member.instance_id
        request = Heartbeat(
            context.next_id(), context.config.group_id, member_id, generation, instance_id
        )
        self.due_ms = context.now_ms + context.config.heartbeat_interval_ms
        context.metrics.heartbeats += 1
        context.send(request, context.coordinator, context.config.request_timeout_ms)

    def set_timers(self) -> None:
        awake, has_coordinator = self._is_awake(), self.context.coordinator is not None
        beats = awake and has_coordinator
        set_timer = self.context.set_timer
        set_timer(HEARTBEAT, self.due_ms if beats else None)
        set_timer(SESSION, self.session_ms if beats else None)
        set_timer(POLL_INTERVAL, self._poll_deadline_ms() if beats else None)
        set_timer(LOOKUP, self.lookup_ms if awake and not has_coordinator else None)
