"""Sticky for a small group with different subscriptions and ordinary claims, in few steps.

Ordinary: on partitions of subscribed topics, none claimed twice, no claimant's generation behind
the newest; and no partition that moves in another's place. ``_unequal`` knows every case and is
the reference: the answers are equal, list order included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace
from operator import itemgetter

from coordinator_core.assignors.members import in_one_step_each, some_generation_is_older
from coordinator_core.assignors.model import Assignment, Member, Topics

Candidates = Iterable[tuple[int, Sequence[int]]]

_id = itemgetter(Member._fields.index("member_id"))
_topics = itemgetter(Member._fields.index("topics"))


def assign(topics: Topics, ordered: Sequence[Member], cooperative: bool) -> Assignment | None:
    """None if some claim or move is not ordinary. ``ordered`` by id."""
    if some_generation_is_older(ordered):
        return None
    try:
        ranks = _subscribers(topics, ordered)
        lists = _claims(topics, ordered)
    except KeyError:
        return None
    if lists is None or not all(map(_topics, ordered)):
        return None
    group = _Group(topics, ranks, lists)
    if not (group.fill() and group.balance()):
        return None
    group.hand_over(cooperative)
    return dict(zip(map(_id, ordered), in_one_step_each(topics.table, lists), strict=True))


def _subscribers(topics: Topics, ordered: Iterable[Member]) -> list[list[int]]:
    """Ranks by topic, ascending; KeyError if somebody names a topic without partitions."""
    ranks: dict[str, list[int]] = {topic: [] for topic in topics.names}
    for rank, member in enumerate(ordered):
        for topic in member.topics:
            ranks[topic].append(rank)
    return list(ranks.values())


def _claims(topics: Topics, ordered: Iterable[Member]) -> list[list[int]] | None:
    """Everybody's codes as claimed; None or KeyError if one is not ordinary."""
    lists, code_of = [], topics.code_of
    for member in ordered:
        mine: list[int] = []
        subscribed = member.topics
        for topic, partitions in member.owned:
            if topic not in subscribed:
                return None
            codes = code_of[topic]
            for partition in partitions:
                mine.append(codes[partition])
        lists.append(mine)
    return lists


class _Group:
    """``lists`` filled and balanced in place.

    Codes that change hands after the filling are kept with their first owner, in the order of
    their last move, and a move as the way (topic, first owner, owner) it took.
    """

    def __init__(self, topics: Topics, ranks: list[list[int]], lists: list[list[int]]) -> None:
        self._topics, self._ranks, self._lists = topics, ranks, lists
        counts = list(map(len, ranks))
        in_order = sorted(range(len(ranks)), key=counts.__getitem__)
        self._order = [topic for topic in in_order if counts[topic]]
        self._claimed = sum(map(len, lists))
        self._free: Candidates = ()
        self._moved: dict[int, int] = {}
        self._ways: set[tuple[int, int, int]] = set()
        self._ordinary = True

    def fill(self) -> bool:
        """Every free code to the least loaded; False if some code was claimed twice.

        A member's key is its load above its rank, so that the least key is the one to take.
        """
        self._free = self._free_by_topic()
        lists, filled = self._lists, 0
        one_more = 1 << len(lists).bit_length()
        of_key = one_more - 1
        keys = [len(codes) * one_more + rank for rank, codes in enumerate(lists)]
        for topic, codes in self._free:
            filled += len(codes)
            heap = [keys[rank] for rank in self._ranks[topic]]
            heapify(heap)
            for code in codes:
                key = heap[0]
                lists[key & of_key].append(code)
                heapreplace(heap, key + one_more)
            for key in heap:
                keys[key & of_key] = key
        return filled + self._claimed == sum([self._topics.sizes[topic] for topic in self._order])

    def _free_by_topic(self) -> Candidates:
        ranges = self._topics.code_ranges
        if not self._claimed:
            return [(topic, ranges[topic]) for topic in self._order]
        by_topic: dict[int, list[int]] = {}
        topic_of = self._topics.topic_of
        for code in sorted(self._topics.all_codes.difference(*self._lists)):
            by_topic.setdefault(topic_of[code], []).append(code)
        return [(topic, by_topic[topic]) for topic in self._order if topic in by_topic]

    def balance(self) -> bool:
        """Passes over what was filled, then over everything; False if a move is not ordinary."""
        self._load = load = list(map(len, self._lists))
        if max(load) - min(load) <= 1:
            return True
        self._owner = [0] * self._topics.total
        for rank, codes in enumerate(self._lists):
            for code in codes:
                self._owner[code] = rank
        # The first rank twice, so that of a single one it is a tuple too.
        self._of_ranks = {t: itemgetter(*self._ranks[t], self._ranks[t][0]) for t in self._order}
        everything = [(topic, self._topics.code_ranges[topic]) for topic in self._order]
        for candidates in (self._free, everything) if self._claimed else (everything,):
            while self._pass(candidates):
                pass
        return self._ordinary

    def _pass(self, candidates: Candidates) -> bool:
        changed = False
        load = self._load
        for topic, codes in candidates:
            loads = self._of_ranks[topic](load)
            if max(loads) - min(loads) > 1 and self._move_each(topic, codes):
                changed = True
                if max(load) - min(load) <= 1:
                    return False
        return changed and self._ordinary

    def _move_each(self, topic: int, codes: Iterable[int]) -> bool:
        """Each of ``codes`` whose owner has two more than somebody, to the least loaded."""
        changed = False
        load, owner, ways = self._load, self._owner, self._ways
        ranks, of_ranks = self._ranks[topic], self._of_ranks[topic]
        loads = of_ranks(load)
        least = min(loads)
        for code in codes:
            old = owner[code]
            if load[old] > least + 1:
                to = ranks[loads.index(least)]
                first = self._moved.pop(code, old)
                if (topic, to, first) in ways:
                    self._ordinary = False
                    return False
                ways.add((topic, first, to))
                self._moved[code] = first
                owner[code] = to
                load[old] -= 1
                load[to] += 1
                loads = of_ranks(load)
                least = min(loads)
                changed = True
        return changed

    def hand_over(self, cooperative: bool) -> None:
        """Brings the moves into the lists; ``cooperative`` withholds what a claimant loses."""
        if not self._moved:
            return
        filled = {code for _, codes in self._free for code in codes} if cooperative else ()
        for code, first in self._moved.items():
            owner = self._owner[code]
            self._lists[first].remove(code)
            if not cooperative or owner == first or code in filled:
                self._lists[owner].append(code)
