"""Uniform for members with different topics: fill topic by topic, then balance topic by topic.

Partitions are indexes into ``Topics.table_by_id``, members indexes into the given sequence.
Source: UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from coordinator_core.assignors.members import in_one_step, subscribers
from coordinator_core.assignors.metadata import require_metadata
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

NOBODY = -1
_MOST_ROUNDS = 16

_id = itemgetter(Member._fields.index("member_id"))
_topics = itemgetter(Member._fields.index("topics"))


class PartitionMove(NamedTuple):
    """A partition is assigned to a member; ``owner`` is its previous owner, or NOBODY if the
    partition was free.
    """

    topic: str
    partition: int
    member: int
    owner: int


def assign(topics: Topics, members: Sequence[Member]) -> Assignment:
    """Raises PartitionAssignorError if a subscribed topic does not exist."""
    return assign_in_steps(topics, members)[0]


def assign_in_steps(
    topics: Topics, members: Sequence[Member]
) -> tuple[Assignment, list[PartitionMove]]:
    """``assign`` with its steps, which determine the order of the maps of Kafka's assignor."""
    ranks = subscribers(topics, members)
    if sum(map(len, ranks)) < sum(map(len, map(_topics, members))):
        require_metadata(topics, members)
    group = _Group(topics, members, ranks)
    group.fill()
    group.balance()
    # There is one more list than members: NOBODY is the index of the last list.
    lists: list[list[TopicPartition]] = [[] for _ in range(len(members) + 1)]
    for partition, rank in zip(topics.table_by_id, group.owner, strict=True):
        lists[rank].append(partition)
    table = topics.table_by_id
    steps = [PartitionMove(*table[place], member, owner) for place, member, owner in group.steps]
    return dict(zip(map(_id, members), lists, strict=False)), steps


class _Group:
    """Owners and loads while topics are filled and balanced."""

    def __init__(
        self, topics: Topics, members: Sequence[Member], ranks: Sequence[list[int]]
    ) -> None:
        self._sizes, self._start = topics.partitions, topics.start_by_id
        self._subscribers = {t: r for t, r in zip(topics.names, ranks, strict=True) if r}
        self.owner = [NOBODY] * topics.total
        self.steps: list[tuple[int, int, int]] = []  # partition, member, previous owner
        self._load = [0] * len(members)
        self._keep(members)
        self._order = sorted(
            self._subscribers,
            key=lambda topic: (
                -self._sizes[topic] / len(self._subscribers[topic]),
                len(self._subscribers[topic]),
                self._start[topic],
            ),
        )

    def _keep(self, members: Sequence[Member]) -> None:
        """Keeps owned partitions that exist and whose topics are still subscribed."""
        owner, start_of, size_of = self.owner, self._start, self._sizes
        for rank, member in enumerate(members):
            if not member.owned:
                continue
            subscribed, kept = {*member.topics}, 0
            for topic, partitions in member.owned:
                if topic in subscribed and topic in start_of:
                    start, size = start_of[topic], size_of[topic]
                    for partition in partitions:
                        if 0 <= partition < size:
                            owner[start + partition] = rank
                            kept += 1
            self._load[rank] = kept

    def fill(self) -> None:
        owner, load = self.owner, self._load
        for topic in self._order:
            start, end = self._start[topic], self._start[topic] + self._sizes[topic]
            owners = owner[start:end]
            free = owners.count(NOBODY)
            if not free:
                continue
            takers = _least_loaded(self._subscribers[topic], load, free)
            for rank in takers:
                load[rank] += 1
            open_places = [start + n for n, rank in enumerate(owners) if rank == NOBODY]
            self.steps += [(p, r, NOBODY) for p, r in zip(open_places, takers, strict=True)]
            if free < len(owners):
                left = iter(takers)
                takers = [next(left) if rank == NOBODY else rank for rank in owners]
            owner[start:end] = takers

    def balance(self) -> None:
        """Balances the shared topics in rounds, until a full round after the last change."""
        shared = [topic for topic in self._order if len(self._subscribers[topic]) > 1]
        last_changed = NOBODY
        for _ in range(_MOST_ROUNDS if shared else 0):
            if max(self._load) - min(self._load) <= 1:
                return
            for index, topic in enumerate(shared):
                if index == last_changed:
                    return
                if self._balance(topic) or last_changed == NOBODY:
                    last_changed = index

    def _balance(self, topic: str) -> bool:
        """Moves partitions of one topic from the most to the least loaded of its subscribers."""
        loads = in_one_step(self._load, self._subscribers[topic])
        if max(loads) - min(loads) <= 1:
            return False
        balancer = _Balancer(self._subscribers[topic], self._load)
        held: dict[int, list[int]] = {}
        start = self._start[topic]
        for place in range(start, start + self._sizes[topic]):
            held.setdefault(self.owner[place], []).append(place)
        changed = False
        while not balancer.balanced():
            most = balancer.next_most_loaded()
            while most is not None and not held.get(most):
                balancer.exclude_most_loaded()
                most = balancer.next_most_loaded()
            if most is None:
                break
            place = held[most].pop()
            least = balancer.next_least_loaded()
            if balancer.balanced():
                break
            self.owner[place] = least
            self.steps.append((place, least, most))
            self._load[most] -= 1
            self._load[least] += 1
            changed = True
        return changed


def _least_loaded(ranks: Sequence[int], load: Sequence[int], count: int) -> list[int]:
    """The takers of ``count`` partitions: one partition each, from the least loaded member up,
    level by level.
    """
    loads = in_one_step(load, ranks)
    level = min(loads)
    takers: list[int] = []
    if loads.count(level) >= count:
        place = -1
        for _ in range(count):
            place = loads.index(level, place + 1)
            takers.append(ranks[place])
        return takers
    by_load, levels = sorted(ranks, key=load.__getitem__), sorted(loads)
    while len(takers) < count:
        takers += by_load[: bisect_right(levels, level)]
        level += 1
    return takers[:count]


class _Balancer:
    """Two ranges of members sorted by load: the least loaded range grows up, the most loaded range
    grows down.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer.
    """

    def __init__(self, ranks: Sequence[int], load: Sequence[int]) -> None:
        self._load = load
        self._sorted = sorted(ranks, key=load.__getitem__)
        lowest, highest = load[self._sorted[0]], load[self._sorted[-1]]
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
        """Excludes the member returned last: it has no partition of this topic."""
        excluded, end = self._high_next + 1, self._high_end - 1
        ranks = self._sorted
        ranks[excluded], ranks[end] = ranks[end], ranks[excluded]
        self._high_end -= 1

    def balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def _at(self, place: int) -> int:
        return self._load[self._sorted[place]]
