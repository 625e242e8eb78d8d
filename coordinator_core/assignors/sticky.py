"""StickyAssignor and CooperativeStickyAssignor: balanced first, then few moves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coordinator_core.assignors import _large
from coordinator_core.assignors._claims import Claims
from coordinator_core.assignors._equal import EqualGroup
from coordinator_core.assignors._racks import Racks
from coordinator_core.assignors._unequal import UnequalGroup
from coordinator_core.assignors.members import by_id, in_hash_order, same_topics, subscribed
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics


def assign(topics: Topics, members: Sequence[Member], hashed: bool = True) -> Assignment:
    """The eager assignor. Source: StickyAssignor (KIP-54, KIP-341), racks (KIP-881)."""
    return _assign(topics, members, hashed, cooperative=False)


def assign_cooperative(
    topics: Topics, members: Sequence[Member], hashed: bool = True
) -> Assignment:
    """Withholds what its owner must revoke first; a second round hands it over (KIP-429)."""
    return _assign(topics, members, hashed, cooperative=True)


def _assign(
    topics: Topics, members: Sequence[Member], hashed: bool, cooperative: bool
) -> Assignment:
    if not members:
        return {}
    ordered = by_id(members)
    in_racks = bool(topics.racks) and any(member.rack for member in members)
    if len(members) >= _large.LARGE_GROUP and not in_racks:
        coded = _large.sticky(topics, ordered, members, cooperative)
        if coded is not None:
            return coded.names()
    topics = topics.only(subscribed(members))
    ids = [member.member_id for member in ordered]
    rank_of = {member_id: rank for rank, member_id in enumerate(ids)}
    mapped: Sequence[Member] = in_hash_order(members)
    map_order = [rank_of[member.member_id] for member in mapped]
    if not hashed:
        mapped = members
    claims = Claims(topics, ordered, [rank_of[member.member_id] for member in mapped])
    racks = Racks(topics, topics.names, members)
    withheld: Collection[int] = ()
    if _counts_as_equal(mapped):
        equal = EqualGroup(topics, ids, map_order, claims, racks)
        lists, withheld = equal.lists, equal.changing_hands
    else:
        owner = UnequalGroup(topics, ordered, claims, racks).owner
        lists = [[] for _ in ids]
        for code, rank in owner.items():
            lists[rank].append(code)
        if cooperative:
            withheld = set(claims.losing(owner))
    if cooperative and withheld:
        lists = [[code for code in codes if code not in withheld] for codes in lists]
    return _named(claims.table(), ids, lists)


def _counts_as_equal(mapped: Sequence[Member]) -> bool:
    """Kafka compares with the first subscription that is not empty, from there on only."""
    first = next((i for i, member in enumerate(mapped) if member.topics), 0)
    return same_topics(mapped[first:])


def _named(
    table: Sequence[TopicPartition], ids: Sequence[str], lists: Sequence[Sequence[int]]
) -> Assignment:
    return {
        member_id: [table[code] for code in codes]
        for member_id, codes in zip(ids, lists, strict=True)
    }
