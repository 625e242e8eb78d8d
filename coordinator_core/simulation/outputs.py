"""The outputs of a simulation: record batches, log lines, trace lines and truth lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.messages import Record


class WrittenBatch(NamedTuple):
    """One append to a partition of `__consumer_offsets`: one record batch, whose records all have
    the same timestamp.

    ``base_offset`` is the offset of the first record.  ``leader_epoch``: the partition's.
    ``base_sequence`` is 0, or -1 in batches that Scala coordinators write for anything but commits.
    """

    at_ms: int
    partition: int
    base_offset: int
    leader_epoch: int
    base_sequence: int
    records: tuple[Record, ...]


class BrokerLogLine(NamedTuple):
    """A line of a broker's server.log, without the line end."""

    at_ms: int
    broker_id: int
    text: str


class TraceLine(NamedTuple):
    """A line of a trace in the format of ``regroup scenario run``; times are ms since the start."""

    event: Mapping[str, Any]


class TruthLine(NamedTuple):
    """A line of the ground truth, taken from the simulation itself and not from broker output."""

    truth: Mapping[str, Any]


Output = WrittenBatch | BrokerLogLine | TraceLine | TruthLine
