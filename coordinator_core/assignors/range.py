"""RangeAssignor: per topic, consecutive partitions to members in order; rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from coordinator_core.assignors import _large, _range_racks
from coordinator_core.assignors._java_order import hash_order, table_capacity
from coordinator_core.assignors.members import (
    in_hash_order,
    same_topics,
    static_first,
    subscribers,
)
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RangeAssignor; static members first (KIP-345), racks (KIP-881)."""
    if topics.racks and any(member.rack for member in members):
        racked = _range_racks.assign(topics, members)
        if racked is not None:
            return racked
    if hashed:
        members = in_hash_order(members)
    ordered = static_first(members)
    if len(members) >= _large.LARGE_GROUP:
        return _large.range_(topics, ordered, topic_order(topics, members)).names()
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    ranks_of = dict(zip(topics.names, subscribers(topics, ordered), strict=True))
    for topic in topic_order(topics, members):
        ranks, count, start = ranks_of[topic], topics.partitions[topic], topics.start[topic]
        share, extra = divmod(count, len(ranks))
        for i, rank in enumerate(ranks if share else ranks[:extra]):
            end = start + share + (i < extra)
            lists[rank] += topics.table[start:end]
            start = end
    return {m.member_id: given for m, given in zip(ordered, lists, strict=True)}


def topic_order(topics: Topics, members: Sequence[Member]) -> list[str]:
    """Topics as Kafka's maps iterate: all subscribed ones in a set, then those with metadata.

    ``members`` in the order of the subscriptions map.
    """
    if same_topics(members):
        named: Sequence[str] = members[0].topics if members else ()
    else:
        named = list(dict.fromkeys(chain.from_iterable(m.topics for m in members)))
    subscribed = hash_order(named)
    known = [topic for topic in subscribed if topic in topics.partitions]
    if table_capacity(len(known)) == table_capacity(len(subscribed)):
        return known
    return hash_order(known)
