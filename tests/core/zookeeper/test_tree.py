"""The tree: valid writes, their changes, and the ephemeral nodes of a session."""

import pytest

from coordinator_core.zookeeper.messages import (
    NO_SESSION,
    CloseSession,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    SetData,
    Stat,
    WatchType,
    ZkError,
    ZooKeeperAnswer,
)
from coordinator_core.zookeeper.tree import Tree, TreeChange


@pytest.fixture
def tree():
    """/a at version 1 with the child /a/b, and /e, an ephemeral node of session 7."""
    tree = Tree()
    tree.apply(Create("/a", "old"), NO_SESSION, 1)
    tree.apply(SetData("/a", "new"), NO_SESSION, 2)
    tree.apply(Create("/a/b"), NO_SESSION, 3)
    tree.apply(Create("/e", "mine", is_ephemeral=True), 7, 4)
    return tree


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (Create("/c"),                 ZkError.OK),
        (Create("/a"),                 ZkError.NODE_EXISTS),
        (Create("/x/y"),               ZkError.NO_NODE),
        (Create("/e/y"),               ZkError.NO_CHILDREN_FOR_EPHEMERALS),
        (Delete("/a/b"),               ZkError.OK),
        (Delete("/a"),                 ZkError.NOT_EMPTY),
        (Delete("/x"),                 ZkError.NO_NODE),
        (Delete("/a/b", version=0),    ZkError.OK),
        (Delete("/a/b", version=1),    ZkError.BAD_VERSION),
        (SetData("/a", "d"),           ZkError.OK),
        (SetData("/a", "d", version=1), ZkError.OK),
        (SetData("/a", "d", version=0), ZkError.BAD_VERSION),
        (SetData("/x", "d"),           ZkError.NO_NODE),
        (CloseSession(),               ZkError.OK),
    ],
)  # fmt: skip
def test_the_error_of_each_write(tree, op, error):
    assert tree.check(op) is error


def test_reads_return_data_children_and_stat(tree):
    assert tree.read(GetData("/a")) == ZooKeeperAnswer(ZkError.OK, "new", Stat(1, 2, 3, 1, 1, 0))
    assert tree.read(GetChildren("/a")) == ZooKeeperAnswer(
        ZkError.OK, ["b"], Stat(1, 2, 3, 1, 1, 0)
    )
    assert tree.read(Exists("/e")) == ZooKeeperAnswer(ZkError.OK, None, Stat(4, 4, 4, 0, 0, 7))
    assert tree.read(Exists("/x")) == ZooKeeperAnswer(ZkError.NO_NODE)
    assert tree.read(GetChildren("/")).value == ["a", "e"]


def test_closing_a_session_deletes_only_its_ephemeral_nodes(tree):
    tree.apply(Create("/a/mine", is_ephemeral=True), 7, 5)
    tree.apply(Create("/a/theirs", is_ephemeral=True), 8, 6)

    changes = tree.apply(CloseSession(), 7, 7)

    assert changes == [
        TreeChange(WatchType.NODE_DELETED, "/a/mine"),
        TreeChange(WatchType.NODE_CHILDREN_CHANGED, "/a"),
        TreeChange(WatchType.NODE_DELETED, "/e"),
        TreeChange(WatchType.NODE_CHILDREN_CHANGED, "/"),
    ]
    assert tree.read(GetChildren("/a")).value == ["b", "theirs"]


def test_a_recreated_ephemeral_node_belongs_to_the_new_session(tree):
    tree.apply(Delete("/e"), NO_SESSION, 5)
    tree.apply(Create("/e", is_ephemeral=True), 8, 6)

    assert tree.apply(CloseSession(), 7, 7) == []
    assert tree.read(Exists("/e")).stat.ephemeral_owner == 8
