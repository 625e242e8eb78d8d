"""The topics that a group's members subscribe to, read from their metadata (KIP-496)."""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup
from coordinator_core.protocol.errors import UnexpectedState


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """Topics of all members; None if the group is no consumer group or metadata are unreadable.

    Only version 0 of the consumer protocol's subscription is read: it is a prefix of all others.
    """
    if group.protocol_type != CONSUMER:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        subscription = _topics(member.metadata(group.protocol))
        if subscription is None:
            return None
        topics.update(subscription)
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str] | None:
    """Topics of one subscription; None if its bytes end too early."""
    try:
        (count,) = unpack_from(">i", subscription, 2)
        if not 0 <= count <= len(subscription):
            raise UnexpectedState(f"a subscription to {count} topics")
        topics, at = [], 6
        for _ in range(count):
            (size,) = unpack_from(">h", subscription, at)
            (topic,) = unpack_from(f">{size}s", subscription, at + 2)
            topics.append(topic.decode())
            at += 2 + size
        (size,) = unpack_from(">i", subscription, at)
        unpack_from(f">{max(size, 0)}s", subscription, at + 4)
    except StructError:
        return None
    return topics
