"""What a simulation yields, in order of time: what brokers leave behind, a trace, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.protocol.messages import Record


class Written(NamedTuple):
    """One append to a partition of `__consumer_offsets`: one record batch, its records' time one.

    The first record has ``base_offset``; ``leader_epoch`` is the partition's; ``base_sequence`` is
    0 or, of what Scala coordinators store beside commits, -1.
    """

    at_ms: int
    partition: int
    base_offset: int
    leader_epoch: int
    base_sequence: int
    records: tuple[Record, ...]


class Line(NamedTuple):
    """A line of a broker's server.log, without its end."""

    at_ms: int
    broker_id: int
    text: str


class Traced(NamedTuple):
    """A line of a trace, as ``regroup scenario run`` has them; times are ms since the start."""

    event: Mapping[str, Any]


class Told(NamedTuple):
    """A line of the truth: what the simulation itself knows, whatever brokers wrote of it."""

    truth: Mapping[str, Any]


Output = Written | Line | Traced | Told
