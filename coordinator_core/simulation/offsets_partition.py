"""A partition of `__consumer_offsets`: its leader, end offset and contents."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_core.protocol.messages import Record
from coordinator_core.simulation.outputs import WrittenBatch


@dataclass
class OffsetsPartition:
    """``leader`` is the broker id, None without a leader.  ``acked_ms`` says when the last append
    is acknowledged.  ``latest`` is the last record of each key, in log order, as after compaction.
    """

    number: int
    leader: int | None
    epoch: int = 0
    end_offset: int = 0
    acked_ms: int = 0
    latest: dict[bytes, bytes] = field(default_factory=dict)

    def append(self, records: tuple[Record, ...], now_ms: int, base_sequence: int) -> WrittenBatch:
        batch = WrittenBatch(
            now_ms, self.number, self.end_offset, self.epoch, base_sequence, records
        )
        self.end_offset += len(records)
        for key, value in records:
            self.latest.pop(key, None)
            if value is not None:
                self.latest[key] = value
        return batch

    def records(self) -> list[Record]:
        return list(self.latest.items())

    def elect(self, leader: int | None) -> None:
        """Every election starts a new leader epoch, even if the leader stays the same."""
        self.leader = leader
        self.epoch += 1
