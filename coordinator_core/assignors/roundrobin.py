"""RoundRobinAssignor: all partitions in turn to the sorted members, skipping non-subscribers.

Kafka lists all subscribed partitions by topic name and number, and the members by instance id or
member id.  A pointer moves over the members in a circle: each partition goes to the next member
that subscribes to its topic, and the pointer stops behind this member.  With equal subscriptions
the loads differ by at most one.  With different subscriptions the loads can differ by much, which
is why the sticky assignor exists.

With equal subscriptions, member r of n gets every n-th partition, starting with partition r.  With
different subscriptions the pointer visits the topic's own subscribers in a circle, so only the
first taker of each topic has to be searched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from coordinator_core.assignors.members import same_topics, static_first, subscribers
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RoundRobinAssignor and its CircularIterator; static members first (KIP-345)."""
    ordered = static_first(members)
    if members and same_topics(members):
        table = topics.only(members[0].topics).table
        return {m.member_id: table[rank :: len(ordered)] for rank, m in enumerate(ordered)}
    lists: list[list[TopicPartition]] = [[] for _ in ordered]
    table, pointer = topics.table, 0
    for topic, ranks in zip(topics.names, subscribers(topics, ordered), strict=True):
        if not ranks:
            continue
        start, count = topics.start[topic], topics.partitions[topic]
        turn = bisect_left(ranks, pointer) % len(ranks)
        in_turn = ranks[turn:] + ranks[:turn]
        for first, rank in enumerate(in_turn[:count], start):
            lists[rank] += table[first : start + count : len(ranks)]
        pointer = in_turn[(count - 1) % len(ranks)] + 1
        if pointer == len(ordered):
            pointer = 0
    return {m.member_id: mine for m, mine in zip(ordered, lists, strict=True)}
