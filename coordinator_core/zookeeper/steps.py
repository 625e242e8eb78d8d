"""What Kafka's ZkUtils does with nodes, each as steps that wait for one answer after the other."""

from __future__ import annotations

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.connector import Listen, Sleep, State, Steps
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
    """None if the node is not there."""
    data: str | None = (yield GetData(path)).value
    return data


def children(path: str) -> Steps[list[str]]:
    """None are there of a node that is not."""
    answer = yield GetChildren(path)
    return answer.value or []


def create_persistent(path: str) -> Steps[None]:
    """With its parents, as far as they are missing; it may be there already."""
    while path != "/" and (yield Create(path)).error is ZkError.NO_NODE:
        yield from create_persistent(parent_of(path))


def update_persistent(path: str, data: str) -> Steps[None]:
    """The node is never seen without its data."""
    while (yield SetData(path, data)).error is ZkError.NO_NODE:
        yield from create_persistent(parent_of(path))
        if (yield Create(path, data)).error is ZkError.OK:
            return


def create_ephemeral(path: str, data: str) -> Steps[str | None]:
    """What the node holds then: ``data``, or somebody else's; None if that went away meanwhile.

    A node with our data is taken for ours, made before the answer was lost with its connection.
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
    """Whoever made it; False if it was not there."""
    return (yield Delete(path)).error is ZkError.OK


def listen_to_children(path: str) -> Steps[None]:
    yield Listen(path)
    yield Exists(path)
    yield GetChildren(path)


def listen_to_data(path: str) -> Steps[None]:
    yield Listen(path)
    yield Exists(path)


def register(state: State, now_ms: int) -> Steps[None]:
    """Make the consumer's own node; one of a session that is not quite dead yet is waited for."""
    data = paths.registration(state.subscription, now_ms)
    while True:
        found = yield from create_ephemeral(state.own_path, data)
        if found == data:
            return
        if found is not None:
            yield Sleep(state.config.zookeeper_session_timeout_ms)


def commit_offsets(state: State) -> Steps[None]:
    """A node for each partition whose offset moved since it was committed or read."""
    offsets = {(t, p): at for t, found in state.registry.items() for p, at in found.items()}
    for (topic, partition), at in sorted(offsets.items()):
        if state.checkpointed.get((topic, partition)) != at:
            path = paths.offset(state.config.group_id, topic, partition)
            yield from update_persistent(path, str(at))
            state.checkpointed[topic, partition] = at
