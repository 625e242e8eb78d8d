"""A client's session with the ensemble: one connection at a time, pings, reconnects, watches.

Like zkclient in Kafka 0.8, it repeats operations whose reply was lost with a connection or session,
reads paths that have a listener with a watch, and opens a new session when the old one has expired.
Not modelled: the random wait of up to a second before a reconnect.
Source: ZooKeeper's ClientCnxn, zkclient's ZkClient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    ClientDisconnect,
    ClientOperation,
    Connect,
    Connected,
    Exists,
    GetChildren,
    GetData,
    Message,
    Notification,
    Op,
    Ping,
    Reply,
    SendMessage,
    ServerDisconnect,
    SetWatches,
    WatchType,
    ZkError,
    ZooKeeperAnswer,
)

_SET_WATCHES_XID = -8


class ReplyReceived(NamedTuple):
    xid: int
    answer: ZooKeeperAnswer


class WatchTriggered(NamedTuple):
    """A watch of this client fired."""

    type: WatchType
    path: str


class SessionLost(NamedTuple):
    """The session has expired and its ephemeral nodes are deleted; a new one is being opened."""


ClientEvent = ReplyReceived | WatchTriggered | SessionLost


class ZooKeeperClient:
    """``servers`` are in the order to try them.  ``sends`` are messages for the caller to send."""

    def __init__(self, servers: Sequence[str], session_timeout_ms: int) -> None:
        self.sends: list[SendMessage] = []
        self.listened: set[str] = set()
        self._servers = list(servers)
        self._requested_timeout_ms = self._timeout_ms = session_timeout_ms
        self._server_index = -1
        self._connection = 0
        self._session_id = NO_SESSION
        self._last_zxid = 0
        self._is_connected = self._is_closed = False
        self._last_received_ms = self._last_sent_ms = 0
        self._xid = 0
        self._pending: dict[int, Op] = {}
        self._watched: dict[type[Op], set[str]] = {
            GetData: set(),
            Exists: set(),
            GetChildren: set(),
        }

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    def connect(self, now_ms: int) -> None:
        """Connect to the next server: open a session, or continue the current one."""
        self._server_index = (self._server_index + 1) % len(self._servers)
        self._connection += 1
        self._is_connected = False
        self._last_received_ms = self._last_sent_ms = now_ms
        request = Connect(
            self._connection, self._session_id, self._requested_timeout_ms, self._last_zxid
        )
        self._send(request)

    def submit(self, op: Op, now_ms: int) -> int:
        """Send an operation, now or once connected; returns the xid of its reply."""
        self._xid += 1
        if isinstance(op, GetData | GetChildren | Exists):
            op = op._replace(watch=op.path in self.listened)
        self._pending[self._xid] = op
        if self._is_connected:
            self._send(ClientOperation(self._connection, self._xid, op))
            self._last_sent_ms = now_ms
        return self._xid

    def close(self) -> None:
        """Close the connection permanently: no more pings, no reconnect."""
        self._is_closed = True
        self._send(ClientDisconnect(self._connection))

    def next_deadline_ms(self) -> int | None:
        if self._is_closed or self._connection == 0:
            return None
        if not self._is_connected:
            return self._last_received_ms + self._requested_timeout_ms // len(self._servers)
        return min(
            self._last_sent_ms + self._timeout_ms // 3,
            self._last_received_ms + self._timeout_ms * 2 // 3,
        )

    def advance(self, now_ms: int) -> None:
        """Ping after a third of the timeout without a message sent; change the server after two
        thirds without a message received.
        """
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None or deadline_ms > now_ms:
            return
        if not self._is_connected or now_ms >= self._last_received_ms + self._timeout_ms * 2 // 3:
            self._send(ClientDisconnect(self._connection))
            self.connect(now_ms)
            return
        self._send(Ping(self._connection))
        self._last_sent_ms = now_ms

    def received(self, source: str, message: Message, now_ms: int) -> list[ClientEvent]:
        if self._is_closed or getattr(message, "connection", 0) != self._connection:
            return []  # This is an event of a previous connection.
        self._last_received_ms = now_ms
        match message:
            case Connected():
                return self._connected(message, now_ms)
            case Reply():
                return self._replied(message)
            case Notification():
                self._forget_watch(message)
                return [WatchTriggered(message.type, message.path)]
            case ServerDisconnect():
                self.connect(now_ms)
        return []

    def _connected(self, message: Connected, now_ms: int) -> list[ClientEvent]:
        if message.session_id == NO_SESSION:
            self._session_id = NO_SESSION
            self._last_zxid = 0
            for paths in self._watched.values():
                paths.clear()
            self.connect(now_ms)
            return [SessionLost()]
        self._session_id, self._timeout_ms = message.session_id, message.timeout_ms
        self._is_connected = True
        if any(self._watched.values()):
            self._send(ClientOperation(self._connection, _SET_WATCHES_XID, self._all_watches()))
        for xid, op in self._pending.items():
            self._send(ClientOperation(self._connection, xid, op))
        self._last_sent_ms = now_ms
        return []

    def _all_watches(self) -> SetWatches:
        data, exist, children = (
            tuple(sorted(self._watched[kind])) for kind in (GetData, Exists, GetChildren)
        )
        return SetWatches(self._last_zxid, data, exist, children)

    def _replied(self, message: Reply) -> list[ClientEvent]:
        self._last_zxid = message.zxid
        op = self._pending.pop(message.xid, None)
        if op is None:  # This is the reply to SetWatches.
            return []
        self._remember_watch(op, message.answer)
        return [ReplyReceived(message.xid, message.answer)]

    def _remember_watch(self, op: Op, answer: ZooKeeperAnswer) -> None:
        if not isinstance(op, GetData | GetChildren | Exists) or not op.watch:
            return
        if answer.error is ZkError.OK:  # Exists on an existing node sets a data watch.
            kind: type[Op] = GetChildren if isinstance(op, GetChildren) else GetData
            self._watched[kind].add(op.path)
        elif isinstance(op, Exists):
            self._watched[Exists].add(op.path)

    def _forget_watch(self, fired: Notification) -> None:
        if fired.type in (WatchType.NODE_CHILDREN_CHANGED, WatchType.NODE_DELETED):
            self._watched[GetChildren].discard(fired.path)
        if fired.type is not WatchType.NODE_CHILDREN_CHANGED:
            self._watched[GetData].discard(fired.path)
            self._watched[Exists].discard(fired.path)

    def _send(self, message: Message) -> None:
        self.sends.append(SendMessage(self._servers[self._server_index], message))
