"""Servers and clients: sessions, order of replies and notifications, lagging followers."""

import pytest

from coordinator_core.zookeeper.client import (
    ReplyReceived,
    SessionLost,
    WatchTriggered,
    ZooKeeperClient,
)
from coordinator_core.zookeeper.messages import (
    Connect,
    Create,
    Exists,
    ForwardedWrite,
    GetChildren,
    GetData,
    OpenSession,
    Origin,
    SendMessage,
    ServerDisconnect,
    SetData,
    WatchType,
    ZkError,
    ZooKeeperAnswer,
)
from coordinator_core.zookeeper.server import ZooKeeperServer
from coordinator_core.zookeeper.virtual_network import VirtualNetwork

TICK_MS = 3000
SESSION_MS = 6000


class RecordingClient:
    """A client process that records its events."""

    def __init__(self, network, name, servers):
        self.network, self.name = network, name
        self.client = ZooKeeperClient(servers, SESSION_MS)
        self.received_events = []
        network.add(name, self)

    def connect(self):
        self.client.connect(self.network.now_ms)
        self.network.perform(self.name, self._drain())

    def submit(self, *ops, watch=()):
        self.client.listened.update(watch)
        for op in ops:
            self.client.submit(op, self.network.now_ms)
        self.network.perform(self.name, self._drain())

    def received(self, source, message, now_ms):
        event = self.client.received(source, message, now_ms)
        self.received_events += [(now_ms, each) for each in event]
        return self._drain()

    def advance(self, now_ms):
        self.client.advance(now_ms)
        return self._drain()

    def next_deadline_ms(self):
        return self.client.next_deadline_ms()

    def values(self):
        return [
            event.answer.value
            for _, event in self.received_events
            if isinstance(event, ReplyReceived)
        ]

    def _drain(self):
        sends = list(self.client.sends)
        self.client.sends.clear()
        return sends


def ensemble(delay_ms=lambda source, target: 1, servers=("zk-1", "zk-2")):
    network = VirtualNetwork(delay_ms)
    made = [ZooKeeperServer(name, servers, TICK_MS) for name in servers]
    for server in made:
        network.add(server.name, server)
    return network, made


def connected(network, name, servers):
    client_process = RecordingClient(network, name, servers)
    client_process.connect()
    network.run(network.now_ms + 100)
    assert client_process.client.is_connected
    return client_process


def test_a_write_at_a_follower_reaches_all_servers_through_the_leader():
    network, servers = ensemble()
    client_process = connected(network, "c", ["zk-2"])

    client_process.submit(Create("/n", "x"))
    network.run(200)

    assert [server.tree.nodes["/n"].data for server in servers] == ["x", "x"]
    assert client_process.received_events == [
        (104, ReplyReceived(1, ZooKeeperAnswer(ZkError.OK)))
    ]  # The message goes from c over zk-2, zk-1 and zk-2 back to c.


def test_replies_keep_the_order_of_requests_and_show_own_writes():
    network, _ = ensemble()
    client_process = connected(network, "c", ["zk-2"])

    client_process.submit(Create("/n", "1"), GetData("/n"), SetData("/n", "2"), GetData("/n"))
    network.run(200)

    assert client_process.values() == [None, "1", None, "2"]


def test_a_lagging_follower_returns_old_data():
    network, _ = ensemble(lambda source, target: 50 if (source, target) == ("zk-1", "zk-2") else 1)
    writer = connected(network, "w", ["zk-1"])
    reader = connected(network, "r", ["zk-2"])

    writer.submit(Create("/n", "x"))
    network.run(210)
    reader.submit(GetData("/n"))
    network.run(220)
    network.run(300)
    reader.submit(GetData("/n"))
    network.run(400)

    assert reader.values() == [None, "x"]


