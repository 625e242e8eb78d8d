"""ZooKeeper's tree of nodes: checks writes, applies them, and reports the changes for watches.

The leader checks a write against its tree; every server applies the valid writes in order.
"""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.zookeeper.messages import (
    ANY_VERSION,
    NO_SESSION,
    CloseSession,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    OpenSession,
    SetData,
    Stat,
    WatchType,
    Write,
    ZkError,
    ZooKeeperAnswer,
    parent_of,
)


class TreeChange(NamedTuple):
    """A change that fires watches on ``path``."""

    type: WatchType
    path: str


class Node:
    __slots__ = (
        "children",
        "cversion",
        "czxid",
        "data",
        "ephemeral_owner",
        "mzxid",
        "pzxid",
        "version",
    )

    def __init__(self, data: str, zxid: int, ephemeral_owner: int) -> None:
        self.data = data
        self.czxid = self.mzxid = self.pzxid = zxid
        self.version = self.cversion = 0
        self.ephemeral_owner = ephemeral_owner
        self.children: set[str] = set()

    @property
    def stat(self) -> Stat:
        return Stat(
            self.czxid, self.mzxid, self.pzxid, self.version, self.cversion, self.ephemeral_owner
        )


class Tree:
    """Nodes by path, always with the root.  ``_ephemerals`` are paths by session."""

    def __init__(self) -> None:
        self.zxid = 0
        self.nodes = {"/": Node("", 0, NO_SESSION)}
        self._ephemerals: dict[int, set[str]] = {}

    def check(self, op: Write) -> ZkError:
        """The error that the write would get now; OK if it is valid."""
        if isinstance(op, Create):
            return self._check_create(op)
        if isinstance(op, Delete | SetData):
            return self._check_version(op)
        return ZkError.OK

    def _check_create(self, op: Create) -> ZkError:
        parent = self.nodes.get(parent_of(op.path))
        if parent is None:
            return ZkError.NO_NODE
        if op.path in self.nodes:
            return ZkError.NODE_EXISTS
        if parent.ephemeral_owner != NO_SESSION:
            return ZkError.NO_CHILDREN_FOR_EPHEMERALS
        return ZkError.OK

    def _check_version(self, op: Delete | SetData) -> ZkError:
        node = self.nodes.get(op.path)
        if node is None:
            return ZkError.NO_NODE
        if op.version not in (ANY_VERSION, node.version):
            return ZkError.BAD_VERSION
        if isinstance(op, Delete) and node.children:
            return ZkError.NOT_EMPTY
        return ZkError.OK

    def apply(self, op: Write, session_id: int, zxid: int) -> list[TreeChange]:
        """Apply a write that passed ``check``."""
        self.zxid = zxid
        match op:
            case Create():
                return self._create(op, session_id if op.is_ephemeral else NO_SESSION)
            case Delete():
                return self._delete(op.path)
            case SetData():
                node = self.nodes[op.path]
                node.data, node.mzxid, node.version = op.data, zxid, node.version + 1
                return [TreeChange(WatchType.NODE_DATA_CHANGED, op.path)]
            case CloseSession():
                paths = sorted(self._ephemerals.pop(session_id, ()))
                return [change for path in paths for change in self._delete(path)]
            case OpenSession():
                return []

    def _create(self, op: Create, owner: int) -> list[TreeChange]:
        self.nodes[op.path] = Node(op.data, self.zxid, owner)
        if owner != NO_SESSION:
            self._ephemerals.setdefault(owner, set()).add(op.path)
        parent = self._changed_parent(op.path)
        self.nodes[parent].children.add(op.path.rpartition("/")[2])
        return [
            TreeChange(WatchType.NODE_CREATED, op.path),
            TreeChange(WatchType.NODE_CHILDREN_CHANGED, parent),
        ]

    def _delete(self, path: str) -> list[TreeChange]:
        node = self.nodes.pop(path)
        self._ephemerals.get(node.ephemeral_owner, set()).discard(path)
        parent = self._changed_parent(path)
        self.nodes[parent].children.discard(path.rpartition("/")[2])
        return [
            TreeChange(WatchType.NODE_DELETED, path),
            TreeChange(WatchType.NODE_CHILDREN_CHANGED, parent),
        ]

    def _changed_parent(self, path: str) -> str:
        parent = parent_of(path)
        node = self.nodes[parent]
        node.cversion += 1
        node.pzxid = self.zxid
        return parent

    def read(self, op: GetData | GetChildren | Exists) -> ZooKeeperAnswer:
        node = self.nodes.get(op.path)
        if node is None:
            return ZooKeeperAnswer(ZkError.NO_NODE)
        if isinstance(op, GetData):
            return ZooKeeperAnswer(ZkError.OK, node.data, node.stat)
        if isinstance(op, GetChildren):
            return ZooKeeperAnswer(ZkError.OK, sorted(node.children), node.stat)
        return ZooKeeperAnswer(ZkError.OK, None, node.stat)
