"""The two threads of a Java consumer on one member, and the network between them and the world."""

from __future__ import annotations

from collections import deque

from coordinator_core.client.java.answers import Answers
from coordinator_core.client.java.application import Application
from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.heartbeat import HEARTBEAT, SESSION, HeartbeatThread
from coordinator_core.client.java.member import Member
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.java.rebalance import Rebalance
from coordinator_core.client.messages import ClientResponse, MemberState
from coordinator_core.client.shell import InFlight, Shell


class JavaConsumer:
    """Answers wait in the network while neither thread serves it."""

    own_timers = frozenset({HEARTBEAT, SESSION})

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.member = Member(shell)
        self.metadata = ClusterMetadata(shell)
        self.heartbeat = HeartbeatThread(self.member)
        self.answers = Answers(self.member, self.metadata, self.heartbeat)
        self.commits = Commits(self.member)
        rebalance = Rebalance(self.member, self.metadata, self.commits)
        self.application = Application(self.member, rebalance, self.commits, self.heartbeat)
        self.network: deque[tuple[InFlight, ClientResponse | None]] = deque()

    @property
    def is_idle(self) -> bool:
        shell = self.shell
        stable = shell.state is MemberState.STABLE and not shell.in_flight and not self.network
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
        self.commits.ask()
        self.settle()

    def close(self) -> None:
        self.application.close()
        self.settle()

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        """None: it never came."""
        self.network.append((sent, response))
        self.settle()

    def disconnected(self, node: int) -> None:
        if node == self.shell.coordinator:
            self.member.forget_coordinator(connection_is_lost=True)
        self.settle()

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        while not self.shell.is_closed:
            self._note_polling()
            if self.network and self._network_is_served:
                self.answers.take(*self.network.popleft())
            elif self.member.lost:
                self.answers.take(self.member.lost.pop(0), None)
            else:
                before = self._progress()
                self.heartbeat.serve()
                self.application.serve()
                if before == self._progress():
                    break
        if not self.shell.is_closed:
            self.metadata.serve(self._network_is_served)
            self._note_polling()
            self.heartbeat.serve()

    def skip_heartbeats(self, to_ms: int) -> int | None:
        return self.heartbeat.skip(to_ms)

    @property
    def _network_is_served(self) -> bool:
        return self.application.runs or self.heartbeat.is_enabled

    def _note_polling(self) -> None:
        if self.application.runs:
            self.heartbeat.poll_ms = None
        elif self.heartbeat.poll_ms is None:
            self.heartbeat.poll_ms = self.shell.now_ms

    def _progress(self) -> tuple[object, ...]:
        shell = self.shell
        return shell.requests, len(shell.effects), len(self.member.lost), self.application.wait
