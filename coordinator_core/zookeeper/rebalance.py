"""A consumer's rebalance: let go of everything, read the whole group again, claim its share.

Every consumer does this by itself, whenever anything changed; nobody waits for anybody, and who
comes too early finds the old owner's node, lets go again and sleeps.
Source: ZookeeperConsumerConnector of 0.8.2, syncedRebalance and below.
"""

from __future__ import annotations

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.assignors import Decision, TopicPartition, View, decide
from coordinator_core.zookeeper.connector import (
    Claimed,
    ClaimRefused,
    Lock,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceFailed,
    Released,
    Sleep,
    State,
    Steps,
    Unlock,
)
from coordinator_core.zookeeper.steps import (
    children,
    commit_offsets,
    create_ephemeral,
    delete,
    listen_to_children,
    read,
)

NO_OFFSET = -1


def synced_rebalance(state: State) -> Steps[None]:
    """Attempts, one rebalance of this consumer at a time, until one succeeds or all have failed."""
    yield Lock()
    done = yield from _attempts(state)
    yield Unlock()
    if not done:
        state.emit(RebalanceFailed(state.config.rebalance_max_retries))


def _attempts(state: State) -> Steps[bool]:
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


def _rebalance(state: State) -> Steps[bool]:
    """False where a node was missing or in the way: things are changing, so try again later."""
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
    """Kafka reads all of them a second time here; one that went away in between is left out."""
    found = yield from children(paths.BROKER_IDS)
    known = []
    for broker in found:
        known.append((yield from read(f"{paths.BROKER_IDS}/{broker}")))
    return any(data is not None for data in known)


def _close_fetchers(state: State) -> Steps[None]:
    state.stop_fetchers()
    if state.config.auto_commit_enable:
        yield from commit_offsets(state)


def _release(state: State) -> Steps[None]:
    """A session that expires meanwhile empties the registry, but not what was begun to release."""
    for topic, partitions in list(state.registry.items()):
        if topic not in state.registry:
            continue
        for partition in sorted(partitions):
            yield from _let_go(state, topic, partition)
        state.registry.pop(topic, None)


def _read_group(state: State) -> Steps[View | None]:
    """As many reads as there are consumers and topics; None if a consumer left in the meantime."""
    group_id = state.config.group_id
    mine = yield from read(state.own_path)
    if mine is None:
        return None
    partitions: dict[str, list[int]] = {}
    for topic in sorted(paths.subscription_in(mine)):
        data = yield from read(paths.topic(topic))
        partitions[topic] = paths.partitions_in(data) if data is not None else []
    subscriptions: dict[str, dict[str, int]] = {}
    for consumer_id in (yield from children(paths.ids(group_id))):
        data = yield from read(paths.consumer(group_id, consumer_id))
        if data is None:
            return None
        subscriptions[consumer_id] = paths.subscription_in(data)
    yield from children(paths.ids(group_id))  # once more, for the assignor that wants names only
    return View(state.config.consumer_id, subscriptions, partitions)


def _fetch_offsets(group_id: str, decision: Decision) -> Steps[dict[TopicPartition, int]]:
    offsets: dict[TopicPartition, int] = {}
    for topic, partition in sorted(decision):
        data = yield from read(paths.offset(group_id, topic, partition))
        offsets[topic, partition] = NO_OFFSET if data is None else int(data)
    return offsets


def _claim(state: State, decision: Decision) -> Steps[bool]:
    """Make all owner nodes; if one could not be made, take those back that could."""
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
        yield from _let_go(state, topic, partition)
    return False


def _let_go(state: State, topic: str, partition: int) -> Steps[None]:
    if (yield from delete(paths.owner(state.config.group_id, topic, partition))):
        state.emit(Released(topic, partition))
