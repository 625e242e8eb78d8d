"""A harness: consumers and an ensemble on a virtual network with delays chosen by the test."""

import pytest

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.client import ZooKeeperClient
from coordinator_core.zookeeper.consumer import ZooKeeperConsumer
from coordinator_core.zookeeper.consumer_state import ZooKeeperConsumerConfig
from coordinator_core.zookeeper.measurements import OwnershipMeter, TrafficMeter
from coordinator_core.zookeeper.messages import SendMessage
from coordinator_core.zookeeper.server import ZooKeeperServer
from coordinator_core.zookeeper.virtual_network import VirtualNetwork


class Operator:
    """A ZooKeeper client that writes to the tree in a session of its own."""

    def __init__(self, servers):
        self.client = ZooKeeperClient(servers, 60_000)

    def received(self, source, message, now_ms):
        self.client.received(source, message, now_ms)
        return self.drain()

    def advance(self, now_ms):
        self.client.advance(now_ms)
        return self.drain()

    def next_deadline_ms(self):
        return self.client.next_deadline_ms()

    def drain(self):
        sends = list(self.client.sends)
        self.client.sends.clear()
        return sends


class ZooKeeperGroupHarness:
    """``partitions``: counts by topic.  ``events``: (ms, process, event).  ``sent``: messages."""

    def __init__(self, partitions, delay_ms=lambda source, target: 1, servers=("zk",)):
        self.partitions = partitions
        self.servers = servers
        self.ownership = OwnershipMeter(
            (t, p) for t, count in partitions.items() for p in range(count)
        )
        self.traffic = TrafficMeter()
        self.events, self.sent = [], []
        self.network = VirtualNetwork(delay_ms, [self.ownership, self.traffic, self._observe])
        nodes = paths.kafka_nodes([1], partitions)
        self.ensemble = [ZooKeeperServer(name, servers, nodes=nodes) for name in servers]
        for server in self.ensemble:
            self.network.add(server.name, server)
        self.consumers = {}
        self.operator = Operator(servers)
        self.network.add("operator", self.operator)

    def start(self, name, subscription=None, server=None, **config):
        first = self.servers.index(server) if server else 0
        consumer = self.consumers[name] = ZooKeeperConsumer(
            ZooKeeperConsumerConfig(group_id="g", consumer_id=name, **config),
            subscription or dict.fromkeys(self.partitions, 1),
            self.servers[first:] + self.servers[:first],
        )
        self.network.add(name, consumer)
        self.network.perform(name, consumer.start(self.network.now_ms))

    def leave(self, name):
        consumer = self.consumers.pop(name)
        self.network.perform(name, consumer.shut_down(self.network.now_ms))

    def kill(self, name):
        self.network.perform(name, self.consumers.pop(name).kill())
        self.network.remove(name)

    def write(self, *ops):
        """Write to the tree, as an operator or Kafka's controller does."""
        if not self.operator.client.is_connected:
            self.operator.client.connect(self.network.now_ms)
        for op in ops:
            self.operator.client.submit(op, self.network.now_ms)
        self.network.perform("operator", self.operator.drain())

    def run_for(self, duration_ms):
        self.network.run(self.network.now_ms + duration_ms)

    def node(self, path):
        """The node's data at the leader, or None if the node does not exist."""
        node = self.ensemble[0].tree.nodes.get(path)
        return None if node is None else node.data

    def owners(self, topic):
        paths_of = {p: paths.owner("g", topic, p) for p in range(self.partitions[topic])}
        return {p: self.node(path) for p, path in paths_of.items()}

    def fetching(self):
        return {name: list(consumer.fetching) for name, consumer in self.consumers.items()}

    def events_of(self, kind):
        return [
            (at, process, event) for at, process, event in self.events if isinstance(event, kind)
        ]

    def _observe(self, now_ms, process, effect):
        if isinstance(effect, SendMessage):
            self.sent.append((now_ms, process, effect.target, effect.message))
        else:
            self.events.append((now_ms, process, effect))


@pytest.fixture
def make_group():
    return ZooKeeperGroupHarness
