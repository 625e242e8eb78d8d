"""Counters of a consumer, as the Java client and librdkafka define them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Metrics:
    """Counters since the consumer was created; times in ms.

    ``rebalance_latencies_ms``: Java's rebalance-latency: from the first JoinGroup since the last
    successful rebalance to the SyncGroup response, without listener calls.  ``rebalance_cnt`` is
    librdkafka's counter of listener calls: about two per rebalance of an eager group.
    """

    joins: int = 0
    syncs: int = 0
    heartbeats: int = 0
    commits: int = 0
    rebalances: int = 0
    rebalance_latencies_ms: list[int] = field(default_factory=list)
    rebalance_cnt: int = 0
    listener_calls: dict[str, int] = field(default_factory=dict)
    listener_ms: dict[str, int] = field(default_factory=dict)
