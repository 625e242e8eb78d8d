"""Heartbeats of librdkafka's main thread, and the session they keep alive."""

from __future__ import annotations

from coordinator_core.client.librdkafka.group import Group
from coordinator_core.client.librdkafka.states import HEARTBEATING, Interval
from coordinator_core.protocol.messages import Heartbeat


class Heartbeats:
    """One at a time; ``again_ms``: when one that failed is to be repeated."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.shell = group.shell
        self.interval = Interval(self.shell.config.heartbeat_interval_ms)
        self.is_in_flight = False
        self.again_ms: int | None = None

    def serve(self) -> None:
        """The interval runs on while none may be sent."""
        shell = self.shell
        if not shell.topics:
            return
        due = self.interval.take(shell.now_ms)
        due = due or (self.again_ms is not None and self.again_ms <= shell.now_ms)
        if due and not self.is_in_flight and not self.group.left_for_poll:
            self._send()

    def due_ms(self) -> int | None:
        if not self.shell.topics or self.group.join_state not in HEARTBEATING:
            return None
        due_ms = self.interval.due_ms(self.shell.now_ms)
        return due_ms if self.again_ms is None else min(due_ms, self.again_ms)

    def repeat(self) -> None:
        """After the backoff."""
        self.again_ms = self.shell.now_ms + self.shell.config.retry_backoff_ms

    def skip(self, to_ms: int) -> int | None:
        """As if all heartbeats due before ``to_ms`` had been sent and answered: the last one."""
        shell, due_ms = self.shell, self.due_ms()
        if due_ms is None or due_ms >= to_ms:
            return None
        interval_ms = shell.config.heartbeat_interval_ms
        skipped = (to_ms - 1 - due_ms) // interval_ms + 1
        last_ms = due_ms + (skipped - 1) * interval_ms
        self.interval.last_ms = last_ms
        self.group.session_ms = last_ms + shell.session_timeout_ms
        shell.metrics.heartbeats += skipped
        return last_ms

    def _send(self) -> None:
        shell = self.shell
        self.again_ms = None
        self.is_in_flight = True
        shell.metrics.heartbeats += 1
        generation, member_id, _ = shell.generation
        instance_id = shell.config.instance_id
        request = Heartbeat(
            shell.next_id(), shell.config.group_id, member_id, generation, instance_id
        )
        shell.send(request, shell.coordinator, shell.session_timeout_ms)
