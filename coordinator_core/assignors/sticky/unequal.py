"""Sticky with different subscriptions: keep claims, fill the least loaded, then balance.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace

from coordinator_core.assignors.members import in_one_step, subscribers
from coordinator_core.assignors.model import NO_GENERATION, Member, TopicPartition, Topics
from coordinator_core.assignors.racks import Racks
from coordinator_core.assignors.sticky.balancing import Balancing
from coordinator_core.assignors.sticky.claims import Claims

FreeCodes = list[tuple[int, Sequence[int]]]


class UnequalGroup:
    """Computes one assignment: ``lists`` has each rank's codes in Kafka's order.

    ``second_copies`` are pairs (code, rank) of partitions that are in another member's list too.
    ``table`` has a pair (topic, partition) per code in the lists.
    """

    def __init__(
        self, topics: Topics, ordered: Sequence[Member], claims: Claims, racks: Racks
    ) -> None:
        self._topics, self._members, self._racks = topics, ordered, racks
        self.table: Sequence[TopicPartition] = claims.table()
        self.second_copies: set[tuple[int, int]] = set()
        self._topic_of = topics.topic_of
        self._subscribers = subscribers(topics, ordered)
        counts = list(map(len, self._subscribers))
        self._order = sorted(range(len(counts)), key=counts.__getitem__)
        self.lists = [codes.copy() for codes in claims.lists]
        self._unclaimed = claims.unclaimed
        gave_up = self._give_up(claims)
        if claims.beyond:
            self._recode_doubles(claims)
        if gave_up or claims.twice or self.second_copies:
            self._unclaimed = topics.all_codes.difference(*self.lists)
        was_empty = not any(self.lists)
        free = self._fill()
        loads = list(map(len, self.lists))
        if max(loads) - min(loads) > 1:
            balancing = Balancing(topics, ordered, self._subscribers, self._topic_of, self.lists)
            balancing.older_owner = _older_owners(ordered, claims)
            balancing.astray = bool(self.second_copies)
            new_first = [] if gave_up or was_empty else self._shared(free)
            balancing.run(new_first, self._order, undo=not was_empty)

    def _give_up(self, claims: Claims) -> bool:
        """Drops claims on unsubscribed topics or outside the rack; returns whether any claim was
        dropped.
        """
        lost = set(claims.strays)
        if self._racks.used:
            lost.update(
                (code, rank)
                for rank, codes in enumerate(self.lists)
                for code in codes
                if self._racks.mismatch(self._members[rank].member_id, self.table[code])
            )
        if not lost:
            return False
        before = sum(map(len, self.lists))
        self.lists = [
            [code for code in codes if (code, rank) not in lost]
            for rank, codes in enumerate(self.lists)
        ]
        return sum(map(len, self.lists)) < before

    def _recode_doubles(self, claims: Claims) -> None:
        """Recodes kept partitions that Kafka assigns again because of a nonexistent partition.

        Kafka merges the sorted kept and existing partitions.  A kept partition that does not exist
        stops the merge, so that every later partition counts as free while its owner keeps it, too.
        Such a second copy gets its own code, after all other codes.
        """
        index = {topic: i for i, topic in enumerate(self._topics.names)}
        self._topic_of = self._topic_of + [index[topic] for topic, _ in claims.beyond]
        place = {topic: i for i, topic in enumerate(self._order)}

        def key(code: int) -> tuple[int, int]:
            return place[self._topic_of[code]], self.table[code][1]

        total = self._topics.total
        owner = {code: rank for rank, codes in enumerate(self.lists) for code in codes}
        missing = [key(code) for code in owner if code >= total]
        if not missing:
            return
        blocked, first = min(missing), len(self.table)
        doubles = [code for code in owner if code < total and key(code) > blocked]
        double_of = {code: first + i for i, code in enumerate(doubles)}
        self.table = [*self.table, *(self.table[code] for code in doubles)]
        self._topic_of = self._topic_of + [self._topic_of[code] for code in doubles]
        self.second_copies = {(code, owner[code]) for code in doubles}
        self.lists = [[double_of.get(code, code) for code in codes] for codes in self.lists]

    def _shared(self, free: FreeCodes) -> FreeCodes:
        return [(topic, codes) for topic, codes in free if len(self._subscribers[topic]) > 1]

    def _fill(self) -> FreeCodes:
        """Assigns every free partition; returns them by topic, in the order assigned."""
        free = self._free()
        remaining: list[int] = []
        in_racks: set[int] = set()
        if self._racks.used:
            in_racks.update(*(self._fill_in_racks(topic, codes) for topic, codes in free))
        takers = _LeastLoaded(list(map(len, self.lists)))
        for topic, codes in free:
            if in_racks:
                codes = [code for code in codes if code not in in_racks]
            takers.take(len(codes), self._subscribers[topic])
            remaining += codes
        for code, rank in zip(remaining, takers.ranks(), strict=True):
            self.lists[rank].append(code)
        return free

    def _free(self) -> FreeCodes:
        """Codes that no member holds: topics with fewest subscribers first, then by name."""
        free: FreeCodes = list(enumerate(self._topics.code_ranges))
        if len(self._unclaimed) < self._topics.total:
            by_topic: dict[int, list[int]] = {}
            for code in sorted(self._unclaimed):
                by_topic.setdefault(self._topic_of[code], []).append(code)
            free = [(topic, by_topic.get(topic, ())) for topic in range(len(free))]
        return [free[topic] for topic in self._order if free[topic][1] and self._subscribers[topic]]

    def _fill_in_racks(self, topic: int, codes: Iterable[int]) -> list[int]:
        """Assigns to members in the partition's racks or without a rack; returns the assigned
        codes.
        """
        assigned = []
        for code in codes:
            candidates = [
                self.lists[rank]
                for rank in self._subscribers[topic]
                if not self._racks.mismatch(self._members[rank].member_id, self.table[code])
            ]
            if candidates:
                min(candidates, key=len).append(code)
                assigned.append(code)
        return assigned


class _LeastLoaded:
    """Takers of one partition after another: the least loaded member, or the lowest rank among
    equals.

    A member's key is ``load << rank_bits | rank``, so that the lowest key is the next taker.
    """

    def __init__(self, loads: Sequence[int]) -> None:
        self._rank_bits = len(loads).bit_length()
        self._one_more = 1 << self._rank_bits
        self._keys = [load << self._rank_bits | rank for rank, load in enumerate(loads)]
        self._taken: list[int] = []

    def take(self, count: int, ranks: Sequence[int]) -> None:
        """Determines the takers of ``count`` further partitions among ``ranks``."""
        keys, one_more = self._keys, self._one_more
        heap = [*in_one_step(keys, ranks)]
        heapify(heap)
        self._taken += [heapreplace(heap, heap[0] + one_more) for _ in range(count)]
        of_key = one_more - 1
        for key in heap:
            keys[key & of_key] = key

    def ranks(self) -> list[int]:
        """All takers, in order."""
        of_key = self._one_more - 1
        return [key & of_key for key in self._taken]


def _older_owners(ordered: Sequence[Member], claims: Claims) -> dict[int, int]:
    """The newest claimant per code that was claimed in a generation before the newest."""
    newest = max(NO_GENERATION, *(member.generation for member in ordered))
    older: dict[int, int] = {}
    for rank, codes in claims.read:
        generation = ordered[rank].generation
        if generation < newest:
            for code in codes:
                if code not in older or generation > ordered[older[code]].generation:
                    older[code] = rank
    return older
