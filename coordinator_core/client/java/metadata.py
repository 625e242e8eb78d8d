"""What a Java consumer knows of topics, and when it asks again."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.client.messages import Metadata, MetadataResponse
from coordinator_core.client.shell import Shell

TIMER = "metadata"
Snapshot = dict[str, int]


class ClusterMetadata:
    """``followed``: the own subscription's topics, and the whole group's for its leader.

    ``assigned``: what the leader's last assignment was made from, None for followers.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.group_topics: frozenset[str] = frozenset()
        self.due_ms: int | None = None
        self.is_wanted = False
        self.attempts = 0
        self.asked_ms = 0
        self.assigned: Snapshot | None = None

    @property
    def followed(self) -> tuple[str, ...]:
        return tuple(sorted(self.group_topics.union(self.shell.topics)))

    @property
    def snapshot(self) -> Snapshot:
        known = self.shell.partitions
        return {topic: known[topic] for topic in self.followed if topic in known}

    @property
    def has_changed(self) -> bool:
        """Since the leader assigned; followers leave it to the leader to see that."""
        return self.assigned is not None and self.assigned != self.snapshot

    def follow(self, group_topics: Iterable[str]) -> None:
        self.group_topics = frozenset(group_topics)
        if any(topic not in self.shell.partitions for topic in self.followed):
            self.want()

    def want(self) -> None:
        self.is_wanted = True
        self.due_ms = self.shell.now_ms

    def serve(self, network_is_served: bool) -> None:
        """Ask if it is time to; nobody asks where nobody serves the network."""
        waits = self.shell.waits_for(Metadata)
        if self.due_ms is None or waits or not network_is_served or not self.followed:
            self.shell.set_timer(TIMER, None)
            return
        if self.due_ms > self.shell.now_ms:
            self.shell.set_timer(TIMER, self.due_ms)
            return
        self.shell.set_timer(TIMER, None)
        self.asked_ms = self.shell.now_ms
        request = Metadata(self.shell.next_id(), self.followed)
        self.shell.send(request, None, self.shell.config.request_timeout_ms)

    def answered(self, request: Metadata, response: MetadataResponse | None) -> None:
        """None: the answer never came."""
        if response is None:
            self._ask_again_soon()
            return
        self.shell.measure("metadata", self.asked_ms)
        self.shell.partitions = dict(response.partitions)
        self.is_wanted = any(topic not in request.topics for topic in self.followed)
        if any(topic not in response.partitions for topic in self.followed):
            self._ask_again_soon()
            return
        self.attempts = 0
        self.due_ms = self.shell.now_ms + self.shell.config.metadata_max_age_ms

    def _ask_again_soon(self) -> None:
        shell = self.shell
        backoff_ms = shell.library.backoff_ms(shell.config, self.attempts, shell.jitter())
        self.attempts += 1
        self.due_ms = shell.now_ms + backoff_ms
