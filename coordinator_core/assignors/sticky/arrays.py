"""The border of large groups: names to integer arrays once, and integer arrays back to lists.

Partitions are codes of ``Topics``, members ranks in the order given. ``Runs`` is an assignment
behind the border: what a kernel gives, and what a column of a data frame takes as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter
from struct import pack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coordinator_core.assignors.members import in_one_step
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

Ints = NDArray[np.int64]
_DENSE = 32
_AT_ONCE = 16
_FEW = 5
"""Partitions of one claim up to which a loop is faster than steps over all: measured."""
_IN_CACHE = 5000


class Runs(NamedTuple):
    """Rank r has ``codes[bounds[r]:bounds[r + 1]]``, in Kafka's list order."""

    codes: Ints
    bounds: Ints


class TopicArrays:
    """Of every topic its size and first code; of every code its topic, partition and names."""

    def __init__(self, topics: Topics) -> None:
        self.sizes = np.array(topics.sizes, dtype=np.int64)
        ends = np.cumsum(self.sizes)
        self.starts: Ints = ends - self.sizes
        self.topic = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.partition: Ints = np.arange(topics.total) - self.starts[self.topic]
        self.names: NDArray[np.object_] = np.fromiter(topics.table, object, topics.total)
        self._names = topics.names
        self._partition_first: Ints | None = None
        width = "<u2" if len(self.sizes) <= 1 << 16 else "<u4"
        self.code_type = np.dtype(width)

    def partition_first(self, topic_bits: int) -> Ints:
        """Of every code an integer that sorts by partition, then topic."""
        if self._partition_first is None:
            self._partition_first = self.partition << topic_bits | self.topic
        return self._partition_first

    @cached_property
    def packed(self) -> dict[str, bytes]:
        """Every topic's index in ``code_type``."""
        size = self.code_type.itemsize
        packed = np.arange(len(self._names), dtype=self.code_type).tobytes()
        return {topic: packed[i * size : (i + 1) * size] for i, topic in enumerate(self._names)}


class ClaimArrays(NamedTuple):
    """Claims by rank, each member's in the order sent; nobody's are another's too.

    ``free`` are the codes that nobody claims.
    """

    codes: Ints
    ranks: Ints
    counts: Ints
    free: Ints


def read_claims(topics: Topics, ordered: Sequence[Member]) -> ClaimArrays | None:
    """None if a code is claimed twice or lies beyond its topic: plain rules settle that."""
    owned = list(map(_owned, ordered))
    groups = sum(map(len, owned))
    if not groups:
        none = np.empty(0, dtype=np.int64)
        return ClaimArrays(none, none, np.zeros(len(owned), np.int64), np.arange(topics.total))
    in_cache = topics.total < _IN_CACHE and groups * _FEW > topics.total
    read = _one_by_one(topics, owned) if in_cache else _group_by_group(topics, owned)
    if read is None:
        return None
    codes, ranks = read
    claimed = np.bincount(codes, minlength=topics.total)
    if claimed.max(initial=0) > 1:
        return None
    counts = np.bincount(ranks, minlength=len(owned))
    return ClaimArrays(codes, ranks, counts, np.flatnonzero(claimed == 0))


Owned = Sequence[tuple[str, Sequence[int]]]


def _one_by_one(topics: Topics, owned: Sequence[Owned]) -> tuple[Ints, Ints] | None:
    """Codes and who claims them; None if one lies beyond its topic."""
    try:
        codes, counts = _looked_up(topics.code_of, owned)
    except KeyError:
        known = [[group for group in groups if group[0] in topics.code_of] for groups in owned]
        try:
            codes, counts = _looked_up(topics.code_of, known)
        except KeyError:
            return None
    return _ints(codes), np.repeat(np.arange(len(counts)), counts)


def _looked_up(
    code_of: Mapping[str, Mapping[int, int]], owned: Iterable[Owned]
) -> tuple[list[int], list[int]]:
    """Codes, and how many each claims; KeyError if a topic or partition is not known."""
    codes: list[int] = []
    ends = [0]
    for groups in owned:
        for topic, partitions in groups:
            its_codes = code_of[topic]
            for partition in partitions:
                codes.append(its_codes[partition])
        ends.append(len(codes))
    return codes, [end - begin for begin, end in pairwise(ends)]


def _group_by_group(topics: Topics, owned: Sequence[Owned]) -> tuple[Ints, Ints] | None:
    """The same, by steps over all groups at once."""
    flat: list[Any] = list(chain.from_iterable(chain.from_iterable(owned)))
    names, claimed_in = flat[::2], flat[1::2]
    sizes = _ints(list(map(len, claimed_in)))
    numbers = _ints(list(chain.from_iterable(claimed_in)))
    firsts = _ints(_firsts(topics, names))
    codes = np.repeat(firsts, sizes)
    ranks = np.repeat(np.repeat(np.arange(len(owned)), list(map(len, owned))), sizes)
    if firsts.min() < 0:
        known = codes >= 0
        codes, numbers, ranks = codes[known], numbers[known], ranks[known]
    codes += numbers
    if codes.max(initial=0) >= topics.total or (topics.arrays.partition[codes] != numbers).any():
        return None
    return codes, ranks


