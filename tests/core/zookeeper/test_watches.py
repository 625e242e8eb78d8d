"""Watches: which change fires which watch, and how a reconnect restores them."""

import pytest

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    SetData,
    SetWatches,
    WatchType,
)
from coordinator_core.zookeeper.tree import Tree, TreeChange
from coordinator_core.zookeeper.watches import Watches

ME = ("c", 1)
CREATED, DELETED = WatchType.NODE_CREATED, WatchType.NODE_DELETED
DATA, CHILDREN = WatchType.NODE_DATA_CHANGED, WatchType.NODE_CHILDREN_CHANGED


class Watched:
    """A tree with /a and /a/b, and one watcher."""

    def __init__(self):
        self.tree, self.watches = Tree(), Watches()
        self.write(Create("/a"))
        self.write(Create("/a/b"))

    def read(self, op, watcher=ME):
        self.watches.add(watcher, op, self.tree.read(op))

    def write(self, op):
        changes = self.tree.apply(op, NO_SESSION, self.tree.zxid + 1)
        return self.watches.fire(changes)


@pytest.mark.parametrize(
    ("read", "write", "fired"),
    [
        (GetData("/a", True),       SetData("/a", "x"), [(DATA, "/a")]),
        (GetData("/a", True),       Create("/a/c"),     []),
        (GetData("/a", False),      SetData("/a", "x"), []),
        (GetData("/a/b", True),     Delete("/a/b"),     [(DELETED, "/a/b")]),
        (GetData("/n", True),       Create("/n"),       []),  # A failed read sets no watch.
        (Exists("/n", True),        Create("/n"),       [(CREATED, "/n")]),
        (Exists("/a", True),        SetData("/a", "x"), [(DATA, "/a")]),
        (Exists("/a/b", True),      Delete("/a/b"),     [(DELETED, "/a/b")]),
        (GetChildren("/a", True),   Create("/a/c"),     [(CHILDREN, "/a")]),
        (GetChildren("/a", True),   Delete("/a/b"),     [(CHILDREN, "/a")]),
        (GetChildren("/a", True),   SetData("/a", "x"), []),
        (GetChildren("/a", True),   SetData("/a/b", ""), []),
        (GetChildren("/a/b", True), Delete("/a/b"),     [(DELETED, "/a/b")]),
    ],
)  # fmt: skip
def test_which_change_fires_which_watch(read, write, fired):
    watched = Watched()
    watched.read(read)

    assert watched.write(write) == [(ME, TreeChange(*change)) for change in fired]


def test_a_watch_fires_once():
    watched = Watched()
    watched.read(GetChildren("/a", True))

    assert len(watched.write(Create("/a/c"))) == 1
    assert watched.write(Create("/a/d")) == []


def test_each_watcher_of_a_deleted_node_is_notified_once():
    watched = Watched()
    watched.read(GetData("/a/b", True))
    watched.read(GetChildren("/a/b", True))
    watched.read(GetData("/a/b", True), ("d", 1))

    fired = watched.write(Delete("/a/b"))

    assert fired == [(ME, TreeChange(DELETED, "/a/b")), (("d", 1), TreeChange(DELETED, "/a/b"))]


def test_a_closed_connection_loses_its_watches():
    watched = Watched()
    watched.read(GetChildren("/a", True))
    watched.watches.drop(ME)

    assert watched.write(Create("/a/c")) == []


def test_a_reconnect_fires_missed_changes_and_sets_the_other_watches_again():
    watched = Watched()
    seen = watched.tree.zxid
    watched.write(Create("/n"))
    watched.write(SetData("/a", "x"))
    watched.write(Delete("/a/b"))

    missed = watched.watches.restore(
        ME, SetWatches(seen, data=("/a", "/a/b"), exist=("/n", "/m"), children=("/a", "/n")),
        watched.tree,
    )  # fmt: skip

    assert missed == [
        TreeChange(DATA, "/a"),
        TreeChange(DELETED, "/a/b"),
        TreeChange(CREATED, "/n"),
        TreeChange(CHILDREN, "/a"),
        TreeChange(CHILDREN, "/n"),
    ]
    assert watched.write(Create("/m")) == [(ME, TreeChange(CREATED, "/m"))]


def test_a_reconnect_sets_the_watch_of_an_unchanged_node_again():
    watched = Watched()
    set_watches = SetWatches(watched.tree.zxid, data=(), exist=(), children=("/a",))

    assert watched.watches.restore(ME, set_watches, watched.tree) == []
    assert watched.write(Create("/a/c")) == [(ME, TreeChange(CHILDREN, "/a"))]
