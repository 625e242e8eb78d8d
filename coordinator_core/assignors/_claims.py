"""Who may keep what of the partitions that members say they own.

Partitions are codes of ``Topics``, members their ranks by member id.
Source: AbstractStickyAssignor.allSubscriptionsEqual, generations as of KAFKA-12984 and later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat

from coordinator_core.assignors.members import codes_by_rank
from coordinator_core.assignors.model import Member, TopicPartition, Topics


class Claims:
    """Owned partitions after conflicts between members are settled.

    ``lists`` are the codes that each rank keeps, in the order claimed. ``twice`` are codes
    claimed by two members of one generation: nobody keeps those. ``strays`` are claims
    (code, rank) on topics their member no longer subscribes to. A partition number beyond the
    topic's count gets a code from ``topics.total`` on, named in ``beyond``. ``map_order`` is
    asked for only if claims conflict; else the answer does not rest on it.
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
        self.claimed: set[int] = set().union(*self.lists)
        if len(self.claimed) < sum(map(len, self.lists)):
            self.read = [self.read[rank] for rank in map_order()]
            self.lists = codes_by_rank(self._settled(ordered), len(ordered))

    def _codes(self, member: Member, rank: int) -> list[int]:
        codes: list[int] = []
        start_of, count_of = self._topics.start, self._topics.partitions
        for topic, partitions in member.owned:
            start = start_of.get(topic)
            if start is None or not partitions:
                continue
            found = [start + partition for partition in partitions]
            if max(partitions) >= count_of[topic]:
                found = [self._code(topic, partition) for partition in partitions]
            if topic not in member.topics:
                self.strays += zip(found, repeat(rank))
            codes += found
        return codes

    def _code(self, topic: str, partition: int) -> int:
        if partition < self._topics.partitions[topic]:
            return self._topics.start[topic] + partition
        return self.beyond.setdefault((topic, partition), self._topics.total + len(self.beyond))

    def _settled(self, ordered: Sequence[Member]) -> dict[int, int]:
        """Claim by claim: the higher generation wins, equal ones lose the partition for both.

        The other claimant's generation is its subscription's field, not that of its claims.
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
        """(topic, partition) of every code, those beyond their topic included."""
        table = self._topics.table
        return table + list(self.beyond) if self.beyond else table

    def changing_hands(self, owner: dict[int, int], holds: set[tuple[int, int]]) -> Iterator[int]:
        """Codes that ``owner`` newly gives to somebody while a claimant loses them.

        ``holds`` are pairs (code, rank) that somebody keeps beside the owner.
        """
        claimants: dict[int, set[int]] = {}
        for rank, codes in self.read:
            for code in codes:
                claimants.setdefault(code, set()).add(rank)
        for code, ranks in claimants.items():
            lost = any((code, rank) not in holds for rank in ranks)
            if lost and code in owner and owner[code] not in ranks:
                yield code
