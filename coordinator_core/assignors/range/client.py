"""RangeAssignor: per topic, consecutive partitions to members in order; rack-aware since 3.5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise
from operator import itemgetter
from typing import Protocol

from coordinator_core.assignors.members import (
    by_topic,
    in_hash_order,
    in_one_step,
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
    lists: list[list[TopicPartition]]
    if same_topics(ordered):
        topics = topics.only(ordered[0].topics if ordered else ())
        if topics.sizes.count(topics.sizes[0] if topics.sizes else 0) == len(topics.sizes):
            lists = _of_one_size(topics, len(ordered), topic_order(topics))
        else:
            lists = [[] for _ in ordered]
            _topic_by_topic(topics, dict.fromkeys(topics.names, lists), topic_order(topics))
    else:
        lists = [[] for _ in ordered]
        takers, others = by_topic(topics, ordered, lists)
        wanted = topics
        if not all(takers.values()):
            wanted = topics.only([topic for topic in takers if takers[topic]])
        _topic_by_topic(topics, takers, topic_order(wanted, others=others))
    return dict(zip(map(_id, ordered), lists, strict=True))


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
    lists = [_by_topic(rows[cut]) for cut in _cuts(size, min(size, members))]
    return lists + [[] for _ in range(members - len(lists))]


def _by_topic(rows: Sequence[list[TopicPartition]]) -> list[TopicPartition]:
    return rows[0] if len(rows) == 1 else [*chain.from_iterable(zip(*rows, strict=True))]


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
