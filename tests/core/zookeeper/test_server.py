"""Servers and clients: sessions, the order of answers and notifications, followers that lag."""

import pytest

from coordinator_core.zookeeper.client import Answered, Client, Expired, Fired
from coordinator_core.zookeeper.messages import (
    Answer,
    Closed,
    Connect,
    Create,
    Exists,
    Forward,
    GetChildren,
    GetData,
    OpenSession,
    Origin,
    Send,
    SetData,
    WatchType,
    ZkError,
)
from coordinator_core.zookeeper.server import Server
from coordinator_core.zookeeper.world import World

TICK_MS = 3000
SESSION_MS = 6000


class Shell:
    """A client that asks what it is told to, and notes what it hears."""

    def __init__(self, world, name, servers):
        self.world, self.name = world, name
        self.client = Client(servers, SESSION_MS)
        self.heard = []
        world.add(name, self)

    def connect(self):
        self.client.connect(self.world.now_ms)
        self.world.perform(self.name, self._drain())

    def ask(self, *ops, watch=()):
        self.client.listened.update(watch)
        for op in ops:
            self.client.ask(op, self.world.now_ms)
        self.world.perform(self.name, self._drain())

    def received(self, source, message, now_ms):
        news = self.client.received(source, message, now_ms)
        self.heard += [(now_ms, each) for each in news]
        return self._drain()

    def advance(self, now_ms):
        self.client.advance(now_ms)
        return self._drain()

    def next_deadline_ms(self):
        return self.client.next_deadline_ms()

    def values(self):
        return [news.answer.value for _, news in self.heard if isinstance(news, Answered)]

    def _drain(self):
        sends = list(self.client.sends)
        self.client.sends.clear()
        return sends


def ensemble(delay_ms=lambda source, target: 1, servers=("zk-1", "zk-2")):
    world = World(delay_ms)
    made = [Server(name, servers, TICK_MS) for name in servers]
    for server in made:
        world.add(server.name, server)
    return world, made


def connected(world, name, servers):
    shell = Shell(world, name, servers)
    shell.connect()
    world.run(world.now_ms + 100)
    assert shell.client.is_connected
    return shell


def test_a_write_at_a_follower_goes_through_the_leader_to_everybody():
    world, servers = ensemble()
    shell = connected(world, "c", ["zk-2"])

    shell.ask(Create("/n", "x"))
    world.run(200)

    assert [server.tree.nodes["/n"].data for server in servers] == ["x", "x"]
    assert shell.heard == [(104, Answered(1, Answer(ZkError.OK)))]  # c, zk-2, zk-1, zk-2, c


def test_a_client_is_answered_in_the_order_it_asked_and_reads_what_it_wrote():
    world, _ = ensemble()
    shell = connected(world, "c", ["zk-2"])

    shell.ask(Create("/n", "1"), GetData("/n"), SetData("/n", "2"), GetData("/n"))
    world.run(200)

    assert shell.values() == [None, "1", None, "2"]


def test_a_follower_that_lags_answers_with_the_past():
    world, _ = ensemble(lambda source, target: 50 if (source, target) == ("zk-1", "zk-2") else 1)
    writer = connected(world, "w", ["zk-1"])
    reader = connected(world, "r", ["zk-2"])

    writer.ask(Create("/n", "x"))
    world.run(210)
    reader.ask(GetData("/n"))
    world.run(220)
    world.run(300)
    reader.ask(GetData("/n"))
    world.run(400)

    assert reader.values() == [None, "x"]


def test_a_watch_is_heard_before_any_answer_that_shows_the_change():
    world, _ = ensemble()
    watcher = connected(world, "c", ["zk-2"])
    writer = connected(world, "w", ["zk-1"])
    watcher.ask(GetChildren("/"), watch=["/"])
    world.run(300)

    writer.ask(Create("/n"))
    for now_ms in range(300, 320):
        world.run(now_ms)
        watcher.ask(Exists("/n"))
    world.run(400)

    heard = [news for _, news in watcher.heard]
    fired = heard.index(Fired(WatchType.NODE_CHILDREN_CHANGED, "/"))
    seen = [news.answer.error is ZkError.OK for news in heard[fired + 1 :]]
    assert all(news.answer.error is ZkError.NO_NODE for news in heard[1:fired])
    assert fired > 1
    assert all(seen)


