"""The partitions of `__consumer_offsets`: who leads them, where they end, what is in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_core.protocol.messages import Record
from coordinator_core.simulation.outputs import Written


@dataclass
class Partition:
    """``latest``: the last record of each key, in log order, as after compaction; ``leader``: a
    broker's id, None while there is none; ``acked_ms``: when the last append is through.
    """

    number: int
    leader: int | None
    epoch: int = 0
    end_offset: int = 0
    acked_ms: int = 0
    latest: dict[bytes, bytes] = field(default_factory=dict)

    def append(self, records: tuple[Record, ...], now_ms: int, base_sequence: int) -> Written:
        written = Written(now_ms, self.number, self.end_offset, self.epoch, base_sequence, records)
        self.end_offset += len(records)
        for key, value in records:
            self.latest.pop(key, None)
            if value is not None:
                self.latest[key] = value
        return written

    def records(self) -> list[Record]:
        return list(self.latest.items())

    def move(self, leader: int | None) -> None:
        """Every election, even of the same leader, begins an epoch."""
        self.leader = leader
        self.epoch += 1
