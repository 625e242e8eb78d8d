"""StickyAssignor and CooperativeStickyAssignor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from coordinator_core.assignors.members import (
    by_id,
    in_one_step,
    same_topics,
    subscribed,
)
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics
from coordinator_core.assignors.racks import Racks
from coordinator_core.assignors.sticky.claims import Claims
from coordinator_core.assignors.sticky.equal import EqualGroup
from coordinator_core.assignors.sticky.unequal import UnequalGroup
from coordinator_core.jvm.java_maps import hash_order

_id = itemgetter(Member._fields.index("member_id"))
_topics = itemgetter(Member._fields.index("topics"))


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """Source: StickyAssignor (KIP-54, KIP-341), racks (KIP-881)."""
    return _assign(topics, members, hashed, cooperative=False)


def assign_cooperative(
    topics: Topics, members: Sequence[Member], hashed: bool = True
) -> Assignment:
    """Withholds partitions to be revoked first.  Source: CooperativeStickyAssignor (KIP-429)."""
    return _assign(topics, members, hashed, cooperative=True)


def _assign(
    topics: Topics, members: Sequence[Member], hashed: bool, cooperative: bool
) -> Assignment:
    if not members:
        return {}
    ordered = by_id(members)
    map_order = _MapOrder(members, ordered, hashed)
    equal = same_topics(ordered) or map_order.counts_as_equal()
    topics = topics.only(subscribed(ordered[:1] if equal and ordered[0].topics else ordered))
    ids = [member.member_id for member in ordered]
    claims = Claims(topics, ordered, map_order.of_subscriptions)
    racks = Racks(topics, topics.names, ordered if topics.racks else ())
    withheld: Collection[int] = ()
    table: Sequence[TopicPartition] = claims.table()
    if equal:
        group = EqualGroup(topics, ids, map_order.of_members, claims, racks)
        lists = group.lists
        if cooperative:
            withheld = group.changing_hands()
    else:
        unequal = UnequalGroup(topics, ordered, claims, racks)
        lists, table = unequal.lists, unequal.table
        if cooperative:
            withheld = claims.changing_hands(lists, unequal.second_copies)
    if withheld:
        lists = [[code for code in codes if code not in withheld] for codes in lists]
    return {m: [*in_one_step(table, codes)] for m, codes in zip(ids, lists, strict=True)}


class _MapOrder:
    """The order in which Kafka's maps of members iterate, computed only if the result depends on
    it.
    """

    def __init__(self, members: Sequence[Member], ordered: Sequence[Member], hashed: bool) -> None:
        self._members, self._ordered, self._hashed = members, ordered, hashed

    def _ranks(self, ids: Iterable[str]) -> list[int]:
        rank_of = dict(zip(map(_id, self._ordered), range(len(self._ordered)), strict=True))
        return list(map(rank_of.__getitem__, ids))

    def of_members(self) -> list[int]:
        """Order of the assignor's own maps, which are always HashMaps."""
        return self._ranks(hash_order(map(_id, self._members)))

    def of_subscriptions(self) -> list[int]:
        return self.of_members() if self._hashed else self._ranks(map(_id, self._members))

    def counts_as_equal(self) -> bool:
        """Returns whether Kafka treats the subscriptions as equal: it skips leading empty ones."""
        if all(map(_topics, self._ordered)):
            return False
        mapped = [self._ordered[rank] for rank in self.of_subscriptions()]
        first = next((i for i, member in enumerate(mapped) if member.topics), 0)
        return same_topics(mapped[first:])
