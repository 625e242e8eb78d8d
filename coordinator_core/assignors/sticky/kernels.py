"""The assignors' rules on integer arrays, for groups where walking Python objects takes long.

Partitions are codes of ``Topics``, members ranks. Each kernel gives what the plain rules give
for the same group; what is rare (conflicting claims, racks, older generations, numbers beyond a
topic) stays with the plain rules. Plain numpy: compiled loops would gain little on top and cost
every Spark worker their start-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coordinator_core.assignors.model import Topics
from coordinator_core.assignors.sticky.arrays import (
    ClaimArrays,
    Ints,
    Runs,
    Subscribers,
    by_member,
    run_bounds,
)
from coordinator_core.assignors.sticky.balancing import balance_score
from coordinator_core.assignors.sticky.levels import Leveling, Levels, masks_of


def round_robin(topics: Topics, subscribers: Subscribers, members: int) -> Runs:
    """One pointer over the members that carries on from topic to topic."""
    first = np.zeros(len(topics.names), dtype=np.int64)
    pointer = 0
    for topic, size in enumerate(topics.sizes):
        ranks = subscribers.of(topic)
        if not len(ranks):
            continue
        first[topic] = ranks.searchsorted(pointer) % len(ranks)
        pointer = int(ranks[(first[topic] + size - 1) % len(ranks)]) + 1
        pointer %= members
    arrays = topics.arrays
    codes = np.flatnonzero(subscribers.counts[arrays.topic] > 0)
    topic_of = arrays.topic[codes]
    turn = (first[topic_of] + arrays.partition[codes]) % subscribers.counts[topic_of]
    return by_member(codes, subscribers.ranks[subscribers.bounds[topic_of] + turn], members)


def equal(
    topics: Topics, claims: ClaimArrays, members: int, map_order: Callable[[], Sequence[int]]
) -> Runs:
    """Sticky with equal subscriptions; ``map_order`` is asked only if the answer rests on it."""
    low, extra = divmod(topics.total, members)
    high = low + (extra > 0)
    keeps_high = (claims.counts >= high) if extra else np.zeros(members, dtype=bool)
    if keeps_high.sum() > extra:
        ordered = np.array(map_order(), dtype=np.int64)
        keeps_high[ordered[np.cumsum(keeps_high[ordered]) > extra]] = False
    quota = np.minimum(claims.counts, np.where(keeps_high, high, low))
    kept, free = _partition_first(topics, claims), claims.free
    excess = claims.counts - quota
    if excess.any():
        dropped = np.repeat(run_bounds(claims.counts)[1:], excess) - 1 - _in_run(excess)
        free = np.sort(np.concatenate((free, kept[dropped])))
        kept = kept[_all_but(dropped, len(kept))]
    at_low = np.flatnonzero((quota == low) & (claims.counts >= low))
    takers = _in_turns(low - quota, at_low if keeps_high.sum() < extra else at_low[:0])
    return _appended(kept, quota, by_member(free, takers[: len(free)], members))


def _partition_first(topics: Topics, claims: ClaimArrays) -> Ints:
    """Claimed codes sorted by (rank, partition, topic), through one packed integer each."""
    arrays = topics.arrays
    topic_bits = len(arrays.sizes).bit_length()
    partition_bits = int(arrays.sizes.max(initial=1)).bit_length()
    packed = claims.ranks << (partition_bits + topic_bits)
    packed |= arrays.partition_first(topic_bits)[claims.codes]
    if (packed[1:] > packed[:-1]).all():
        return claims.codes
    packed.sort()
    topic = packed & ((1 << topic_bits) - 1)
    first: Ints = arrays.starts[topic]
    return first + (packed >> topic_bits & ((1 << partition_bits) - 1))


def _in_turns(short: Ints, at_low: Ints) -> Ints:
    """Who takes the free partitions: one each per turn up to low, then one more each at low."""
    under = np.flatnonzero(short > 0)
    missing = short[under]
    if missing.max(initial=0) <= 1:
        return np.concatenate((under, at_low, under))
    takers = np.repeat(under, missing)
    by_turn = takers[np.argsort(_in_run(missing), kind="stable")]
    done_in_order = under[np.argsort(missing, kind="stable")]
    return np.concatenate((by_turn, at_low, done_in_order))


def _appended(kept: Ints, counts: Ints, new: Runs) -> Runs:
    """Every member's new codes behind those it kept."""
    if not len(new.codes):
        return Runs(kept, run_bounds(counts))
    new_counts = np.diff(new.bounds)
    bounds = run_bounds(counts + new_counts)
    places = np.repeat(run_bounds(counts)[1:], new_counts) + np.arange(len(new.codes))
    codes = np.empty(int(bounds[-1]), dtype=np.int64)
    codes[places] = new.codes
    codes[_all_but(places, len(codes))] = kept
    return Runs(codes, bounds)


