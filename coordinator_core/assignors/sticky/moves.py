"""Which partition of a topic moves: rather one that came the other way than one more.

Source: AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coordinator_core.assignors.model import Endless, Topics
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.java_maps import table_capacity


class _HashSet:
    """A ``HashSet<TopicPartition>`` of codes, for the sake of its first element."""

    __slots__ = ("_most", "codes")

    def __init__(self, code: int) -> None:
        self.codes: dict[int, None] = {code: None}
        self._most = 1

    def add(self, code: int) -> None:
        self.codes[code] = None
        self._most = max(self._most, len(self.codes))

    def first(self, topics: Topics) -> int:
        mask = table_capacity(self._most) - 1

        def bucket(code: int) -> int:
            topic, partition = topics.table[code]
            hashed = 31 * (31 + partition) + string_hash(topic) & 0xFFFFFFFF
            return (hashed ^ hashed >> 16) & mask

        return min(self.codes, key=bucket)


class Rounds:
    """Passes of balancing, counted: Endless once they only come back to where they were.

    Members with different subscriptions can do that to Kafka's own passes.
    """

    _SURELY_ENDING, _TIMES = 64, 8

    def __init__(self) -> None:
        self._count = 0
        self._seen: Counter[int] = Counter()

    def another(self, owner: Sequence[int]) -> None:
        """``owner`` of each code after a pass that changed something."""
        self._count += 1
        if self._count > self._SURELY_ENDING:
            state = hash(tuple(owner))
            self._seen[state] += 1
            if self._seen[state] > self._TIMES:
                raise Endless("sticky: balancing goes round in circles, as Kafka's does")


class Moves:
    """Every partition's move so far, from its first owner to its present one.

    ``went_back``: some partition moved in another's place, and perhaps not from its owner.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._move_of: dict[int, tuple[int, int]] = {}
        self._alike: dict[tuple[int, int, int], _HashSet] = {}
        self.went_back = False

    def instead_of(self, code: int, old: int, new: int) -> int:
        """``code``, or a partition of its topic that had moved from ``new`` to ``old``."""
        if code in self._move_of:
            old = self._move_of[code][0]
        back = self._alike.get((self._topics.topic_of[code], new, old))
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
        alike = self._alike.get((topic, old, new))
        if alike is None:
            self._alike[topic, old, new] = _HashSet(code)
        else:
            alike.add(code)

    def _forget(self, topic: int, code: int) -> int:
        """Takes the code's move back; returns its first owner."""
        old, new = self._move_of.pop(code)
        alike = self._alike[topic, old, new]
        del alike.codes[code]
        if not alike.codes:
            del self._alike[topic, old, new]
        return old
