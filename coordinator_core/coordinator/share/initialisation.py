"""Decides which share partitions have states, and which heartbeat has to initialise more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.writing import write
from coordinator_core.coordinator.share.group import (
    InitTopic,
    InitTopics,
    ShareGroup,
    ShareStates,
    subscribed_names,
)
from coordinator_core.coordinator.share.records import states_record
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import (
    HashTable,
    IntSet,
    capacity_of_copy,
    capacity_of_map_copy,
    copied_ints,
)

_NO_STATES = ShareStates()
_UNKNOWN = "<UNKNOWN>"


def is_assignment_pending(turn: Turn, group: ShareGroup) -> bool:
    """Returns whether initialized partitions are not assigned yet, so that the epoch must go up.

    Until 4.2, topics that nobody subscribes to count, too, so the epoch then increases forever.
    """
    if group.states is None or group.is_empty():
        return False
    assigned: dict[str, set[int]] = {}
    for target in group.targets.values():
        for topic_id, partitions in target.items():
            assigned.setdefault(topic_id, set()).update(partitions)
    initialized = {each: {*topic.partitions} for each, topic in group.states.initialized.items()}
    if rules_of(turn).share.counts_all_initialized:
        return initialized != assigned
    subscribed = subscribed_names(group.members.values())
    return any(
        group.states.initialized[topic_id].name in subscribed
        and assigned.get(topic_id) != partitions
        for topic_id, partitions in initialized.items()
    )


def missing_states(turn: Turn, group: ShareGroup, names: Iterable[str]) -> InitTopics:
    """The partitions of these topics without a state, or initializing for too long."""
    states = group.states or _NO_STATES
    retry_ms = _retry_ms(turn)
    recent = {
        topic_id: topic
        for topic_id, topic in states.initializing.items()
        if turn.now_ms - topic.timestamp_ms < retry_ms
    }
    present = combined(states.initialized, recent)
    missing = HashTable[str, InitTopic](uuid_hash)
    for name in names:
        image = turn.image.topics.get(name)
        if image is not None:
            initialized = present[image.topic_id].partitions if image.topic_id in present else ()
            if len(initialized) < image.partitions or not initialized:
                left = IntSet(range(image.partitions))
                for partition in initialized:
                    left.remove(partition)
                topic = InitTopic(name, left.keys(), turn.now_ms)
                missing.compute_if_absent(image.topic_id, partial(topic._replace))
    return dict(missing.items())


def _retry_ms(turn: Turn) -> int:
    """group.share.initialize.retry.interval.ms; before, twice the offset commit timeout."""
    default = rules_of(turn).share.initialize_retry_ms
    return int(turn.config.modern.share.other("initialize.retry.interval.ms", str(default)))


def initializing_record(turn: Turn, group: ShareGroup, missing: InitTopics) -> ModernRecord:
    states = group.states or _NO_STATES
    initializing = combined(states.initializing, missing)
    deleting = [topic_id for topic_id in states.deleting if topic_id not in initializing]
    return _record(turn, group, initializing, states.initialized, deleting)


def initialize(turn: Turn, group_id: str, topics: InitTopics) -> Callable[[], None]:
    """Apply the persister's answer: it makes the topics initialized."""

    def finish() -> None:
        group = turn.groups.modern.get(group_id)
        if isinstance(group, ShareGroup):
            record = _initialized_record(turn, group, topics)
            write(turn, group_id, [record], lambda: _forget(turn, group_id, topics))

    return finish


def _initialized_record(turn: Turn, group: ShareGroup, topics: InitTopics) -> ModernRecord:
    states = group.states or _NO_STATES
    named = {
        topic_id: topic._replace(name=_name(turn, topic_id)) for topic_id, topic in topics.items()
    }
    initialized = combined(states.initialized, named)
    initializing = without(states.initializing, topics)
    return _record(turn, group, initializing, initialized, states.deleting)