def _in_run(counts: Ints) -> Ints:
    """0, 1, 2 and so on as far as each count."""
    bounds = run_bounds(counts)
    places: Ints = np.arange(int(bounds[-1])) - np.repeat(bounds[:-1], counts)
    return places


def _all_but(places: Ints, total: int) -> NDArray[np.bool_]:
    others = np.ones(total, dtype=bool)
    others[places] = False
    return others


def lost_claims(claims: ClaimArrays, runs: Runs) -> NDArray[np.bool_]:
    """Of each code, whether a member that claimed it does not have it in ``runs``."""
    owner = np.full(len(runs.codes), -1)
    owner[runs.codes] = np.repeat(np.arange(len(runs.bounds) - 1), np.diff(runs.bounds))
    lost = np.zeros(len(owner), dtype=bool)
    lost[claims.codes[owner[claims.codes] != claims.ranks]] = True
    return lost


class Unequal:
    """Sticky with different subscriptions; see ``_unequal`` for the rules in plain Python."""

    def __init__(
        self, topics: Topics, claims: ClaimArrays, subscribers: Subscribers, members: int
    ) -> None:
        self._topics, self._arrays = topics, topics.arrays
        self._subscribers, self._members = subscribers, members
        self._moved: dict[int, None] = {}
        self._order: Ints = np.argsort(subscribers.counts, kind="stable")
        codes, ranks = claims.codes, claims.ranks
        still = subscribers.include(self._arrays.topic[codes], ranks)
        gave_up = not still.all()
        if gave_up:
            codes, ranks = codes[still], ranks[still]
        self._owner = np.full(topics.total, -1)
        self._owner[codes] = ranks
        self._free = self._owner < 0
        self._load: Ints = np.bincount(ranks, minlength=members)
        self._masks = masks_of(subscribers.rows(np.arange(len(topics.names))))
        self._levels = Levels(self._load)
        self._sequence = np.concatenate((codes, self._fill()))
        if self._load.max() - self._load.min() > 1:
            self._balance(gave_up, was_empty=not len(codes))

    def runs(self) -> Runs:
        codes = self._sequence
        if self._moved:
            moved = np.fromiter(self._moved, np.int64, len(self._moved))
            stays = np.ones(len(self._owner), dtype=bool)
            stays[moved] = False
            codes = np.concatenate((codes[stays[codes]], moved))
        return by_member(codes, self._owner[codes], self._members)

    def _fill(self) -> Ints:
        """Free codes to the least loaded subscribers, topic by topic; returns them in order."""
        free = np.flatnonzero(self._free)
        place = np.empty(len(self._order), dtype=np.int64)
        place[self._order] = np.arange(len(self._order))
        places = place[self._arrays.topic[free]]
        free = free[np.argsort(places, kind="stable")]
        counts = np.bincount(places, minlength=len(place))
        filled = np.flatnonzero(counts)
        masks = [self._masks[topic] for topic in self._order[filled].tolist()]
        takers = self._levels.take(masks, counts[filled].tolist())
        self._owner[free] = takers
        self._load += np.bincount(takers, minlength=self._members)
        return free

    def _balance(self, gave_up: bool, was_empty: bool) -> None:
        leveling = Leveling(self._topics, self._masks, self._levels, self._load, self._owner)
        order = self._order.tolist()
        # New ones go first; where all are, or none is, that is the round of all that follows.
        if not gave_up and not was_empty and self._free.any():
            leveling.reassign(order, self._free.tolist())
        # Only a move that went another way may have been of no help; see ``_balancing``.
        if leveling.reassign(order) and not was_empty and leveling.went_back:
            takes_part = ~self._fixed_members()
            before = balance_score(self._load[takes_part].tolist())
            if balance_score(np.array(leveling.load)[takes_part].tolist()) >= before:
                return
        self._moved = leveling.moved
        for code in self._moved:
            self._owner[code] = leveling.owner[code]

    def _fixed_members(self) -> NDArray[np.bool_]:
        """Who has all it can get, and nothing that anybody else could get."""
        sizes = np.repeat(self._arrays.sizes, self._subscribers.counts)
        most = np.bincount(self._subscribers.ranks, sizes, self._members)
        shared = self._owner[self._subscribers.counts[self._arrays.topic] > 1]
        full: NDArray[np.bool_] = self._load >= most
        full[shared] = False
        return full
