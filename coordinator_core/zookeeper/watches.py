"""Watches at one server: set by reads, fired once by a change, then removed.

GetData and Exists set a data watch, Exists also on a missing node; GetChildren sets a child watch.
A watcher is a connection: setting the same watch twice has no further effect.
Source: ZooKeeper's DataTree and WatchManager.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.zookeeper.messages import (
    Exists,
    GetChildren,
    GetData,
    SetWatches,
    WatchType,
    ZkError,
    ZooKeeperAnswer,
)
from coordinator_core.zookeeper.tree import Tree, TreeChange

Watcher = tuple[str, int]  # client, its connection
FiredWatch = tuple[Watcher, TreeChange]
_ByPath = dict[str, dict[Watcher, None]]  # watchers in the order in which they set the watch


class Watches:
    def __init__(self) -> None:
        self._data: _ByPath = {}
        self._children: _ByPath = {}

    def add(
        self, watcher: Watcher, op: GetData | GetChildren | Exists, answer: ZooKeeperAnswer
    ) -> None:
        """Set the watch of a read; on a missing node only Exists sets one."""
        if not op.watch or (answer.error is not ZkError.OK and not isinstance(op, Exists)):
            return
        table = self._children if isinstance(op, GetChildren) else self._data
        table.setdefault(op.path, {})[watcher] = None

    def fire(self, changes: Iterable[TreeChange]) -> list[FiredWatch]:
        fired: list[FiredWatch] = []
        for change in changes:
            if change.type is WatchType.NODE_CHILDREN_CHANGED:
                watchers = self._children.pop(change.path, {})
            else:
                watchers = self._data.pop(change.path, {})
            # Deletion fires watches of both kinds, once per watcher.
            if change.type is WatchType.NODE_DELETED:
                watchers = watchers | self._children.pop(change.path, {})
            fired += [(watcher, change) for watcher in watchers]
        return fired

    def restore(self, watcher: Watcher, op: SetWatches, tree: Tree) -> list[TreeChange]:
        """Set a reconnected client's watches again; returns the changes that it missed."""
        missed: list[TreeChange] = []
        for path in op.data:
            missed += self._restore(self._data, watcher, path, _data_change(tree, path, op.zxid))
        for path in op.exist:
            created = WatchType.NODE_CREATED if path in tree.nodes else None
            missed += self._restore(self._data, watcher, path, created)
        for path in op.children:
            change = _children_change(tree, path, op.zxid)
            missed += self._restore(self._children, watcher, path, change)
        return missed

    def _restore(
        self, table: _ByPath, watcher: Watcher, path: str, change: WatchType | None
    ) -> list[TreeChange]:
        if change is not None:
            return [TreeChange(change, path)]
        table.setdefault(path, {})[watcher] = None
        return []

    def drop(self, watcher: Watcher) -> None:
        """Remove all watches of a closed connection."""
        for table in (self._data, self._children):
            for watchers in table.values():
                watchers.pop(watcher, None)


def _data_change(tree: Tree, path: str, zxid: int) -> WatchType | None:
    node = tree.nodes.get(path)
    if node is None:
        return WatchType.NODE_DELETED
    return WatchType.NODE_DATA_CHANGED if node.mzxid > zxid else None


def _children_change(tree: Tree, path: str, zxid: int) -> WatchType | None:
    node = tree.nodes.get(path)
    if node is None:
        return WatchType.NODE_DELETED
    return WatchType.NODE_CHILDREN_CHANGED if node.pzxid > zxid else None
