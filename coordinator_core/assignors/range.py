"""RangeAssignor: per topic, consecutive partitions to members in order; rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from coordinator_core.assignors import _large, _range_racks
from coordinator_core.assignors._java_order import hash_order, table_capacity
from coordinator_core.assignors.members import (
    in_hash_order,
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
    ordered = static_first(members)
    in_order = topic_order(topics, members, hashed)
    if _large.is_large(topics, members):
        return _large.range_(topics, ordered, in_order).names()
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    table, start_of = topics.table, topics.start
    ranks_of = dict(zip(topics.names, subscribers(topics, ordered), strict=True))
    for topic in in_order:
        ranks, start = ranks_of[topic], start_of[topic]
        for place, begin, end in _shares(topics.partitions[topic], len(ranks)):
            lists[ranks[place]] += table[start + begin : start + end]
    return {m.member_id: given for m, given in zip(ordered, lists, strict=True)}


@lru_cache(maxsize=1024)
def _shares(count: int, takers: int) -> list[tuple[int, int, int]]:
    """(place, begin, end) of everybody who gets some of ``count`` partitions."""
    share, extra = divmod(count, takers)
    return [
        (place, place * share + min(place, extra), (place + 1) * share + min(place + 1, extra))
        for place in range(takers if share else extra)
    ]


def topic_order(topics: Topics, members: Sequence[Member], hashed: bool) -> list[str]:
    """Topics as Kafka's maps iterate: all subscribed ones in a set, then those with metadata.

    Topics of one bucket keep the order of the first member, in the subscriptions map, that
    names them.
    """
    named: Sequence[str] = members[0].topics if members else ()
    if not all(member.topics == named for member in members):
        mapped = in_hash_order(members) if hashed else members
        named = list(dict.fromkeys(chain.from_iterable(member.topics for member in mapped)))
    subscribed = hash_order(named)
    known = [topic for topic in subscribed if topic in topics.partitions]
    if table_capacity(len(known)) == table_capacity(len(subscribed)):
        return known
    return hash_order(known)
