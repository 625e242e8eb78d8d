"""Which kernel answers for a large group, or none where only the plain rules know the case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from coordinator_core.assignors.members import some_generation_is_older
from coordinator_core.assignors.model import Assignment, Member, Topics
from coordinator_core.assignors.sticky import kernels as _kernels
from coordinator_core.assignors.sticky.arrays import Runs, Subscribers, named, read_claims, without

LARGE_GROUP = 600
"""Members and partitions together from which arrays are faster than Python objects: measured."""


_id = itemgetter(Member._fields.index("member_id"))
_topics = itemgetter(Member._fields.index("topics"))


def is_large(topics: Topics, members: Sequence[Member]) -> bool:
    return topics.total + len(members) >= LARGE_GROUP


class Coded(NamedTuple):
    """An assignment behind the border: codes of ``topics``, ranks being places in ``ids``."""

    topics: Topics
    ids: list[str]
    runs: Runs

    def names(self) -> Assignment:
        return named(self.topics, self.ids, self.runs)


def sticky(
    topics: Topics,
    ordered: Sequence[Member],
    map_order: Callable[[], Sequence[int]],
    equal: bool,
    cooperative: bool,
) -> Coded | None:
    """``ordered`` by id; ``map_order`` is asked if the answer rests on it."""
    if not all(map(_topics, ordered)):
        return None
    ids = list(map(_id, ordered))
    if equal:
        topics = topics.only(ordered[0].topics)
        claims = read_claims(topics, ordered)
        if claims is None:
            return None
        runs = _kernels.equal(topics, claims, len(ordered), map_order)
    else:
        if some_generation_is_older(ordered):
            return None
        topics, subscribers = _subscribers(topics, ordered)
        claims = read_claims(topics, ordered)
        if claims is None:
            return None
        runs = _kernels.Unequal(topics, claims, subscribers, len(ordered)).runs()
    if cooperative and len(claims.codes):
        runs = without(runs, _kernels.lost_claims(claims, runs))
    return Coded(topics, ids, runs)


def _subscribers(topics: Topics, ordered: Sequence[Member]) -> tuple[Topics, Subscribers]:
    """Who subscribes to what, without the topics nobody subscribes to."""
    subscribers = Subscribers(topics, ordered)
    wanted = [topic for topic, n in zip(topics.names, subscribers.counts, strict=True) if n]
    if len(wanted) == len(topics.names):
        return topics, subscribers
    topics = topics.only(set(wanted))
    return topics, Subscribers(topics, ordered)


def round_robin(topics: Topics, ordered: Sequence[Member]) -> Coded:
    """For members with different topics; ``ordered`` static members first."""
    runs = _kernels.round_robin(topics, Subscribers(topics, ordered), len(ordered))
    return Coded(topics, [member.member_id for member in ordered], runs)
