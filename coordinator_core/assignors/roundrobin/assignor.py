"""RoundRobinAssignor: all partitions in turn to the sorted members, skipping who is not subscribed.

Within a topic that is a walk round the topic's own subscribers, so only a topic's first
partition has to look for its member.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from coordinator_core.assignors.members import same_topics, static_first, subscribers
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.sticky import large as _large


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: RoundRobinAssignor and its CircularIterator; static members first (KIP-345)."""
    ordered = static_first(members)
    if same_topics(members):
        topics = topics.only(members[0].topics) if members else topics
        table = topics.table
        return {m.member_id: table[rank :: len(ordered)] for rank, m in enumerate(ordered)}
    if _large.is_large(topics, ordered):
        return _large.round_robin(topics, ordered).names()
    return _walk(topics, ordered)


def _walk(topics: Topics, ordered: Sequence[Member]) -> Assignment:
    lists: list[list[tuple[str, int]]] = [[] for _ in ordered]
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
    return {m.member_id: given for m, given in zip(ordered, lists, strict=True)}
