"""What goes between clients and servers of ZooKeeper, and between its servers: plain values.

A client's messages carry the number of its connection: what belongs to an older one is ignored, as
it would be lost with its TCP connection.  ``zxid`` numbers the ensemble's changes.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

NO_SESSION = 0
ANY_VERSION = -1


class ZkError(Enum):
    """Error codes of ZooKeeper's answers, as its ``KeeperException.Code`` names them."""

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
    """A client says goodbye, or the leader gives its session up."""


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
    """After a reconnect: watches to leave again, or to fire if the node changed since ``zxid``."""

    zxid: int
    data: tuple[str, ...]
    exist: tuple[str, ...]
    children: tuple[str, ...]


Write = Create | Delete | SetData | CloseSession | OpenSession
Read = GetData | GetChildren | Exists | SetWatches
Op = Write | Read
READS = (GetData, GetChildren, Exists, SetWatches)


class Stat(NamedTuple):
    """``ephemeral_owner``: the session that a node ends with; NO_SESSION for a persistent one."""

    czxid: int
    mzxid: int
    pzxid: int
    version: int
    cversion: int
    ephemeral_owner: int


class Answer(NamedTuple):
    """``value``: data of GetData, sorted names of GetChildren; None otherwise."""

    error: ZkError
    value: Any = None
    stat: Stat | None = None


# Client to server


class Connect(NamedTuple):
    """``last_zxid``: the newest change the client has seen; a server behind it sends it away."""

    connection: int
    session_id: int
    timeout_ms: int
    last_zxid: int


class Request(NamedTuple):
    connection: int
    xid: int
    op: Op


class Ping(NamedTuple):
    connection: int


class Disconnect(NamedTuple):
    """The client's end of the TCP connection is closed."""

    connection: int


# Server to client


class Connected(NamedTuple):
    """``session_id`` NO_SESSION: the session asked for has expired."""

    connection: int
    session_id: int
    timeout_ms: int


class Reply(NamedTuple):
    """``zxid``: the newest change of the tree that the answer was made from."""

    connection: int
    xid: int
    zxid: int
    answer: Answer


class Pong(NamedTuple):
    connection: int


class Notification(NamedTuple):
    connection: int
    type: WatchType
    path: str


class Closed(NamedTuple):
    """The server's end of the TCP connection is closed."""

    connection: int


# Between servers


class Origin(NamedTuple):
    """Who waits for a write's answer, and at which server."""

    server: str
    client: str
    connection: int
    xid: int


class Forward(NamedTuple):
    """A follower hands a write to the leader.  ``timeout_ms`` goes with OpenSession."""

    session_id: int
    op: Write
    origin: Origin
    timeout_ms: int = 0


class Commit(NamedTuple):
    """The leader has put a write in its place in the order of all; with an error it is none."""

    zxid: int
    session_id: int
    op: Write
    error: ZkError
    origin: Origin | None
    timeout_ms: int = 0


class Touches(NamedTuple):
    """Sessions a follower heard of since it said so last."""

    session_ids: tuple[int, ...]


class Revalidate(NamedTuple):
    session_id: int
    origin: Origin


class Revalidated(NamedTuple):
    """``timeout_ms`` None: the session has expired."""

    session_id: int
    origin: Origin
    timeout_ms: int | None


FromClient = Connect | Request | Ping | Disconnect
ToClient = Connected | Reply | Pong | Notification | Closed
BetweenServers = Forward | Commit | Touches | Revalidate | Revalidated
Message = FromClient | ToClient | BetweenServers


class Send(NamedTuple):
    """An effect: messages of one sender to one target arrive in order, or not at all."""

    target: str
    message: Any


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"
