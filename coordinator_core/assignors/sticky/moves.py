"""Chooses the partition to move: a partition of the same topic that earlier moved in the opposite
direction.

Assignments stay sticky if a partition moves back to its owner instead of another partition.
Source: AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coordinator_core.assignors.model import Endless, Topics
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.java_maps import table_capacity


class _HashSet:
    """A ``HashSet<TopicPartition>``, reduced to the element that its iteration yields first."""

    __slots__ = ("_max_size", "codes")

    def __init__(self, code: int) -> None:
        self.codes: dict[int, None] = {code: None}
        self._max_size = 1

    def add(self, code: int) -> None:
        self.codes[code] = None
        self._max_size = max(self._max_size, len(self.codes))  # a HashSet never shrinks its table

    def first(self, topics: Topics) -> int:
        mask = table_capacity(self._max_size) - 1

        def bucket(code: int) -> int:
            topic, partition = topics.table[code]
            hashed = 31 * (31 + partition) + string_hash(topic) & 0xFFFFFFFF
            return (hashed ^ hashed >> 16) & mask

        return min(self.codes, key=bucket)


class Rounds:
    """Counts passes of balancing; raises Endless once they repeat earlier states.

    With different subscriptions, Kafka's own passes can repeat forever.
    """

    _CHECK_AFTER, _REPETITIONS = 64, 8

    def __init__(self) -> None:
        self._count = 0
        self._seen: Counter[int] = Counter()

    def another(self, owner: Sequence[int]) -> None:
        """Call this after each pass that moved a partition, with the owner of each code."""
        self._count += 1
        if self._count > self._CHECK_AFTER:
            state = hash(tuple(owner))
            self._seen[state] += 1
            if self._seen[state] > self._REPETITIONS:
                raise Endless("sticky: balancing repeats the same moves forever, as in Kafka")


class Moves:
    """The move of each partition so far, from its first owner to its current owner.

    ``went_back`` means that a partition moved back instead of the partition that balancing chose.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._move_of: dict[int, tuple[int, int]] = {}
        self._moved: dict[tuple[int, int, int], _HashSet] = {}
        self.went_back = False

    def instead_of(self, code: int, old: int, new: int) -> int:
        """Returns ``code``, or a partition of its topic that has moved from ``new`` to ``old``."""
        if code in self._move_of:
            old = self._move_of[code][0]
        back = self._moved.get((self._topics.topic_of[code], new, old))
        if back is None:
            return code
        self.went_back = True
        return back.first(self._topics)

    def record(self, code: int, old: int, new: int) -> None:
        topic = self._topics.topic_of[code]
        if code in self._move_of:
            old = self._forget(topic, code)
            if old == new:
                return
        self._move_of[code] = old, new
        moved = self._moved.get((topic, old, new))
        if moved is None:
            self._moved[topic, old, new] = _HashSet(code)
        else:
            moved.add(code)

    def _forget(self, topic: int, code: int) -> int:
        """Removes the code's move; returns its first owner."""
        old, new = self._move_of.pop(code)
        moved = self._moved[topic, old, new]
        del moved.codes[code]
        if not moved.codes:
            del self._moved[topic, old, new]
        return old
