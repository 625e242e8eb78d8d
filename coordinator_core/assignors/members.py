"""Orders of members, and the subscribers of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Protocol, TypeVar

from coordinator_core.assignors.model import Member, Topics
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.jvm.strings import utf16

K = TypeVar("K", contravariant=True)
V = TypeVar("V", covariant=True)
T = TypeVar("T")

_id = itemgetter(Member._fields.index("member_id"))
_instance_id = itemgetter(Member._fields.index("instance_id"))
_topics = itemgetter(Member._fields.index("topics"))


def by_id(members: Sequence[Member]) -> list[Member]:
    if "".join(map(_id, members)).isascii():
        return sorted(members, key=_id)
    return sorted(members, key=lambda member: utf16(member.member_id))


def static_first(members: Sequence[Member]) -> list[Member]:
    """Static members by instance id, then dynamic members by member id (KIP-345)."""
    if list(map(_instance_id, members)).count(None) == len(members):
        return by_id(members)

    def key(member: Member) -> tuple[bool, bytes]:
        if member.instance_id is None:
            return True, utf16(member.member_id)
        return False, utf16(member.instance_id)

    return sorted(members, key=key)


def in_hash_order(members: Sequence[Member]) -> list[Member]:
    """Members in the iteration order of a ``HashMap<String, Subscription>`` that was filled in the
    given order.
    """
    by_member_id = {member.member_id: member for member in members}
    return [by_member_id[member_id] for member_id in hash_order(by_member_id)]


def same_topics(members: Sequence[Member]) -> bool:
    """Returns whether all members subscribe to the same topics, those without metadata included."""
    if not members:
        return True
    first = members[0].topics
    # Compare the last member first: if any topics differ, the last member's topics usually do.
    if members[-1].topics == first and [*map(_topics, members)].count(first) == len(members):
        return True
    expected = set(first)
    return all(
        topics == first or (len(topics) == len(expected) and expected.issuperset(topics))
        for topics in map(_topics, members)
    )


def subscribed(members: Sequence[Member]) -> set[str]:
    return set().union(*map(_topics, members))


class _Values(Protocol[K, V]):
    def __getitem__(self, key: K, /) -> V: ...


def in_one_step(values: _Values[K, V], keys: Sequence[K]) -> Sequence[V]:
    """The values of the keys, in one call of ``itemgetter``; raises KeyError."""
    if len(keys) > 1:
        several: tuple[V, ...] = itemgetter(*keys)(values)
        return several
    return [values[key] for key in keys]


def by_topic(
    topics: Topics, ordered: Sequence[Member], values: Sequence[T]
) -> tuple[dict[str, list[T]], bool]:
    """The ``values`` of the subscribers of each topic, by topic name. ``values[i]`` is
    ``ordered[i]``'s.

    The second result says whether a member subscribes to a topic that is not in ``topics``.
    """
    lists: dict[str, list[T]] = {topic: [] for topic in topics.names}
    others = False
    for subscription, value in zip(map(_topics, ordered), values, strict=True):
        for topic in subscription:
            if topic in lists:
                lists[topic].append(value)
            else:
                others = True
    return lists, others


def subscribers(topics: Topics, ordered: Sequence[Member]) -> list[list[int]]:
    """The ranks (indexes in ``ordered``) of each topic's subscribers, ascending, by topic name."""
    ranks, _ = by_topic(topics, ordered, range(len(ordered)))
    return list(ranks.values())
