"""Uniform for members with different topics: fill topic by topic, then balance topic by topic.

Source: UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors.members import subscribers
from coordinator_core.assignors.model import Member, Topics

_NOBODY = -1
_MOST_ROUNDS = 16


def assign(topics: Topics, members: Sequence[Member]) -> dict[str, list[int]]:
    """Codes by member id."""
    group = _Group(topics, members)
    group.fill()
    group.balance()
    codes: dict[str, list[int]] = {member.member_id: [] for member in members}
    for code, rank in enumerate(group.owner):
        if rank != _NOBODY:
            codes[members[rank].member_id].append(code)
    return codes


class _Group:
    """Owners and loads while topics are filled and balanced; ranks are places among members."""

    def __init__(self, topics: Topics, members: Sequence[Member]) -> None:
        self._start, self._sizes = topics.start, topics.partitions
        ranks = subscribers(topics, members)
        self._subscribers = {t: r for t, r in zip(topics.names, ranks, strict=True) if r}
        self.owner = [_NOBODY] * topics.total
        self._load = [0] * len(members)
        for rank, member in enumerate(members):
            for topic, partitions in member.owned:
                if topic in topics.partitions and topic in member.topics:
                    self._keep(topic, [p for p in partitions if p < self._sizes[topic]], rank)
        place = {topic: index for index, topic in enumerate(topics.partitions)}
        self._order = sorted(
            self._subscribers,
            key=lambda topic: (
                -self._sizes[topic] / len(self._subscribers[topic]),
                len(self._subscribers[topic]),
                place[topic],
            ),
        )

    def _keep(self, topic: str, partitions: Sequence[int], rank: int) -> None:
        self._load[rank] += len(partitions)
        for partition in partitions:
            self.owner[self._start[topic] + partition] = rank

    def _codes(self, topic: str) -> range:
        return range(self._start[topic], self._start[topic] + self._sizes[topic])

    def _give(self, code: int, rank: int) -> None:
        if self.owner[code] != _NOBODY:
            self._load[self.owner[code]] -= 1
        self.owner[code] = rank
        self._load[rank] += 1

    def fill(self) -> None:
        for topic in self._order:
            free = [code for code in self._codes(topic) if self.owner[code] == _NOBODY]
            if free:
                balancer = _Balancer(self._subscribers[topic], self._load)
                for code in free:
                    self._give(code, balancer.next_least_loaded())

    def balance(self) -> None:
        """Round after round over shared topics, until one whole round since the last change."""
        shared = [topic for topic in self._order if len(self._subscribers[topic]) > 1]
        last_changed = _NOBODY
        for _ in range(_MOST_ROUNDS if shared else 0):
            for index, topic in enumerate(shared):
                if index == last_changed:
                    return
                if self._balance(topic) or last_changed == _NOBODY:
                    last_changed = index

    def _balance(self, topic: str) -> bool:
        """Moves partitions of one topic from the most to the least loaded of its subscribers."""
        balancer = _Balancer(self._subscribers[topic], self._load)
        if balancer.spread <= 1:
            return False
        held: dict[int, list[int]] = {}
        for code in self._codes(topic):
            held.setdefault(self.owner[code], []).append(code)
        changed = False
        while not balancer.balanced():
            most = balancer.next_most_loaded()
            while most is not None and not held.get(most):
                balancer.exclude_most_loaded()
                most = balancer.next_most_loaded()
            if most is None:
                break
            code = held[most].pop()
            least = balancer.next_least_loaded()
            if balancer.balanced():
                break
            self._give(code, least)
            changed = True
        return changed


class _Balancer:
    """Two ranges over members sorted by load: the least loaded grows up, the most loaded down.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer.
    """

    def __init__(self, ranks: Sequence[int], load: Sequence[int]) -> None:
        self._load = load
        self._sorted = sorted(ranks, key=lambda rank: (load[rank], rank))
        lowest, highest = load[self._sorted[0]], load[self._sorted[-1]]
        self.spread = highest - lowest
        self._low_level, self._low_end, self._low_next = lowest - 1, 0, 0
        self._high_level, self._high_next = highest + 1, len(self._sorted) - 1
        self._high_start = self._high_end = len(self._sorted)

    def next_least_loaded(self) -> int:
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._sorted) and self._at(self._low_end) == self._low_level:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._sorted[self._low_next - 1]

    def next_most_loaded(self) -> int | None:
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._at(self._high_start - 1)
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._at(self._high_start - 1) == self._high_level:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._sorted[self._high_next + 1]

    def exclude_most_loaded(self) -> None:
        """The member returned last has nothing of this topic to give."""
        out, end = self._high_next + 1, self._high_end - 1
        ranks = self._sorted
        ranks[out], ranks[end] = ranks[end], ranks[out]
        self._high_end -= 1

    def balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def _at(self, place: int) -> int:
        return self._load[self._sorted[place]]
