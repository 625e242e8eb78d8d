"""RangeAssignor of the clients, rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Sequence
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
from coordinator_core.assignors.range.racks import assign_by_racks
from coordinator_core.jvm.java_maps import hash_order, table_capacity

_id = itemgetter(Member._fields.index("member_id"))


class TopicOrder(Protocol):
    """Order of the topics in the lists; with ``others``, members may subscribe to more topics than
    these.
    """

    def __call__(self, topics: Topics, *, others: bool = ...) -> list[str]: ...


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RangeAssignor; static members first (KIP-345), racks (KIP-881)."""
    if topics.racks and any(member.rack for member in members):
        assignment = assign_by_racks(topics, members)
        if assignment is not None:
            return assignment
    order = partial(topic_order, members=members, hashed=hashed)
    return assign_ranges(topics, static_first(members), order)


def assign_ranges(topics: Topics, ordered: Sequence[Member], topic_order: TopicOrder) -> Assignment:
    """Assigns each topic's ranges to its subscribers in the order of ``ordered``."""
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    lists_of, others = by_topic(topics, ordered, lists)
    subscribed = topics
    if not all(lists_of.values()):
        subscribed = topics.only([topic for topic in lists_of if lists_of[topic]])
    for topic in topic_order(subscribed, others=others):
        partitions, takers = topics.table_of[topic], lists_of[topic]
        for mine, cut in zip(takers, _ranges(len(partitions), len(takers)), strict=False):
            mine += partitions[cut]
    return dict(zip(map(_id, ordered), lists, strict=True))


@lru_cache(maxsize=1024)
def _ranges(count: int, members: int) -> list[slice]:
    """Each member's range of ``count`` partitions; members whose range is empty are omitted."""
    share, extra = divmod(count, members)
    ends = [rank * share + min(rank, extra) for rank in range(min(members, count) + 1)]
    return [slice(*ends_of_one) for ends_of_one in pairwise(ends)]


def topic_order(
    topics: Topics, members: Sequence[Member], hashed: bool, *, others: bool = True
) -> list[str]:
    """Topics in the order in which Kafka's maps iterate: a set of all subscribed topics, then the
    topics with metadata.

    ``topics`` are the topics with metadata; ``others`` means that members may subscribe to topics
    without metadata.  Topics in one bucket keep the order in which the subscriptions list them.
    """
    if topics.hash_order is not None:
        return topics.hash_order
    if same_topics(members):
        members = members[:1]
    names: dict[str, None] = {}
    for member in in_hash_order(members) if hashed else members:
        names.update(dict.fromkeys(member.topics))
        if not others and len(names) == len(topics.names):
            return hash_order(names)
    subscribed = hash_order(names)
    with_metadata = [topic for topic in subscribed if topic in topics.partitions]
    if table_capacity(len(with_metadata)) == table_capacity(len(subscribed)):
        return with_metadata
    return hash_order(with_metadata)
