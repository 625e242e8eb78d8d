"""Sticky for members with different subscriptions: moves from the loaded to the less loaded.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder. Kafka asks "is it balanced?", a pass over
everything, before it looks at each partition. While members hold only what they subscribe to, that
is the same question as "could any shared partition still move?", and need not be asked: seconds
instead of hours for large groups, with the same result. An older owner that no longer subscribes
may get a partition back all the same; from then on Kafka's question is asked as Kafka asks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coordinator_core.assignors._moves import Moves
from coordinator_core.assignors.members import codes_by_rank
from coordinator_core.assignors.model import Member, NullPointer, Topics

Candidates = Sequence[tuple[int, Sequence[int]]]
"""Codes by topic, in the order in which Kafka looks at them."""


class Balancing:
    """Lists that are full but not level; ``load`` is changed with them.

    ``older_owner``: who had a code in a generation before the newest. ``astray``: somebody
    holds what it does not subscribe to, or what another holds too.
    """

    def __init__(
        self,
        topics: Topics,
        members: Sequence[Member],
        subscribers: Sequence[Sequence[int]],
        topic_of: Sequence[int],
        lists: Sequence[Sequence[int]],
        load: list[int],
    ) -> None:
        self._topics, self._members, self._subscribers = topics, members, subscribers
        self._topic_of, self._load = topic_of, load
        self._moves = Moves(topics)
        self.older_owner: dict[int, int] = {}
        self.astray = False
        # In the order of every list: Kafka removes in place and appends what is new.
        self._owner = {code: rank for rank, codes in enumerate(lists) for code in codes}

    def lists(self) -> list[list[int]]:
        return codes_by_rank(self._owner, len(self._load))

    def run(self, new_first: Candidates, order: Iterable[int], undo: bool) -> None:
        """Partitions of ``new_first``, then of all shared topics in ``order``.

        ``undo``: take all moves back if those of shared topics were of no help.
        """
        if self.older_owner or self.astray:
            self._note_fixed_members()
        shared = [(t, self._codes(t)) for t in order if len(self._subscribers[t]) > 1]
        before, load_before = dict(self._owner), list(self._load)
        if new_first:
            self._reassign(new_first)
        if not self._reassign(shared) or not undo:
            return
        if not (self.older_owner or self.astray):  # then they are the same before and after
            self._note_fixed_members()
        if self._score(self._load) >= self._score(load_before):
            self._owner = before

    def _codes(self, topic: int) -> range:
        start = self._topics.start[self._topics.names[topic]]
        return range(start, start + self._topics.sizes[topic])

    def _note_fixed_members(self) -> None:
        """Who has all it can get, and nothing that anybody else could get."""
        self._most = [0] * len(self._members)
        for topic, ranks in enumerate(self._subscribers):
            for rank in ranks:
                self._most[rank] += self._topics.sizes[topic]
        full = {rank for rank, load in enumerate(self._load) if load >= self._most[rank]}
        if full:
            full -= {rank for code, rank in self._owner.items() if self._is_shared(code)}
        self._fixed = full

    def _is_shared(self, code: int) -> bool:
        return len(self._subscribers[self._topic_of[code]]) > 1

    def _score(self, loads: Sequence[int]) -> int:
        """Kafka's balance score: the sum of differences between all pairs of members."""
        return balance_score(n for rank, n in enumerate(loads) if rank not in self._fixed)

    def _reassign(self, candidates: Candidates) -> bool:
        """Passes over ``candidates`` until one changes nothing; True if any changed something."""
        changed = False
        while self._pass(candidates):
            changed = True
        return changed

    def _pass(self, candidates: Candidates) -> bool:
        changed = False
        load_of, owner_of = self._load.__getitem__, self._owner.__getitem__
        ordinary = not (self.older_owner or self.astray)
        highest = max(self._load)
        for topic, codes in candidates:
            ranks = self._subscribers[topic]
            least = min(map(load_of, ranks))
            if ordinary and (
                highest <= least + 1 or max(map(load_of, map(owner_of, codes))) <= least + 1
            ):
                continue
            for code in codes:
                if self.astray and self._balanced():
                    return changed
                load = self._load[self._owner[code]]
                if code in self.older_owner and self._back_to_older_owner(topic, code, load):
                    changed = True
                elif load > least + 1:
                    self._move(code, min(ranks, key=self._load.__getitem__))
                    changed = True
                else:
                    continue
                least = min(map(load_of, ranks))
        return changed

    def _back_to_older_owner(self, topic: int, code: int, load: int) -> bool:
        older = self.older_owner[code]
        if older in self._fixed and not self._balanced():
            raise NullPointer("an older owner of a shared partition takes no part")
        if load <= self._load[older] + 1:
            return False
        if self._topics.names[topic] not in self._members[older].topics:
            if self._balanced():
                return False
            self.astray = True
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
                highest = max(self._load[self._owner[code]] for code in self._codes(topic))
                if highest > min(short) + 1:
                    return False
        return True

    def _move(self, code: int, to: int) -> None:
        code = self._moves.instead_of(code, self._owner[code], to)
        old = self._owner.pop(code)
        self._moves.record(code, old, to)
        self._owner[code] = to
        self._load[old] -= 1
        self._load[to] += 1


def balance_score(loads: Iterable[int]) -> int:
    """Sum of absolute differences between all pairs."""
    total = members = partitions = 0
    for load, count in sorted(Counter(loads).items()):
        total += count * (load * members - partitions)
        members += count
        partitions += load * count
    return total