def test_a_notification_precedes_any_reply_that_shows_the_change():
    network, _ = ensemble()
    watcher = connected(network, "c", ["zk-2"])
    writer = connected(network, "w", ["zk-1"])
    watcher.submit(GetChildren("/"), watch=["/"])
    network.run(300)

    writer.submit(Create("/n"))
    for now_ms in range(300, 320):
        network.run(now_ms)
        watcher.submit(Exists("/n"))
    network.run(400)

    received_events = [event for _, event in watcher.received_events]
    fired = received_events.index(WatchTriggered(WatchType.NODE_CHILDREN_CHANGED, "/"))
    seen = [event.answer.error is ZkError.OK for event in received_events[fired + 1 :]]
    assert all(event.answer.error is ZkError.NO_NODE for event in received_events[1:fired])
    assert fired > 1
    assert all(seen)


@pytest.mark.parametrize("connected_ms", [0, 1, 2999, 3000, 4000])
def test_a_session_expires_at_the_first_tick_after_its_timeout(connected_ms):
    """Messages reach the leader one ms after they were sent."""
    network, (leader,) = ensemble(servers=("zk",))
    network.run(connected_ms)
    client_process = connected(network, "c", ["zk"])
    client_process.submit(Create("/e", is_ephemeral=True))
    network.run(network.now_ms + 10)
    last_ms = network.now_ms - 9
    network.cut("c", ["zk"])
    expected_ms = ((last_ms + SESSION_MS) // TICK_MS + 1) * TICK_MS

    network.run(expected_ms - 1)
    assert "/e" in leader.tree.nodes
    network.run(expected_ms)
    assert "/e" not in leader.tree.nodes


def test_pings_keep_a_session_alive_also_through_a_follower():
    network, servers = ensemble()
    client_process = connected(network, "c", ["zk-2"])
    client_process.submit(Create("/e", is_ephemeral=True))

    network.run(60_000)

    assert all("/e" in server.tree.nodes for server in servers)
    assert [type(event) for _, event in client_process.received_events] == [ReplyReceived]


def test_session_and_watches_survive_a_change_of_server():
    network, servers = ensemble()
    client_process = connected(network, "c", ["zk-2", "zk-1"])
    writer = connected(network, "w", ["zk-1"])
    client_process.submit(Create("/e", is_ephemeral=True), GetChildren("/"), watch=["/"])
    network.run(300)

    network.cut("c", ["zk-2"])
    network.run(350)
    writer.submit(Create("/n"))
    network.run(8000)

    assert client_process.received_events[-1][1] == WatchTriggered(
        WatchType.NODE_CHILDREN_CHANGED, "/"
    )
    assert "/e" in servers[0].tree.nodes
    assert not any(isinstance(event, SessionLost) for _, event in client_process.received_events)


def test_unanswered_operations_are_repeated_on_the_next_connection():
    network, servers = ensemble()
    client_process = connected(network, "c", ["zk-2", "zk-1"])

    network.cut("c", ["zk-2"])
    client_process.submit(Create("/n"))
    network.run(8000)

    assert [event for _, event in client_process.received_events] == [
        ReplyReceived(1, ZooKeeperAnswer(ZkError.OK))
    ]
    assert "/n" in servers[1].tree.nodes


def test_a_client_learns_of_its_expired_session_after_reconnecting():
    network, servers = ensemble()
    client_process = connected(network, "c", ["zk-1", "zk-2"])
    client_process.submit(Create("/e", is_ephemeral=True))
    network.run(200)

    network.cut("c", ["zk-1", "zk-2"])
    network.run(20_000)
    assert not any(isinstance(event, SessionLost) for _, event in client_process.received_events)
    network.heal("c")
    network.run(30_000)

    assert [type(event) for _, event in client_process.received_events] == [
        ReplyReceived,
        SessionLost,
    ]
    assert client_process.client.is_connected
    assert all("/e" not in server.tree.nodes for server in servers)


def test_a_server_refuses_a_client_that_has_seen_newer_changes():
    follower = ZooKeeperServer("zk-2", ["zk-1", "zk-2"], TICK_MS, nodes=[Create("/a")])

    assert follower.received("c", Connect(3, 7, SESSION_MS, last_zxid=2), 0) == [
        SendMessage("c", ServerDisconnect(3))
    ]
    assert follower.received("c", Connect(4, 0, SESSION_MS, last_zxid=1), 0) == [
        SendMessage("zk-1", ForwardedWrite(0, OpenSession(), Origin("zk-2", "c", 4, 0), SESSION_MS))
    ]
