"""The content of a segment file: batches with a valid checksum, and unreadable byte ranges."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One record batch (magic 2) or one outer message of a message set (magic 0 and 1).

    ``offsets``, ``timestamps``, ``keys`` and ``values`` are parallel, one entry per record; they
    are empty if the log cleaner kept the batch only for its producer's last sequence number.
    ``position`` and ``size`` are bytes in the file.  Timestamps are milliseconds since the epoch,
    -1 in magic 0, which has none (``timestamp_type`` None).  ``control`` is None for data, else the
    type of the control record: COMMIT, ABORT, another of Kafka's types, or UNKNOWN.
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
    """An unreadable byte range of a file; ``data`` is its ``length`` bytes."""

    file: str
    position: int
    length: int
    reason: str
    data: bytes


class BadBatch(ValueError):
    """A frame has a valid checksum but unreadable content."""