@pytest.mark.parametrize("heard_ms", [0, 1, 2999, 3000, 4000])
def test_a_session_ends_at_the_first_tick_after_its_timeout(heard_ms):
    """Created and heard of at the leader one ms after it was sent."""
    world, (leader,) = ensemble(servers=("zk",))
    world.run(heard_ms)
    shell = connected(world, "c", ["zk"])
    shell.ask(Create("/e", is_ephemeral=True))
    world.run(world.now_ms + 10)
    last_ms = world.now_ms - 9
    world.cut("c", ["zk"])
    expected_ms = ((last_ms + SESSION_MS) // TICK_MS + 1) * TICK_MS

    world.run(expected_ms - 1)
    assert "/e" in leader.tree.nodes
    world.run(expected_ms)
    assert "/e" not in leader.tree.nodes


def test_pings_keep_a_silent_client_alive_also_through_a_follower():
    world, servers = ensemble()
    shell = connected(world, "c", ["zk-2"])
    shell.ask(Create("/e", is_ephemeral=True))

    world.run(60_000)

    assert all("/e" in server.tree.nodes for server in servers)
    assert [type(news) for _, news in shell.heard] == [Answered]


def test_a_client_that_lost_its_server_goes_on_at_another_with_its_session_and_watches():
    world, servers = ensemble()
    shell = connected(world, "c", ["zk-2", "zk-1"])
    writer = connected(world, "w", ["zk-1"])
    shell.ask(Create("/e", is_ephemeral=True), GetChildren("/"), watch=["/"])
    world.run(300)

    world.cut("c", ["zk-2"])
    world.run(350)
    writer.ask(Create("/n"))
    world.run(8000)

    assert shell.heard[-1][1] == Fired(WatchType.NODE_CHILDREN_CHANGED, "/")
    assert "/e" in servers[0].tree.nodes
    assert not any(isinstance(news, Expired) for _, news in shell.heard)


def test_what_was_not_answered_before_the_connection_broke_is_asked_again():
    world, servers = ensemble()
    shell = connected(world, "c", ["zk-2", "zk-1"])

    world.cut("c", ["zk-2"])
    shell.ask(Create("/n"))
    world.run(8000)

    assert [news for _, news in shell.heard] == [Answered(1, Answer(ZkError.OK))]
    assert "/n" in servers[1].tree.nodes


def test_a_client_cut_off_for_longer_than_its_session_is_told_when_it_is_back():
    world, servers = ensemble()
    shell = connected(world, "c", ["zk-1", "zk-2"])
    shell.ask(Create("/e", is_ephemeral=True))
    world.run(200)

    world.cut("c", ["zk-1", "zk-2"])
    world.run(20_000)
    assert not any(isinstance(news, Expired) for _, news in shell.heard)
    world.heal("c")
    world.run(30_000)

    assert [type(news) for _, news in shell.heard] == [Answered, Expired]
    assert shell.client.is_connected
    assert all("/e" not in server.tree.nodes for server in servers)


def test_a_server_that_knows_less_than_the_client_sends_it_away():
    follower = Server("zk-2", ["zk-1", "zk-2"], TICK_MS, nodes=[Create("/a")])

    assert follower.received("c", Connect(3, 7, SESSION_MS, last_zxid=2), 0) == [
        Send("c", Closed(3))
    ]
    assert follower.received("c", Connect(4, 0, SESSION_MS, last_zxid=1), 0) == [
        Send("zk-1", Forward(0, OpenSession(), Origin("zk-2", "c", 4, 0), SESSION_MS))
    ]
