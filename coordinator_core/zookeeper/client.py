"""A client's session with the ensemble: one connection at a time, pings, reconnects, its watches.

As zkclient does for Kafka 0.8: an answer that was lost with its connection or session is asked for
again on the next one; paths that somebody listens to are read with a watch; after a session has
expired a new one is opened.  Not modelled: the random wait of up to a second before a reconnect.
Source: ZooKeeper's ClientCnxn, zkclient's ZkClient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    Answer,
    Closed,
    Connect,
    Connected,
    Disconnect,
    Exists,
    GetChildren,
    GetData,
    Message,
    Notification,
    Op,
    Ping,
    Reply,
    Request,
    Send,
    SetWatches,
    WatchType,
    ZkError,
)

_SET_WATCHES_XID = -8


class Answered(NamedTuple):
    xid: int
    answer: Answer


class Fired(NamedTuple):
    """A watch fired."""

    type: WatchType
    path: str


class Expired(NamedTuple):
    """The session is gone, and its ephemeral nodes with it; a new one is being opened."""


News = Answered | Fired | Expired


class Client:
    """``servers`` in the order in which they are tried; ``sends`` is for the owner to drain."""

    def __init__(self, servers: Sequence[str], session_timeout_ms: int) -> None:
        self.sends: list[Send] = []
        self.listened: set[str] = set()
        self._servers = list(servers)
        self._asked_ms = self._timeout_ms = session_timeout_ms
        self._place = -1
        self._connection = 0
        self._session_id = NO_SESSION
        self._last_zxid = 0
        self._is_connected = self._is_closed = False
        self._heard_ms = self._sent_ms = 0
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
        """To the next server: open a session, or go on with the one there is."""
        self._place = (self._place + 1) % len(self._servers)
        self._connection += 1
        self._is_connected = False
        self._heard_ms = self._sent_ms = now_ms
        asked = Connect(self._connection, self._session_id, self._asked_ms, self._last_zxid)
        self._send(asked)

    def ask(self, op: Op, now_ms: int) -> int:
        """Send a request, now or once connected; the number that its answer will carry."""
        self._xid += 1
        if isinstance(op, GetData | GetChildren | Exists):
            op = op._replace(watch=op.path in self.listened)
        self._pending[self._xid] = op
        if self._is_connected:
            self._send(Request(self._connection, self._xid, op))
            self._sent_ms = now_ms
        return self._xid

    def close(self) -> None:
        """The connection is closed for good: no more pings, no reconnect."""
        self._is_closed = True
        self._send(Disconnect(self._connection))

    def next_deadline_ms(self) -> int | None:
        if self._is_closed or self._connection == 0:
            return None
        if not self._is_connected:
            return self._heard_ms + self._asked_ms // len(self._servers)
        return min(
            self._sent_ms + self._timeout_ms // 3, self._heard_ms + self._timeout_ms * 2 // 3
        )

    def advance(self, now_ms: int) -> None:
        """Ping when nothing was said for a third of the timeout; give up a silent server."""
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None or deadline_ms > now_ms:
            return
        if not self._is_connected or now_ms >= self._heard_ms + self._timeout_ms * 2 // 3:
            self._send(Disconnect(self._connection))
            self.connect(now_ms)
            return
        self._send(Ping(self._connection))
        self._sent_ms = now_ms

    def received(self, source: str, message: Message, now_ms: int) -> list[News]:
        if self._is_closed or getattr(message, "connection", 0) != self._connection:
            return []  # lost with the connection that it came on
        self._heard_ms = now_ms
        match message:
            case Connected():
                return self._connected(message, now_ms)
            case Reply():
                return self._replied(message)
            case Notification():
                self._forget_watch(message)
                return [Fired(message.type, message.path)]
            case Closed():
                self.connect(now_ms)
        return []

    def _connected(self, message: Connected, now_ms: int) -> list[News]:
        if message.session_id == NO_SESSION:
            self._session_id = NO_SESSION
            self._last_zxid = 0
            for paths in self._watched.values():
                paths.clear()
            self.connect(now_ms)
            return [Expired()]
        self._session_id, self._timeout_ms = message.session_id, message.timeout_ms
        self._is_connected = True
        if any(self._watched.values()):
            self._send(Request(self._connection, _SET_WATCHES_XID, self._all_watches()))
        for xid, op in self._pending.items():
            self._send(Request(self._connection, xid, op))
        self._sent_ms = now_ms
        return []

    def _all_watches(self) -> SetWatches:
        data, exist, children = (
            tuple(sorted(self._watched[kind])) for kind in (GetData, Exists, GetChildren)
        )
        return SetWatches(self._last_zxid, data, exist, children)

    def _replied(self, message: Reply) -> list[News]:
        self._last_zxid = message.zxid
        op = self._pending.pop(message.xid, None)
        if op is None:  # of SetWatches
            return []
        self._remember_watch(op, message.answer)
        return [Answered(message.xid, message.answer)]

    def _remember_watch(self, op: Op, answer: Answer) -> None:
        if not isinstance(op, GetData | GetChildren | Exists) or not op.watch:
            return
        if answer.error is ZkError.OK:  # Exists of a node that is there watches its data
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
        self.sends.append(Send(self._servers[self._place], message))
