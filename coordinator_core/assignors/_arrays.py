"""The border of large groups: names to integer arrays once, and integer arrays back to lists.

Partitions are codes of ``Topics``, members ranks in the order given. ``Runs`` is an assignment
behind the border: what a kernel gives, and what a column of a data frame takes as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from struct import pack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coordinator_core.assignors.members import in_one_step
from coordinator_core.assignors.model import Assignment, Member, TopicPartition, Topics

Ints = NDArray[np.int64]
_DENSE = 32
_FEW = 3
"""Partitions up to which a loop is faster than a getter of them all: measured."""


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
    codes_read: list[int] = []
    ends = [0]
    if any(map(_owned, ordered)):
        code_of = topics.code_of
        for owned in map(_owned, ordered):
            for topic, partitions in owned:
                try:
                    its_codes = code_of[topic]
                    if len(partitions) > _FEW:
                        codes_read += itemgetter(*partitions)(its_codes)
                    else:
                        for partition in partitions:
                            codes_read.append(its_codes[partition])
                except KeyError:
                    if topic in code_of:
                        return None
            ends.append(len(codes_read))
    if not codes_read:
        none = np.empty(0, dtype=np.int64)
        return ClaimArrays(none, none, np.zeros(len(ordered), np.int64), np.arange(topics.total))
    codes = _ints(codes_read)
    claimed = np.bincount(codes, minlength=topics.total)
    if claimed.max() > 1:
        return None
    counts = np.diff(np.array(ends))
    return ClaimArrays(
        codes, np.repeat(np.arange(len(ordered)), counts), counts, np.flatnonzero(claimed == 0)
    )


_owned = itemgetter(Member._fields.index("owned"))


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
            wanted = b"".join(in_one_step(packed, list(chain.from_iterable(names))))
        except KeyError:
            self.others = True
            names = [[topic for topic in mine if topic in packed] for mine in names]
            wanted = b"".join(in_one_step(packed, list(chain.from_iterable(names))))
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
