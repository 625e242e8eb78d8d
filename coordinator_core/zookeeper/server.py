"""One server of the ensemble: its replica of the tree, its clients, and, in the leader, the order.

Writes go through the leader, which checks them, numbers them and tells everybody; a server answers
reads from its own replica at once, so a follower's clients may see the past, but never go back in
it, and each hears of a change it watches before any answer that shows it.  Who wrote is answered
once its own server has the write; what one client asks for is answered in the order it asked.

The leader does not fail, and waits for no quorum: a write counts when it is ordered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    READS,
    Answer,
    Closed,
    CloseSession,
    Commit,
    Connect,
    Connected,
    Create,
    Disconnect,
    Forward,
    Message,
    Notification,
    Op,
    OpenSession,
    Origin,
    Ping,
    Pong,
    Read,
    Reply,
    Request,
    Revalidate,
    Revalidated,
    Send,
    SetWatches,
    Touches,
    ZkError,
)
from coordinator_core.zookeeper.sessions import Sessions
from coordinator_core.zookeeper.tree import Change, Tree
from coordinator_core.zookeeper.watches import Watcher, Watches

TICK_MS = 3000  # of a zookeeper.properties that sets none, as Kafka's


class Connection:
    """``waiting``: requests not answered, oldest first; the first is always a write."""

    __slots__ = ("session_id", "waiting")

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.waiting: deque[tuple[int, Op]] = deque()


class Server:
    """``servers``: all names of the ensemble, this one's included; ``servers[0]`` leads.

    ``nodes``: what every server's tree holds from the start, parents first.
    """

    def __init__(
        self,
        name: str,
        servers: Sequence[str],
        tick_ms: int = TICK_MS,
        nodes: Iterable[Create] = (),
    ) -> None:
        self.name = name
        self.tree = Tree()
        for node in nodes:
            self.tree.apply(node, NO_SESSION, self.tree.zxid + 1)
        self._leader = servers[0]
        self._followers = [server for server in servers[1:] if name == servers[0]]
        self._tick_ms = tick_ms
        self._watches = Watches()
        self._connections: dict[Watcher, Connection] = {}
        self._sessions = Sessions(tick_ms)  # the leader's
        self._touched: dict[int, None] = {}  # a follower's, not told the leader yet
        self._deadline_ms: int | None = None
        self._sends: list[Send] = []

    @property
    def leads(self) -> bool:
        return self.name == self._leader

    def next_deadline_ms(self) -> int | None:
        return self._deadline_ms

    def advance(self, now_ms: int) -> list[Send]:
        """Expire sessions that are due; a follower tells the leader whom it heard of."""
        self._sends = []
        if self._deadline_ms is None or self._deadline_ms > now_ms:
            return self._sends
        if self.leads:
            for session_id in self._sessions.due(now_ms):
                self._order(Forward(session_id, CloseSession(), _nobody()), now_ms)
            self._deadline_ms = self._sessions.next_tick_ms(now_ms)
        else:
            self._deadline_ms = None
            self._to_leader(Touches(tuple(self._touched)), now_ms)
            self._touched = {}
        return self._sends

    def received(self, source: str, message: Message, now_ms: int) -> list[Send]:
        self._sends = []
        match message:
            case Connect():
                self._connect(source, message, now_ms)
            case Request() | Ping():
                connection = self._connections.get((source, message.connection))
                if connection is not None and connection.session_id != NO_SESSION:
                    self._touch(connection.session_id, now_ms)
                    self._serve((source, message.connection), connection, message, now_ms)
            case Disconnect():
                self._drop((source, message.connection))
            case Forward():
                self._order(message, now_ms)
            case Commit():
                self._commit(message)
            case Touches():
                for session_id in message.session_ids:
                    self._sessions.touch(session_id, now_ms)
            case Revalidate():
                self._revalidate(message, now_ms)
            case Revalidated():
                self._revalidated(message)
        return self._sends

    # Clients

    def _connect(self, client: str, message: Connect, now_ms: int) -> None:
        for watcher in [w for w in self._connections if w[0] == client]:
            self._drop(watcher)
        if message.last_zxid > self.tree.zxid:  # the client knows more than this server
            self._send(client, Closed(message.connection))
            return
        self._connections[client, message.connection] = Connection()
        origin = Origin(self.name, client, message.connection, 0)
        if message.session_id == NO_SESSION:
            opening = Forward(NO_SESSION, OpenSession(), origin, message.timeout_ms)
            self._to_leader(opening, now_ms)
        else:
            self._to_leader(Revalidate(message.session_id, origin), now_ms)

    def _serve(
        self, watcher: Watcher, connection: Connection, message: Request | Ping, now_ms: int
    ) -> None:
        if isinstance(message, Ping):
            self._send(watcher[0], Pong(watcher[1]))
            return
        op = message.op
        if isinstance(op, READS):
            if connection.waiting:
                connection.waiting.append((message.xid, op))
            else:
                self._answer_read(watcher, message.xid, op)
            return
        connection.waiting.append((message.xid, op))
        origin = Origin(self.name, *watcher, message.xid)
        self._to_leader(Forward(connection.session_id, op, origin), now_ms)

    def _answer_read(self, watcher: Watcher, xid: int, op: Read) -> None:
        if isinstance(op, SetWatches):
            self._notify(
                (watcher, change) for change in self._watches.restore(watcher, op, self.tree)
            )
            answer = Answer(ZkError.OK)
        else:
            answer = self.tree.read(op)
            self._watches.leave(watcher, op, answer)
        self._reply(watcher, xid, answer)

    def _reply(self, watcher: Watcher, xid: int, answer: Answer) -> None:
        client, connection = watcher
        self._send(client, Reply(connection, xid, self.tree.zxid, answer))

    def _notify(self, fired: Iterable[tuple[Watcher, Change]]) -> None:
        for (client, connection), change in fired:
            self._send(client, Notification(connection, change.type, change.path))

    def _drop(self, watcher: Watcher) -> None:
        if self._connections.pop(watcher, None) is not None:
            self._watches.drop(watcher)

    # What the leader has ordered

    def _commit(self, commit: Commit) -> None:
        """Apply a write in its turn; watches fire before anybody can read what it did."""
        changes: list[Change] = []
        if commit.error is ZkError.OK:
            changes = self.tree.apply(commit.op, commit.session_id, commit.zxid)
        self.tree.zxid = commit.zxid
        self._notify(self._watches.fire(changes))
        origin = commit.origin
        if origin is not None and origin.server == self.name:
            self._answer_write((origin.client, origin.connection), origin.xid, commit)
        if isinstance(commit.op, CloseSession):
            self._hang_up(commit.session_id)

    def _answer_write(self, watcher: Watcher, xid: int, commit: Commit) -> None:
        connection = self._connections.get(watcher)
        if connection is None:
            return
        if isinstance(commit.op, OpenSession):
            connection.session_id = commit.session_id
            self._send(watcher[0], Connected(watcher[1], commit.session_id, commit.timeout_ms))
            return
        connection.waiting.popleft()
        self._reply(watcher, xid, Answer(commit.error))
        while connection.waiting:
            xid, op = connection.waiting[0]
            if not isinstance(op, READS):
                return
            connection.waiting.popleft()
            self._answer_read(watcher, xid, op)

    def _hang_up(self, session_id: int) -> None:
        for watcher, connection in list(self._connections.items()):
            if connection.session_id == session_id:
                self._send(watcher[0], Closed(watcher[1]))
                self._drop(watcher)

    def _revalidated(self, message: Revalidated) -> None:
        origin = message.origin
        watcher = (origin.client, origin.connection)
        connection = self._connections.get(watcher)
        if connection is None:
            return
        if message.timeout_ms is None:
            self._send(origin.client, Connected(origin.connection, NO_SESSION, 0))
            self._drop(watcher)
            return
        connection.session_id = message.session_id
        granted = Connected(origin.connection, message.session_id, message.timeout_ms)
        self._send(origin.client, granted)

    # The leader

    def _order(self, asked: Forward, now_ms: int) -> None:
        session_id, timeout_ms = asked.session_id, 0
        if isinstance(asked.op, OpenSession):
            timeout_ms = self._sessions.granted_ms(asked.timeout_ms)
            session_id = self._sessions.open(timeout_ms, now_ms)
            if self._deadline_ms is None:
                self._deadline_ms = self._sessions.next_tick_ms(now_ms)
        elif self._sessions.timeout_ms(session_id) is None:
            return  # expired meanwhile: its server is told to hang up, and that is the answer
        elif isinstance(asked.op, CloseSession):
            self._sessions.close(session_id)
        else:
            self._sessions.touch(session_id, now_ms)
        error, zxid = self.tree.check(asked.op), self.tree.zxid + 1
        commit = Commit(zxid, session_id, asked.op, error, asked.origin, timeout_ms)
        self._commit(commit)
        for follower in self._followers:
            self._send(follower, commit)

    def _revalidate(self, message: Revalidate, now_ms: int) -> None:
        timeout_ms = self._sessions.timeout_ms(message.session_id)
        self._sessions.touch(message.session_id, now_ms)
        answer = Revalidated(message.session_id, message.origin, timeout_ms)
        if message.origin.server == self.name:
            self._revalidated(answer)
        else:
            self._send(message.origin.server, answer)

    # Ways

    def _to_leader(self, message: Forward | Revalidate | Touches, now_ms: int) -> None:
        if not self.leads:
            self._send(self._leader, message)
        elif isinstance(message, Forward):
            self._order(message, now_ms)
        elif isinstance(message, Revalidate):
            self._revalidate(message, now_ms)

    def _touch(self, session_id: int, now_ms: int) -> None:
        if self.leads:
            self._sessions.touch(session_id, now_ms)
            return
        self._touched[session_id] = None
        if self._deadline_ms is None:
            self._deadline_ms = now_ms + self._tick_ms // 2

    def _send(self, target: str, message: Message) -> None:
        self._sends.append(Send(target, message))


def _nobody() -> Origin:
    return Origin("", "", 0, 0)
