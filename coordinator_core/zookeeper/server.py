"""One server of the ensemble: its replica of the tree, its clients and, in the leader, the order of
writes.

The leader checks and numbers all writes and sends them to the followers.  A server answers reads
from its own replica, so clients of a follower may see old data, but never go back in time.  A
client is notified of a watched change before any reply that shows it.  A write is answered when
the client's server has applied it.  Replies to a client keep the order of its requests.

Not modelled: failure of the leader, and a quorum; a write is valid once the leader has ordered it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    READS,
    ClientDisconnect,
    ClientOperation,
    CloseSession,
    CommittedWrite,
    Connect,
    Connected,
    Create,
    ForwardedWrite,
    Message,
    Notification,
    Op,
    OpenSession,
    Origin,
    Ping,
    Pong,
    Read,
    Reply,
    Revalidate,
    Revalidated,
    SendMessage,
    ServerDisconnect,
    SetWatches,
    Touches,
    ZkError,
    ZooKeeperAnswer,
)
from coordinator_core.zookeeper.sessions import Sessions
from coordinator_core.zookeeper.tree import Tree, TreeChange
from coordinator_core.zookeeper.watches import Watcher, Watches

TICK_MS = 3000  # tickTime's default; Kafka's zookeeper.properties does not set tickTime


class ServerConnection:
    """``waiting`` has requests without a reply, oldest first; the first is always a write."""

    __slots__ = ("session_id", "waiting")

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.waiting: deque[tuple[int, Op]] = deque()


class ZooKeeperServer:
    """``servers`` are names of the whole ensemble; ``servers[0]`` is the leader.

    ``nodes`` are the initial nodes of the tree, parents first.
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
        self._connections: dict[Watcher, ServerConnection] = {}
        self._sessions = Sessions(tick_ms)  # Only the leader uses this field.
        self._touched: dict[int, None] = {}  # sessions that this follower will report to the leader
        self._deadline_ms: int | None = None
        self._sends: list[SendMessage] = []

    @property
    def leads(self) -> bool:
        return self.name == self._leader

    def next_deadline_ms(self) -> int | None:
        return self._deadline_ms

    def advance(self, now_ms: int) -> list[SendMessage]:
        """Expire sessions that are due; a follower reports active sessions to the leader."""
        self._sends = []
        if self._deadline_ms is None or self._deadline_ms > now_ms:
            return self._sends
        if self.leads:
            for session_id in self._sessions.due(now_ms):
                self._order(ForwardedWrite(session_id, CloseSession(), _no_origin()), now_ms)
            self._deadline_ms = self._sessions.next_tick_ms(now_ms)
        else:
            self._deadline_ms = None
            self._to_leader(Touches(tuple(self._touched)), now_ms)
            self._touched = {}
        return self._sends

    def received(self, source: str, message: Message, now_ms: int) -> list[SendMessage]:
        self._sends = []
        match message:
            case Connect():
                self._connect(source, message, now_ms)
            case ClientOperation() | Ping():
                connection = self._connections.get((source, message.connection))
                if connection is not None and connection.session_id != NO_SESSION:
                    self._touch(connection.session_id, now_ms)
                    self._serve((source, message.connection), connection, message, now_ms)
            case ClientDisconnect():
                self._drop((source, message.connection))
            case ForwardedWrite():
                self._order(message, now_ms)
            case CommittedWrite():
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
        # The client has seen newer changes than this server has.
        if message.last_zxid > self.tree.zxid:
            self._send(client, ServerDisconnect(message.connection))
            return
        self._connections[client, message.connection] = ServerConnection()
        origin = Origin(self.name, client, message.connection, 0)
        if message.session_id == NO_SESSION:
            opening = ForwardedWrite(NO_SESSION, OpenSession(), origin, message.timeout_ms)
            self._to_leader(opening, now_ms)
        else:
            self._to_leader(Revalidate(message.session_id, origin), now_ms)

    def _serve(
        self,
        watcher: Watcher,
        connection: ServerConnection,
        message: ClientOperation | Ping,
        now_ms: int,
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
        self._to_leader(ForwardedWrite(connection.session_id, op, origin), now_ms)

    def _answer_read(self, watcher: Watcher, xid: int, op: Read) -> None:
        if isinstance(op, SetWatches):
            self._notify(
                (watcher, change) for change in self._watches.restore(watcher, op, self.tree)
            )
            answer = ZooKeeperAnswer(ZkError.OK)
        else:
            answer = self.tree.read(op)
            self._watches.add(watcher, op, answer)
        self._reply(watcher, xid, answer)

    def _reply(self, watcher: Watcher, xid: int, answer: ZooKeeperAnswer) -> None:
        client, connection = watcher
        self._send(client, Reply(connection, xid, self.tree.zxid, answer))

    def _notify(self, fired: Iterable[tuple[Watcher, TreeChange]]) -> None:
        for (client, connection), change in fired:
            self._send(client, Notification(connection, change.type, change.path))

    def _drop(self, watcher: Watcher) -> None:
        if self._connections.pop(watcher, None) is not None:
            self._watches.drop(watcher)

    # Writes that the leader ordered

    def _commit(self, commit: CommittedWrite) -> None:
        """Apply a write; its watches fire before any read can show the change."""
        changes: list[TreeChange] = []
        if commit.error is ZkError.OK:
            changes = self.tree.apply(commit.op, commit.session_id, commit.zxid)
        self.tree.zxid = commit.zxid
        self._notify(self._watches.fire(changes))
        origin = commit.origin
        if origin is not None and origin.server == self.name:
            self._answer_write((origin.client, origin.connection), origin.xid, commit)
        if isinstance(commit.op, CloseSession):
            self._close_connections(commit.session_id)

    def _answer_write(self, watcher: Watcher, xid: int, commit: CommittedWrite) -> None:
        connection = self._connections.get(watcher)
        if connection is None:
            return
        if isinstance(commit.op, OpenSession):
            connection.session_id = commit.session_id
            self._send(watcher[0], Connected(watcher[1], commit.session_id, commit.timeout_ms))
            return
        connection.waiting.popleft()
        self._reply(watcher, xid, ZooKeeperAnswer(commit.error))
        while connection.waiting:
            xid, op = connection.waiting[0]
            if not isinstance(op, READS):
                return
            connection.waiting.popleft()
            self._answer_read(watcher, xid, op)

    def _close_connections(self, session_id: int) -> None:
        for watcher, connection in list(self._connections.items()):
            if connection.session_id == session_id:
                self._send(watcher[0], ServerDisconnect(watcher[1]))
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

    def _order(self, write: ForwardedWrite, now_ms: int) -> None:
        session_id, timeout_ms = write.session_id, 0
        if isinstance(write.op, OpenSession):
            timeout_ms = self._sessions.negotiated_ms(write.timeout_ms)
            session_id = self._sessions.open(timeout_ms, now_ms)
            if self._deadline_ms is None:
                self._deadline_ms = self._sessions.next_tick_ms(now_ms)
        elif self._sessions.timeout_ms(session_id) is None:
            return  # The session has expired: its server closes the connection and sends no reply.
        elif isinstance(write.op, CloseSession):
            self._sessions.close(session_id)
        else:
            self._sessions.touch(session_id, now_ms)
        error, zxid = self.tree.check(write.op), self.tree.zxid + 1
        commit = CommittedWrite(zxid, session_id, write.op, error, write.origin, timeout_ms)
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

    # Sending

    def _to_leader(self, message: ForwardedWrite | Revalidate | Touches, now_ms: int) -> None:
        if not self.leads:
            self._send(self._leader, message)
        elif isinstance(message, ForwardedWrite):
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
        self._sends.append(SendMessage(target, message))


def _no_origin() -> Origin:
    return Origin("", "", 0, 0)
