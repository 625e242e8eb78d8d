"""Sticky for members that all subscribe to the same topics: quotas, kept claims, then turns.

Partitions are codes, members ranks by member id (see ``_claims``).
Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coordinator_core.assignors._claims import Claims
from coordinator_core.assignors._racks import Racks
from coordinator_core.assignors.model import IllegalState, Topics


class EqualGroup:
    """One assignment in the making; ``lists`` is each rank's codes in Kafka's order.

    ``changing_hands`` are the codes whose old owner, still a member, has to let go first.
    """

    def __init__(
        self,
        topics: Topics,
        ids: Sequence[str],
        map_order: Iterable[int],
        claims: Claims,
        racks: Racks,
    ) -> None:
        self._topics, self._ids, self._claims, self._racks = topics, ids, claims, racks
        self._low, self._extra = divmod(topics.total, len(ids))
        self._high = self._low + (self._extra > 0)
        self._table = claims.table()
        self._at_high = 0
        self._under: list[int] = []
        self._at_low: list[int] = []
        self._given_up: dict[int, int] = {}
        self.changing_hands: set[int] = set()
        self.lists = claims.held(len(ids))
        if claims.twice:  # a third, newer claim does not save the partition here
            self.lists = [[c for c in codes if c not in claims.twice] for codes in self.lists]
        self._keep(map_order)
        free = self._free()
        self._under.sort()
        self._at_low.sort()
        if racks.used:
            free = self._fill_in_racks(free)
        self._fill_in_turns(free)

    def _keep(self, map_order: Iterable[int]) -> None:
        """Claims up to the quota; the first ``extra`` members in map order may keep one more."""
        for rank in map_order:
            self._drop_outside_rack(rank)
            mine = self.lists[rank]
            mine.sort(key=self._partition_first)
            if len(mine) < self._low:
                self._under.append(rank)
                continue
            quota = self._low
            if len(mine) >= self._high and self._at_high < self._extra:
                quota = self._high
                self._at_high += 1
                if self._at_high == self._extra:
                    self._at_low.clear()
            elif self._at_high < self._extra:
                self._at_low.append(rank)
            self._given_up.update(dict.fromkeys(mine[quota:], rank))
            del mine[quota:]

    def _drop_outside_rack(self, rank: int) -> None:
        if not self._racks.used:
            return
        member_id, mine = self._ids[rank], self.lists[rank]
        outside = [c for c in mine if self._racks.mismatch(member_id, self._table[c])]
        self._given_up.update(dict.fromkeys(outside, rank))
        self.lists[rank] = [c for c in mine if c not in set(outside)]

    def _partition_first(self, code: int) -> int:
        if code < self._topics.total:
            return self._topics.partition_major[code]
        topic, partition = self._table[code]
        return partition * len(self._topics.names) + self._topics.names.index(topic)

    def _free(self) -> list[int]:
        """Codes nobody kept, in (topic, partition) order.

        Kafka walks kept and existing partitions side by side, and a kept one that does not
        exist blocks that walk: every later partition counts as free although it is kept.
        """
        kept = {code for codes in self.lists for code in codes}
        missing = [self._table[code] for code in kept if code >= self._topics.total]
        if missing:
            blocked = min((self._topics.names.index(t), p) for t, p in missing)
            kept = {
                code
                for code in kept
                if code < self._topics.total
                and (self._topics.topic_of[code], self._table[code][1]) < blocked
            }
        return [code for code in range(self._topics.total) if code not in kept]

    def _give(self, code: int, rank: int) -> None:
        self.lists[rank].append(code)
        if code in self._claims.twice or self._given_up.get(code, rank) != rank:
            self.changing_hands.add(code)

    def _fill_in_racks(self, free: Sequence[int]) -> list[int]:
        """Rare racks first: the next member in the rack below low, else the first one at low.

        Returns what no rack had room for.
        """
        rest: list[int] = []
        pointer = 0
        for code in sorted(free, key=lambda c: self._racks.members_near(self._table[c])):
            place = self._next_in_rack(code, self._under, pointer)
            if place is not None:
                pointer = self._raise_to_low(code, place)
                continue
            place = self._next_in_rack(code, self._at_low, 0)
            if place is None:
                rest.append(code)
            else:
                self._raise_to_high(code, place)
        return rest

    def _next_in_rack(self, code: int, ranks: Sequence[int], pointer: int) -> int | None:
        for step in range(len(ranks)):
            place = (pointer + step) % len(ranks)
            if self._racks.match(self._ids[ranks[place]], self._table[code]):
                return place
        return None

    def _raise_to_low(self, code: int, place: int) -> int:
        """Gives ``code`` to the member at ``place`` below low; returns the next pointer."""
        rank = self._under[place]
        count = len(self.lists[rank]) + 1
        if count >= self._low:
            del self._under[place]
            if count < self._high and self._at_high < self._extra:
                self._at_low.append(rank)
        else:
            place += 1
        self._give(code, rank)
        return place % len(self._under) if self._under else 0

    def _raise_to_high(self, code: int, place: int) -> None:
        rank = self._at_low[place]
        if len(self.lists[rank]) + 1 == self._high:
            del self._at_low[place]
            self._at_high += 1
            if self._at_high == self._extra:
                self._at_low.clear()
        self._give(code, rank)

    def _fill_in_turns(self, free: Sequence[int]) -> None:
        """One each per turn until everybody has low, then one more each for those at low."""
        waiting = {rank: self._low - len(self.lists[rank]) for rank in self._under}
        takers: list[int] = []
        done_in_order: list[int] = []
        while waiting:
            takers += waiting
            waiting = {rank: short - 1 for rank, short in waiting.items()}
            done_in_order += [rank for rank, short in waiting.items() if not short]
            waiting = {rank: short for rank, short in waiting.items() if short}
        below_low = len(takers)
        takers += self._at_low + done_in_order
        if not below_low <= len(free) <= len(takers):
            raise IllegalState("claims beyond a topic's partitions leave the quotas unmet")
        for code, rank in zip(free, takers, strict=False):
            self._give(code, rank)
