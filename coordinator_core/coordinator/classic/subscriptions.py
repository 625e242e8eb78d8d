"""The topics that a group's members subscribe to, read from their metadata (KIP-496)."""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from
from typing import NamedTuple

from coordinator_core.coordinator.classic.group import CONSUMER, ClassicGroup
from coordinator_core.coordinator.era import Era
from coordinator_core.protocol.errors import UnexpectedState


def subscribed_topics(era: Era, group: ClassicGroup) -> frozenset[str] | None:
    """Topics of all members, or None if the group is no consumer group or metadata are unreadable.

    Only version 0 of the consumer protocol's subscription is read: it is a prefix of all others.
    Raises UnexpectedState if a member's metadata are malformed and the era fails on them.
    """
    if group.protocol_type != CONSUMER:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        subscription = topics_in(era, member.metadata(group.protocol))
        if subscription is None:
            return None
        topics.update(subscription)
    return frozenset(topics)


def topics_in(era: Era, subscription: bytes) -> list[str] | None:
    """Topics of one subscription, or None if it is unreadable and the era goes on without it."""
    try:
        return _Subscription(subscription).topics()
    except StructError:  # the bytes end within a number
        return None
    except UnexpectedState:
        if era.fails_on_malformed_subscriptions:
            raise
        return None


class _Subscription(NamedTuple):
    data: bytes

    def topics(self) -> list[str]:
        (count,) = unpack_from(">i", self.data, 2)
        if not 0 <= count <= len(self.data) - 6:
            raise UnexpectedState(f"a subscription to {count} topics")
        topics, at = [], 6
        for _ in range(count):
            (size,) = unpack_from(">h", self.data, at)
            # Like Java, replace invalid UTF-8 by U+FFFD.
            topics.append(self._bytes(at + 2, size).decode(errors="replace"))
            at += 2 + size
        (size,) = unpack_from(">i", self.data, at)
        self._bytes(at + 4, max(size, 0))  # null user data have size -1
        return topics

    def _bytes(self, at: int, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - at:
            raise UnexpectedState(f"a field of {size} bytes in a subscription")
        return self.data[at : at + size]
