"""Sticky for a small group with different subscriptions and ordinary claims, in few steps.

Ordinary: on partitions of subscribed topics, none claimed twice, no claimant's generation behind
the newest; and no partition that moves in another's place. ``_unequal`` knows every case and is
the reference: the answers are equal, list order included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace
from operator import itemgetter

from coordinator_core.assignors.members import by_topic, in_one_step_each, some_generation_is_older
from coordinator_core.assignors.model import Assignment, Member, Topics

Candidates = Sequence[tuple[int, Sequence[int]]]

_id = itemgetter(Member._fields.index("member_id"))
_topics = itemgetter(Member._fields.index("topics"))


def assign(topics: Topics, ordered: Sequence[Member], cooperative: bool) -> Assignment | None:
    """None if some claim or move is not ordinary. ``ordered`` by id."""
    if some_generation_is_older(ordered):
        return None
    ranks, others = by_topic(topics, ordered, range(len(ordered)))
    if others or not all(map(_topics, ordered)):
        return None
    if not all(ranks.values()):
        ranks = {topic: its_ranks for topic, its_ranks in ranks.items() if its_ranks}
        topics = topics.only(ranks)
    lists = _claims(topics, ordered)
    if lists is None:
        return None
    group = _Group(topics, list(ranks.values()), lists)
    if not (group.fill() and group.balance()):
        return None
    group.hand_over(cooperative)
    return dict(zip(map(_id, ordered), in_one_step_each(topics.table, lists), strict=True))


def _claims(topics: Topics, ordered: Iterable[Member]) -> list[list[int]] | None:
    """Everybody's codes as claimed; None if one is not ordinary."""
    lists, code_of = [], topics.code_of
    for member in ordered:
        mine: list[int] = []
        subscribed = member.topics
        try:
            for topic, partitions in member.owned:
                if topic not in subscribed:
                    return None
                codes = code_of[topic]
                for partition in partitions:
                    mine.append(codes[partition])
        except KeyError:
            return None
        lists.append(mine)
    return lists


class _Group:
    """``lists`` filled and balanced in place.

    Codes that change hands after the filling are kept with their first owner, in the order of
    their last move, and of each topic the members that gave some of it away.
    """

    def __init__(self, topics: Topics, ranks: list[list[int]], lists: list[list[int]]) -> None:
        self._topics, self._ranks, self._lists = topics, ranks, lists
        order = sorted(range(len(ranks)), key=list(map(len, ranks)).__getitem__)
        ranges = topics.code_ranges
        self._all: Candidates = [(topic, ranges[topic]) for topic in order]
        self._free = self._all
        self._moved: dict[int, int] = {}
        self._gave: list[set[int]] = []
        self._ordinary = True

    def fill(self) -> bool:
        """Every free code to the least loaded; False if some code was claimed twice.

        A member's key is its load above its rank, so that the least key is the one to take.
        """
        lists, ranks = self._lists, self._ranks
        if any(lists) and not self._find_free():
            return False
        one_more = 1 << len(lists).bit_length()
        of_key = one_more - 1
        for topic, codes in self._free:
            heap = [len(lists[rank]) * one_more + rank for rank in ranks[topic]]
            heapify(heap)
            for code in codes:
                key = heap[0]
                lists[key & of_key].append(code)
                heapreplace(heap, key + one_more)
        return True

    def _find_free(self) -> bool:
        """False if some code is claimed twice."""
        free = self._topics.all_codes.difference(*self._lists)
        if len(free) + sum(map(len, self._lists)) > self._topics.total:
            return False
        self._free = []
        if free:
            codes_of: dict[int, list[int]] = {}
            topic_of = self._topics.topic_of
            for code in sorted(free):
                codes_of.setdefault(topic_of[code], []).append(code)
            self._free = [(topic, codes_of[topic]) for topic, _ in self._all if topic in codes_of]
        return True

    def balance(self) -> bool:
        """Passes over what was filled, then over everything; False if a move is not ordinary."""
        self._load = load = list(map(len, self._lists))
        if max(load) - min(load) <= 1:
            return True
        self._gave = [set() for _ in self._ranks]
        self._owner = owner = [0] * self._topics.total
        for rank, codes in enumerate(self._lists):
            for code in codes:
                owner[code] = rank
        if self._free is not self._all:
            while self._pass(self._free):
                pass
        while self._pass(self._all):
            pass
        return self._ordinary

    def _pass(self, candidates: Candidates) -> bool:
        changed = False
        load, all_ranks = self._load, self._ranks
        for topic, codes in candidates:
            ranks = all_ranks[topic]
            loads = [load[rank] for rank in ranks]
            if max(loads) - min(loads) > 1 and self._move_each(topic, codes):
                changed = True
                if max(load) - min(load) <= 1:
                    return False
        return changed and self._ordinary

    def _move_each(self, topic: int, codes: Iterable[int]) -> bool:
        """Each of ``codes`` whose owner has two more than somebody, to the least loaded."""
        changed = False
        load, owner, moved = self._load, self._owner, self._moved
        ranks, gave = self._ranks[topic], self._gave[topic]
        loads_of = itemgetter(*ranks)
        loads = loads_of(load)
        least = min(loads)
        for code in codes:
            old = owner[code]
            if load[old] > least + 1:
                to = ranks[loads.index(least)]
                first = moved.pop(code, old)
                if to in gave and self._one_went(topic, to, first):
                    self._ordinary = False
                    return False
                gave.add(first)
                moved[code] = first
                owner[code] = to
                load[old] -= 1
                load[to] += 1
                loads = loads_of(load)
                least = min(loads)
                changed = True
        return changed

    def _one_went(self, topic: int, first: int, owner: int) -> bool:
        """Whether some code moved that way; Kafka rather moves it back than another on."""
        codes = self._topics.code_ranges[topic]
        return any(
            code in codes and self._owner[code] == owner
            for code, was in self._moved.items()
            if was == first
        )

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
