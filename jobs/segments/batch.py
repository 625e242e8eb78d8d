"""What a segment file holds: batches that check out, and stretches of bytes that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TimestampType = Literal["CreateTime", "LogAppendTime"]

CREATE_TIME: TimestampType = "CreateTime"
LOG_APPEND_TIME: TimestampType = "LogAppendTime"

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch (magic 2) or one outer message of a message set (magic 0 and 1).

    ``offsets``, ``timestamps``, ``keys`` and ``values`` are parallel, a record at an index; they
    are empty where the log cleaner has kept a batch for its producer's last sequence only.
    ``position`` and ``size`` are bytes in the file. Timestamps are milliseconds since the epoch,
    -1 where the format has none (magic 0, whose ``timestamp_type`` is None).
    ``control`` is None for data, else the marker: COMMIT, ABORT, another of Kafka's control record
    types, or UNKNOWN.
    """

    base_offset: int
    last_offset: int
    position: int
    size: int
    magic: int
    compression: str
    timestamp_type: TimestampType | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    control: str | None
    leader_epoch: int
    delete_horizon_ms: int | None
    partition: int
    file: str
    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A stretch of a file that is no readable batch: ``data`` is its ``length`` bytes."""

    file: str
    position: int
    length: int
    reason: str
    data: bytes


class BadBatch(ValueError):
    """A frame whose checksum holds and whose content still cannot be read."""