_owned = itemgetter(Member._fields.index("owned"))


def _firsts(topics: Topics, names: Sequence[str]) -> Sequence[int]:
    """Each topic's first code, -1 for one that is not among ``topics``."""
    try:
        return in_one_step(topics.start, names)
    except KeyError:
        return [topics.start.get(topic, -1) for topic in names]


def _ints(numbers: Sequence[int]) -> Ints:
    """As an array, through bytes: the fastest way out of Python integers."""
    try:
        return np.frombuffer(bytes(numbers), dtype=np.uint8).astype(np.int64)
    except ValueError:  # one above 255
        packed = pack(f"={len(numbers)}i", *numbers)
        return np.frombuffer(packed, dtype=np.int32).astype(np.int64)


class Subscribers:
    """Ranks of each topic's subscribers, ascending, topics in name order.

    ``others``: somebody subscribes to a topic that is not among these.
    """

    def __init__(self, topics: Topics, ordered: Sequence[Member]) -> None:
        self._members = len(ordered)
        width = topics.arrays.code_type
        names = [member.topics for member in ordered]
        packed = topics.arrays.packed
        self.others = False
        try:
            wanted = _joined(packed, names)
        except KeyError:
            self.others = True
            names = [[topic for topic in mine if topic in packed] for mine in names]
            wanted = _joined(packed, names)
        row_sizes = _ints(list(map(len, names)))
        topic = np.frombuffer(wanted, dtype=width).astype(np.int64)
        cells = topic * self._members + np.repeat(np.arange(self._members), row_sizes)
        self._is_one: NDArray[np.bool_] | None = None
        if len(topics.names) * self._members <= _DENSE * len(cells):
            self._is_one = np.zeros(len(topics.names) * self._members, dtype=bool)
            self._is_one[cells] = True
            self.counts: Ints = self._is_one.reshape(-1, self._members).sum(axis=1)
        else:
            self._cells = np.unique(cells)
            self.counts = np.bincount(self._cells // self._members, minlength=len(topics.names))

    @cached_property
    def _cells(self) -> Ints:
        """Topic times members plus rank, of every subscription."""
        assert self._is_one is not None
        return np.flatnonzero(self._is_one)

    @cached_property
    def bounds(self) -> Ints:
        return run_bounds(self.counts)

    @cached_property
    def ranks(self) -> Ints:
        return self._cells - np.repeat(np.arange(len(self.counts)) * self._members, self.counts)

    def of(self, topic: int) -> Ints:
        return self.ranks[self.bounds[topic] : self.bounds[topic + 1]]

    def include(self, topics: Ints, ranks: Ints) -> NDArray[np.bool_]:
        """Whether each rank subscribes to the topic beside it."""
        cells = topics * self._members + ranks
        if self._is_one is None:
            return np.isin(cells, self._cells)
        found: NDArray[np.bool_] = self._is_one[cells]
        return found

    def rows(self, topics: Ints) -> NDArray[np.bool_]:
        """A row per topic, saying of each rank whether it subscribes."""
        if self._is_one is not None:
            rows: NDArray[np.bool_] = self._is_one.reshape(-1, self._members)[topics]
            return rows
        rows = np.zeros((len(topics), self._members), dtype=bool)
        for row, topic in zip(rows, topics.tolist(), strict=True):
            row[self.of(topic)] = True
        return rows


def _joined(packed: Mapping[str, bytes], names: Sequence[Sequence[str]]) -> bytes:
    """Some members at a time: so many names as a processor's cache holds."""
    parts = (names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE))
    wanted = (in_one_step(packed, list(chain.from_iterable(part))) for part in parts)
    return b"".join(map(b"".join, wanted))


def by_member(codes: Ints, ranks: Ints, members: int) -> Runs:
    """``codes``, given to ``ranks`` in this order, as each member's list."""
    narrow = ranks.astype(np.int16) if members < 1 << 15 else ranks
    order = np.argsort(narrow, kind="stable")
    return Runs(codes[order], run_bounds(np.bincount(ranks, minlength=members)))


def run_bounds(counts: NDArray[np.int64] | NDArray[np.bool_]) -> Ints:
    """Where runs of these lengths begin and end in a row."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))


def without(runs: Runs, withheld: NDArray[np.bool_]) -> Runs:
    """Without the codes marked in ``withheld``."""
    kept = ~withheld[runs.codes]
    counted = run_bounds(kept)
    return Runs(runs.codes[kept], counted[runs.bounds])


def named(topics: Topics, ids: Sequence[str], runs: Runs) -> Assignment:
    """The lists, by member id."""
    partitions: list[TopicPartition] = topics.arrays.names[runs.codes].tolist()
    bounds = runs.bounds.tolist()
    return {
        member_id: partitions[begin:end]
        for member_id, begin, end in zip(ids, bounds, bounds[1:], strict=False)
    }
