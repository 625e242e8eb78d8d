"""Sticky with equal subscriptions: quotas, kept claims, then free partitions in turns.

Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from coordinator_core.assignors.model import IllegalState, Topics
from coordinator_core.assignors.racks import Racks
from coordinator_core.assignors.sticky.claims import Claims


class EqualGroup:
    """Computes one assignment: ``lists`` has each rank's codes in Kafka's order."""

    def __init__(
        self,
        topics: Topics,
        ids: Sequence[str],
        map_order: Callable[[], Iterable[int]],
        claims: Claims,
        racks: Racks,
    ) -> None:
        self._topics, self._ids, self._claims, self._racks = topics, ids, claims, racks
        self._low, self._extra = divmod(topics.total, len(ids))
        self._high = self._low + (self._extra > 0)
        self._at_high = 0
        self._under: list[int] = []
        self._at_low: list[int] = []
        self._given_up: dict[int, int] = {}
        self._assigned: list[tuple[int, int]] = []
        self.lists = [codes.copy() for codes in claims.lists]
        # If subscriptions are equal, Kafka drops all claims of a partition that is claimed twice,
        # even a third, newer claim.
        if claims.twice:
            self.lists = [[c for c in codes if c not in claims.twice] for codes in self.lists]
        if racks.used:
            self._drop_outside_racks()
        self._keep(map_order)
        free = self._free()
        if racks.used:
            free = self._fill_in_racks(free)
        self._fill_in_turns(free)

    def changing_hands(self) -> set[int]:
        """Codes whose previous owner is still a member and must revoke them first."""
        given_up, twice = self._given_up, self._claims.twice
        return {c for c, rank in self._assigned if c in twice or given_up.get(c, rank) != rank}

    def _drop_outside_racks(self) -> None:
        table = self._claims.table()
        for rank, codes in enumerate(self.lists):
            outside = {c for c in codes if self._racks.mismatch(self._ids[rank], table[c])}
            self._given_up.update(dict.fromkeys(outside, rank))
            self.lists[rank] = [code for code in codes if code not in outside]

    def _keep(self, map_order: Callable[[], Iterable[int]]) -> None:
        """Keeps claims up to the quota; the first ``extra`` members in map order keep one more."""
        candidates = sum(len(codes) >= self._high for codes in self.lists)
        in_turn = map_order() if candidates > self._extra > 0 else range(len(self.lists))
        first: Callable[[int], int] = self._topics.partition_major.__getitem__
        if self._claims.beyond:
            first = self._partition_first
        for rank in in_turn:
            mine = self.lists[rank]
            mine.sort(key=first)
            if len(mine) < self._low:
                self._under.append(rank)
                continue
            quota = self._low
            if len(mine) >= self._high and self._at_high < self._extra:
                quota = self._high
                self._at_high += 1
            else:
                self._at_low.append(rank)
            if len(mine) > quota:
                self._given_up.update(dict.fromkeys(mine[quota:], rank))
                del mine[quota:]
        if self._at_high == self._extra:
            self._at_low.clear()
        self._under.sort()
        self._at_low.sort()

    def _partition_first(self, code: int) -> int:
        if code < self._topics.total:
            return self._topics.partition_major[code]
        topic, partition = self._claims.table()[code]
        return partition * len(self._topics.names) + self._topics.names.index(topic)

    def _free(self) -> Sequence[int]:
        """Codes that no member kept, in (topic, partition) order.

        Kafka merges the sorted kept and existing partitions.  A kept partition that does not exist
        stops the merge, so that every later partition counts as free although it is kept.
        """
        kept = self._claims.claimed
        if self._given_up or self._claims.twice:
            kept = set().union(*self.lists)
        if self._claims.beyond:
            kept = self._before_first_missing(kept)
        return [code for code in range(self._topics.total) if code not in kept]

    def _before_first_missing(self, kept: set[int]) -> set[int]:
        topics, table = self._topics, self._claims.table()
        missing = [table[code] for code in kept if code >= topics.total]
        if not missing:
            return kept
        blocked = min((topics.names.index(topic), partition) for topic, partition in missing)
        existing = (code for code in kept if code < topics.total)
        return {code for code in existing if (topics.topic_of[code], table[code][1]) < blocked}

    def _assign(self, code: int, rank: int) -> None:
        self.lists[rank].append(code)
        self._assigned.append((code, rank))

    def _fill_in_racks(self, free: Sequence[int]) -> list[int]:
        """Assigns within racks: to the next member below low, else to the first member at low.

        Partitions with few members in their racks go first. Returns the codes without a taker.
        """
        table = self._claims.table()
        rest: list[int] = []
        pointer = 0
        for code in sorted(free, key=lambda c: self._racks.members_near(table[c])):
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
        partition = self._claims.table()[code]
        for step in range(len(ranks)):
            place = (pointer + step) % len(ranks)
            if self._racks.match(self._ids[ranks[place]], partition):
                return place
        return None

    def _raise_to_low(self, code: int, place: int) -> int:
        """Assigns ``code`` to the member at ``place`` in ``_under``; returns the next pointer."""
        rank = self._under[place]
        count = len(self.lists[rank]) + 1
        if count >= self._low:
            del self._under[place]
            if count < self._high and self._at_high < self._extra:
                self._at_low.append(rank)
        else:
            place += 1
        self._assign(code, rank)
        return place % len(self._under) if self._under else 0

    def _raise_to_high(self, code: int, place: int) -> None:
        rank = self._at_low[place]
        if len(self.lists[rank]) + 1 == self._high:
            del self._at_low[place]
            self._at_high += 1
            if self._at_high == self._extra:
                self._at_low.clear()
        self._assign(code, rank)

    def _fill_in_turns(self, free: Sequence[int]) -> None:
        """Assigns one partition per turn to members below low, then one more to members at low."""
        waiting = [(rank, self._low - len(self.lists[rank])) for rank in self._under]
        takers: list[int] = []
        done_in_order: list[int] = []
        turn = 0
        while waiting:
            turn += 1
            takers += [rank for rank, _ in waiting]
            done_in_order += [rank for rank, short in waiting if short == turn]
            waiting = [(rank, short) for rank, short in waiting if short > turn]
        below_low = len(takers)
        takers += self._at_low + done_in_order
        if not below_low <= len(free) <= len(takers):
            raise IllegalState(
                "several members claim the same partitions, so the quotas cannot be met"
            )
        assigned = list(zip(free, takers, strict=False))
        for code, rank in assigned:
            self.lists[rank].append(code)
        self._assigned += assigned
