"""How many partitions have to move at least, when members subscribe to different topics.

A flow of partitions to members whose cost is first the balance (the sum of squared loads, least
exactly where the sum of pairwise differences is least), then the partitions taken from an owner
that could keep them. A flow is cheapest when no cycle of exchanges makes it cheaper, so cycles
are cancelled until there is none (Klein 1967).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from coordinator_core.assignors.members import subscribers
from coordinator_core.assignors.model import Member, TopicPartition, Topics

Class = tuple[int, int | None]
"""Partitions of one topic with one owner who could keep them, or with none: all alike."""


def fewest_moves(
    topics: Topics, members: Sequence[Member], keepable: Mapping[TopicPartition, str]
) -> int:
    """Moves of partitions in ``keepable`` that any assignment with the best balance needs.

    Seconds for a hundred members: each cancelled cycle costs up to members squared times the
    kinds of partitions they hold.
    """
    flow = _Flow(topics, members, keepable)
    while flow.cancel_a_cycle():
        pass
    return flow.moves()


class _Flow:
    def __init__(
        self, topics: Topics, members: Sequence[Member], keepable: Mapping[TopicPartition, str]
    ) -> None:
        rank_of = {member.member_id: rank for rank, member in enumerate(members)}
        index = {topic: i for i, topic in enumerate(topics.names)}
        self._may = [frozenset(ranks) for ranks in subscribers(topics, members)]
        self._sink = len(members)
        self._load = [0] * len(members)
        self._held: list[Counter[Class]] = [Counter() for _ in members]
        kept = Counter((index[topic], rank_of[member]) for (topic, _), member in keepable.items())
        for (topic, rank), count in kept.items():
            self._add(rank, (topic, rank), count)
        for topic, ranks in enumerate(self._may):
            ownerless = topics.sizes[topic] - sum(kept[topic, rank] for rank in ranks)
            for _ in range(ownerless if ranks else 0):
                least = min(ranks, key=self._load.__getitem__)
                self._add(least, (topic, None), 1)
        # More than all moves together: balance comes first.
        self._balance_weight = 2 * topics.total + 2

    def _add(self, rank: int, kind: Class, count: int) -> None:
        self._held[rank][kind] += count
        if not self._held[rank][kind]:
            del self._held[rank][kind]
        self._load[rank] += count

    def moves(self) -> int:
        return sum(
            count
            for rank, held in enumerate(self._held)
            for (_, owner), count in held.items()
            if owner is not None and owner != rank
        )

    def cancel_a_cycle(self) -> bool:
        """Passes one partition along each edge of a cycle that lowers the cost."""
        cycle = self._cheaper_cycle()
        for giver, taker, kind in cycle:
            if kind is not None:
                self._add(giver, kind, -1)
                self._add(taker, kind, 1)
        return bool(cycle)

    def _edges(self) -> list[tuple[int, int, int, Class | None]]:
        """(cost, giver, taker, kind); the sink stands for one partition more or less."""
        edges: list[tuple[int, int, int, Class | None]] = []
        for giver, held in enumerate(self._held):
            cheapest: dict[int, tuple[int, Class]] = {}
            for kind in held:
                topic, owner = kind
                for taker in self._may[topic]:
                    cost = _move_cost(owner, taker) - _move_cost(owner, giver)
                    if taker != giver and (taker not in cheapest or cost < cheapest[taker][0]):
                        cheapest[taker] = (cost, kind)
            edges += [(cost, giver, taker, kind) for taker, (cost, kind) in cheapest.items()]
            load = self._load[giver]
            edges.append((self._balance_weight * (2 * load + 1), giver, self._sink, None))
            if load:
                edges.append((self._balance_weight * (1 - 2 * load), self._sink, giver, None))
        return edges

    def _cheaper_cycle(self) -> list[tuple[int, int, Class | None]]:
        """A cycle of negative cost by Bellman and Ford's relaxation, or nothing."""
        edges = self._edges()
        nodes = self._sink + 1
        distance = [0] * nodes
        came: list[tuple[int, int, Class | None] | None] = [None] * nodes
        last = None
        for _ in range(nodes):
            last = None
            for cost, giver, taker, kind in edges:
                if distance[giver] + cost < distance[taker]:
                    distance[taker] = distance[giver] + cost
                    came[taker] = (giver, taker, kind)
                    last = taker
            if last is None:
                return []
        return _trace_back(came, last)


def _trace_back(
    came: Sequence[tuple[int, int, Class | None] | None], node: int | None
) -> list[tuple[int, int, Class | None]]:
    """The cycle that a node relaxed in the last round hangs from."""
    for _ in came:
        node = _step(came, node)[0]
    cycle = [_step(came, node)]
    while cycle[-1][0] != node:
        cycle.append(_step(came, cycle[-1][0]))
    return cycle


def _step(
    came: Sequence[tuple[int, int, Class | None] | None], node: int | None
) -> tuple[int, int, Class | None]:
    step = came[node] if node is not None else None
    assert step is not None
    return step


def _move_cost(owner: int | None, rank: int) -> int:
    return owner is not None and owner != rank
