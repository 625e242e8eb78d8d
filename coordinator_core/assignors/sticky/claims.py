"""Claims: the owned partitions that each member may keep.

Source: Source: AbstractStickyAssignor.allSubscriptionsEqual; generations as of KAFKA-12984 and
later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain, repeat
from operator import itemgetter

from coordinator_core.assignors.model import Member, TopicPartition, Topics


class Claims:
    """Owned partitions after conflicts between members are settled.

    ``lists`` has the codes that each rank keeps, in the order of the claims. ``twice`` has codes
    that two members of one generation claim, so neither member keeps them. ``unclaimed`` has codes
    without any claim.  ``strays`` has claims (code, rank) on topics to which the member no longer
    subscribes.  ``beyond`` has codes, from ``topics.total`` on, of partition numbers that the topic
    does not have. ``map_order`` is called only if claims conflict.
    """

    def __init__(
        self, topics: Topics, ordered: Sequence[Member], map_order: Callable[[], Iterable[int]]
    ) -> None:
        self._topics = topics
        self.twice: set[int] = set()
        self.strays: list[tuple[int, int]] = []
        self.beyond: dict[TopicPartition, int] = {}
        self.lists = [
            self._codes(member, rank) if member.owned else [] for rank, member in enumerate(ordered)
        ]
        self.read = list(enumerate(self.lists))
        self.unclaimed = topics.all_codes
        if any(self.lists):
            self.unclaimed = topics.all_codes.difference(*self.lists)
        different = topics.total - len(self.unclaimed) + len(self.beyond)
        if different < sum(map(len, self.lists)):
            self.read = [self.read[rank] for rank in map_order()]
            self.lists = [[] for _ in ordered]
            for code, rank in self._settled(ordered).items():
                self.lists[rank].append(code)

    def _codes(self, member: Member, rank: int) -> list[int]:
        codes: list[int] = []
        code_of, subscribed = self._topics.code_of, member.topics
        for topic, partitions in member.owned:
            if topic not in code_of:
                continue
            before = len(codes)
            try:
                if len(partitions) > 1:
                    codes += itemgetter(*partitions)(code_of[topic])
                else:
                    codes += [code_of[topic][partition] for partition in partitions]
            except KeyError:
                codes += [self._code(topic, partition) for partition in partitions]
            if topic not in subscribed:
                self.strays += zip(codes[before:], repeat(rank))
        return codes

    @cached_property
    def claimed(self) -> set[int]:
        return set().union(*self.lists)

    def _code(self, topic: str, partition: int) -> int:
        if partition < self._topics.partitions[topic]:
            return self._topics.start[topic] + partition
        return self.beyond.setdefault((topic, partition), self._topics.total + len(self.beyond))

    def _settled(self, ordered: Sequence[Member]) -> dict[int, int]:
        """Owner per code: the higher generation wins; if the generations are equal, neither member
        keeps the code.

        As in Kafka, the other claimant's generation is the field of its subscription, not the
        generation of its claims.
        """
        owner: dict[int, int] = {}
        last: dict[int, int] = {}
        for rank, codes in self.read:
            generation = ordered[rank].generation
            for code in codes:
                if code in last:
                    other = ordered[last[code]].field_generation
                    if generation < other:
                        continue
                    owner.pop(code, None)
                    if generation == other:
                        self.twice.add(code)
                        last[code] = rank
                        continue
                owner[code] = rank
                last[code] = rank
        return owner

    def table(self) -> list[TopicPartition]:
        """(topic, partition) per code, including those in ``beyond``."""
        table = self._topics.table
        return table + list(self.beyond) if self.beyond else table

    def changing_hands(
        self, lists: Sequence[Sequence[int]], holds: set[tuple[int, int]]
    ) -> set[int]:
        """Codes that ``lists`` assign to a new owner while a claimant loses them.

        ``holds`` has pairs (code, rank) of members that keep a code beside its owner.
        """
        lost: set[int] = set()
        for rank, codes in self.read:
            revoked = set(codes).difference(lists[rank])
            lost |= {code for code in revoked if (code, rank) not in holds} if holds else revoked
        for rank, codes in self.read if lost else ():
            lost -= lost.intersection(codes).intersection(lists[rank])
        return lost.intersection(chain.from_iterable(lists)) if lost else lost
