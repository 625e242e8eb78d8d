"""A group of 0.8.2 consumers and an ensemble of three servers."""

from __future__ import annotations

import random
from collections import Counter

from bench.herd.measure import CONSUMED_EVERY_MS, GROUP, SESSION_TIMEOUT_MS, TOPIC, delays
from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.consumer import ZooKeeperConsumer
from coordinator_core.zookeeper.consumer_state import ZooKeeperConsumerConfig
from coordinator_core.zookeeper.measurements import OwnershipMeter, TrafficMeter
from coordinator_core.zookeeper.server import ZooKeeperServer
from coordinator_core.zookeeper.virtual_network import VirtualNetwork

SERVERS = ("zk-1", "zk-2", "zk-3")
BROKERS = (1, 2, 3)


class ZooKeeperGroup:
    def __init__(self, partitions: int, rng: random.Random) -> None:
        self.ownership = OwnershipMeter((TOPIC, partition) for partition in range(partitions))
        self._traffic = TrafficMeter()
        self.network = VirtualNetwork(delays(rng), [self.ownership, self._traffic])
        self._rng = rng
        self._consumers: dict[str, ZooKeeperConsumer] = {}
        nodes = paths.kafka_nodes(BROKERS, {TOPIC: partitions})
        for server in SERVERS:
            self.network.add(server, ZooKeeperServer(server, SERVERS, nodes=nodes))
        self.network.at(CONSUMED_EVERY_MS, self._consume)

    def start(self, name: str) -> None:
        config = ZooKeeperConsumerConfig(
            group_id=GROUP,
            consumer_id=f"{GROUP}_{name}",
            zookeeper_session_timeout_ms=SESSION_TIMEOUT_MS,
        )
        servers = self._rng.sample(SERVERS, len(SERVERS))
        consumer = self._consumers[name] = ZooKeeperConsumer(config, {TOPIC: 1}, servers)
        self.network.add(name, consumer)
        self.network.perform(name, consumer.start(self.network.now_ms))

    def leave(self, name: str) -> None:
        consumer = self._consumers.pop(name)
        self.network.perform(name, consumer.shut_down(self.network.now_ms))

    def crash(self, name: str) -> None:
        self.network.perform(name, self._consumers.pop(name).kill())
        self.network.remove(name)

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
        """Advance every offset once per second, so that there is something to commit."""
        for consumer in self._consumers.values():
            consumer.consumed(dict.fromkeys(consumer.fetching, self.network.now_ms))
        self.network.at(self.network.now_ms + CONSUMED_EVERY_MS, self._consume)
