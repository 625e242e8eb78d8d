"""Messages between ZooKeeper's clients and servers, and between its servers: plain values.

A client's messages carry the number of its connection.  Messages of a previous connection are
ignored, as they would be lost with the TCP connection.  ``zxid`` is the number of a change of the
tree.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

NO_SESSION = 0
ANY_VERSION = -1


class ZkError(Enum):
    """Error codes of replies; names as in ZooKeeper's ``KeeperException.Code``."""

    OK = 0
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111


class WatchType(Enum):
    NODE_CREATED = "NodeCreated"
    NODE_DELETED = "NodeDeleted"
    NODE_DATA_CHANGED = "NodeDataChanged"
    NODE_CHILDREN_CHANGED = "NodeChildrenChanged"


class Create(NamedTuple):
    path: str
    data: str = ""
    is_ephemeral: bool = False


class Delete(NamedTuple):
    path: str
    version: int = ANY_VERSION


class SetData(NamedTuple):
    path: str
    data: str
    version: int = ANY_VERSION


class CloseSession(NamedTuple):
    """Ends a session: by its client, or by the leader when it has expired."""


class OpenSession(NamedTuple):
    pass


class GetData(NamedTuple):
    path: str
    watch: bool = False


class GetChildren(NamedTuple):
    path: str
    watch: bool = False


class Exists(NamedTuple):
    path: str
    watch: bool = False


class SetWatches(NamedTuple):
    """After a reconnect: watches to set again, or to fire if the node changed since ``zxid``."""

    zxid: int
    data: tuple[str, ...]
    exist: tuple[str, ...]
    children: tuple[str, ...]


Write = Create | Delete | SetData | CloseSession | OpenSession
Read = GetData | GetChildren | Exists | SetWatches
Op = Write | Read
READS = (GetData, GetChildren, Exists, SetWatches)


class Stat(NamedTuple):
    """``ephemeral_owner`` is the session that owns an ephemeral node; else NO_SESSION."""

    czxid: int
    mzxid: int
    pzxid: int
    version: int
    cversion: int
    ephemeral_owner: int


class ZooKeeperAnswer(NamedTuple):
    """``value`` is data of GetData, sorted names of GetChildren; None otherwise."""

    error: ZkError
    value: Any = None
    stat: Stat | None = None


# Client to server


class Connect(NamedTuple):
    """``last_zxid`` is the last change the client has seen; a server that lacks it refuses."""

    connection: int
    session_id: int
    timeout_ms: int
    last_zxid: int


class ClientOperation(NamedTuple):
    connection: int
    xid: int
    op: Op


class Ping(NamedTuple):
    connection: int


class ClientDisconnect(NamedTuple):
    """The client closes the TCP connection."""

    connection: int


# Server to client


class Connected(NamedTuple):
    """``session_id`` NO_SESSION: the requested session has expired."""

    connection: int
    session_id: int
    timeout_ms: int


class Reply(NamedTuple):
    """``zxid`` is the last change applied to the tree when the reply was created."""

    connection: int
    xid: int
    zxid: int
    answer: ZooKeeperAnswer


class Pong(NamedTuple):
    connection: int


class Notification(NamedTuple):
    connection: int
    type: WatchType
    path: str


class ServerDisconnect(NamedTuple):
    """The server closes the TCP connection."""

    connection: int


# Between servers


class Origin(NamedTuple):
    """The client that waits for a write's reply, and its server."""

    server: str
    client: str
    connection: int
    xid: int


class ForwardedWrite(NamedTuple):
    """A follower forwards a write to the leader.  ``timeout_ms``: for OpenSession."""

    session_id: int
    op: Write
    origin: Origin
    timeout_ms: int = 0


class CommittedWrite(NamedTuple):
    """A write ordered by the leader; with an error it changes nothing."""

    zxid: int
    session_id: int
    op: Write
    error: ZkError
    origin: Origin | None
    timeout_ms: int = 0


class Touches(NamedTuple):
    """Sessions that sent something to a follower since its last report."""

    session_ids: tuple[int, ...]


class Revalidate(NamedTuple):
    session_id: int
    origin: Origin


class Revalidated(NamedTuple):
    """``timeout_ms`` None: the session has expired."""

    session_id: int
    origin: Origin
    timeout_ms: int | None


FromClient = Connect | ClientOperation | Ping | ClientDisconnect
ToClient = Connected | Reply | Pong | Notification | ServerDisconnect
BetweenServers = ForwardedWrite | CommittedWrite | Touches | Revalidate | Revalidated
Message = FromClient | ToClient | BetweenServers


class SendMessage(NamedTuple):
    """An effect: send a message; messages to one target arrive in order or are lost."""

    target: str
    message: Any


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"