def _forget(turn: Turn, group_id: str, topics: InitTopics) -> None:
    """The record of initialized topics failed: they are no longer initializing."""
    group = turn.groups.modern.get(group_id)
    if isinstance(group, ShareGroup) and group.states is not None and group.states.initializing:
        initializing = without(group.states.initializing, topics)
        initialized, deleting = group.states.initialized, group.states.deleting
        write(turn, group_id, [_record(turn, group, initializing, initialized, deleting)])


def deleting_record(turn: Turn, group: ShareGroup, states: ShareStates) -> ModernRecord:
    """Before the group is deleted, it has all topics with states, and all deleting topics that
    still exist.
    """
    keeps_names = rules_of(turn).share.keeps_topic_names
    deleting = {
        topic_id: topic.name if keeps_names else _name(turn, topic_id)
        for topic_id, topic in combined(states.initialized, states.initializing).items()
    }
    for topic_id in states.deleting:
        if topic_id in turn.image.by_id:
            deleting.setdefault(topic_id, turn.image.by_id[topic_id].name)
    return states_record(group.group_id, {}, {}, deleting)


def forget_deleted_topics(turn: Turn, deleted_ids: Iterable[str]) -> None:
    """Write the states of share groups without topics that were deleted."""
    modern = turn.era.modern
    if modern is None or not modern.share.forgets_deleted_topics:
        return
    gone = set(deleted_ids)
    for group in [each for each in turn.groups.modern.values() if isinstance(each, ShareGroup)]:
        states = group.states
        if states is not None and any(
            gone.intersection(topics)
            for topics in (states.initializing, states.initialized, states.deleting)
        ):
            initializing = _without_topics(states.initializing, gone)
            initialized = _without_topics(states.initialized, gone)
            deleting = [topic_id for topic_id in states.deleting if topic_id not in gone]
            record = _record(turn, group, initializing, initialized, deleting)
            write(turn, group.group_id, [record])


def combined(one: InitTopics, other: InitTopics) -> InitTopics:
    """The partitions of both, with names and times of the second."""
    topic_ids = HashTable[str, None](uuid_hash, capacity_of_copy(len(one)))
    for topic_id in (*one, *other):
        topic_ids.put(topic_id, None)
    table = HashTable[str, InitTopic](uuid_hash)
    for topic_id in topic_ids:
        first, second = one.get(topic_id), other.get(topic_id)
        latest = second or first
        assert latest is not None
        partitions = copied_ints(first.partitions if first else ())
        for partition in second.partitions if second else ():
            partitions.add(partition)
        table.put(topic_id, latest._replace(partitions=partitions.keys()))
    return dict(table.items())


def _without_topics(topics: InitTopics, gone: set[str]) -> InitTopics:
    """The other topics, in the order of a copy of the HashMap."""
    copy = HashTable[str, InitTopic](uuid_hash, capacity_of_map_copy(len(topics)))
    for topic_id, topic in topics.items():
        copy.put(topic_id, topic)
    return {topic_id: topic for topic_id, topic in copy.items() if topic_id not in gone}


def without(topics: InitTopics, removed: InitTopics) -> InitTopics:
    """The topics without these partitions; topics without any left are gone."""
    left = HashTable[str, InitTopic](uuid_hash)
    for topic_id, topic in topics.items():
        gone = removed[topic_id].partitions if topic_id in removed else ()
        partitions = copied_ints(topic.partitions)
        for partition in gone:
            partitions.remove(partition)
        if len(partitions) or topic_id not in removed:
            left.put(topic_id, topic._replace(partitions=partitions.keys()))
    return dict(left.items())


def _record(
    turn: Turn,
    group: ShareGroup,
    initializing: InitTopics,
    initialized: InitTopics,
    deleting: Iterable[str],
) -> ModernRecord:
    names: Mapping[str, str] = {topic_id: _name(turn, topic_id) for topic_id in deleting}
    return states_record(group.group_id, initializing, initialized, names)


def _name(turn: Turn, topic_id: str) -> str:
    topic = turn.image.by_id.get(topic_id)
    return _UNKNOWN if topic is None else topic.name
