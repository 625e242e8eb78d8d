"""A Java consumer's metadata: partition counts by topic, and when to request them again."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.client.context import ClientContext
from coordinator_core.client.messages import Metadata, MetadataResponse

TIMER = "metadata"
Snapshot = dict[str, int]


class ClusterMetadata:
    """``followed`` has topics of the subscription; for a leader, topics of the whole group.

    ``assigned`` has the partition counts that the leader's last assignment used, or None for
    followers.
    """

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.group_topics: frozenset[str] = frozenset()
        self.due_ms: int | None = None
        self.update_requested = False
        self.attempts = 0
        self.sent_ms = 0
        self.assigned: Snapshot | None = None

    @property
    def followed(self) -> tuple[str, ...]:
        return tuple(sorted(self.group_topics.union(self.context.topics)))

    @property
    def snapshot(self) -> Snapshot:
        counts = self.context.partitions
        return {topic: counts[topic] for topic in self.followed if topic in counts}

    @property
    def has_changed(self) -> bool:
        """Returns whether partition counts changed since the leader's assignment; False for
        followers.
        """
        return self.assigned is not None and self.assigned != self.snapshot

    def follow(self, group_topics: Iterable[str]) -> None:
        self.group_topics = frozenset(group_topics)
        if any(topic not in self.context.partitions for topic in self.followed):
            self.request_update()

    def request_update(self) -> None:
        self.update_requested = True
        self.due_ms = self.context.now_ms

    def serve(self, network_is_served: bool) -> None:
        """Send a metadata request if it is due and a thread serves the network."""
        waits = self.context.waits_for(Metadata)
        follows = self.group_topics or self.context.topics
        if self.due_ms is None or waits or not network_is_served or not follows:
            self.context.set_timer(TIMER, None)
            return
        if self.due_ms > self.context.now_ms:
            self.context.set_timer(TIMER, self.due_ms)
            return
        self.context.set_timer(TIMER, None)
        self.sent_ms = self.context.now_ms
        request = Metadata(self.context.next_id(), self.followed)
        self.context.send(request, None, self.context.config.request_timeout_ms)

    def answered(self, request: Metadata, response: MetadataResponse | None) -> None:
        """None: no response."""
        if response is None:
            self._retry_after_backoff()
            return
        self.context.measure("metadata", self.sent_ms)
        self.context.partitions = dict(response.partitions)
        self.update_requested = any(topic not in request.topics for topic in self.followed)
        if any(topic not in response.partitions for topic in self.followed):
            self._retry_after_backoff()
            return
        self.attempts = 0
        self.due_ms = self.context.now_ms + self.context.config.metadata_max_age_ms

    def _retry_after_backoff(self) -> None:
        context = self.context
        backoff_ms = context.library.backoff_ms(context.config, self.attempts, context.jitter())
        self.attempts += 1
        self.due_ms = context.now_ms + backoff_ms
