"""RangeAssignor: per topic, consecutive partitions to members in order; rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import itemgetter

from coordinator_core.assignors import _large, _range_racks
from coordinator_core.assignors._java_order import (
    hash_order,
    table_capacity,
)
from coordinator_core.assignors.members import (
    in_hash_order,
    in_one_step,
    same_topics,
    static_first,
    subscribers,
)
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

_topics = itemgetter(Member._fields.index("topics"))


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RangeAssignor; static members first (KIP-345), racks (KIP-881)."""
    if topics.racks and any(member.rack for member in members):
        racked = _range_racks.assign(topics, members)
        if racked is not None:
            return racked
    return shares(
        topics, static_first(members), partial(topic_order, members=members, hashed=hashed)
    )


def shares(topics: Topics, ordered: Sequence[Member], topic_order: _large.TopicOrder) -> Assignment:
    """``topic_order``: the topics as the lists have them, given those that are subscribed."""
    if not same_topics(ordered):
        if _large.is_large(topics, ordered):
            return _large.range_(topics, ordered, topic_order).names()
        return _topic_by_topic(topics, ordered, topic_order)
    topics = topics.only(ordered[0].topics if ordered else ())
    if topics.sizes.count(topics.sizes[0] if topics.sizes else 0) < len(topics.sizes):
        if _large.is_large(topics, ordered):
            return _large.range_(topics, ordered, topic_order).names()
        return _topic_by_topic(topics, ordered, topic_order)
    lists = _of_one_size(topics, len(ordered), topic_order(topics))
    return {m.member_id: given for m, given in zip(ordered, lists, strict=True)}


def _of_one_size(
    topics: Topics, members: int, in_order: Sequence[str]
) -> list[list[TopicPartition]]:
    """Everybody's list where all have the same topics, all of one size and so shared alike.

    The n-th partition of every topic is then a walk through the table in equal steps.
    """
    if not in_order:
        return [[] for _ in range(members)]
    size = topics.sizes[0]
    rows = [topics.table[partition::size] for partition in range(size)]
    if topics.names != in_order:
        index = {topic: i for i, topic in enumerate(topics.names)}
        order = [index[topic] for topic in in_order]
        rows = [[*in_one_step(row, order)] for row in rows]
    lists = [_by_topic(rows[begin:end]) for _, begin, end in _shares(size, members)]
    return lists + [[] for _ in range(members - len(lists))]


def _by_topic(rows: Sequence[list[TopicPartition]]) -> list[TopicPartition]:
    return rows[0] if len(rows) == 1 else [*chain.from_iterable(zip(*rows, strict=True))]


def _topic_by_topic(
    topics: Topics, ordered: Sequence[Member], topic_order: _large.TopicOrder
) -> Assignment:
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    table, start_of = topics.table, topics.start
    ranks_of = dict(zip(topics.names, subscribers(topics, ordered), strict=True))
    for topic in topic_order(topics.only([topic for topic in ranks_of if ranks_of[topic]])):
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
