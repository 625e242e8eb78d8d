"""Balancing with different subscriptions: moves from more loaded to less loaded members.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder. Kafka checks before each partition whether
the assignment is balanced, in a pass over all members and topics. As long as members hold only
partitions that they subscribe to, that check is equivalent to "no shared partition can move".  This
code therefore skips the check, which takes seconds instead of hours for large groups, with the same
result.  An older owner that no longer subscribes may still get back a partition; after that this
code checks the balance as Kafka does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coordinator_core.assignors.model import Member, NullPointer, Topics
from coordinator_core.assignors.sticky.moves import Moves, Rounds

Candidates = Sequence[tuple[int, Sequence[int]]]
"""Codes by topic, in the order in which Kafka visits them."""

_NOBODY = -1


class Balancing:
    """Balances ``lists`` in place; they contain all partitions.

    ``older_owner`` has the owner per code in a generation before the newest. ``astray`` means that
    some member holds a partition that it does not subscribe to, or that another member also holds.
    """

    def __init__(
        self,
        topics: Topics,
        members: Sequence[Member],
        subscribers: Sequence[Sequence[int]],
        topic_of: Sequence[int],
        lists: list[list[int]],
    ) -> None:
        self._topics, self._members, self._subscribers = topics, members, subscribers
        self._topic_of, self._lists = topic_of, lists
        self._moves = Moves(topics)
        self.older_owner: dict[int, int] = {}
        self.astray = False
        self._load = list(map(len, lists))
        self._owner = [_NOBODY] * len(topic_of)
        for rank, codes in enumerate(lists):
            for code in codes:
                self._owner[code] = rank

    def run(self, new_first: Candidates, order: Iterable[int], undo: bool) -> None:
        """Reassigns partitions of ``new_first``, then of all shared topics in ``order``.

        ``undo`` restores the lists if moves of the shared topics did not lower the score.
        """
        if self.older_owner or self.astray:
            self._note_fixed_members()
        ranges = self._topics.code_ranges
        shared = [(t, ranges[t]) for t in order if len(self._subscribers[t]) > 1]
        before = [codes.copy() for codes in self._lists] if undo else []
        if new_first:
            self._reassign(new_first)
        if self._reassign(shared) and undo and not self._lowered_score(before):
            self._lists[:] = before

    def _lowered_score(self, before: Sequence[Sequence[int]]) -> bool:
        """Returns whether the score is lower: always if each taker had at least two partitions
        fewer.
        """
        if not (self.older_owner or self.astray):
            if not self._moves.went_back:
                return True
            self._note_fixed_members()  # the same members before and after the moves
        return self._score(self._load) < self._score(list(map(len, before)))

    def _note_fixed_members(self) -> None:
        """Finds members that have all partitions of their topics and no shared topic."""
        self._most = [0] * len(self._members)
        for topic, ranks in enumerate(self._subscribers):
            for rank in ranks:
                self._most[rank] += self._topics.sizes[topic]
        full = (rank for rank, load in enumerate(self._load) if load >= self._most[rank])
        self._fixed = {rank for rank in full if not any(map(self._is_shared, self._lists[rank]))}

    def _is_shared(self, code: int) -> bool:
        return len(self._subscribers[self._topic_of[code]]) > 1

    def _score(self, loads: Sequence[int]) -> int:
        """Kafka's balance score, without the fixed members."""
        return balance_score(n for rank, n in enumerate(loads) if rank not in self._fixed)

    def _reassign(self, candidates: Candidates) -> bool:
        """Repeat passes over ``candidates`` until a pass moves nothing; returns whether any pass
        moved a partition.

        Raises Endless if no pass ends without a move.
        """
        changed, rounds = False, Rounds()
        while self._pass(candidates):
            changed = True
            rounds.another(self._owner)
        return changed

    def _pass(self, candidates: Candidates) -> bool:
        if self.older_owner or self.astray:
            return self._pass_with_older_owners(candidates)
        changed = False
        load, owner = self._load, self._owner
        load_of = load.__getitem__
        light = self._light()
        for topic, codes in candidates:
            ranks = self._subscribers[topic]
            if light.isdisjoint(ranks):
                continue
            most = min(map(load_of, ranks)) + 1
            # Within this pass the owners' loads only fall and the lowest load only rises, so no
            # other code becomes a candidate.
            for code in [code for code in codes if load[owner[code]] > most]:
                lightest = min(ranks, key=load_of)
                if load[owner[code]] > load[lightest] + 1:
                    self._move(code, lightest)
                    changed = True
            light = self._light()
        return changed

    def _pass_with_older_owners(self, candidates: Candidates) -> bool:
        changed = False
        load_of = self._load.__getitem__
        for topic, codes in candidates:
            ranks = self._subscribers[topic]
            least = min(map(load_of, ranks))
            for code in codes:
                if self.astray and self._balanced():
                    return changed
                load = self._load[self._owner[code]]
                if code in self.older_owner and self._back_to_older_owner(topic, code, load):
                    changed = True
                elif load > least + 1:
                    self._move(code, min(ranks, key=load_of))
                    changed = True
                else:
                    continue
                least = min(map(load_of, ranks))
        return changed

    def _light(self) -> set[int]:
        """Members with at least two partitions fewer than the most loaded member."""
        most = max(self._load) - 1
        return {rank for rank, load in enumerate(self._load) if load < most}

    def _back_to_older_owner(self, topic: int, code: int, load: int) -> bool:
        older = self.older_owner[code]
        if older in self._fixed and not self._balanced():
            raise NullPointer("the older owner of a shared partition is excluded from balancing")
        if load <= self._load[older] + 1:
            return False
        if self._topics.names[topic] not in self._members[older].topics:
            if self._balanced():
                return False
            self.astray = True
        self._move(code, older)
        return True

    def _balanced(self) -> bool:
        """Returns whether loads differ by at most 1, as Kafka checks: members that hold the most
        partitions they can get do not count as short.
        """
        loads = [load for rank, load in enumerate(self._load) if rank not in self._fixed]
        if max(loads) - min(loads) <= 1:
            return True
        for topic, ranks in enumerate(self._subscribers):
            short = [self._load[rank] for rank in ranks if self._load[rank] != self._most[rank]]
            if short and len(ranks) > 1:
                highest = max(
                    self._load[self._owner[code]] for code in self._topics.code_ranges[topic]
                )
                if highest > min(short) + 1:
                    return False
        return True

    def _move(self, code: int, to: int) -> None:
        code = self._moves.instead_of(code, self._owner[code], to)
        old = self._owner[code]
        self._moves.record(code, old, to)
        self._owner[code] = to
        self._lists[old].remove(code)
        self._lists[to].append(code)
        self._load[old] -= 1
        self._load[to] += 1


def balance_score(loads: Iterable[int]) -> int:
    """Sum of absolute load differences of all pairs of members."""
    total = members = partitions = 0
    for load, count in sorted(Counter(loads).items()):
        total += count * (load * members - partitions)
        members += count
        partitions += load * count
    return total
