"""Owned partitions as consumers send them, and as each assignor reads them.

A consumer that rejoins claims the partitions it owns.  The place of the claims depends on the
assignor and the version of the subscription: sticky's user data, or the field of owned partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from coordinator_core.assignors.model import NO_GENERATION, Member, TopicPartition
from coordinator_core.jvm.java_maps import hash_order, table_capacity
from coordinator_core.jvm.strings import java_sorted, utf16
from coordinator_core.records import (
    BadRecord,
    Subscription,
    decode_cooperative_sticky_user_data,
    decode_sticky_user_data,
    decode_subscription,
)

Grouped = tuple[tuple[str, tuple[int, ...]], ...]
Claims = tuple[Sequence[tuple[str, Sequence[int]]], int]


def as_read(
    assignor: str, member_id: str, subscription: bytes, instance_id: str | None = None
) -> Member:
    """A member as ``assignor`` reads it from the subscription bytes of its JoinGroup request.

    For ``sticky`` the claims come from the user data, else from the owned partitions field (version
    1 and later).  The claims' generation comes from the same place, but for ``cooperative-sticky``
    before version 2 from its user data. Unreadable user data claims nothing.  Raises BadRecord if
    the subscription itself is unreadable.  Source: the ``memberData`` methods of StickyAssignor and
    CooperativeStickyAssignor.
    """
    read = decode_subscription(subscription)
    owned, generation = _sticky_claims(read) if assignor == "sticky" else _field_claims(read)
    return Member(
        member_id=member_id,
        topics=_one_of_equals(tuple(read.topics)),
        owned=owned,
        generation=generation,
        field_generation=max(read.generation_id, NO_GENERATION),
        instance_id=instance_id,
        rack=read.rack_id,
    )


def _sticky_claims(read: Subscription) -> Claims:
    if not read.user_data:
        return (), NO_GENERATION
    try:
        claims = decode_sticky_user_data(read.user_data)
    except BadRecord:
        return (), NO_GENERATION
    generation = NO_GENERATION if claims.generation is None else claims.generation
    return claims.partitions, generation


def _field_claims(read: Subscription) -> Claims:
    if read.generation_id >= 0 or read.user_data is None:
        return read.owned_partitions, max(read.generation_id, NO_GENERATION)
    try:
        return read.owned_partitions, decode_cooperative_sticky_user_data(read.user_data)
    except BadRecord:
        return read.owned_partitions, NO_GENERATION


def grouped(partitions: Iterable[TopicPartition]) -> Grouped:
    """Groups by topic in the order of first appearance, as sticky's oldest user data does."""
    by_topic = _by_topic(partitions)
    return tuple((topic, tuple(numbers)) for topic, numbers in by_topic.items())


def in_user_data(partitions: Iterable[TopicPartition]) -> Grouped:
    """Groups as StickyAssignor's user data does: topics in the order of a HashMap.

    Kafka fills the map with ``computeIfAbsent``, which puts a new entry at the head of its bucket
    and grows the table on the next call after it is full, even if that call adds no topic.
    """
    partitions = list(partitions)
    by_topic = _by_topic(partitions)
    ends_with_new_topic = bool(partitions) and len(by_topic[partitions[-1][0]]) == 1
    capacity = table_capacity(len(by_topic) - ends_with_new_topic)
    topics = hash_order(reversed(by_topic), capacity)
    return tuple((topic, tuple(by_topic[topic])) for topic in topics)


def in_owned_field(partitions: Iterable[TopicPartition]) -> Grouped:
    """Groups as the subscription's field does: sorted by topic, then partition (KIP-429)."""
    return grouped(sorted(partitions, key=lambda tp: (utf16(tp[0]), tp[1])))


def in_topics_field(topics: Iterable[str]) -> tuple[str, ...]:
    """Sorts topics as a subscription has them."""
    return _one_of_equals(tuple(java_sorted(topics)))


@lru_cache(maxsize=1024)
def _one_of_equals(topics: tuple[str, ...]) -> tuple[str, ...]:
    """Returns one shared tuple for equal topics: less memory, and fast to compare."""
    return topics


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return by_topic


def as_sent(
    assignor: str,
    member_id: str,
    topics: Iterable[str],
    owned: Sequence[TopicPartition] = (),
    generation: int | None = None,
    instance_id: str | None = None,
    rack: str | None = None,
    generation_field: bool = True,
) -> Member:
    """The member as the leader reads it if the member's last assignment was ``owned`` in
    ``generation``.

    ``generation`` is None if the consumer had no assignment, or is too old to send its generation.
    ``generation_field`` is False if the subscription has version 0 or 1, which lacks this field.
    """
    field = NO_GENERATION if generation is None or not generation_field else generation
    return Member(
        member_id=member_id,
        topics=in_topics_field(topics),
        owned=_as_sent(assignor, owned, generation),
        generation=NO_GENERATION if generation is None else generation,
        field_generation=field,
        instance_id=instance_id,
        rack=rack,
    )


def _as_sent(assignor: str, owned: Sequence[TopicPartition], generation: int | None) -> Grouped:
    if assignor == "sticky" and generation is not None:
        return in_user_data(owned)
    if assignor == "sticky" or assignor not in _CLIENT_SIDE:
        return grouped(owned)
    return in_owned_field(owned)


_CLIENT_SIDE = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
