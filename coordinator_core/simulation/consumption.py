"""The records that the applications of a simulated group handle, and the positions that their
consumers commit.

The application of a process has one thread.  It handles the records of its partitions in turn, each
for ``handle_ms``, from the position that its consumer fetched: the group's committed offset.  A
process that is frozen or does not poll handles nothing.  Records that a killed process had not
committed are handled again by another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from coordinator_core.protocol.messages import TopicPartition

# An application that needs time for records is checked at this interval, so that its positions do
# not depend on when it is checked.
TICK_MS = 100
# After a pause, an application has only the records that its consumer fetched before the pause: a
# consumer that was removed from its group learns of its removal before it fetches more.
FIRST_FETCH_MS = 100


class Handled(NamedTuple):
    """A process handled the offsets from ``from_offset`` up to, but not including, ``to_offset``,
    while it had the partition from ``from_ms`` to ``to_ms``."""

    partition: TopicPartition
    from_ms: int
    to_ms: int
    from_offset: int
    to_offset: int


class SimulatedApplication:
    """The application in one life of a process.

    ``produced(partition, now_ms)``: the log end offset.  ``limit(partition, position, now_ms)``:
    the offset before which an obstacle stops it, and whether the obstacle ends the process; None:
    no obstacle.  ``ended(handled)`` is called when the process no longer has the partition.
    """

    def __init__(
        self,
        *,
        handle_ms: int,
        produced: Callable[[TopicPartition, int], int],
        limit: Callable[[TopicPartition, int, int], tuple[int, bool] | None],
        ended: Callable[[Handled], None],
        now_ms: int,
    ) -> None:
        self.has_crashed = False
        self.is_behind = False
        self._handle_ms = handle_ms
        self._produced = produced
        self._limit = limit
        self._ended = ended
        self._since_ms = now_ms
        self._rested_ms: int | None = None
        self._went_on_ms = now_ms - FIRST_FETCH_MS
        self._fetched_ms = now_ms
        self._positions: dict[TopicPartition, int] = {}
        self._begun: dict[TopicPartition, tuple[int, int]] = {}

    def have(self, fetched: Mapping[TopicPartition, int], now_ms: int) -> None:
        """The consumer has these partitions and positions now.  A partition that was revoked and
        assigned again begins at the committed offset."""
        if fetched == self._positions:
            return
        gone = {p for p, offset in self._positions.items() if fetched.get(p) != offset}
        self._give_up(gone, now_ms)
        for partition in fetched.keys() - self._positions.keys():
            self._positions[partition] = fetched[partition]
            self._begun[partition] = now_ms, fetched[partition]

    def handle(self, now_ms: int) -> Mapping[TopicPartition, int]:
        """Handle records until ``now_ms``; returns the positions then."""
        until_ms = now_ms - now_ms % TICK_MS if self._handle_ms else now_ms
        if self._rested_ms is None and until_ms > self._since_ms:
            ends = {partition: self._end_of(partition, until_ms) for partition in self._positions}
            self._handle_until({partition: end for partition, (end, _) in ends.items()}, until_ms)
            self.has_crashed = any(
                is_fatal and self._positions[partition] == end
                for partition, (end, is_fatal) in ends.items()
            )
        return self._positions

    def rest(self, now_ms: int) -> None:
        """The process is frozen or does not poll from now on."""
        self._rested_ms = now_ms if self._rested_ms is None else self._rested_ms

    def go_on(self, now_ms: int) -> None:
        self._fetched_ms = now_ms if self._rested_ms is None else self._rested_ms
        self._rested_ms = None
        self._since_ms = self._went_on_ms = now_ms

    def end(self, now_ms: int) -> None:
        self._give_up(set(self._positions), now_ms)

    def _give_up(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        for partition in sorted(partitions):
            from_ms, from_offset = self._begun.pop(partition)
            to_offset = self._positions.pop(partition)
            self._ended(Handled(partition, from_ms, now_ms, from_offset, to_offset))

    def _end_of(self, partition: TopicPartition, now_ms: int) -> tuple[int, bool]:
        """The offset before which handling ends now, and whether it ends the process."""
        has_fetched = now_ms >= self._went_on_ms + FIRST_FETCH_MS
        end = self._produced(partition, now_ms if has_fetched else self._fetched_ms)
        limit = self._limit(partition, self._positions[partition], now_ms)
        return limit if limit is not None and limit[0] < end else (end, False)

    def _handle_until(self, ends: Mapping[TopicPartition, int], until_ms: int) -> None:
        work = {p: end - self._positions[p] for p, end in ends.items() if end > self._positions[p]}
        time_ms = until_ms - self._since_ms
        self.is_behind = sum(work.values()) * self._handle_ms > time_ms
        if self.is_behind:
            count = time_ms // self._handle_ms
            self._since_ms += count * self._handle_ms
            work = _in_turn(work, count)
        else:
            self._since_ms = until_ms
        for partition, records in work.items():
            self._positions[partition] += records


def _in_turn(work: Mapping[TopicPartition, int], count: int) -> dict[TopicPartition, int]:
    """``count`` records of the partitions with work, one of each in turn."""
    taken = dict.fromkeys(work, 0)
    while count:
        waiting = [partition for partition in sorted(work) if taken[partition] < work[partition]]
        share = max(count // len(waiting), 1)
        for partition in waiting[:count]:
            more = min(share, work[partition] - taken[partition], count)
            taken[partition] += more
            count -= more
    return taken
