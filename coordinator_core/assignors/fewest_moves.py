"""Minimum number of moves of the best balanced assignments, with different subscriptions.

This is a minimum-cost flow of partitions to members. The cost is first the balance (the sum of
squared loads, which is minimal where the sum of pairwise differences is minimal), then the number
of partitions taken from an owner that could keep them. A flow has minimum cost if no cycle of
exchanges lowers it, so such cycles are cancelled until no cycle remains (Klein 1967).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from coordinator_core.assignors.members import subscribers
from coordinator_core.assignors.model import Member, TopicPartition, Topics

PartitionKind = tuple[int, int | None]
"""Equivalent partitions: a topic, and the owner that could keep them, or None."""


def fewest_moves(
    topics: Topics, members: Sequence[Member], keepable: Mapping[TopicPartition, str]
) -> int:
    """Minimum number of partitions in ``keepable`` that change owner with the best balance.

    Takes seconds for a hundred members: each cancelled cycle costs up to members squared times
    the kinds of partitions that they hold.
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
        self._held: list[Counter[PartitionKind]] = [Counter() for _ in members]
        kept = Counter((index[topic], rank_of[member]) for (topic, _), member in keepable.items())
        for (topic, rank), count in kept.items():
            self._add(rank, (topic, rank), count)
        for topic, ranks in enumerate(self._may):
            unowned = topics.sizes[topic] - sum(kept[topic, rank] for rank in ranks)
            for _ in range(unowned if ranks else 0):
                least = min(ranks, key=self._load.__getitem__)
                self._add(least, (topic, None), 1)
        # One unit of balance outweighs all moves together: balance comes first.
        self._balance_weight = 2 * topics.total + 2

    def _add(self, rank: int, kind: PartitionKind, count: int) -> None:
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
        """Moves one partition along each edge of a cycle that lowers the cost, if there is one."""
        cycle = self._cheaper_cycle()
        for giver, taker, kind in cycle:
            if kind is not None:
                self._add(giver, kind, -1)
                self._add(taker, kind, 1)
        return bool(cycle)

    def _edges(self) -> list[tuple[int, int, int, PartitionKind | None]]:
        """Returns (cost, giver, taker, kind); edges to and from the sink change a member's load."""
        edges: list[tuple[int, int, int, PartitionKind | None]] = []
        for giver, held in enumerate(self._held):
            cheapest: dict[int, tuple[int, PartitionKind]] = {}
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

    def _cheaper_cycle(self) -> list[tuple[int, int, PartitionKind | None]]:
        """A cycle of negative cost, found by Bellman-Ford, or an empty list."""
        edges = self._edges()
        nodes = self._sink + 1
        distance = [0] * nodes
        predecessor: list[tuple[int, int, PartitionKind | None] | None] = [None] * nodes
        last = None
        for _ in range(nodes):
            last = None
            for cost, giver, taker, kind in edges:
                if distance[giver] + cost < distance[taker]:
                    distance[taker] = distance[giver] + cost
                    predecessor[taker] = (giver, taker, kind)
                    last = taker
            if last is None:
                return []
        return _trace_back(predecessor, last)


def _trace_back(
    predecessor: Sequence[tuple[int, int, PartitionKind | None] | None], node: int | None
) -> list[tuple[int, int, PartitionKind | None]]:
    """The cycle that leads to ``node``, which was relaxed in the last round."""
    for _ in predecessor:
        node = _step(predecessor, node)[0]
    cycle = [_step(predecessor, node)]
    while cycle[-1][0] != node:
        cycle.append(_step(predecessor, cycle[-1][0]))
    return cycle


def _step(
    predecessor: Sequence[tuple[int, int, PartitionKind | None] | None], node: int | None
) -> tuple[int, int, PartitionKind | None]:
    step = predecessor[node] if node is not None else None
    assert step is not None
    return step


def _move_cost(owner: int | None, rank: int) -> int:
    return owner is not None and owner != rank
