"""A consumer's rebalance: release all partitions, read the whole group, claim its own share.

Every consumer rebalances by itself after every change, without waiting for the others.  A consumer
that still finds an owner node of the previous owner releases its claims and sleeps.
Source: ZookeeperConsumerConnector of 0.8.2, syncedRebalance and the functions that it calls.
"""

from __future__ import annotations

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import Decision, TopicPartition, View, decide
from coordinator_core.zookeeper.consumer_state import (
    Claimed,
    ClaimRefused,
    ConsumerState,
    Lock,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceFailed,
    Released,
    Sleep,
    Steps,
    Unlock,
)
from coordinator_core.zookeeper.zk_utils import (
    children,
    commit_offsets,
    create_ephemeral,
    delete,
    listen_to_children,
    read,
)

NO_OFFSET = -1


def synced_rebalance(state: ConsumerState) -> Steps[None]:
    """Attempt to rebalance under the lock until one attempt succeeds or all have failed."""
    yield Lock()
    done = yield from _attempts(state)
    yield Unlock()
    if not done:
        state.emit(RebalanceFailed(state.config.rebalance_max_retries))


def _attempts(state: ConsumerState) -> Steps[bool]:
    for attempt in range(state.config.rebalance_max_retries):
        if state.is_shutting_down:
            return True
        state.emit(RebalanceBegan(attempt))
        done = yield from _rebalance(state)
        state.emit(RebalanceEnded(attempt, done))
        if done:
            return True
        yield from _close_fetchers(state)
        yield Sleep(state.config.backoff_ms)
    return False


def _rebalance(state: ConsumerState) -> Steps[bool]:
    """One attempt; False if a node was missing or already existed: the group is changing."""
    config = state.config
    for broker in (yield from children(paths.BROKER_IDS)):
        if (yield from read(f"{paths.BROKER_IDS}/{broker}")) is None:
            return False
    if (yield from read(state.own_path)) is None:
        return False
    if not (yield from _has_brokers()):
        yield from listen_to_children(paths.BROKER_IDS)
        return True
    yield from _close_fetchers(state)
    yield from _release(state)
    view = yield from _read_group(state)
    if view is None:
        return False
    decision = decide(config.partition_assignment_strategy, view)
    if decision is None:
        return False
    offsets = yield from _fetch_offsets(config.group_id, decision)
    if state.is_shutting_down or not (yield from _claim(state, decision)):
        return False
    state.registry = {}
    for (topic, partition), offset in offsets.items():
        state.registry.setdefault(topic, {})[partition] = offset
        state.checkpointed[topic, partition] = offset
    state.start_fetchers()
    return True


def _has_brokers() -> Steps[bool]:
    """Returns whether any broker is registered; Kafka reads all broker nodes a second time here."""
    broker_ids = yield from children(paths.BROKER_IDS)
    nodes = []
    for broker in broker_ids:
        nodes.append((yield from read(f"{paths.BROKER_IDS}/{broker}")))
    return any(data is not None for data in nodes)


def _close_fetchers(state: ConsumerState) -> Steps[None]:
    state.stop_fetchers()
    if state.config.auto_commit_enable:
        yield from commit_offsets(state)


def _release(state: ConsumerState) -> Steps[None]:
    """Release all owned partitions.

    If the session expires meanwhile, the registry is cleared; a topic in progress is completed.
    """
    for topic, partitions in list(state.registry.items()):
        if topic not in state.registry:
            continue
        for partition in sorted(partitions):
            yield from _release_partition(state, topic, partition)
        state.registry.pop(topic, None)


def _read_group(state: ConsumerState) -> Steps[View | None]:
    """Read every consumer and every topic; returns None if a consumer left meanwhile."""
    group_id = state.config.group_id
    own_data = yield from read(state.own_path)
    if own_data is None:
        return None
    partitions: dict[str, list[int]] = {}
    for topic in sorted(paths.subscription_in(own_data)):
        data = yield from read(paths.topic(topic))
        partitions[topic] = paths.partitions_in(data) if data is not None else []
    subscriptions: dict[str, dict[str, int]] = {}
    for consumer_id in (yield from children(paths.ids(group_id))):
        data = yield from read(paths.consumer(group_id, consumer_id))
        if data is None:
            return None
        subscriptions[consumer_id] = paths.subscription_in(data)
    yield from children(paths.ids(group_id))  # Kafka's assignor reads the children a second time.
    return View(state.config.consumer_id, subscriptions, partitions)


def _fetch_offsets(group_id: str, decision: Decision) -> Steps[dict[TopicPartition, int]]:
    offsets: dict[TopicPartition, int] = {}
    for topic, partition in sorted(decision):
        data = yield from read(paths.offset(group_id, topic, partition))
        offsets[topic, partition] = NO_OFFSET if data is None else int(data)
    return offsets


def _claim(state: ConsumerState, decision: Decision) -> Steps[bool]:
    """Create all owner nodes; if one cannot be created, delete the others again."""
    group_id = state.config.group_id
    claimed: list[TopicPartition] = []
    for (topic, partition), thread in sorted(decision.items()):
        owner = yield from create_ephemeral(paths.owner(group_id, topic, partition), thread)
        if owner == thread:
            claimed.append((topic, partition))
            state.emit(Claimed(topic, partition))
        else:
            state.emit(ClaimRefused(topic, partition, owner))
    if len(claimed) == len(decision):
        return True
    for topic, partition in reversed(claimed):
        yield from _release_partition(state, topic, partition)
    return False


def _release_partition(state: ConsumerState, topic: str, partition: int) -> Steps[None]:
    if (yield from delete(paths.owner(state.config.group_id, topic, partition))):
        state.emit(Released(topic, partition))
