"""Sticky for members with different subscriptions: fill the least loaded, then move to balance.

Partitions are codes, members ranks by member id (see ``_claims``).
Source: AbstractStickyAssignor.GeneralAssignmentBuilder. Kafka asks "is it balanced?", a pass over
everything, before it looks at each partition. While members hold only what they subscribe to, that
is the same question as "could any shared partition still move?", and need not be asked: seconds
instead of hours for large groups, with the same result. An older owner that no longer subscribes
may get a partition back all the same; from then on Kafka's question is asked as Kafka asks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coordinator_core.assignors._claims import Claims
from coordinator_core.assignors._moves import Moves
from coordinator_core.assignors._racks import Racks
from coordinator_core.assignors.members import subscribers
from coordinator_core.assignors.model import (
    NO_GENERATION,
    Member,
    NullPointer,
    TopicPartition,
    Topics,
)


class UnequalGroup:
    """One assignment in the making.

    ``owner`` maps code to rank; its insertion order is every member's list order, since Kafka
    removes from a list in place and appends what is new. ``second_copies`` are pairs (code,
    rank) of partitions that are in a second member's list too.
    """

    def __init__(
        self, topics: Topics, ordered: Sequence[Member], claims: Claims, racks: Racks
    ) -> None:
        self._topics, self._members, self._racks = topics, ordered, racks
        self._table = claims.table()
        self._subscribers = subscribers(topics, ordered)
        self._order = sorted(range(len(topics.names)), key=lambda t: len(self._subscribers[t]))
        self._older_owner = _older_owners(ordered, claims)
        self._moves = Moves(topics)
        self._astray = False
        self.owner = {code: rank for rank, codes in enumerate(claims.lists) for code in codes}
        gave_up = self._give_up(claims)
        self._topic_of = topics.topic_of
        self.second_copies: set[tuple[int, int]] = set()
        if claims.beyond:
            self._set_doubles_aside(claims)
        held = Counter(self.owner.values())
        self._load = [held[rank] for rank in range(len(ordered))]
        was_empty = not self.owner
        free = self._fill()
        if max(self._load) - min(self._load) > 1:
            self._balance(free, moved_only_new=not gave_up, was_empty=was_empty)

    @property
    def table(self) -> Sequence[TopicPartition]:
        """(topic, partition) of every code in ``owner``."""
        return self._table

    def _give_up(self, claims: Claims) -> bool:
        """Claims on topics no longer subscribed, or outside the member's rack."""
        lost = [code for code, rank in claims.strays if self.owner.get(code) == rank]
        if self._racks.used:
            lost += [
                code
                for code, rank in self.owner.items()
                if self._racks.mismatch(self._members[rank].member_id, self._table[code])
            ]
        for code in lost:
            self.owner.pop(code, None)
        return bool(lost)

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
            return place[self._topic_of[code]], self._table[code][1]

        total = self._topics.total
        missing = [key(code) for code in self.owner if code >= total]
        if not missing:
            return
        blocked, first = min(missing), len(self._table)
        doubles = [code for code in self.owner if code < total and key(code) > blocked]
        double_of = {code: first + i for i, code in enumerate(doubles)}
        self._table = self._table + [self._table[code] for code in doubles]
        self._topic_of = self._topic_of + [self._topic_of[code] for code in doubles]
        self.second_copies = {(code, self.owner[code]) for code in doubles}
        self.owner = {double_of.get(code, code): rank for code, rank in self.owner.items()}
        self._astray = True

    # ---- filling

    def _fill(self) -> list[tuple[int, Sequence[int]]]:
        """Hands out every free partition; returns those of shared topics, by topic."""
        free = self._free()
        if self._racks.used:
            for topic, codes in free:
                self._fill_in_racks(topic, codes)
        for topic, codes in free:
            todo = [c for c in codes if c not in self.owner] if self._racks.used else codes
            takers = self._least_loaded(topic, len(todo))
            self.owner.update(zip(todo, takers, strict=True))
        return [(topic, codes) for topic, codes in free if len(self._subscribers[topic]) > 1]

    def _free(self) -> list[tuple[int, Sequence[int]]]:
        free, owner = [], self.owner
        for topic in self._order:
            if not self._subscribers[topic]:
                continue
            codes: Sequence[int] = self._codes(topic)
            if owner:
                codes = [code for code in codes if code not in owner]
            if codes:
                free.append((topic, codes))
        return free

    def _codes(self, topic: int) -> range:
        start = self._topics.start[self._topics.names[topic]]
        return range(start, start + self._topics.sizes[topic])

    def _fill_in_racks(self, topic: int, codes: Iterable[int]) -> None:
        """Only to members in one of the partition's racks, or without a rack."""
        for code in codes:
            at_home = [
                rank
                for rank in self._subscribers[topic]
                if not self._racks.mismatch(self._members[rank].member_id, self._table[code])
            ]
            if at_home:
                rank = min(at_home, key=self._load.__getitem__)
                self.owner[code] = rank
                self._load[rank] += 1

    def _least_loaded(self, topic: int, count: int) -> list[int]:
        """Ranks for the topic's next ``count`` partitions: each time least loaded, then first id.

        That fills level by level: on each level everybody not above it takes one, in id order.
        """
        ranks, load = self._subscribers[topic], self._load
        level = min(map(load.__getitem__, ranks))
        takers: list[int] = []
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

    # ---- balancing

    def _balance(
        self, free: list[tuple[int, Sequence[int]]], moved_only_new: bool, was_empty: bool
    ) -> None:
        """Moves partitions to less loaded subscribers, new ones first; undone if of no help."""
        if self._older_owner or self._astray:
            self._note_fixed_members()
        shared = [(t, self._codes(t)) for t in self._order if len(self._subscribers[t]) > 1]
        if was_empty:  # then everything is new, and no worse balance is undone
            self._reassign(shared)
            return
        before, load_before = dict(self.owner), list(self._load)
        if moved_only_new:
            self._reassign(free)
        changed = self._reassign(shared)
        if not changed:
            return
        if not (self._older_owner or self._astray):  # then it is the same members before and after
            self._note_fixed_members()
        if self._score(self._load) >= self._score(load_before):
            self.owner = before

    def _note_fixed_members(self) -> None:
        """Who has all it can get, and nothing that anybody else could get."""
        self._most = [0] * len(self._members)
        for topic, ranks in enumerate(self._subscribers):
            for rank in ranks:
                self._most[rank] += self._topics.sizes[topic]
        full = {rank for rank, load in enumerate(self._load) if load >= self._most[rank]}
        topic_of = self._topic_of
        self._fixed = full - {
            rank
            for code, rank in self.owner.items()
            if rank in full and len(self._subscribers[topic_of[code]]) > 1
        }

    def _score(self, loads: Sequence[int]) -> int:
        """Kafka's balance score: the sum of differences between all pairs of members."""
        return balance_score(n for rank, n in enumerate(loads) if rank not in self._fixed)

    def _reassign(self, candidates: Sequence[tuple[int, Sequence[int]]]) -> bool:
        """Passes over ``candidates`` until one changes nothing; True if any changed something."""
        changed = False
        while self._pass(candidates):
            changed = True
        return changed

    def _pass(self, candidates: Sequence[tuple[int, Sequence[int]]]) -> bool:
        changed = False
        load_of, owner_of = self._load.__getitem__, self.owner.__getitem__
        ordinary = not (self._older_owner or self._astray)
        for topic, codes in candidates:
            ranks = self._subscribers[topic]
            least = min(map(load_of, ranks))
            if ordinary and max(map(load_of, map(owner_of, codes))) <= least + 1:
                continue
            for code in codes:
                if self._astray and self._balanced():
                    return changed
                load = self._load[self.owner[code]]
                if code in self._older_owner and self._back_to_older_owner(topic, code, load):
                    changed = True
                elif load > least + 1:
                    self._move(code, min(ranks, key=self._load.__getitem__))
                    changed = True
                else:
                    continue
                least = min(map(load_of, ranks))
        return changed

    def _back_to_older_owner(self, topic: int, code: int, load: int) -> bool:
        older = self._older_owner[code]
        if older in self._fixed and not self._balanced():
            raise NullPointer("an older owner of a shared partition takes no part")
        if load <= self._load[older] + 1:
            return False
        if self._topics.names[topic] not in self._members[older].topics:
            if self._balanced():
                return False
            self._astray = True
        self._move(code, older)
        return True

    def _balanced(self) -> bool:
        """As Kafka decides it: a member with as many as its topics have is taken to have those."""
        loads = [load for rank, load in enumerate(self._load) if rank not in self._fixed]
        if max(loads) - min(loads) <= 1:
            return True
        for topic, ranks in enumerate(self._subscribers):
            short = [self._load[rank] for rank in ranks if self._load[rank] != self._most[rank]]
            if short and len(ranks) > 1:
                highest = max(self._load[self.owner[code]] for code in self._codes(topic))
                if highest > min(short) + 1:
                    return False
        return True

    def _move(self, code: int, to: int) -> None:
        code = self._moves.instead_of(code, self.owner[code], to)
        old = self.owner.pop(code)
        self._moves.record(code, old, to)
        self.owner[code] = to
        self._load[old] -= 1
        self._load[to] += 1


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


def balance_score(loads: Iterable[int]) -> int:
    """Sum of absolute differences between all pairs."""
    total = members = partitions = 0
    for load, count in sorted(Counter(loads).items()):
        total += count * (load * members - partitions)
        members += count
        partitions += load * count
    return total
