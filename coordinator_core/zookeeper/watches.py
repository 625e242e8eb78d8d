"""Watches at one server: left by reads, fired once by a change, gone after that.

A data watch comes of GetData and Exists (of a node that is not there, too), a child watch of
GetChildren.  A watcher is a connection: a session that leaves the same watch twice has one.
Source: ZooKeeper's DataTree and WatchManager.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_core.zookeeper.messages import (
    Answer,
    Exists,
    GetChildren,
    GetData,
    SetWatches,
    WatchType,
    ZkError,
)
from coordinator_core.zookeeper.tree import Change, Tree

Watcher = tuple[str, int]  # client, its connection
Fired = tuple[Watcher, Change]
_ByPath = dict[str, dict[Watcher, None]]  # in the order in which they were left


class Watches:
    def __init__(self) -> None:
        self._data: _ByPath = {}
        self._children: _ByPath = {}

    def leave(self, watcher: Watcher, op: GetData | GetChildren | Exists, answer: Answer) -> None:
        """After a read that asked for a watch; only Exists leaves one on a node that is not."""
        if not op.watch or (answer.error is not ZkError.OK and not isinstance(op, Exists)):
            return
        table = self._children if isinstance(op, GetChildren) else self._data
        table.setdefault(op.path, {})[watcher] = None

    def fire(self, changes: Iterable[Change]) -> list[Fired]:
        fired: list[Fired] = []
        for change in changes:
            if change.type is WatchType.NODE_CHILDREN_CHANGED:
                watchers = self._children.pop(change.path, {})
            else:
                watchers = self._data.pop(change.path, {})
            if change.type is WatchType.NODE_DELETED:  # both kinds, but each watcher once
                watchers = watchers | self._children.pop(change.path, {})
            fired += [(watcher, change) for watcher in watchers]
        return fired

    def restore(self, watcher: Watcher, op: SetWatches, tree: Tree) -> list[Change]:
        """Leave a reconnected client's watches again; what it missed comes back to be told."""
        missed: list[Change] = []
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
    ) -> list[Change]:
        if change is not None:
            return [Change(change, path)]
        table.setdefault(path, {})[watcher] = None
        return []

    def drop(self, watcher: Watcher) -> None:
        """The connection is gone, and its watches with it."""
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
