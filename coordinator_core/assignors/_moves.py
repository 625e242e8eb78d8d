"""Which partition of a topic moves: rather one that came the other way than one more.

Source: AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from collections import defaultdict

from coordinator_core.assignors._java_order import table_capacity
from coordinator_core.assignors.model import Topics
from coordinator_core.java import string_hash

Pair = tuple[int, int]


class _HashSet:
    """A ``HashSet<TopicPartition>`` of codes, for the sake of its first element."""

    def __init__(self) -> None:
        self.codes: dict[int, None] = {}
        self._most = 0

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


class Moves:
    """Every partition's move so far, from its first owner to its present one."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._pair_of: dict[int, Pair] = {}
        self._by_topic: dict[int, dict[Pair, _HashSet]] = defaultdict(dict)

    def instead_of(self, code: int, old: int, new: int) -> int:
        """``code``, or a partition of its topic that had moved from ``new`` to ``old``."""
        if not self._pair_of:
            return code
        origin = self._pair_of.get(code, (old, new))[0]
        back = self._by_topic[self._topics.topic_of[code]].get((new, origin))
        return back.first(self._topics) if back else code

    def record(self, code: int, old: int, new: int) -> None:
        pairs = self._by_topic[self._topics.topic_of[code]]
        moved = self._pair_of.pop(code, None)
        if moved:
            del pairs[moved].codes[code]
            if not pairs[moved].codes:
                del pairs[moved]
            if moved[0] == new:
                return
            old = moved[0]
        self._pair_of[code] = (old, new)
        pairs.setdefault((old, new), _HashSet()).add(code)
