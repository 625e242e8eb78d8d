"""Node operations of Kafka's ZkUtils, as generators that yield ZooKeeper operations."""

from __future__ import annotations

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.consumer_state import ConsumerState, Listen, Sleep, Steps
from coordinator_core.zookeeper.messages import (
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    SetData,
    ZkError,
    parent_of,
)


def read(path: str) -> Steps[str | None]:
    """The node's data, or None if it does not exist."""
    data: str | None = (yield GetData(path)).value
    return data


def children(path: str) -> Steps[list[str]]:
    """The names of the node's children; empty if the node does not exist."""
    answer = yield GetChildren(path)
    return answer.value or []


def create_persistent(path: str) -> Steps[None]:
    """Create the node and its missing parents; an existing node is no error."""
    while path != "/" and (yield Create(path)).error is ZkError.NO_NODE:
        yield from create_persistent(parent_of(path))


def update_persistent(path: str, data: str) -> Steps[None]:
    """Set the node's data; create the node with its data if it does not exist."""
    while (yield SetData(path, data)).error is ZkError.NO_NODE:
        yield from create_persistent(parent_of(path))
        if (yield Create(path, data)).error is ZkError.OK:
            return


def create_ephemeral(path: str, data: str) -> Steps[str | None]:
    """Create the node unless it exists; returns its data, None if it was deleted meanwhile.

    A node that holds ``data`` counts as created here: the reply may have been lost with the
    connection.
    """
    create = Create(path, data, is_ephemeral=True)
    error = (yield create).error
    while error is ZkError.NO_NODE:
        yield from create_persistent(parent_of(path))
        error = (yield create).error
    if error is ZkError.OK:
        return data
    return (yield from read(path))


def delete(path: str) -> Steps[bool]:
    """Delete the node, whichever session created it; False if it does not exist."""
    return (yield Delete(path)).error is ZkError.OK


def listen_to_children(path: str) -> Steps[None]:
    yield Listen(path)
    yield Exists(path)
    yield GetChildren(path)


def listen_to_data(path: str) -> Steps[None]:
    yield Listen(path)
    yield Exists(path)


def register(state: ConsumerState, now_ms: int) -> Steps[None]:
    """Create the consumer's own node; wait while a previous session's node still exists."""
    data = paths.registration(state.subscription, now_ms)
    while True:
        existing = yield from create_ephemeral(state.own_path, data)
        if existing == data:
            return
        if existing is not None:
            yield Sleep(state.config.zookeeper_session_timeout_ms)


def commit_offsets(state: ConsumerState) -> Steps[None]:
    """Write the offset node of each partition whose offset changed since it was written or read."""
    offsets = {
        (topic, partition): offset
        for topic, by_partition in state.registry.items()
        for partition, offset in by_partition.items()
    }
    for (topic, partition), offset in sorted(offsets.items()):
        if state.checkpointed.get((topic, partition)) != offset:
            path = paths.offset(state.config.group_id, topic, partition)
            yield from update_persistent(path, str(offset))
            state.checkpointed[topic, partition] = offset
