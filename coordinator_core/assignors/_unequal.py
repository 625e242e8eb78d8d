"""Sticky for members with different subscriptions: keep claims, then fill the least loaded.

Partitions are codes, members ranks by member id (see ``_claims``); ``_balancing`` does the rest.
Source: AbstractStickyAssignor.GeneralAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coordinator_core.assignors._balancing import Balancing
from coordinator_core.assignors._claims import Claims
from coordinator_core.assignors._racks import Racks
from coordinator_core.assignors.members import subscribers
from coordinator_core.assignors.model import NO_GENERATION, Member, TopicPartition, Topics

FreeCodes = list[tuple[int, Sequence[int]]]


class UnequalGroup:
    """One assignment in the making; ``lists`` is each rank's codes in Kafka's order.

    ``second_copies`` are pairs (code, rank) of partitions that are in a second member's list
    too; ``table`` has the (topic, partition) of every code in the lists.
    """

    def __init__(
        self, topics: Topics, ordered: Sequence[Member], claims: Claims, racks: Racks
    ) -> None:
        self._topics, self._members, self._racks = topics, ordered, racks
        self.table: Sequence[TopicPartition] = claims.table()
        self.second_copies: set[tuple[int, int]] = set()
        self._topic_of = topics.topic_of
        self._subscribers = subscribers(topics, ordered)
        self._order = sorted(range(len(topics.names)), key=lambda t: len(self._subscribers[t]))
        self.lists = [codes.copy() for codes in claims.lists]
        self._held = claims.claimed
        gave_up = self._give_up(claims)
        if claims.beyond:
            self._set_doubles_aside(claims)
        if gave_up or claims.twice or self.second_copies:
            self._held = set().union(*self.lists)
        self._load = list(map(len, self.lists))
        was_empty = not self._held
        free = self._fill()
        if max(self._load) - min(self._load) > 1:
            balancing = Balancing(
                topics, ordered, self._subscribers, self._topic_of, self.lists, self._load
            )
            balancing.older_owner = _older_owners(ordered, claims)
            balancing.astray = bool(self.second_copies)
            new_first = [] if gave_up or was_empty else self._shared(free)
            balancing.run(new_first, self._order, undo=not was_empty)
            self.lists = balancing.lists()

    def owner(self) -> dict[int, int]:
        """Rank by code."""
        return {code: rank for rank, codes in enumerate(self.lists) for code in codes}

    def _give_up(self, claims: Claims) -> bool:
        """Claims on topics no longer subscribed, or outside the member's rack."""
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

    def _set_doubles_aside(self, claims: Claims) -> None:
        """What Kafka hands out a second time when a kept partition does not exist.

        It walks kept and existing partitions side by side, and a kept one that does not exist
        blocks that walk: every later partition counts as free, and its holder keeps it too.
        Such a second copy gets a code of its own behind all others.
        """
        index = {topic: i for i, topic in enumerate(self._topics.names)}
        self._topic_of = self._topic_of + [index[topic] for topic, _ in claims.beyond]
        place = {topic: i for i, topic in enumerate(self._order)}

        def key(code: int) -> tuple[int, int]:
            return place[self._topic_of[code]], self.table[code][1]

        total, owner = self._topics.total, self.owner()
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
        """Hands out every free partition; returns them by topic, as they went."""
        free = self._free()
        given: set[int] = set()
        if self._racks.used:
            given.update(*(self._fill_in_racks(topic, codes) for topic, codes in free))
        lists = self.lists
        for topic, codes in free:
            todo = [code for code in codes if code not in given] if given else codes
            for code, rank in zip(todo, self._least_loaded(topic, len(todo)), strict=True):
                lists[rank].append(code)
        return free

    def _free(self) -> FreeCodes:
        """Codes nobody holds: topics with fewest subscribers first, then by name."""
        held, start_of = self._held, self._topics.start
        free: FreeCodes = []
        for topic in self._order:
            start = start_of[self._topics.names[topic]]
            codes: Sequence[int] = range(start, start + self._topics.sizes[topic])
            if held:
                codes = [code for code in codes if code not in held]
            if codes and self._subscribers[topic]:
                free.append((topic, codes))
        return free

    def _fill_in_racks(self, topic: int, codes: Iterable[int]) -> list[int]:
        """Only to members in one of the partition's racks, or without a rack; returns these."""
        given = []
        for code in codes:
            at_home = [
                rank
                for rank in self._subscribers[topic]
                if not self._racks.mismatch(self._members[rank].member_id, self.table[code])
            ]
            if at_home:
                rank = min(at_home, key=self._load.__getitem__)
                self.lists[rank].append(code)
                self._load[rank] += 1
                given.append(code)
        return given

    def _least_loaded(self, topic: int, count: int) -> list[int]:
        """Ranks for the topic's next ``count`` partitions: each time least loaded, then first id.

        That fills level by level: on each level everybody not above it takes one, in id order.
        """
        ranks, load = self._subscribers[topic], self._load
        if count == 1:
            takers = [min(ranks, key=load.__getitem__)]
            load[takers[0]] += 1
            return takers
        level = min(map(load.__getitem__, ranks))
        takers = []
        while len(takers) < count:
            turn = [rank for rank in ranks if load[rank] <= level]
            if len(turn) == len(ranks):
                turn *= (count - len(takers)) // len(turn) + 1
            takers += turn
            level += 1
        del takers[count:]
        for rank in takers:
            load[rank] += 1
        return takers


def _older_owners(ordered: Sequence[Member], claims: Claims) -> dict[int, int]:
    """Of each code claimed by members behind the newest generation, the newest such claimant."""
    newest = max(NO_GENERATION, *(member.generation for member in ordered))
    older: dict[int, int] = {}
    for rank, codes in claims.read:
        generation = ordered[rank].generation
        if generation < newest:
            for code in codes:
                if code not in older or generation > ordered[older[code]].generation:
                    older[code] = rank
    return older
