"""Heartbeats of librdkafka's main thread."""

from __future__ import annotations

from coordinator_core.client.librdkafka.group import LibrdkafkaGroup
from coordinator_core.client.librdkafka.main_loop import WakeTimes
from coordinator_core.client.librdkafka.states import HEARTBEATING, Interval
from coordinator_core.protocol.messages import Heartbeat


class LibrdkafkaHeartbeats:
    """At most one heartbeat is in flight.

    ``again_ms`` is the time at which a failed heartbeat is repeated.
    """

    def __init__(self, group: LibrdkafkaGroup) -> None:
        self.group = group
        self.context = group.context
        self.interval = Interval(self.context.config.heartbeat_interval_ms)
        self.is_in_flight = False
        self.again_ms: int | None = None

    def serve(self) -> None:
        """Send a heartbeat if it is due; the interval restarts even if the heartbeat may not be
        sent.
        """
        context = self.context
        if not context.topics:
            return
        due = self.interval.take(context.now_ms)
        due = due or (self.again_ms is not None and self.again_ms <= context.now_ms)
        if due and not self.is_in_flight and not self.group.left_after_poll_timeout:
            self._send()

    def due_ms(self, wakes: WakeTimes) -> int | None:
        """When the next heartbeat is sent; a repeated heartbeat does not wait for the main
        thread.
        """
        if not self.context.topics or self.group.join_state not in HEARTBEATING:
            return None
        due_ms = wakes.first_ms(self.interval.due_ms(self.context.now_ms))
        return due_ms if self.again_ms is None else min(due_ms, self.again_ms)

    def repeat(self) -> None:
        """Repeat the heartbeat after the backoff."""
        self.again_ms = self.context.now_ms + self.context.config.retry_backoff_ms

    def skip(self, to_ms: int, wakes: WakeTimes) -> int | None:
        """Treat heartbeats due before ``to_ms`` as answered; returns the time of the last one."""
        context, first_ms = self.context, self.due_ms(wakes)
        if first_ms is None or first_ms >= to_ms:
            return None
        interval_ms, last_ms, skipped, step_ms = self.interval.interval_ms, first_ms, 1, 0
        while (next_ms := wakes.first_ms(last_ms + interval_ms)) < to_ms:
            count = 1
            if next_ms - last_ms == step_ms:  # wake times repeat
                count = (to_ms - 1 - last_ms) // step_ms
            step_ms = next_ms - last_ms
            last_ms, skipped = last_ms + count * step_ms, skipped + count
        self.interval.last_ms = last_ms
        self.group.session_ms = last_ms + context.session_timeout_ms
        context.metrics.heartbeats += skipped
        return last_ms

    def _send(self) -> None:
        context = self.context
        self.again_ms = None
        self.is_in_flight = True
        context.metrics.heartbeats += 1
        generation, member_id, _ = context.generation
        instance_id = context.config.instance_id
        request = Heartbeat(
            context.next_id(), context.config.group_id, member_id, generation, instance_id
        )
        context.send(request, context.coordinator, context.session_timeout_ms)
