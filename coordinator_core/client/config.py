"""A consumer's settings."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.protocol.messages import TopicPartition, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """Kafka's consumer settings under their own names, with times in ms. None means the library's
    default.

    ``name`` is the prefix of all request ids, unique among all processes.
    ``max_poll_interval_ms`` is also the rebalance timeout.  ``assignors`` are names, in order of
    preference.  ``timer_delay_us`` is the delay of librdkafka's timers, in microseconds.
                 ``claims`` are partitions that the
    first JoinGroup of a cooperative member claims, as if the member had owned them before.

    ``group_protocol`` is classic, consumer, share or streams.  These fields are only for members of
    the last three group types: ``member_id`` is made by the client (``modern.member_ids``).
    ``remote_assignor`` is None for the broker's default.  ``regex`` subscribes to the topics that
    match it, as determined by the broker.  ``process_id`` and ``topology`` are for streams members.
    """

    group_id: str
    client_id: str
    name: str = ""
    client_host: str = "/127.0.0.1"
    instance_id: str | None = None
    rack: str | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300000
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    request_timeout_ms: int = 30000
    metadata_max_age_ms: int = 300000
    close_timeout_ms: int = 30000
    leave_group_on_close: bool = True
    timer_delay_us: int = 0
    claims: tuple[TopicPartition, ...] = ()
    group_protocol: str = "classic"
    member_id: str = ""
    remote_assignor: str | None = None
    regex: str | None = None
    process_id: str = ""
    topology: Topology | None = None
