"""The Java consumer: its two threads, and the responses that wait for one of them."""

from __future__ import annotations

from collections import deque

from coordinator_core.client.context import ClientContext, InFlight
from coordinator_core.client.java.application import TIMER, Application
from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.heartbeat import HEARTBEAT, SESSION, HeartbeatThread
from coordinator_core.client.java.member import JavaMember
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.java.rebalance import JavaRebalance
from coordinator_core.client.java.responses import JavaResponses
from coordinator_core.client.messages import ClientResponse, MemberState


class JavaConsumer:
    """``network`` has responses that were received but not handled, because neither thread serves
    the network.
    """

    own_timers = frozenset({HEARTBEAT, SESSION})
    commit_timers = frozenset({TIMER})  # an idle application waits for nothing but the next poll

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        self.member = JavaMember(context)
        self.metadata = ClusterMetadata(context)
        self.heartbeat = HeartbeatThread(self.member)
        self.responses = JavaResponses(self.member, self.metadata, self.heartbeat)
        self.commits = Commits(self.member)
        rebalance = JavaRebalance(self.member, self.metadata, self.commits)
        self.application = Application(self.member, rebalance, self.commits, self.heartbeat)
        self.network: deque[tuple[InFlight, ClientResponse | None]] = deque()

    @property
    def is_idle(self) -> bool:
        context = self.context
        stable = context.state is MemberState.STABLE and not context.in_flight and not self.network
        return stable and self.heartbeat.is_enabled and self.application.is_idle

    def subscribe(self) -> None:
        self.metadata.follow(self.metadata.group_topics)
        self.settle()

    def unsubscribe(self) -> None:
        self.application.unsubscribe()
        self.settle()

    def poll(self) -> None:
        self.application.is_away = False
        self.settle()

    def process(self) -> None:
        self.application.is_away = True
        self.settle()

    def listened(self) -> None:
        self.settle()

    def commit(self) -> None:
        self.commits.commit_async()
        self.settle()

    def close(self) -> None:
        self.application.close()
        self.settle()

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        """None: no response."""
        self.network.append((sent, response))
        self.settle()

    def disconnected(self, node: int) -> None:
        if node == self.context.coordinator:
            self.member.forget_coordinator(connection_is_lost=True)
        self.settle()

    def settle(self) -> None:
        """Run both threads and handle responses until nothing changes."""
        while not self.context.is_closed:
            self._note_polling()
            if self.network and self._network_is_served:
                self.responses.take(*self.network.popleft())
            elif self.member.lost:
                self.responses.take(self.member.lost.pop(0), None)
            else:
                before = self._progress()
                self.heartbeat.serve()
                self.application.serve()
                if before == self._progress():
                    break
        if not self.context.is_closed:
            self.metadata.serve(self._network_is_served)
            self._note_polling()
            self.heartbeat.serve()
            self.heartbeat.set_timers()
            self.application.set_timer()

    def thawed(self) -> None:
        """Do nothing, because each thread sets its next time when it runs."""

    def heartbeat_interval_ms(self) -> int:
        return self.context.config.heartbeat_interval_ms

    def skip_heartbeats(self, to_ms: int) -> int | None:
        self.commits.skip(to_ms)
        self.application.wait_for_commit()
        return self.heartbeat.skip(to_ms)

    @property
    def _network_is_served(self) -> bool:
        return self.application.runs or self.heartbeat.is_enabled

    def _note_polling(self) -> None:
        if self.application.runs:
            self.heartbeat.poll_ms = None
        elif self.heartbeat.poll_ms is None:
            self.heartbeat.poll_ms = self.context.now_ms

    def _progress(self) -> tuple[object, ...]:
        context = self.context
        return context.requests, len(context.effects), len(self.member.lost), self.application.wait
