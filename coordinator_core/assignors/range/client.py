"""RangeAssignor: per topic, consecutive partitions to members in order; rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

from coordinator_core.assignors.members import (
    by_topic,
    in_hash_order,
    same_topics,
    static_first,
)
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics
from coordinator_core.assignors.range import racks as _range_racks
from coordinator_core.jvm.java_maps import hash_order, table_capacity

_id = itemgetter(Member._fields.index("member_id"))


class TopicOrder(Protocol):
    """Topics as the lists have them; ``others``: there may be more subscribed ones."""

    def __call__(self, topics: Topics, *, others: bool = ...) -> list[str]: ...


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RangeAssignor; static members first (KIP-345), racks (KIP-881)."""
    if topics.racks and any(member.rack for member in members):
        racked = _range_racks.assign(topics, members)
        if racked is not None:
            return racked
    return shares(
        topics, static_first(members), partial(topic_order, members=members, hashed=hashed)
    )


def shares(topics: Topics, ordered: Sequence[Member], topic_order: TopicOrder) -> Assignment:
    """``ordered`` as they take their turns; ``topic_order`` is given those that are subscribed."""
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    takers, others = by_topic(topics, ordered, lists)
    wanted = topics
    if not all(takers.values()):
        wanted = topics.only([topic for topic in takers if takers[topic]])
    _topic_by_topic(topics, takers, topic_order(wanted, others=others))
    return dict(zip(map(_id, ordered), lists, strict=True))


def _topic_by_topic(
    topics: Topics, takers: Mapping[str, Sequence[list[TopicPartition]]], in_order: Iterable[str]
) -> None:
    """Fills the lists of every topic's takers."""
    named = topics.table_of
    for topic in in_order:
        partitions, its_takers = named[topic], takers[topic]
        if len(partitions) > len(its_takers):
            cuts = _cuts(len(partitions), len(its_takers))
            for mine, cut in zip(its_takers, cuts, strict=True):
                mine += partitions[cut]
        else:
            for mine, partition in zip(its_takers, partitions, strict=False):
                mine.append(partition)


@lru_cache(maxsize=1024)
def _cuts(count: int, takers: int) -> list[slice]:
    """Everybody's share of ``count`` partitions."""
    share, extra = divmod(count, takers)
    ends = [place * share + min(place, extra) for place in range(takers + 1)]
    return [slice(*ends_of_one) for ends_of_one in pairwise(ends)]


def topic_order(
    topics: Topics, members: Sequence[Member], hashed: bool, *, others: bool = True
) -> list[str]:
    """Topics as Kafka's maps iterate: all subscribed ones in a set, then those with metadata.

    ``topics`` are the latter; ``others``: there may be more. Those of one bucket keep the order of
    the first member, in the subscriptions map, that names them.
    """
    if topics.hash_order is not None:
        return topics.hash_order
    if same_topics(members):
        members = members[:1]
    mapped = in_hash_order(members) if hashed else members
    named: dict[str, None] = {}
    for member in mapped:
        named.update(dict.fromkeys(member.topics))
        if not others and len(named) == len(topics.names):
            return hash_order(named)
    subscribed = hash_order(named)
    known = [topic for topic in subscribed if topic in topics.partitions]
    if table_capacity(len(known)) == table_capacity(len(subscribed)):
        return known
    return hash_order(known)
