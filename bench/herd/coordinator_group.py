"""A group of simple consumers and a coordinator of an era, on one virtual network.

The members act like Java consumers with the range assignor whose requests never fail: find the
coordinator, join, sync, fetch offsets, send heartbeats; commit and rejoin in a rebalance.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import count
from typing import Any, NamedTuple

from bench.herd.measure import GROUP, SESSION_TIMEOUT_MS, TOPIC, delays
from bench.herd.member import (
    CoordinatorFound,
    CoordinatorMember,
    FindGroupCoordinator,
    is_error,
)
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Effect, Heartbeat, Request, Respond
from coordinator_core.zookeeper.measurements import OwnershipMeter
from coordinator_core.zookeeper.messages import SendMessage
from coordinator_core.zookeeper.virtual_network import VirtualNetwork

BROKER = "broker-1"
APPEND_MS = 2


class CoordinatorGroup:
    def __init__(self, era: str, partitions: int, rng: random.Random) -> None:
        self.ownership = OwnershipMeter((TOPIC, partition) for partition in range(partitions))
        self._counts: Counter[str] = Counter()
        self.network = VirtualNetwork(delays(rng), [self.ownership, self._observe])
        self._partitions = partitions
        self._knows_ids = era in ("2.5", "3.9", "4.1")  # KIP-394
        self._members: dict[str, CoordinatorMember] = {}
        self.network.add(BROKER, CoordinatorProcess(era))

    def start(self, name: str) -> None:
        member = self._members[name] = CoordinatorMember(
            name, BROKER, GROUP, {TOPIC: self._partitions}, SESSION_TIMEOUT_MS, self._knows_ids
        )
        self.network.add(name, member)
        self.network.perform(name, member.start())

    def leave(self, name: str) -> None:
        self.network.perform(name, self._members.pop(name).leave())

    def crash(self, name: str) -> None:
        member = self._members.pop(name)
        self.network.remove(name)
        self.ownership.stop(name, member.fetching, self.network.now_ms)

    def owns(self, name: str) -> bool:
        return bool(self._members[name].fetching)

    def counts(self) -> Counter[str]:
        return Counter(self._counts)

    def _observe(self, now_ms: int, process_name: str, effect: Any) -> None:
        """Count requests; heartbeats without an error are left out, like ZooKeeper's pings."""
        if not isinstance(effect, SendMessage):
            return
        if isinstance(effect.message, BrokerResponse):
            request, response = effect.message
            notified = isinstance(request, Heartbeat) and is_error(response)
            self._counts["notifications"] += notified
            self._counts["requests"] += notified
        elif not isinstance(effect.message, Heartbeat):
            self._counts["requests"] += process_name != BROKER


class BrokerResponse(NamedTuple):
    request: Any
    response: Any


class CoordinatorProcess:
    """The coordinator as a process on the network; each append takes APPEND_MS."""

    def __init__(self, era: str) -> None:
        numbers = count(1)
        self._coordinator = Coordinator(
            CoordinatorConfig(), ERAS[era], lambda _group, client: f"{client}-{next(numbers):06}"
        )
        self._pending: dict[str, tuple[str, Request]] = {}
        self._appends: list[tuple[int, Append]] = []

    def received(
        self, source: str, message: Request | FindGroupCoordinator, now_ms: int
    ) -> list[SendMessage]:
        if isinstance(message, FindGroupCoordinator):
            return [SendMessage(source, BrokerResponse(message, CoordinatorFound(Errors.NONE)))]
        self._pending[message.request_id] = source, message
        effects = self._coordinator.advance(now_ms)
        return self._perform(effects + self._coordinator.handle(message, now_ms), now_ms)

    def advance(self, now_ms: int) -> list[SendMessage]:
        effects = self._coordinator.advance(now_ms)
        while self._appends and self._appends[0][0] <= now_ms:
            append = self._appends.pop(0)[1]
            effects += self._coordinator.appended(append, Errors.NONE, now_ms)
        return self._perform(effects, now_ms)

    def next_deadline_ms(self) -> int | None:
        deadlines = [self._coordinator.next_deadline_ms(), *(at for at, _ in self._appends[:1])]
        return min((at for at in deadlines if at is not None), default=None)

    def _perform(self, effects: list[Effect], now_ms: int) -> list[SendMessage]:
        sends = []
        for effect in effects:
            if isinstance(effect, Respond):
                source, request = self._pending.pop(effect.request_id)
                sends.append(SendMessage(source, BrokerResponse(request, effect.response)))
            elif isinstance(effect, Append):
                self._appends.append((now_ms + APPEND_MS, effect))
        return sends
