"""A group of 0.8.2's consumers and an ensemble of three servers."""

from __future__ import annotations

import random
from collections import Counter

from bench.herd.measure import CONSUMED_EVERY_MS, GROUP, SESSION_TIMEOUT_MS, TOPIC, delays
from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.connector import ConsumerConfig
from coordinator_core.zookeeper.consumer import Consumer
from coordinator_core.zookeeper.counting import Ownership, Traffic
from coordinator_core.zookeeper.server import Server
from coordinator_core.zookeeper.world import World

SERVERS = ("zk-1", "zk-2", "zk-3")
BROKERS = (1, 2, 3)


class ZooKeeperGroup:
    def __init__(self, partitions: int, rng: random.Random) -> None:
        self.ownership = Ownership((TOPIC, partition) for partition in range(partitions))
        self._traffic = Traffic()
        self.world = World(delays(rng), [self.ownership, self._traffic])
        self._rng = rng
        self._consumers: dict[str, Consumer] = {}
        nodes = paths.kafka_nodes(BROKERS, {TOPIC: partitions})
        for server in SERVERS:
            self.world.add(server, Server(server, SERVERS, nodes=nodes))
        self.world.at(CONSUMED_EVERY_MS, self._consume)

    def start(self, name: str) -> None:
        config = ConsumerConfig(
            GROUP, f"{GROUP}_{name}", zookeeper_session_timeout_ms=SESSION_TIMEOUT_MS
        )
        servers = self._rng.sample(SERVERS, len(SERVERS))
        consumer = self._consumers[name] = Consumer(config, {TOPIC: 1}, servers)
        self.world.add(name, consumer)
        self.world.perform(name, consumer.start(self.world.now_ms))

    def leave(self, name: str) -> None:
        consumer = self._consumers.pop(name)
        self.world.perform(name, consumer.shut_down(self.world.now_ms))

    def crash(self, name: str) -> None:
        self.world.perform(name, self._consumers.pop(name).kill())
        self.world.remove(name)

    def owns(self, name: str) -> bool:
        return bool(self._consumers[name].fetching)

    def counts(self) -> Counter[str]:
        counts = self._traffic.counts
        return Counter(
            notifications=counts["notifications"],
            requests=counts["reads"] + counts["writes"] + counts["connects"],
            failed=counts["rebalances_failed"],
            claims_refused=counts["claims_refused"],
        )

    def _consume(self) -> None:
        """Every partition's offset moves once a second, so that there is something to commit."""
        for consumer in self._consumers.values():
            consumer.consumed(dict.fromkeys(consumer.fetching, self.world.now_ms))
        self.world.at(self.world.now_ms + CONSUMED_EVERY_MS, self._consume)
