"""A group of consumers with an ensemble in a world whose delays the test chooses."""

import pytest

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.client import Client
from coordinator_core.zookeeper.connector import ConsumerConfig
from coordinator_core.zookeeper.consumer import Consumer
from coordinator_core.zookeeper.counting import Ownership, Traffic
from coordinator_core.zookeeper.messages import Send
from coordinator_core.zookeeper.server import Server
from coordinator_core.zookeeper.world import World


class Operator:
    """Somebody with a session of their own who writes to the tree."""

    def __init__(self, servers):
        self.client = Client(servers, 60_000)

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


class Group:
    """``partitions``: their number by topic; ``events``: (ms, who, event); ``sent``: messages."""

    def __init__(self, partitions, delay_ms=lambda source, target: 1, servers=("zk",)):
        self.partitions = partitions
        self.servers = servers
        self.ownership = Ownership((t, p) for t, count in partitions.items() for p in range(count))
        self.traffic = Traffic()
        self.events, self.sent = [], []
        self.world = World(delay_ms, [self.ownership, self.traffic, self._observe])
        nodes = paths.kafka_nodes([1], partitions)
        self.ensemble = [Server(name, servers, nodes=nodes) for name in servers]
        for server in self.ensemble:
            self.world.add(server.name, server)
        self.consumers = {}
        self.operator = Operator(servers)
        self.world.add("operator", self.operator)

    def start(self, name, subscription=None, server=None, **config):
        first = self.servers.index(server) if server else 0
        consumer = self.consumers[name] = Consumer(
            ConsumerConfig("g", name, **config),
            subscription or dict.fromkeys(self.partitions, 1),
            self.servers[first:] + self.servers[:first],
        )
        self.world.add(name, consumer)
        self.world.perform(name, consumer.start(self.world.now_ms))

    def leave(self, name):
        consumer = self.consumers.pop(name)
        self.world.perform(name, consumer.shut_down(self.world.now_ms))

    def kill(self, name):
        self.world.perform(name, self.consumers.pop(name).kill())
        self.world.remove(name)

    def write(self, *ops):
        """At once, as an operator (or Kafka's controller) would."""
        if not self.operator.client.is_connected:
            self.operator.client.connect(self.world.now_ms)
        for op in ops:
            self.operator.client.ask(op, self.world.now_ms)
        self.world.perform("operator", self.operator.drain())

    def run_for(self, duration_ms):
        self.world.run(self.world.now_ms + duration_ms)

    def node(self, path):
        """Its data as the leader has it; None if it is not there."""
        node = self.ensemble[0].tree.nodes.get(path)
        return None if node is None else node.data

    def owners(self, topic):
        paths_of = {p: paths.owner("g", topic, p) for p in range(self.partitions[topic])}
        return {p: self.node(path) for p, path in paths_of.items()}

    def fetching(self):
        return {name: list(consumer.fetching) for name, consumer in self.consumers.items()}

    def events_of(self, kind):
        return [(at, who, event) for at, who, event in self.events if isinstance(event, kind)]

    def _observe(self, now_ms, who, effect):
        if isinstance(effect, Send):
            self.sent.append((now_ms, who, effect.target, effect.message))
        else:
            self.events.append((now_ms, who, effect))


@pytest.fixture
def make_group():
    return Group
