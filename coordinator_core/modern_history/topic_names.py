"""Names of topic ids that no record names: the subscribed topic that an id can only be.

A target assignment has topic ids, its members' subscriptions have names.  If all ids of a target
except one have their names, or a group has only one topic, the last id has the last name.  If the
next target has one more id and one more name, the new id has the new name.  If a topic is deleted,
the group's offsets of it are deleted by name, and its id leaves the next target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from coordinator_core.modern_history.evidence import GroupRecord, RecordKind

# Longest time until a target without a deleted topic: a member's next heartbeat or refresh of the
# metadata.
DELETION_MS = 60_000

Observation = tuple[frozenset[str], frozenset[str]]
"""Ids in a target assignment, and names of the topics that the members subscribe to."""


def observations(records: Iterable[GroupRecord]) -> set[Observation]:
    """For each target of a group; ``records`` in the order of the log."""
    names: dict[str, frozenset[str]] = {}
    ids: dict[str, frozenset[str]] = {}
    seen: set[Observation] = set()
    for record in records:
        if record.kind in (RecordKind.MEMBER, RecordKind.REGEX):
            subscriber = f"{record.kind} {record.member_id or record.regex}"
            names[subscriber] = frozenset() if record.is_tombstone else frozenset(record.topics)
        elif record.kind is RecordKind.TARGET_MEMBER:
            topic_ids = {topic_id for _, _, topic_id, _ in record.assigned if topic_id}
            ids[record.member_id or ""] = frozenset(topic_ids)
        elif record.kind is RecordKind.TARGET:
            together = frozenset[str]().union(*ids.values())
            if together:
                seen.add((together, frozenset[str]().union(*names.values())))
    return seen | set(_added(seen))


def _added(seen: set[Observation]) -> Iterator[Observation]:
    """The ids and names by which one target exceeds another one whose ids have all its names."""
    for ids, topics in seen:
        if len(ids) == len(topics):
            for more_ids, more_topics in seen:
                if ids < more_ids and topics < more_topics:
                    yield more_ids - ids, more_topics - topics


def names_by_subscription(
    observed: Iterable[Observation], named: Mapping[str, str]
) -> dict[str, str]:
    """Further names by topic id; ``named`` has the names that records contain."""
    observed = list(observed)
    names = dict(named)
    candidates: dict[str, frozenset[str]] = {}
    for ids, topics in observed:
        for topic_id in ids:
            candidates[topic_id] = candidates.get(topic_id, topics) & topics
    is_changed = True
    while is_changed:
        is_changed = False
        for ids, topics in observed:
            others = topics - {names[each] for each in ids & names.keys()}
            for topic_id in ids - names.keys():
                possible = candidates[topic_id] & others
                if len(possible) == 1:
                    (names[topic_id],) = possible
                    is_changed = True
                    others -= possible
    return {topic_id: name for topic_id, name in names.items() if topic_id not in named}


def lost_ids(records: Iterable[GroupRecord]) -> Iterator[tuple[int, frozenset[str]]]:
    """The time in ms of each target that does not follow a subscription, and the ids that only the
    previous target has; ``records`` in the order of the log.
    """
    ids: dict[str, frozenset[str]] = {}
    before: frozenset[str] = frozenset()
    subscribed_ms = -1
    for record in records:
        if record.kind in (RecordKind.MEMBER, RecordKind.REGEX):
            subscribed_ms = record.time_ms
        elif record.kind is RecordKind.TARGET_MEMBER:
            ids[record.member_id or ""] = frozenset(
                topic_id for _, _, topic_id, _ in record.assigned if topic_id
            )
        elif record.kind is RecordKind.TARGET:
            now = frozenset[str]().union(*ids.values())
            if before - now and now and subscribed_ms != record.time_ms:
                yield record.time_ms, before - now
            before = now


def names_by_deletion(
    lost: Iterable[tuple[int, frozenset[str]]],
    deleted: Iterable[tuple[int, str]],
    named: Mapping[str, str],
) -> dict[str, str]:
    """Names of ids that left a target after the offsets of one topic had been deleted (time in ms,
    topic); both of one group.  ``named`` has ids with a name.
    """
    names: dict[str, str] = {}
    deleted = list(deleted)
    for time_ms, ids in lost:
        unnamed = ids - named.keys()
        topics = {topic for at_ms, topic in deleted if 0 <= time_ms - at_ms <= DELETION_MS} - set(
            named.values()
        )
        if len(unnamed) == len(topics) == 1:
            names[next(iter(unnamed))] = next(iter(topics))
    return names
