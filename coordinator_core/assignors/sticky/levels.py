"""Members by load as bit masks: who is least loaded among a topic's subscribers, in few steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coordinator_core.assignors.model import Topics
from coordinator_core.assignors.sticky.arrays import Ints
from coordinator_core.assignors.sticky.moves import Moves, Rounds


class Levels:
    """Members by load, each level a bit mask: the least loaded of a set is a few integer ands.

    Partitions are handed out in turns. In a turn everybody of the topic on the lowest level
    takes one, by id, and so stands one level higher; only a topic's last turn may be cut short.
    """

    def __init__(self, load: Ints) -> None:
        self._members = len(load)
        levels = np.flatnonzero(np.bincount(load))
        self.at = dict(zip(levels.tolist(), masks_of(load == levels[:, np.newaxis]), strict=True))

    def take(self, topics: Sequence[int], counts: Sequence[int]) -> Ints:
        """Ranks that take each topic's ``counts`` partitions, topic after topic."""
        turns: list[int] = []
        at, lowest = self.at, min(self.at)
        for subscribers, count in zip(topics, counts, strict=True):
            while lowest not in at:
                lowest += 1
            level = lowest
            while count:
                there = at.get(level, 0)
                turn = there & subscribers
                level += 1
                if not turn:
                    continue
                size = turn.bit_count()
                if size > count:
                    turn = _lowest_bits(turn, count)
                    size = count
                count -= size
                turns.append(turn)
                if there == turn:
                    del at[level - 1]
                else:
                    at[level - 1] = there ^ turn
                at[level] = at.get(level, 0) | turn
        return _bits(turns, self._members)


class Leveling:
    """Moves of partitions from subscribers with two more to those with least, topic by topic.

    ``moved`` are codes in the order of their last move; ``went_back``: some partition moved in
    another's place. See ``_balancing`` for the rule in plain Python.
    """

    def __init__(
        self, topics: Topics, masks: Sequence[int], levels: Levels, load: Ints, owner: Ints
    ) -> None:
        self._topics, self._masks, self._at = topics, masks, levels.at
        self.load: list[int] = load.tolist()
        self.owner: list[int] = owner.tolist()
        self.moved: dict[int, None] = {}
        self._moves = Moves(topics)

    @property
    def went_back(self) -> bool:
        return self._moves.went_back

    def reassign(self, order: Sequence[int], candidates: Sequence[bool] | None = None) -> bool:
        """Passes over topics in ``order`` until one changes nothing; whether any changed anything.

        ``candidates`` says of each code whether it may move, None that all may.  Endless if there
        is no such pass.
        """
        changed, rounds = False, Rounds()
        while self._pass(order, candidates):
            changed = True
            rounds.another(self.owner)
        return changed

    def _pass(self, order: Sequence[int], candidates: Sequence[bool] | None) -> bool:
        changed = False
        light = self._light()
        for topic in order:
            if self._masks[topic] & light and self._level_out(topic, candidates):
                changed = True
                light = self._light()
        return changed

    def _light(self) -> int:
        """Who has at least two less than somebody."""
        levels = sorted(self._at)
        light = 0
        for level in levels:
            if level + 1 >= levels[-1]:
                break
            light |= self._at[level]
        return light

    def _level_out(self, topic: int, candidates: Sequence[bool] | None) -> bool:
        changed = False
        at, load, owner, mask = self._at, self.load, self.owner, self._masks[topic]
        least = self._least(mask, min(at))
        if not any(bits & mask for level, bits in at.items() if level > least + 1):
            return False
        for code in self._topics.code_ranges[topic]:
            if load[owner[code]] > least + 1 and (candidates is None or candidates[code]):
                lightest = at[least] & mask
                old = self._move(code, (lightest & -lightest).bit_length() - 1)
                # Lower only for a partition that went another way.
                least = self._least(mask, min(least, load[old]))
                changed = True
        return changed

    def _least(self, mask: int, level: int) -> int:
        """The lowest level, from ``level`` on, with somebody of ``mask``."""
        while not self._at.get(level, 0) & mask:
            level += 1
        return level

    def _move(self, code: int, to: int) -> int:
        """Moves ``code``, or what rather moves, to ``to``; returns who had it."""
        code = self._moves.instead_of(code, self.owner[code], to)
        old = self.owner[code]
        self._moves.record(code, old, to)
        self.owner[code] = to
        self._shift(old, -1)
        self._shift(to, 1)
        self.moved.pop(code, None)
        self.moved[code] = None
        return old

    def _shift(self, rank: int, by: int) -> None:
        at, level, bit = self._at, self.load[rank], 1 << rank
        self.load[rank] = level + by
        at[level] ^= bit
        if not at[level]:
            del at[level]
        at[level + by] = at.get(level + by, 0) | bit


def _lowest_bits(mask: int, count: int) -> int:
    """The ``count`` lowest of the bits set in ``mask``, which has more."""
    low, low_count = 0, 0
    high, high_count = mask.bit_length(), mask.bit_count()
    while True:
        # As if the bits were spread evenly: mostly one guess, or two.
        middle = low + (count - low_count) * (high - low) // (high_count - low_count)
        middle = min(max(middle, low + 1), high - 1)
        lowest = mask & ((1 << middle) - 1)
        found = lowest.bit_count()
        if found == count:
            return lowest
        if found < count:
            low, low_count = middle, found
        else:
            high, high_count = middle, found


def masks_of(rows: NDArray[np.bool_]) -> list[int]:
    """Each row as an integer, its first element the lowest bit."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    width, all_rows = packed.shape[1], packed.tobytes()
    ends = range(width, len(all_rows) + 1, width)
    return [int.from_bytes(all_rows[end - width : end], "little") for end in ends]


def _bits(masks: Sequence[int], members: int) -> Ints:
    """Positions of the bits set in each mask, ascending, mask after mask."""
    width = (members + 7) // 8
    packed = np.frombuffer(b"".join([m.to_bytes(width, "little") for m in masks]), dtype=np.uint8)
    found = np.flatnonzero(np.unpackbits(packed, bitorder="little").view(bool))
    return found % (width * 8)
